"""Grades one hostile submission as any other, then checks its report, this machine, and the next submission."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grader import PACKAGE
from grader.core.assignment import Assignment
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.results.report import Report
from grader.core.sandbox.limits import Isolation, Limits
from grader.core.settings import Settings
from grader.lab.fingerprints import Lines, of_lines, squeezed
from grader.lab.processes import descendants
from grader.specimens.attacks import Attack, attacks_of

# Shorter than for a class, since many attacks hang, but long enough for an attack that hangs in every property.
LIMITS = Limits(request_s=2, import_s=2, timeouts=40, submission_s=50)
MOST_S = 300.0  # for one attack: its limits allow a minute of computing, several on a busy machine
MOST_BYTES = 300_000  # of one report
NUMBER = re.compile(r"\d\.\d{3}")  # the grader rounds to three digits; a longer number comes from an input
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@dataclass(frozen=True)
class Attempt:
    """How one attack ended under one isolation.

    Attributes:
        isolation: The layers of isolation that held.
        covered: Whether these layers are meant to stop the attack; if not, the attack was not tried.
        problem: What the attack gained or damaged; empty if nothing.
    """

    name: str
    isolation: str
    covered: bool
    problem: str = ""


def judge(assignment: Assignment, name: str, without: tuple[str, ...]) -> Attempt:
    """Try one attack with all layers that this machine offers, except those in ``without``."""
    # The others run on the CPU alone; `liars.is_right_only_where_it_has_answered_before` earns all points only there.
    device = "auto" if name.startswith("devices.") else "cpu"
    attack, grader = known(assignment)[name], grader_for(assignment, device=device, limits=LIMITS, without=without)
    isolation = grader.isolation
    if not covers(isolation, attack):
        return Attempt(name, str(isolation), covered=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = "; ".join(problems(assignment, attack, grader, Path(folder)))
    except Exception as error:  # a fault of the grader; the next attack gets a new grader
        found = f"makes the grader fail: {error!r}"
        grader.close()
        grader_for.cache_clear()
    return Attempt(name, str(isolation), covered=True, problem=found)


@cache
def known(assignment: Assignment) -> dict[str, Attack]:
    """All attacks by name."""
    return {attack.name: attack for attack in attacks_of(assignment)}


def covers(isolation: Isolation, attack: Attack) -> bool:
    """Whether the layers that hold are meant to stop the attack; seccomp denies opening files, and so stops all."""
    return attack.needs in ("", *isolation.held) or "seccomp" in isolation.held


@cache
def grader_for(assignment: Assignment, **settings: Any) -> Judge:
    """A judge in this process, kept for the next submission with the same settings."""
    return Judge(Settings(assignment, **settings))


def problems(assignment: Assignment, attack: Attack, grader: Judge, folder: Path) -> Iterator[str]:
    """Grade the attack, then an honest submission; yields a line for each problem.

    Processes that the attack leaves behind are found among the descendants of this process. It must be a subreaper,
    so that processes whose parent has died become its children.
    """
    running, started = set(descendants(os.getpid())), time.monotonic()
    submission = attack.build(folder)
    report = grader.grade(submission)
    if (took_s := time.monotonic() - started) > MOST_S:
        yield f"took {took_s:.0f} s"
    after = set(descendants(os.getpid()))
    if left := after - running:
        yield f"left {len(left)} processes behind"
    if ended := running - after:
        yield f"ended {len(ended)} processes of the grader"
    yield from misjudged(report, attack.score, attack.bonus)
    yield from exposed(report)
    yield from given_away(report, submission.files, _own_lines(assignment))
    task = assignment.rubric.tasks[0]  # only one task, to save time: this is graded after every attack
    neighbour = grader.grade(Submission("neighbour", {task.file: assignment.solution()[task.file]}))
    yield from (f"the next submission {problem}" for problem in misjudged(neighbour, task.points, 0.0))


def misjudged(report: Report, score: float | None, bonus: float | None) -> Iterator[str]:
    """How a report differs from the score and bonus that it should have; None for a submission that is unreadable."""
    status = "unreadable" if score is None else "graded"
    if report.status != status:
        yield f"is {report.status}, not {status}: {report.reason}"
    elif (report.score, report.bonus) != (score, bonus):
        properties = report.properties.values()
        lost = ", ".join(f"{prop.id} {prop.outcome}" for prop in properties if prop.points < prop.max_points)
        yield f"gets {report.score} and {report.bonus}, not {score} and {bonus}; without points: {lost or 'nothing'}"


def exposed(report: Report) -> Iterator[str]:
    """Why a report must not be shown: control characters, numbers of a test's input, hidden tests, or its size."""
    texts = _texts(report)
    for what, found in (("control characters", UNSAFE.search), ("a number of the input", NUMBER.search)):
        if text := next(filter(found, texts), ""):
            yield f"shows {what}: {text[:200]!r}"
    if any("def test_" in text for text in texts):
        yield "shows a hidden test"
    if (size := len(report.model_dump_json().encode())) > MOST_BYTES:
        yield f"has a report of {size} bytes"


def _texts(report: Report) -> list[str]:
    """The texts of a report that a submission may have chosen."""
    texts = [case.message for prop in report.properties.values() for case in prop.cases]
    return [*texts, report.reason or "", *report.submission.notices, *(file.path for file in report.submission.files)]


@cache
def _own_lines(assignment: Assignment) -> Lines:
    """Lines of the source of the grader and of the reference."""
    paths = (path for folder in (PACKAGE, assignment.root / "ref") for path in folder.rglob("*.py"))
    return Lines(line.print for path in paths for line in of_lines(path.read_text(encoding="utf-8")))


def given_away(report: Report, files: Mapping[str, str], hidden: Lines) -> Iterator[str]:
    """The leak of source in a report: a line of the grader that is not in the submission."""
    found = (line.print for text in _texts(report) for line in hidden.within(text))
    handed_in = squeezed("".join(files.values()))
    if line := next((line for line in found if line not in handed_in), ""):
        yield f"shows source of the grader: {line[:100]!r}"
