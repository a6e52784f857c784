"""``python -m grader.lab.signatures``: write the signatures by which the public tests recognise known mistakes.

``signatures.json`` is for students: a release is refused if it holds anything but signatures, and names and hints of
the rubric's misconceptions. ``make signatures`` rewrites it only if one of its inputs has changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import follow, in_one_line
from grader.lab.pool import pool

from .mistakes import Signatures, Trial, known, written

OUT = REPOSITORY / "build" / "signatures"


def main(
    out: Annotated[Path, typer.Option(help="Output folder.")] = OUT,
    alone: Annotated[bool, typer.Option("--alone", help="Skip pairs of mistakes, which saves minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes to run in parallel.")] = os.cpu_count() or 1,
) -> None:
    """Write the file."""
    place = out / "signatures.json"
    with pool(jobs) as processes:

        def trying(title: str, trials: Sequence[Trial]) -> Sequence[Mapping[str, Signatures]]:
            from .public_tests import tried  # imports torch, which --help does without

            results = processes.map(tried, [ASSIGNMENT] * len(trials), *zip(*trials, strict=True))
            return [*follow(results, title, len(trials))]

        found = known(ASSIGNMENT, trying, pairs=not alone)
    text = written(found, ASSIGNMENT.rubric)
    out.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")
    causes = [cause for entries in found.values() for some in entries.values() for cause in some]
    names = {name for cause in causes for name in cause.names}
    number = sum(map(len, found.values()))
    print(f"{number} signatures of {len(names)} mistakes, {len(text) // 1000} kB: {place}")


if __name__ == "__main__":
    typer.run(in_one_line(main))
