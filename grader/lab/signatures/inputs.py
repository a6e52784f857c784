"""What ``signatures.json`` is made from, as a digest: as long as that is the same, so are the signatures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from grader import PACKAGE, SUBMITTED
from grader.core.assignment import Assignment
from grader.core.run.conditions import conditions
from grader.core.settings import Settings

NO_INPUTS = {"__pycache__", "selftest"}


def digest(assignment: Assignment, pairs: bool) -> str:
    """The digest of the public tests, the mistakes, everything that they are tried with, and the machine."""
    files = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(_files(assignment))}
    return hashlib.sha256(json.dumps([conditions(Settings(assignment)), files, pairs]).encode()).hexdigest()


def _files(assignment: Assignment) -> Iterator[Path]:
    """The files that a report does not depend on, but signatures do."""
    root = assignment.root
    yield root / "pyproject.toml"
    for folder in (assignment.folder, root / "tests", root / SUBMITTED, PACKAGE / "specimens", Path(__file__).parent):
        yield from (path for path in folder.rglob("*") if path.is_file() and not NO_INPUTS & set(path.parts))
