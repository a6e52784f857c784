"""``grader practice``: judges the tests that students write for ``make practice``."""
