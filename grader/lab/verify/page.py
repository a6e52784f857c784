"""The kill table as a page: which property catches which mistake, with margins, and the result of each attack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader.core.assignment import Assignment
from grader.specimens.variants import Variant

from . import attacks, variants
from .attacks import Attempt
from .both_ways import Comparison
from .variants import ALL_DTYPES, REFERENCE, STUBS, Verdict

Result = Verdict | Attempt | Comparison
Kind = TypeVar("Kind", Verdict, Attempt, Comparison)
_MARGIN = attrgetter("margin")


def _of(kind: type[Kind], results: Iterable[Result]) -> list[Kind]:
    return [result for result in results if isinstance(result, kind)]


def smallest_excess(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The wrong variant that came closest to passing, each by its clearest failing case."""
    return min((v for v in verdicts if _is_wrong(v) and v.margin is not None), key=_MARGIN, default=None)


def largest_share(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The right submission that came closest to failing."""
    return max((v for v in verdicts if v.valid and v.margin is not None), key=_MARGIN, default=None)


def _closest(verdict: Verdict | None) -> str:
    """Such as ``0.54 times its limit (valid.norm.fused)``."""
    return f"{verdict.margin:.3g} times its limit ({verdict.name})" if verdict else "none was measured"


def summary(results: Sequence[Result]) -> list[str]:
    """The counts and margins, a line each."""
    verdicts, attempts, comparisons = _of(Verdict, results), _of(Attempt, results), _of(Comparison, results)
    judged = {verdict.name: verdict.valid for verdict in verdicts if verdict.name not in (REFERENCE, STUBS)}
    valid = sum(judged.values())
    lines = [
        f"{len(verdicts)} verdicts on {len(judged) - valid} wrong variants, {valid} valid ones, the reference and "
        f"untouched stubs, over the seeds {_seeds(verdicts)}: {_problems(verdicts)} of them wrong.",
        f"Wrong variants, closest to passing: {_closest(smallest_excess(verdicts))}. "
        f"Correct variants, closest to failing: {_closest(largest_share(verdicts))}.",
    ]
    for isolation in dict.fromkeys(attempt.isolation for attempt in attempts):
        ended = {attempt.name: attempt for attempt in attempts if attempt.isolation == isolation}
        tried = [attempt for attempt in ended.values() if attempt.covered]
        missing = [attempt.name for attempt in ended.values() if not attempt.covered]
        line = f"{len(tried)} attacks against {isolation}: {_problems(tried)} gain or damage anything."
        lines.append(line + (f" Not covered, {len(missing)}: {', '.join(missing)}." if missing else ""))
    if comparisons:
        differing = ", ".join(comparison.name for comparison in comparisons if comparison.problem)
        number = len({comparison.name for comparison in comparisons})
        lines.append(
            f"{number} submissions graded with and without --plain, over the seeds {_seeds(comparisons)}: "
            f"{_problems(comparisons)} of {len(comparisons)} pairs of reports differ{differing and f', {differing}'}."
        )
    return lines


def _seeds(results: Iterable[Verdict | Comparison]) -> str:
    return ", ".join(map(str, sorted({result.seed for result in results})))


def page(assignment: Assignment, results: Sequence[Result]) -> str:
    """The whole page as Markdown; the same machine and the same work give the same bytes."""
    verdicts, attempts = _of(Verdict, results), _of(Attempt, results)
    wrong, known = [verdict for verdict in verdicts if _is_wrong(verdict)], variants.known(assignment)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=lambda cell: str(cell).replace("|", "\\|").replace("\n", " "),
    )
    environment.filters |= {"smallest_excess": smallest_excess, "largest_share": largest_share, "size": _size}
    environment.filters |= {"remarks": _remarks, "lost": _lost}
    return environment.get_template("kill-table.md.j2").render(
        summary=summary(results),
        properties=[_of_property(name, wrong, known) for name in assignment.rubric.properties],
        known=known,
        wrong=wrong,
        right=[verdict for verdict in verdicts if verdict.valid],
        isolations=[*dict.fromkeys(attempt.isolation for attempt in attempts)],
        attacks=attacks.known(assignment),
        attempts={(attempt.name, attempt.isolation): attempt for attempt in attempts},
        tried={attempt.name for attempt in attempts},
    )


def _is_wrong(verdict: Verdict) -> bool:
    return not verdict.valid and verdict.name != STUBS


def _problems(results: Sequence[Result]) -> int:
    return sum(bool(result.problem) for result in results)


def _of_property(
    name: str, wrong: Sequence[Verdict], known: Mapping[str, Variant]
) -> tuple[str, int, int, Verdict | None]:
    """How many variants should break it, how many do, and the one that came closest to passing."""
    breaking = [verdict for verdict in wrong if name in known[verdict.name].breaks]
    caught = {verdict.name for verdict in wrong if name in verdict.lost}
    closest = smallest_excess(one for one in breaking if known[one.name].breaks == {name})
    return name, len({one.name for one in breaking}), len(caught), closest


def _lost(verdicts: Sequence[Verdict]) -> tuple[list[str], list[str]]:
    """The properties that a variant lost over all seeds, and the dtypes with which it failed."""
    dtypes = [dtype for dtype in ALL_DTYPES if any(dtype in verdict.dtypes for verdict in verdicts)]
    return sorted(frozenset().union(*(verdict.lost for verdict in verdicts))), dtypes


def _remarks(verdicts: Sequence[Verdict]) -> str:
    return "".join(f" **{verdict.problem} (seed {verdict.seed})**" for verdict in verdicts if verdict.problem)


def _size(verdict: Verdict | None) -> str:
    return "" if verdict is None else "not finite" if verdict.margin == math.inf else f"{verdict.margin:.3g}"
