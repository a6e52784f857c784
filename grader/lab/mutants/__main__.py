"""``python -m grader.lab.mutants``: judge the mutants, write the page, fail if a wrong verdict is not explained."""

from __future__ import annotations

import contextlib
import sys

from grader.assignment import ASSIGNMENT
from grader.core.assignment import rubric_or_exit
from grader.lab.stopped import one_line

from .mutants import sources
from .survivors import MutantJudge, Verdict, page, problems, read_table

PAGE = ASSIGNMENT.root / "grader" / "docs" / "mutants.md"
WRONG = 50  # edits of each original


def main() -> int:
    """Judge all mutants; the exit status is 1 if wrong verdicts and explanations do not match."""
    verdicts: list[Verdict] = []
    with contextlib.closing(MutantJudge(rubric_or_exit(ASSIGNMENT))) as judge:
        for source, files in sources().items():
            verdicts += judge.verdicts(source, files, WRONG)
            print(f"{source}: {len(verdicts)} mutants judged so far", file=sys.stderr, flush=True)
    table = read_table()
    PAGE.write_text(page(verdicts, table), encoding="utf-8")
    found = problems(verdicts, table)
    print(*found, sep="\n", end="\n" if found else "")
    wrong = [verdict for verdict in verdicts if verdict.differing]
    caught = sum(bool(verdict.charged) for verdict in wrong)
    print(f"{len(wrong)} wrong mutants, {caught} caught ({caught / len(wrong):.1%}). Page: {PAGE}")
    return 1 if found else 0


if __name__ == "__main__":
    with one_line():
        sys.exit(main())
