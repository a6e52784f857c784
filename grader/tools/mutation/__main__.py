"""``python -m grader.tools.mutation``: judge every mutant, write the page, fail if a survivor is not explained."""

from __future__ import annotations

import sys
from collections import defaultdict

from grader.assignment import ASSIGNMENT
from grader.definition import rubric_or_exit

from .mutants import Mutant, all_mutants
from .survivors import MutantJudge, page, problems, read_table

PAGE = ASSIGNMENT.root / "grader" / "docs" / "mutants.md"


def main() -> int:
    """Judge all mutants; the exit status is 1 if a survivor has no explanation, or an explanation no survivor."""
    rubric = rubric_or_exit(ASSIGNMENT)
    mutants = all_mutants()
    survivors: list[Mutant] = []
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    judge = MutantJudge(rubric)
    try:
        for number, mutant in enumerate(mutants, 1):
            survived = judge.survives(mutant)
            made, killed = counts[mutant.path]
            counts[mutant.path] = (made + 1, killed + (not survived))
            if survived:
                survivors.append(mutant)
            if number % 25 == 0:
                print(f"{number} of {len(mutants)} judged, {len(survivors)} survive", file=sys.stderr, flush=True)
    finally:
        judge.close()
    table = read_table()
    PAGE.write_text(page(counts, survivors, table), encoding="utf-8")
    found = problems(survivors, table, [mutant.name for mutant in mutants])
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(mutants)} mutants, {len(mutants) - len(survivors)} killed, {len(survivors)} survive. Page: {PAGE}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
