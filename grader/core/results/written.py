"""What commands wrote: the summary and reports of ``grade``, where their submissions lie, and checks of notebooks."""

from __future__ import annotations

import contextlib
import csv
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from grader.core.messages import UserError

from .report import Attention, Practice, Record, Report, Summary, SummaryLine, first_problem, summary_line, write_json

SUMMARY, REPORT = "summary.json", "report.json"
ReadT = TypeVar("ReadT", bound=Record)
REMEDY = "Run grade first, and give an id that is in its summary."


class NotWritten(UserError):
    """A file of ``grade`` is missing or unusable."""


def read_written(path: Path, model: type[ReadT], remedy: str = "") -> ReadT:
    """Read a file that an earlier command has written; ``remedy`` says what to do if it is of another than ``grade``.

    Raises:
        NotWritten: If it cannot be read, or is not such a file.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}. {remedy or REMEDY}") from None
    except ValidationError as error:
        what = f"{path}: not a {model.__name__.lower()} of this grader ({first_problem(error)}). {remedy}"
        raise NotWritten(what.rstrip()) from None


def read_lines(out: Path) -> list[SummaryLine]:
    """The submissions in the summary of the last run; after a run that was stopped, all that have a report.

    Raises:
        NotWritten: If there is no report, or a file is damaged.
    """
    if (out / SUMMARY).exists():
        return read_written(out / SUMMARY, Summary).submissions
    paths = sorted(out.glob(f"*/{REPORT}"))
    if not paths:
        raise NotWritten(f"{out}: no report in it. Give the folder that grade --out wrote to.")
    return [summary_line(read_written(path, Report)) for path in paths]


def read_report(out: Path, submission: str) -> Report:
    """The report of a submission, as the grader wrote it.

    Raises:
        NotWritten: If there is none, or it is damaged.
    """
    return read_written(out / submission / REPORT, Report)


def read_attention(out: Path) -> list[Attention]:
    """The submissions that needed a person after the last run; none if that run was stopped."""
    return read_written(out / SUMMARY, Summary).attention if (out / SUMMARY).exists() else []


SOURCES = "sources.json"


class Sources(Record):
    """What one ``grade`` into a folder was given.

    Attributes:
        paths: Submissions, folders of them or exports, relative to the folder of reports: both may move together.
        every_attempt: Whether earlier attempts of the same students were graded as well.
        source: The value of ``--from``; None where it was found out.
        roster: The path of the roster; None where none was given.
    """

    paths: list[str]
    source: str | None = None
    roster: str | None = None
    every_attempt: bool = False


class Runs(Record):
    """What every ``grade`` into a folder was given, the last one at the end; each added to the class."""

    runs: list[Sources]


def note(
    out: Path,
    paths: Iterable[Path],
    source: str | None,
    roster: Path | None,
    every_attempt: bool = False,
    replace: bool = False,
) -> None:
    """Note in a folder of reports where its submissions lie, beside what earlier runs noted unless they are replaced.

    Raises:
        OSError: If the file cannot be written.
    """
    here = os.path.abspath(out)
    relative = [os.path.relpath(path, here) for path in paths]
    kept = os.path.relpath(roster, here) if roster else None
    last = Sources(paths=relative, source=source, roster=kept, every_attempt=every_attempt)
    earlier = [] if replace else [own for own in _runs(out) if own.paths != last.paths]
    write_json(out / SOURCES, Runs(runs=[*earlier, last]))


def noted(out: Path) -> list[Sources]:
    """What was noted, with absolute paths, the last run at the end; empty where the file is missing or damaged."""
    return [
        own.model_copy(
            update={
                "paths": [os.path.abspath(out / path) for path in own.paths],
                "roster": own.roster and os.path.abspath(out / own.roster),
            }
        )
        for own in _runs(out)
    ]


def _runs(out: Path) -> list[Sources]:
    try:
        text = (out / SOURCES).read_bytes()
    except OSError:
        return []
    with contextlib.suppress(ValidationError):
        return Runs.model_validate_json(text).runs
    with contextlib.suppress(ValidationError):  # as earlier versions wrote it
        return [Sources.model_validate_json(text)]
    return []


def read_practice(path: Path, worth: float) -> dict[str, Practice]:
    """Practice points by student, from the ``checks.csv`` of graded notebooks.

    It has a line for each check, with blank points where the check never ran; ``worth`` is what all are worth.

    Raises:
        UserError: If the file cannot be read, or is not such a CSV.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            students: dict[str, list[dict[str, str]]] = {}
            for row in csv.DictReader(file):
                students.setdefault(row["student_id"].removeprefix("'"), []).append(row)
        return {student: _practice(own, worth) for student, own in students.items()}
    except OSError as error:
        raise UserError(f"--notebooks {path}: {error.strerror}. Give the checks.csv of graded notebooks.") from None
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise UserError(
            f"--notebooks {path}: not a list of checks ({error!r}). Give the checks.csv of graded notebooks."
        ) from None


def _practice(rows: Sequence[Mapping[str, str]], worth: float) -> Practice:
    most = sum(_points(row["max_points"]) for row in rows)
    earned = sum(_points(row["points"]) for row in rows if row["points"])
    unsettled = sorted(f"{row['notebook']}: {row['cell']}" for row in rows if not row["points"])
    return Practice(points=round(worth * earned / most, 2), max_points=worth, unsettled=unsettled)


def _points(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{text} points")
    return value
