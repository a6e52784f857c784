"""Submissions with one fault each."""
