"""``python -m grader.lab.signatures``: write the signatures by which the public tests recognise known mistakes.

``signatures.json`` is for students: a release is refused if it holds anything but signatures, and names and hints of
the rubric's misconceptions.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT

from .mistakes import known, written
from .public_tests import PublicTests

OUT = REPOSITORY / "build" / "signatures"


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.signatures", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="a folder (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="skip pairs of mistakes, which saves minutes")
    options = parser.parse_args()
    out = options.out.resolve()
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(REPOSITORY))
    found = known(ASSIGNMENT, PublicTests(), pairs=not options.alone)
    text = written(found, ASSIGNMENT.rubric)
    out.mkdir(parents=True, exist_ok=True)
    (out / "signatures.json").write_text(text, encoding="utf-8")
    causes = [cause for entries in found.values() for some in entries.values() for cause in some]
    names = {name for cause in causes for name in cause.names}
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {out}/signatures.json\n")


if __name__ == "__main__":
    main()
