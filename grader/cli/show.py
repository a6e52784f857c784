"""``grader show``: results in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..decisions.folder import about
from ..decisions.words import for_staff
from ..results.language import in_language
from ..results.outcome import Outcome
from ..results.report import Report
from ..results.statistics import class_statistics, entry
from .console import print_class, print_decisions, print_report, print_statistics
from .decided import DecidedClass, read_decided
from .terminal import OUT, fail, find, language_of, pseudonyms_in, say


def show(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="ID", help="One submission, or a name; all, if left out.")
    ] = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Who is who on the pages that report --anonymous writes.")
    ] = False,
    test: Annotated[
        str,
        typer.Option("--test", metavar="PROPERTY", help="The test that the student can copy for this lost property."),
    ] = "",
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh. Default: the locale.")] = "",
) -> None:
    """Show the class and its statistics, or one submission with every lost point explained, in the terminal."""
    rubric, language = ASSIGNMENT.rubric, language_of(lang)
    known = read_decided(out, rubric)
    if pseudonyms:
        _print_pseudonyms(known, identifier)
        return
    if identifier:
        line = known.line(find(out, identifier))
        if test:
            _print_test(in_language(known.report(line.id), ASSIGNMENT, language), test)
            return
        print_report(in_language(known.report(line.id), ASSIGNMENT, language), rubric, language, OUT)
        print_decisions([for_staff(ruling, rubric, language) for ruling in about(line, known.book)], OUT)
        return
    entries = [entry(known.report(line.id), line.practice) for line in known.lines]
    print_class(entries, OUT)
    print_statistics(class_statistics(entries), rubric, language, OUT)


def _print_test(report: Report, wanted: str) -> None:
    """Print the test of a property, for ``tests/`` in the student's folder."""
    lost = {prop.id: prop for task in report.tasks for prop in task.properties if prop.outcome is not Outcome.PASSED}
    if wanted not in lost or wanted not in ASSIGNMENT.laws:
        there = ", ".join(name for name in lost if name in ASSIGNMENT.laws) or "nothing"
        fail(f"{wanted}: no test to copy. {report.submission.id} lost {there}.")
    prop = lost[wanted]
    OUT.out(ASSIGNMENT.laws[wanted].test(prop.title, prop.stated), end="", highlight=False)


def _print_pseudonyms(known: DecidedClass, identifier: str | None) -> None:
    """Print who is who, by pseudonym."""
    lines = [known.line(find(known.folder, identifier))] if identifier else known.lines
    hidden = pseudonyms_in(known.folder, lines)
    if not hidden:
        fail(f"{known.folder}: nobody has a pseudonym yet. `grader report {known.folder} --anonymous` gives them.")
    for line in sorted(lines, key=lambda line: hidden[line.id]):
        names = ", ".join(map(str, line.origin.students)) if line.origin else ""
        say(f"{hidden[line.id]}  {line.id}  {names}".rstrip())
