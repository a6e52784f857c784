"""``grader appeal``: what another grading of one submission means for that student, and for classmates."""
