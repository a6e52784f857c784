"""Decisions about grades: a file beside the reports, which grading reads and never changes."""
