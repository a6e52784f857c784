"""``grader decide``: records decisions of staff beside the reports."""

from __future__ import annotations

import contextlib
import getpass
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.terminal import (
    EXIT_GRADER_ERROR,
    chosen,
    ending,
    fail,
    find,
    graded_folder,
    language_of,
    read_graded,
    say,
)
from grader.core.grades.graded import GradedClass, StudentGrade

from .alike import causes_of, mistake_in
from .decided import DecidedClass
from .file import undo, written_in
from .model import EVERYONE, UNEXPLAINED
from .placing import record, repeated

As = Annotated[
    str, typer.Option("--as", metavar="NAME", help="Your file, DIR/decisions/NAME.toml, if several people decide.")
]
Who = Annotated[
    str,
    typer.Option("--who", "--by", help="Who decides, for staff to see. Default: --as, or else your account name."),
]


def decide(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    student: Annotated[
        str | None, typer.Argument(metavar="STUDENT", help="An id or a name, as in show; * for everyone.")
    ] = None,
    override: Annotated[
        list[str] | None, typer.Option(metavar="WHAT", help="A property, a task, score or bonus to set to --points.")
    ] = None,
    points: Annotated[list[float] | None, typer.Option(min=0, help="New points, one for each --override.")] = None,
    comment: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="A comment for the student.")] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=NAME", help="Grade the student's file NAME as PATH, such as src/a.py."),
    ] = None,
    due: Annotated[
        str | None, typer.Option(metavar="WHEN", help="An individual deadline, such as 2026-10-09T23:59.")
    ] = None,
    late_days: Annotated[int | None, typer.Option(help="Late days without penalty, at least 1.")] = None,
    excuse: Annotated[bool, typer.Option("--excuse", help="No grade, and no penalty.")] = False,
    attempt: Annotated[
        str | None, typer.Option(metavar="WHICH", help="Which submission counts: last, best, or an id.")
    ] = None,
    team: Annotated[
        list[str] | None, typer.Option(metavar="WHO", help="A teammate who submitted together with STUDENT.")
    ] = None,
    appeal: Annotated[
        str | None, typer.Option(metavar="TEXT", help="An appeal, for review: what the student wants reconsidered.")
    ] = None,
    withdraw: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT", help="Withdraw a decision: a property, score, bonus, due, comment …"),
    ] = None,
    all_with: Annotated[
        str | None,
        typer.Option(metavar="PROPERTY[:MISTAKE]", help="Set --points for all who lost it in the same way."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--except", metavar="WHO", help="A student whom --all-with leaves out.")
    ] = None,
    taken_back: Annotated[bool, typer.Option("--undo", help="Take back the last decision or group.")] = False,
    renew: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Confirm a decision although its basis has changed.")
    ] = None,
    why: Annotated[str | None, typer.Option(help="The reason; the student sees it.")] = None,
    who: Who = "",
    grader: As = "",
    lang: Annotated[str, typer.Option(help="en or zh. Default: the locale.")] = "",
) -> None:
    """Record a decision about a student: points, comment, lateness, excuse, attempt, team. Without options, list all.

    A decision survives every regrade. Grades, pages and exports follow it; reports keep the grader's results.
    """
    if taken_back:
        with _moving(read_graded(graded_folder(out), quiet=True), grader):
            taken = undo(out, grader)
        told = ", ".join(f"{one.student}: {one.slot}" for one in taken)
        say(f"Decisions taken back: {len(taken)} ({told}).")
        return
    if points and not override and not all_with:
        fail("--points needs --override: a property, a task, score or bonus.")
    if points and len(points) != len(override or (all_with,)):
        fail(f"--points: {len(points)} values. Give one for each --override or --all-with.")
    if late_days is not None and late_days < 1:
        fail(f"--late-days {late_days}: forgives nothing. Give the number of days to forgive, or --due.")
    for one in file or ():
        path, _, named = one.partition("=")
        if path not in (paths := chosen().rubric.expected) or not named:
            fail(f"--file {one}: give PATH=NAME. PATH is one of {', '.join(paths)}.")
    language, known = language_of(lang), read_decided(out)
    options: list[tuple[str, object]] = [
        *(("override", one) for one in override or ()),
        *(("comment", one) for one in comment or ()),
        *(("file", one) for one in file or ()),
        ("due", due and _moment(due)),
        ("late_days", late_days),
        ("excuse", excuse or None),
        ("attempt", attempt),
        ("team", tuple(team) if team else None),
        ("appeal", appeal),
        *(("withdraw", one) for one in withdraw or ()),
    ]
    said = [(name, value) for name, value in options if value is not None]
    if not why and (bare := [name for name, _ in said if name not in UNEXPLAINED]):
        fail(f"--{bare[0].replace('_', '-')}: no reason given. Add --why; the student reads it.")
    # Beside other decisions, the reason is not the comment's.
    alone = len(said) == 1
    wanted = [{name: value, "why": why if name != "comment" or alone else None} for name, value in said]
    for decided, number in zip(wanted, points or (), strict=False):  # overrides come first
        decided["points"] = number
    if renew and student:
        wanted += _renewed(known, student, renew, {"why": why} if why else {})
    if all_with:
        if not points or not why or student:
            fail("--all-with needs --points and --why, and no STUDENT; --except leaves students out.")
        name, those = _all_with(known, all_with, without or ())
        wanted = [{"student": one, "override": name, "points": points[0], "why": why} for one in those]
        enter(known, wanted, who, grader)
        say(f"Decisions made: {len(wanted)}; --undo takes them back.")
        return
    if not wanted:
        if why:
            fail("--why: no decision to explain. Add one, such as --override, --due, --excuse or --comment.")
        _list(known, student, language)
        return
    if student is None:
        fail("STUDENT is missing. Give an id, a name, or * for everyone.")
    people = known.book.people
    exact = student == EVERYONE or student in people.lines or people.find(student)
    whom = student if exact else find(out, student)
    enter(known, [{"student": whom, **one} for one in wanted], who, grader)
    if file or {*(withdraw or ())} & {*chosen().rubric.expected}:
        say("Grade again to apply this; only submissions that change are graded.")


