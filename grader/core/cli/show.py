"""``grader show``, and what else a person reads in the terminal about a class or about one submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer
from rich.cells import cell_len, set_cell_size
from rich.table import Column, Table
from rich.text import Text

from grader.core.extras import extra
from grader.core.grades.graded import GradedClass
from grader.core.pages import devices_in
from grader.core.pages import say as word
from grader.core.results.outcome import NO_MISTAKE, Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.results.statistics import ClassStatistics, Entry, beside, class_statistics, entry
from grader.core.results.views import in_language, repeats
from grader.core.rubric import Policy, Rubric

from .terminal import OUT, chosen, describe, fail, find, language_of, pseudonyms_of, read_graded, say

MARKS = {
    Outcome.PASSED: ("✓", "green"),
    Outcome.NOT_IMPLEMENTED: ("TODO", "yellow"),
    Outcome.GRADER_ERROR: ("!", "magenta"),
}

MAX_NAME = 30
LEAST_NAME = 8  # columns that are left of names and ids in a narrow terminal


def print_class(entries: Sequence[Entry], language: str) -> None:
    """Print a row for each submission, with a column for each task, and for points beside the score if there are any.

    Columns are aligned here, since tables of rich measure and wrap every cell, which takes seconds for a large class.
    """
    tasks = next((one.tasks for one in entries if one.tasks), {})
    columns, named = beside(entries), any(map(_name, entries))
    title = partial(_label, language)
    header = [
        title("submission"),
        *[title("name")] * named,
        *(f"{task} /{most:g}" for task, (_, most) in tasks.items()),
    ]
    header += map(title, ("score", "bonus", *columns))
    rows = [[one.line.id, *[_name(one)] * named, *_cells(one, len(tasks), columns, language)] for one in entries]
    widths = [max(map(cell_len, column)) for column in zip_longest(header, *rows, fillvalue="")]
    if OUT.is_terminal and (over := sum(widths) + 2 * len(widths) - 2 - OUT.width) > 0:
        header = [word.partition(" ")[0] for word in header]  # how much there is to earn, each report says as well
        widths = [max(map(cell_len, column)) for column in zip_longest(header, *rows, fillvalue="")]
        over = sum(widths) + 2 * len(widths) - 2 - OUT.width
        widths[named] = max(widths[named] - max(over, 0), LEAST_NAME)
    lines = []
    for row in (header, *rows):
        words, numbers = row[: 1 + named], row[1 + named :]
        cells = [*map(set_cell_size, words, widths), *map(_to_the_right, numbers, widths[1 + named :])]
        lines.append("  ".join(cells).rstrip())
    OUT.out(lines[0], style="bold", highlight=False)
    OUT.out("\n".join(lines[1:]), highlight=False)


def _name(one: Entry) -> str:
    """The students' names, cut off so that a row of the table stays one line."""
    return ", ".join(student.name for student in one.line.origin.students)[:MAX_NAME] if one.line.origin else ""


def _label(language: str, key: str) -> str:
    """A word of the pages, in small letters."""
    return word(language, key).lower()


def _to_the_right(cell: str, width: int) -> str:
    """A cell behind blanks; a Chinese character is two columns wide."""
    return " " * (width - cell_len(cell)) + cell


def _cells(one: Entry, tasks: int, columns: Sequence[str], language: str) -> list[str]:
    line, others = one.line, [f"{one.beside[name].points:g}" if name in one.beside else "" for name in columns]
    if line.status != "graded":
        return [*[""] * tasks, word(language, f"status_{line.shown}"), "", *others]
    return [*(f"{score:g}" for score, _ in one.tasks.values()), f"{line.score:g}", f"{line.bonus:g}", *others]


def print_statistics(statistics: ClassStatistics, rubric: Rubric, language: str, unnamed: Mapping[str, int]) -> None:
    """Print the statistics of a class, as on the class page; ``unnamed`` counts lost properties without a mistake."""
    title = partial(_label, language)
    properties = Table(Column(title("property"), overflow="fold"), box=None, header_style="bold", padding=(0, 1))
    for name in ("worth", "passed", "pass_rate", "discrimination"):
        properties.add_column(title(name), justify="right")
    for prop in statistics.properties:
        rate = "-" if prop.rate is None else f"{prop.rate:.0%}"
        weight = "-" if prop.discrimination is None else f"{prop.discrimination:.2f}"
        passed = word(language, "passed_of", passed=prop.passed, all=prop.assessed)
        properties.add_row(Text(prop.id), f"{prop.max_points:g}", passed, rate, weight)
    OUT.print()
    OUT.print(properties)
    if statistics.misconceptions or unnamed:
        OUT.print()
        _put(f"{title('holders')}  {title('mistake')}", "bold", margin=0)
    width = cell_len(title("holders"))
    hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
    for mistake in statistics.misconceptions:
        names = ", ".join(f"{name}:{mistake.id}" for name in mistake.properties)  # as decide --all-with takes them
        _put(f"{mistake.submissions:{width}}  {names}", margin=0)
        _put(hints.get(mistake.id, ""), "italic", margin=width + 2)
    for name, count in unnamed.items():
        _put(f"{count:{width}}  {word(language, 'unrecognised', name=name)}", margin=0)
    OUT.print()
    for line in (*_overview(statistics, language), late_terms(rubric.policy, language)):
        _put(line, margin=0)


def late_terms(policy: Policy, language: str) -> str:
    """What lateness costs, and when the work was due."""
    costs = [word(language, f"late_{name}", share=f"{share:.0%}") for name, share in policy.late_penalty if share]
    told = word(language, "late_and").join(costs) or word(language, "late_nothing")
    due = word(language, "late_due", due=policy.due.isoformat(sep=" ", timespec="minutes")) if policy.due else ""
    return word(language, "late_terms", costs=told, due=due)


