"""``grader appeal``: regrades one submission and shows the effect on the student and on classmates."""
