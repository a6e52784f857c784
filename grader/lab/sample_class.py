"""``python -m grader.lab.sample_class DIR`` writes the sample class to a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.assignment import ASSIGNMENT
from grader.specimens.students import write_class

if __name__ == "__main__":
    write_class(ASSIGNMENT, Path(sys.argv[1]))
