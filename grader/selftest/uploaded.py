"""Upload files read back: the grades in them, and whether each cell is known from what was downloaded or was said."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

from grader.selftest.second_opinion import EXCUSED, Grades

KEYS = ("ID", "Identifier", "标识符", "SID")
GRADES = ("Small (77)", "Grade", "成绩", "Total Score")
COMMENTS = ("Feedback comments", "反馈评论")
NAMES = ("Student", "Full name", "全名", "Name")
Table = dict[str, dict[str, str]]


def _table(path: Path) -> Table:
    """The rows of a file by the platform's number of the student."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file)]
    key = next(name for name in KEYS if name in rows[0])
    return {own: row for row in rows if (own := row[key].rpartition(" ")[2])}


def _value(row: dict[str, str]) -> str:
    return next(row[name] for name in GRADES if name in row)


def uploaded(path: Path) -> Grades:
    """The cells that a platform is given, by the student's number."""
    cells = {own: _value(row) for own, row in _table(path).items()}
    return {own: cell if cell == EXCUSED else float(cell) if cell else None for own, cell in cells.items()}


def check_cells(out: Path, downloaded: Path, told: str) -> None:
    """See that no cell holds what neither the platform, nor the reports, nor the preflight's lines have said.

    Args:
        out: The folder of reports, with the upload.
        downloaded: The platform's file; Gradescope has none.
        told: What the command printed on the error stream.
    """
    lines, raw = [line.removeprefix("'") for line in told.splitlines()], _earned(out)
    changed = {  # from each grade that is told with its student to the reason above it
        one.removeprefix("'"): head.partition(" changed: ")[2]
        for head, names in pairwise(lines)
        if " changed: " in head
        for one in names.strip().split("; ")
    }
    before: Table = _table(downloaded) if downloaded.exists() else {}
    for own, row in _table(out / f"{out.name}.csv").items():
        cell, name = _value(row), next(row[column] for column in NAMES if column in row).removeprefix("'")
        about = [line for line in lines if line.startswith((f"{name}: ", f"{name} ("))]
        if not cell or cell == EXCUSED:
            assert any("left blank; " in line for line in about), (own, about)
        elif float(cell) not in raw.get(own, ()):
            assert any(one.startswith(f"{name}: {float(cell):g}") for one in changed), (own, cell, changed)
        comment = next((row[column] for column in COMMENTS if column in row), "")
        reasons = [why for one, why in changed.items() if one.startswith(f"{name}: ")]
        assert any(line.endswith(comment) for line in (*about, *reasons, *[""] * (not comment))), (own, comment)
        for column, text in row.items():
            if before and column not in (*GRADES, *COMMENTS):
                assert text.removeprefix("'") == before[own][column].removeprefix("'"), (own, column)


def _earned(out: Path) -> dict[str, list[float]]:
    """Score and bonus as the grader found them, for each submission of a student."""
    found: dict[str, list[float]] = {}
    for path in out.glob("*/report.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        for student in (report["submission"]["origin"] or {}).get("students", []):
            if report["status"] == "graded":
                found.setdefault(student["id"], []).append(report["score"] + report["bonus"])
    return found
