"""``python -m grader.lab.signatures``: write the signatures by which the public tests recognise known mistakes.

``signatures.json`` is for students: a release is refused if it holds anything but signatures, and names and hints of
the rubric's misconceptions. ``make signatures`` rewrites it only if one of its inputs has changed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import ERR, follow
from grader.lab import one_line
from grader.lab.pool import pool

from .mistakes import Signatures, Trial, Trying, known, written

OUT = REPOSITORY / "build" / "signatures"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.signatures", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="a folder (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="skip pairs of mistakes, which saves minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    options = parser.parse_args()
    place = options.out / "signatures.json"
    with one_line(), pool(options.jobs) as processes:
        found = known(ASSIGNMENT, _trying(processes), pairs=not options.alone)
    text = written(found, ASSIGNMENT.rubric)
    options.out.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    causes = [cause for entries in found.values() for some in entries.values() for cause in some]
    names = {name for cause in causes for name in cause.names}
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {place}\n")


def _trying(processes: Executor) -> Trying:
    def trying(title: str, trials: Sequence[Trial]) -> Sequence[Mapping[str, Signatures]]:
        from .public_tests import tried  # imports torch, which --help does without

        results = processes.map(tried, [ASSIGNMENT] * len(trials), *zip(*trials, strict=True))
        return [*follow(results, title, len(trials), ERR)]

    return trying


if __name__ == "__main__":
    main()
