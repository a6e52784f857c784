"""A small class to try the grader on: who handed in what, each as the reference with a few edits."""
