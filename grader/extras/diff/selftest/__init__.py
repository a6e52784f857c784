"""Tests of this folder."""
