"""``python -m grader.tools.signatures``: how known mistakes are recognised in the public tests, for students' copies.

``signatures.json`` is for students. ``keys.json`` opens everything in it and stays here: a release is refused if it
holds anything that no key opens, or that is not the explanation of a mistake.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from ...assignment import ASSIGNMENT
from .mistakes import known
from .public_tests import PublicTests
from .sealing import sealed

REPOSITORY = Path(__file__).parents[3]
OUT = REPOSITORY / "build" / "signatures"


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(prog="python -m grader.tools.signatures", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="a folder (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="leave pairs of mistakes out, which saves minutes")
    options = parser.parse_args()
    out = options.out.resolve()
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(REPOSITORY))
    found = known(ASSIGNMENT, PublicTests(), pairs=not options.alone)
    whole, keys = sealed(found, ASSIGNMENT.rubric, REPOSITORY)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(whole, separators=(",", ":"), indent=0)
    (out / "signatures.json").write_text(text, encoding="utf-8")
    (out / "keys.json").write_text(json.dumps([key.hex() for key in keys]), encoding="utf-8")
    causes = [cause for entries in found.values() for some in entries.values() for cause in some]
    names = {name for cause in causes for name in cause.names}
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {out}/signatures.json\n")


if __name__ == "__main__":
    main()
