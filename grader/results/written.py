"""Reads what ``grade`` wrote into a folder: the summary and the reports."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from .report import Report, Summary, SummaryLine, first_problem, summary_line

SUMMARY = "summary.json"
ReadT = TypeVar("ReadT", Report, Summary)


class NotWritten(Exception):
    """A file of ``grade`` is missing or unusable; the message is one line that says which, and what to do."""


def read_written(path: Path, model: type[ReadT]) -> ReadT:
    """Read a file that an earlier command has written.

    Raises:
        NotWritten: If it cannot be read, or is not such a file.
    """
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise NotWritten(f"{path}: {error.strerror}. Run grade first, and give an id that is in its summary.") from None
    except ValidationError as error:
        raise NotWritten(f"{path}: not a {model.__name__.lower()} of this grader ({first_problem(error)}).") from None


def read_lines(out: Path) -> list[SummaryLine]:
    """The submissions in the summary of the last run; after a run that was stopped, all that have a report.

    Raises:
        NotWritten: If there is no report, or a file is damaged.
    """
    if (out / SUMMARY).exists():
        return read_written(out / SUMMARY, Summary).submissions
    paths = sorted(out.glob("*/report.json"))
    if not paths:
        raise NotWritten(f"{out}: no report in it. Give the folder that grade --out wrote to.")
    return [summary_line(read_written(path, Report)) for path in paths]
