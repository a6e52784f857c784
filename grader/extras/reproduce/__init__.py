"""``grader reproduce``: runs one failing case again, for an assistant."""