def read_decided(out: Path) -> DecidedClass:
    """A class with its decisions; says which of them a person should look at."""
    known = read_graded(out)
    assert isinstance(known, DecidedClass), "the core asks this extra"
    return known


def _all_with(known: DecidedClass, text: str, without: Sequence[str]) -> tuple[str, list[str]]:
    """The property, and the submissions that lost it by a mistake, but for those decided about and those left out.

    Without a mistake, all have to have lost it by the same cause: nobody gets points for what nobody has looked at.
    """
    name, _, mistake = text.partition(":")
    out = {find(known.folder, one) for one in without}
    causes = {submission: lost[name] for submission, lost in causes_of(known).items() if name in lost}
    those = [submission for submission, cause in causes.items() if mistake in ("", EVERYONE, mistake_in(cause))]
    if not those or (not mistake and len({*causes.values()}) > 1):
        counts = Counter(mistake_in(cause) or "not recognised" for cause in causes.values())
        there = ", ".join(f"{one} ({count})" for one, count in counts.most_common()) or "no submission failed it"
        near = get_close_matches(name, known.rubric.properties, n=1) if not causes else []
        meant = f" Did you mean {near[0]}?" if near and near[0] != name else ""
        fail(f"--all-with {text}: name one mistake, or {name}:* for all. Mistakes: {there}.{meant}")
    for submission in (submission for submission in those if name in known.book.points(submission)):
        say(f"{submission}: already decided, unchanged")
    return name, [one for one in those if one not in out and name not in known.book.points(one)]


def enter(known: DecidedClass, wanted: Sequence[Mapping[str, object]], who: str, grader: str = "") -> None:
    """Write decisions down as :func:`record` does, and print the grades that they change.

    Without ``who``, the grader decided; without both, the user who runs the command. For a team, also print which rows
    of a gradebook its submissions will reach.
    """
    with _moving(known, grader):
        made = record(known, wanted, who or grader or getpass.getuser(), grader)
    for ruling in made:
        if over := ruling.over:
            what = over.for_student(known.rubric, "en")
            say(f"{ruling.decision.student}: replaces the decision of {over.decision.author}: {what}")
    teams = [who for ruling in made if ruling.decision.team for who in ruling.about if isinstance(who, tuple)]
    works = dict.fromkeys(work for who in teams for work in known.book.people.handed_in[who])
    now = read_graded(known.folder, quiet=True) if works else known
    for graded in (graded for work in works for graded in now.grades[work]):
        row = graded.student.id or graded.student.email or "unknown"
        say(f"{graded.line.id} → row {row}, {graded.student}: {_grade(graded)}")


def _grade(graded: StudentGrade) -> str:
    return f"{graded.grade.points:g}" if graded.grade else graded.blank


def _moment(text: str) -> datetime:
    """A time as somebody typed it: a day means its end; without a zone, that of the deadline, or else this place's."""
    try:
        moment = datetime.fromisoformat(text)
        with contextlib.suppress(ValueError):
            moment = datetime.combine(date.fromisoformat(text), time(23, 59, 59))
    except ValueError:
        fail(f"--due {text}: not a date or time. Use the form 2026-10-09, 2026-10-09T23:59 or 2026-10-09T23:59+08:00.")
    due = chosen().rubric.policy.due
    return moment if moment.tzinfo else moment.replace(tzinfo=due.tzinfo) if due else moment.astimezone()


def _renewed(known: DecidedClass, student: str, slot: str, why: Mapping[str, object]) -> list[dict[str, object]]:
    """The decision there, to be renewed, maybe for another reason; for comments, all of them."""
    held = [ruling.decision for ruling in known.book.about(known.line(find(known.folder, student)))]
    there = ", ".join(decision.slot for decision in held) or "none"
    return [{**repeated(decision), **why} for decision in held if decision.slot == slot] or fail(
        f"--renew {slot}: no such decision in force. In force: {there}."
    )


@contextlib.contextmanager
def _moving(known: GradedClass, grader: str) -> Iterator[None]:
    """Print the grades that change while the block writes decisions about a class, and the file that it writes."""
    before = _grades(known)
    with ending(known.folder, EXIT_GRADER_ERROR):
        yield
    after = _grades(read_graded(known.folder))
    moved = [place for place in dict.fromkeys((*before, *after)) if before.get(place) != after.get(place)]
    for submission, student in moved:
        sides = (side.get((submission, student), "does not count") for side in (before, after))
        say(f"{student} ({submission}): {' → '.join(sides)}")
    say(f"{'no grade changes. ' if not moved else ''}{written_in(known.folder, grader)}")


def _grades(known: GradedClass) -> Mapping[tuple[str, str], str]:
    """Every grade as text, by submission and student."""
    return {(each.line.id, str(each.student)): _grade(each) for found in known.grades.values() for each in found}


def _list(known: DecidedClass, student: str | None, language: str) -> None:
    """Print all decisions that hold, or those about one student."""
    lines = [known.line(find(known.folder, student))] if student else known.lines
    told = [(line.id, ruling) for line in lines for ruling in known.book.everything(line)]
    told += [(EVERYONE, ruling) for ruling in known.book.held.get(EVERYONE, ()) if not student]
    for submission, ruling in told:
        say(f"{submission}: {ruling.for_staff(known.rubric, language)}")
    if not told:
        say("no decisions.")
