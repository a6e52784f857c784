"""Assignments to start from."""
