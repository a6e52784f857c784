"""The autograder of the assignment; see ``README.md`` and ``grader/docs``."""

__version__ = "1.0.0"
