"""The autograder of the assignment; see ``README.md`` and ``grader/docs``."""

import warnings
from pathlib import Path

__version__ = "2.0.0"
PACKAGE = Path(__file__).parent
REPOSITORY = PACKAGE.parent
SUBMITTED = "src"  # the folder of a submission's code; the reference has the same files in the folder ``ref``

# Grading does not need NumPy. If it is not installed, torch warns when it is imported.
warnings.filterwarnings("ignore", message="Failed to initialize NumPy", category=UserWarning)