def _overview(statistics: ClassStatistics, language: str) -> Iterator[str]:
    spreads = {"score": statistics.score, "bonus": statistics.bonus, "seconds": statistics.duration_s}
    for name, spread in spreads.items():
        if spread:
            values = {one: f"{getattr(spread, one):.1f}" for one in ("mean", "median", "lowest", "highest")}
            yield word(language, "spread", title=_label(language, name), **values)
    for outcome, (number, having) in statistics.outcomes.items():
        yield word(language, "outcomes", outcome=word(language, outcome), properties=number, submissions=having)
    for (names, isolation), count in statistics.environments.items():
        devices = devices_in(language, names)
        yield word(language, "environments", devices=devices, isolation=isolation, submissions=count)


def print_report(report: Report, rubric: Rubric, language: str, decisions: Sequence[str] = ()) -> None:
    """Print a report: a line for each property, what to do about lost points, decisions, and the total at the end."""
    alike = repeats(report)
    like = {prop.id: first for first, others in alike.items() for prop in others}
    named = ", ".join(map(str, report.submission.origin.students)) if report.submission.origin else ""
    status = word(language, f"status_{report.status}")
    _put(f"{report.submission.id}: {named or status}", "bold", margin=0)
    for notice in report.submission.notices:
        _put(word(language, "note", text=notice), margin=2)
    for task in report.tasks:
        OUT.print(Text(f"\n{task.title}  {task.score:g}/{task.max_score:g}", style="bold"))
        for prop in task.properties:
            _print_property(prop, like.get(prop.id), language)
            if others := alike.get(prop.id):
                points = prop.max_points + sum(other.max_points for other in others)
                _put(word(language, "returns", count=len(others) + 1, points=f"{points:g}"), "italic")
            if prop.outcome is not Outcome.PASSED and prop.id in rubric.properties and prop.id not in like:
                place = rubric.handout_place(prop.id, language)
                told = word(language, "read_and_try" if prop.evidence else "read_it", place=place, name=prop.id)
                _put(told, "dim")
    if decisions:
        OUT.print(Text(f"\n{word(language, 'decided')}", style="bold"))
    for text in decisions:
        _put(text, margin=2)
    _put(f"\n{report.submission.id}: {describe(report, language)}", "bold", margin=0)


def _print_property(prop: PropertyReport, like: str | None, language: str) -> None:
    mark, style = MARKS.get(prop.outcome, ("✗", "red"))
    outcome = word(language, prop.outcome)
    start = Text.assemble("  ", (f"{mark:4}", style), f" {prop.points:>4g}/{prop.max_points:<3g} ")
    again = word(language, "like", outcome=outcome, name=like) if like else ""
    _put(f"{prop.title}{again}", start=start)
    if prop.outcome is Outcome.PASSED or like:
        return
    mistake = word(language, "recognised", name=prop.misconception) if prop.misconception else ""
    _put(f"{prop.hint}{mistake}", "italic")
    if case := prop.evidence:
        message, *frames = case.message.splitlines()
        for line in (word(language, "shown", outcome=outcome, message=message, case=case.id), *frames):
            _put(line)


def _put(text: str, style: str = "", margin: int = 7, start: Text | None = None) -> None:
    """Print a text beside a margin, or beside its start; in a terminal, it is wrapped there, else it stays one line."""
    start = Text(" " * margin) if start is None else start
    if not OUT.is_terminal:
        OUT.print(Text.assemble(start, (text, style)), soft_wrap=True)
        return
    room = max(OUT.width - start.cell_len, 1)
    for number, line in enumerate(Text(text, style=style).wrap(OUT, room)):
        OUT.print(Text.assemble(start if number == 0 else " " * start.cell_len, line), soft_wrap=True)


def show(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    identifier: Annotated[
        str | None, typer.Argument(metavar="ID", help="A submission or a name. Default: the whole class.")
    ] = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="List the pseudonyms on the pages of report --anonymous.")
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of titles and hints: en or zh. Default: the locale.")] = "",
) -> None:
    """Show the class with statistics, or one submission with every lost point explained."""
    rubric, language = chosen().rubric, language_of(lang)
    known = read_graded(out)
    if pseudonyms:
        _print_pseudonyms(known, identifier)
        return
    if identifier:
        line = known.line(find(out, identifier))
        decided = [one.for_staff(rubric, language) for one in known.decisions(line)]
        print_report(in_language(known.report(line.id), chosen(), language), rubric, language, decided)
        return
    understood = viva.understood(out) if (viva := extra("viva")) else {}
    entries = [entry(known.report(line.id), line.practice, understood.get(line.id)) for line in known.lines]
    print_class(entries, language)
    lost = ((name, prop) for one in entries for name, prop in one.properties.items() if prop.outcome not in NO_MISTAKE)
    unnamed = Counter(name for name, prop in lost if not prop.misconception)
    print_statistics(class_statistics(entries), rubric, language, dict(unnamed.most_common()))


def _print_pseudonyms(known: GradedClass, identifier: str | None) -> None:
    """Print who is who, by pseudonym."""
    lines = [known.line(find(known.folder, identifier))] if identifier else known.lines
    hidden = pseudonyms_of(known.folder, [line.id for line in lines])
    if not hidden:
        fail(f"{known.folder}: no pseudonyms yet; `grader report {known.folder} --anonymous` creates them.")
    for line in sorted(lines, key=lambda line: hidden[line.id]):
        names = ", ".join(map(str, line.origin.students)) if line.origin else ""
        say(f"{hidden[line.id]}  {line.id}  {names}".rstrip())
