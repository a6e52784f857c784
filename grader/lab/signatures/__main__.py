"""``python -m grader.lab.signatures``: write the signatures by which the public tests recognise known mistakes.

``signatures.json`` is for students: a release is refused if it holds anything but signatures, and names and hints of
the rubric's misconceptions. It stays as it is while nothing has changed that it is made from.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from hashlib import sha256
from pathlib import Path

from grader import PACKAGE, REPOSITORY, SUBMITTED
from grader.assignment import ASSIGNMENT
from grader.core.assignment import Assignment
from grader.core.cli.terminal import ERR, follow
from grader.core.settings import Settings, conditions
from grader.lab.pool import pool

from .mistakes import Signatures, Trial, Trying, known, written

OUT = REPOSITORY / "build" / "signatures"
NO_INPUTS = {"__pycache__", "selftest"}
MADE_FROM = "made-from.txt"  # the digest of the inputs, then that of the file


def main() -> None:
    """Write the file, unless it is there."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.signatures", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="a folder (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="skip pairs of mistakes, which saves minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    options = parser.parse_args()
    place, made_from = options.out / "signatures.json", options.out / MADE_FROM
    inputs = digest(ASSIGNMENT, not options.alone)
    if place.is_file() and made_from.is_file() and made_from.read_text() == _stamp(inputs, place.read_bytes()):
        sys.stdout.write(f"nothing has changed that it is made from: {place}\n")
        return
    with pool(options.jobs) as processes:
        found = known(ASSIGNMENT, _trying(processes), pairs=not options.alone)
    text = written(found, ASSIGNMENT.rubric)
    options.out.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    made_from.write_text(_stamp(inputs, text.encode()))
    causes = [cause for entries in found.values() for some in entries.values() for cause in some]
    names = {name for cause in causes for name in cause.names}
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {place}\n")


def digest(assignment: Assignment, pairs: bool) -> str:
    """The digest of all that decides the signatures: public tests, mistakes, what these are tried with, the machine."""
    root = assignment.root
    files = {"pyproject.toml": sha256((root / "pyproject.toml").read_bytes()).hexdigest()}
    for folder in (assignment.folder, root / "tests", root / SUBMITTED, PACKAGE / "specimens", Path(__file__).parent):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not NO_INPUTS & {*path.relative_to(folder).parts}:
                files[str(path)] = sha256(path.read_bytes()).hexdigest()
    return sha256(json.dumps([conditions(Settings(assignment)), files, pairs]).encode()).hexdigest()


def _stamp(inputs: str, data: bytes) -> str:
    return f"{inputs} {sha256(data).hexdigest()}\n"


def _trying(processes: Executor) -> Trying:
    def trying(title: str, trials: Sequence[Trial]) -> Sequence[Mapping[str, Signatures]]:
        from .public_tests import tried  # imports torch, which takes longer than to see that nothing has changed

        results = processes.map(tried, [ASSIGNMENT] * len(trials), *zip(*trials, strict=True))
        return [*follow(results, title, len(trials), ERR)]

    return trying


if __name__ == "__main__":
    main()
