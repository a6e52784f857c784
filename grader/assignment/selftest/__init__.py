"""Tests of this assignment: its hidden tests, variants, contract and reference."""
