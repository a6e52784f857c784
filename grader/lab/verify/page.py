"""The kill table as a page: which property catches which mistake, with margins, and the result of each attack."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from grader.core.assignment import Assignment

from . import attacks, variants
from .attacks import Attempt
from .both_ways import Comparison
from .variants import ALL_DTYPES, REFERENCE, STUBS, Verdict

Result = Verdict | Attempt | Comparison
Kind = TypeVar("Kind", Verdict, Attempt, Comparison)


def _of(kind: type[Kind], results: Iterable[Result]) -> list[Kind]:
    return [result for result in results if isinstance(result, kind)]


def smallest_excess(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The wrong variant that came closest to passing, each by its clearest failing case."""
    return min(filter(_is_wrong, _measured(verdicts)), key=_margin, default=None)


def largest_share(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The right submission that came closest to failing."""
    return max((v for v in _measured(verdicts) if v.valid), key=_margin, default=None)


def _measured(verdicts: Iterable[Verdict]) -> Iterator[Verdict]:
    return (verdict for verdict in verdicts if verdict.margin is not None)


def _margin(verdict: Verdict) -> float:
    return verdict.margin or 0.0


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
    wrong = [verdict for verdict in verdicts if _is_wrong(verdict)]
    right = [verdict for verdict in verdicts if verdict.valid]
    blocks = [
        ["# Kill table", "", "Written by `grader verify`; explained in `judging.md` and `threat-model.md`.", ""],
        [f"- {line}" for line in summary(results)],
        ["", "## By property", "", *_by_property(assignment, wrong)],
        ["", "## Wrong variants", "", *_wrong(assignment, _by_name(wrong))],
        ["", "## Correct variants", "", *_right(_by_name(right))],
        ["", "## Attacks", "", *_attacks(assignment, attempts)],
    ]
    return "\n".join(line for block in blocks for line in block) + "\n"


def _is_wrong(verdict: Verdict) -> bool:
    return not verdict.valid and verdict.name != STUBS


def _problems(results: Sequence[Result]) -> int:
    return sum(bool(result.problem) for result in results)


def _by_name(verdicts: Iterable[Verdict]) -> Mapping[str, list[Verdict]]:
    grouped: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        grouped.setdefault(verdict.name, []).append(verdict)
    return grouped


def _by_property(assignment: Assignment, wrong: Sequence[Verdict]) -> list[str]:
    """For each property, how many variants should break it, and the smallest margin by which one is caught."""
    breaks = {name: variant.breaks for name, variant in variants.known(assignment).items()}
    lines = [
        "| property | variants that break it | lose it | closest to passing, times its limit |",
        "|---|---|---|---|",
    ]
    for identifier in assignment.rubric.properties:
        breaking = [verdict for verdict in wrong if identifier in breaks[verdict.name]]
        caught = {verdict.name for verdict in wrong if identifier in verdict.lost}
        closest = smallest_excess(v for v in breaking if breaks[v.name] == {identifier})
        lines.append(_row(identifier, len({v.name for v in breaking}), len(caught), _size(closest)))
    return lines


def _wrong(assignment: Assignment, by_name: Mapping[str, list[Verdict]]) -> list[str]:
    """A line for each wrong variant: its cause, its charge, the smallest margin over all seeds, and every problem.

    The hint is the one that the variant has to get; ``grader.lab.charges`` counts any other.
    """
    lines = ["| variant | cause | loses | hint | fails with | times its limit |", "|---|---|---|---|---|---|"]
    for name, verdicts in by_name.items():
        variant = variants.known(assignment)[name]
        lost = ", ".join(sorted(frozenset().union(*(verdict.lost for verdict in verdicts))))
        dtypes = [dtype for dtype in ALL_DTYPES if any(dtype in verdict.dtypes for verdict in verdicts)]
        cells = (variant.description, lost + _remarks(verdicts), variant.hint or "", ", ".join(dtypes))
        lines.append(_row(name, *cells, _size(smallest_excess(verdicts))))
    return lines


def _right(by_name: Mapping[str, list[Verdict]]) -> list[str]:
    """A line for each right submission: the largest share of a limit over all seeds, and every problem."""
    lines = ["| work | times its limit |", "|---|---|"]
    for name, verdicts in by_name.items():
        lines.append(_row(name + _remarks(verdicts), _size(largest_share(verdicts))))
    return lines


def _attacks(assignment: Assignment, attempts: Sequence[Attempt]) -> list[str]:
    """A line for each attack, with a column for each isolation that it was tried under."""
    isolations = list(dict.fromkeys(attempt.isolation for attempt in attempts))
    ended = {(attempt.name, attempt.isolation): attempt for attempt in attempts}
    lines = [_row("attack", "tries", "honest part", *isolations), "|---" * (3 + len(isolations)) + "|"]
    for attack in attacks.known(assignment).values():
        if not any((attack.name, isolation) in ended for isolation in isolations):
            continue
        worth = "unreadable" if attack.score is None else f"{attack.score:g} + {attack.bonus:g}"
        ends = [_end(ended.get((attack.name, isolation)), attack.needs) for isolation in isolations]
        lines.append(_row(attack.name, attack.description, worth, *ends))
    return lines


def _end(attempt: Attempt | None, needs: str) -> str:
    if attempt is None:
        return ""
    return (f"**{attempt.problem}**" if attempt.problem else "fails") if attempt.covered else f"not covered: {needs}"


def _remarks(verdicts: Sequence[Verdict]) -> str:
    return "".join(f" **{verdict.problem} (seed {verdict.seed})**" for verdict in verdicts if verdict.problem)


def _size(verdict: Verdict | None) -> str:
    return "" if verdict is None else "not finite" if math.isinf(_margin(verdict)) else f"{_margin(verdict):.3g}"


def _row(*cells: object) -> str:
    texts = (str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(texts)} |"
