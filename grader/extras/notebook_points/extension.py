"""Practice points, from the checks of graded notebooks."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.core.messages import UserError
from grader.core.results.report import Practice


def read_practice(path: Path, worth: float) -> dict[str, Practice]:
    """Practice points by student, from the ``checks.csv`` of graded notebooks.

    It has a line for each check, with blank points where the check never ran; ``worth`` is what all are worth.

    Raises:
        UserError: If the file cannot be read, or is not such a CSV.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            students: dict[str, list[dict[str, str]]] = {}
            for row in csv.DictReader(file):
                students.setdefault(row["student_id"].removeprefix("'"), []).append(row)
        return {student: _practice(checks, worth) for student, checks in students.items()}
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
