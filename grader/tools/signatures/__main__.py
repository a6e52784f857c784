"""``python -m grader.tools.signatures``: how known mistakes are recognised in the public tests, for students' copies.

``signatures.json`` is for students. ``keys.json`` opens everything in it and stays here: a release is refused if it
holds anything that no key opens, or that is not the explanation of a mistake.
"""

from __future__ import annotations

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
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(REPOSITORY))
    found = known(ASSIGNMENT, PublicTests())
    whole, keys = sealed(found, ASSIGNMENT.rubric, REPOSITORY)
    OUT.mkdir(parents=True, exist_ok=True)
    text = json.dumps(whole, separators=(",", ":"), indent=0)
    (OUT / "signatures.json").write_text(text, encoding="utf-8")
    (OUT / "keys.json").write_text(json.dumps([key.hex() for key in keys]), encoding="utf-8")
    names = {name for entries in found.values() for some in entries.values() for name in some}
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {OUT}/signatures.json\n")


if __name__ == "__main__":
    main()
