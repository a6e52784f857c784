"""Stands for the repository's ``grader``; only the assignment in it is of this folder's own."""
