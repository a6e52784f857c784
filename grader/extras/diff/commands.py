"""``grader diff``: how a change of tests, rubric or files affects the class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.terminal import chosen, language_of, read_graded, say
from grader.core.grades.graded import GradedClass
from grader.core.results.report import Summary
from grader.core.results.written import SUMMARY, read_written
from grader.core.rubric import Rubric
from grader.followup.difference import Difference, in_order
from grader.followup.terminal import changed, print_differences, title, word


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Output folder of the earlier grading.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Output folder of the later one.")],
    lang: Annotated[str, typer.Option(help="en or zh. Default: the locale.")] = "",
) -> None:
    """Compare two gradings: who changed, in which property, and why; drops first."""
    language, rubric = language_of(lang), chosen().rubric
    found = [*_compared(old, new, language)]
    differences, same = in_order(filter(None, found)), found.count(None)
    for text in tallies(differences, rubric, language):
        say(text)
    print_differences(differences, same, rubric, language)


def tallies(differences: Iterable[Difference], rubric: Rubric, language: str) -> Iterator[str]:
    """A line per changed property: how many students lost and gained points by it, most losers first."""
    titles, lost, gained = {}, Counter[str](), Counter[str]()
    for change in (change for difference in differences for change in difference.changes):
        titles[change.id] = title(change, rubric, language)
        gain = (change.new.points if change.new else 0) - (change.old.points if change.old else 0)
        lost[change.id] += gain < 0
        gained[change.id] += gain > 0
    for name in sorted(titles, key=lambda name: (-lost[name], -gained[name], name)):
        yield word(language, "tally", title=titles[name], lost=lost[name], gained=gained[name])


def _compared(old: Path, new: Path, language: str) -> Iterator[Difference | None]:
    """The difference of each submission in the two summaries, with only two reports in memory at a time.

    If a single submission was graded again, as for an appeal, the others are left out.
    """
    sides = _read(old, quiet=True), _read(new, quiet=False)
    before, after = ({line.id for line in side.lines} for side in sides)
    alone = len(after) == 1 and after < before
    for work in sorted(after if alone else before | after):
        yield changed(sides[0] if work in before else None, sides[1] if work in after else None, work, language)


def _read(folder: Path, quiet: bool) -> GradedClass:
    return read_graded(folder, read_written(folder / SUMMARY, Summary).submissions, quiet=quiet)


PANEL = "More"
COMMANDS = {"diff": diff}
