"""Judges the tests that students write for `make practice`, for `grader practice`."""
