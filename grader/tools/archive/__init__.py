"""``grader archive``: a class with all that belongs to it in one file, and back."""
