"""``grader reproduce``: one failing case again, for an assistant to look at."""
