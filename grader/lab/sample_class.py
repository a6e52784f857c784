"""``python -m grader.lab.sample_class DIR`` writes the sample class to a new folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.assignment import ASSIGNMENT
from grader.specimens.students import write_class

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m grader.lab.sample_class", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    if folder.exists():
        parser.error(f"{folder} exists; name a new folder")
    write_class(ASSIGNMENT, folder)
