"""The autograder of the assignment; see ``README.md`` and ``grader/docs``."""

import warnings

__version__ = "1.0.0"

# torch says this at its import where NumPy is not installed, as it need not be: nothing here uses NumPy.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy", category=UserWarning)
