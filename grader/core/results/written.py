"""Output of earlier commands: the summary and reports of ``grade``, and the places of their submissions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from grader.core.intake.candidate import NOWHERE, Candidate, Place
from grader.core.intake.origin import absent
from grader.core.messages import UserError
from grader.core.rubric import first_problem

from .files import write_json
from .report import Attention, Record, Report, Summary, SummaryLine, summary_line

SUMMARY, REPORT = "summary.json", "report.json"
ReadT = TypeVar("ReadT", bound=Record)
REMEDY = "Run grade first; if it was interrupted, run the same command again."


class NotWritten(UserError):
    """A file of ``grade`` is missing or unusable."""


def read_written(path: Path, model: type[ReadT], remedy: str = REMEDY) -> ReadT:
    """Read a file that an earlier command has written, which is ``grade`` unless ``remedy`` names another.

    Raises:
        NotWritten: If it cannot be read, or is not such a file.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}. {remedy}") from None
    except ValidationError as error:
        what = f"not a {model.__name__.lower()} of this grader ({first_problem(error)})"
        raise NotWritten(f"{path}: {what}. {remedy}") from None


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
    """What every ``grade`` into a folder was given, the last one at the end; each added to the class.

    Attributes:
        found: From an id to where that submission was found, relative to the folder of reports, and its name there.
    """

    runs: list[Sources]
    found: dict[str, Place] = Field(default_factory=dict)


def note(
    out: Path,
    paths: Iterable[Path],
    source: str | None,
    roster: Path | None,
    every_attempt: bool = False,
    replace: bool = False,
    candidates: Iterable[Candidate] = (),
) -> None:
    """Note in a folder of reports where its submissions lie, beside what earlier runs noted unless they are replaced.

    Raises:
        OSError: If the file cannot be written.
    """
    here = os.path.abspath(out)
    relative = [os.path.relpath(path, here) for path in paths]
    kept = os.path.relpath(roster, here) if roster else None
    last = Sources(paths=relative, source=source, roster=kept, every_attempt=every_attempt)
    before = Runs(runs=[]) if replace else noted(out)
    earlier = [run for run in before.runs if run.paths != last.paths]
    real = os.path.realpath(out)
    now = {one.id: (os.path.relpath(one.place[0], real), one.name) for one in candidates if not absent(one.origin)}
    write_json(out / SOURCES, Runs(runs=[*earlier, last], found=before.found | now))


def noted(out: Path) -> Runs:
    """The noted places; empty if the file is missing or damaged."""
    with contextlib.suppress(OSError, ValidationError):
        return Runs.model_validate_json((out / SOURCES).read_bytes())
    return Runs(runs=[])


def places(out: Path) -> dict[str, Place]:
    """Where each submission of the class was found; in a folder of an earlier version, ids alone."""
    real = os.path.realpath(out)
    if found := noted(out).found:
        return {one: (os.path.normpath(os.path.join(real, path)), name) for one, (path, name) in found.items()}
    with contextlib.suppress(NotWritten):
        return {line.id: NOWHERE for line in read_lines(out) if not absent(line.origin)}
    return {}
