"""Grades derived a second time, from the files alone: nothing of the grader is imported here.

It is written as somebody would who only knows the documents: outcomes in reports, ``decisions.toml`` and the rubric.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

DAY = timedelta(days=1)
EXCUSED = "EX"
PERSONAL = ("due", "late_days", "excuse", "attempt", "team")
Grades = dict[str, float | str | None]


def second_opinion(folder: Path, rubric: Path) -> Grades:
    """From a student's id to the grade, "EX" for whoever is excused, None for whoever has none."""
    whole = tomllib.loads(rubric.read_text(encoding="utf-8"))
    listed = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["submissions"]
    reports = {one["id"]: json.loads((folder / one["id"] / "report.json").read_text("utf-8")) for one in listed}
    owners = {entry: [one["id"] for one in _origin(report).get("students", [])] for entry, report in reports.items()}
    ids: dict[str, list[str]] = {}
    for entry, report in reports.items():
        for one in _origin(report).get("students", []):
            ids |= {text: [one["id"]] for text in (one["id"], one["email"], one["name"])}
        ids.setdefault(entry, owners[entry])
    person: dict[str, dict[str, Any]] = defaultdict(dict)
    work: dict[str, dict[str, Any]] = defaultdict(dict)
    rule = {}
    for one in _decisions(folder):
        slot = one.get("override") or one.get("withdraw")
        slot = slot or next(name for name in (*PERSONAL, "comment") if name in one)
        if one["student"] == "*":
            rule = one
        elif slot in PERSONAL:
            for student in ids[one["student"]]:
                person[student][slot] = None if "withdraw" in one else one[slot]
        else:
            theirs = [one["student"]] if one["student"] in reports else []
            theirs = theirs or [entry for entry, students in owners.items() if ids[one["student"]][0] in students]
            for entry in theirs:
                work[entry][slot] = one.get("points")
    candidates: dict[str, list[tuple[str, float | None]]] = defaultdict(list)
    for entry, report in reports.items():
        team = [mate for student in owners[entry] for name in person[student].get("team") or () for mate in ids[name]]
        for student in dict.fromkeys(owners[entry] + team):
            candidates[student].append((entry, _grade(report, work[entry], person[student], whole)))
    return {
        student: EXCUSED if person[student].get("excuse") else _counting(person[student], found, reports, rule)
        for student, found in candidates.items()
    }


def _decisions(folder: Path) -> list[dict[str, Any]]:
    """Of all graders, in the order of time; those of one moment in the order of their file."""
    paths = [folder / "decisions.toml", *sorted((folder / "decisions").glob("*.toml"))]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.exists()]
    found = [one for text in texts for one in tomllib.loads(text).get("decision", [])]
    return sorted(found, key=lambda one: one["when"])


def _counting(
    person: dict[str, Any], found: list[tuple[str, float | None]], reports: dict[str, Any], rule: dict[str, Any]
) -> float | None:
    there = [one for one in found if _origin(reports[one[0]]).get("source") != "roster"]
    which = person.get("attempt") or rule.get("attempt")
    if len(there) < 2:
        return there[0][1] if there else None
    if which == "best":
        return max((grade for _, grade in there if grade is not None), default=None)
    if which == "last":
        return max(there, key=lambda one: _origin(reports[one[0]])["submitted_at"])[1]
    return dict(there)[which] if which else None


def _grade(
    report: dict[str, Any], overrides: dict[str, Any], person: dict[str, Any], rubric: dict[str, Any]
) -> float | None:
    policy = rubric["policy"]
    worth = {prop["id"]: prop["points"] for task in rubric["tasks"] for prop in task["properties"]}
    bonus = {prop["id"] for task in rubric["tasks"] if task.get("bonus") for prop in task["properties"]}
    decided = {name: points for name, points in overrides.items() if points is not None}
    if report["status"] != "graded" and "score" not in decided:
        return None
    ended = {prop["id"]: prop["outcome"] for task in report["tasks"] for prop in task["properties"]}
    points = {name: worth[name] if ended[name] == "passed" else 0 for name in ended}
    points |= {name: min(given, worth[name]) for name, given in decided.items() if name in worth}
    tasks = {task["id"]: [prop["id"] for prop in task["properties"]] for task in rubric["tasks"]}
    for task, given in ((task, decided[task]) for task in tasks if task in decided):
        points |= dict.fromkeys(tasks[task], 0) | {tasks[task][0]: given}  # as a whole, wherever it stands
    totals = [sum(points[name] for name in points if (name in bonus) is extra) for extra in (False, True)]
    score, extra = decided.get("score", totals[0]), decided.get("bonus", totals[1])
    earned = score + min(extra, policy.get("bonus_cap", extra))
    late = max(0, _days(_origin(report), policy, person.get("due")) - (person.get("late_days") or 0))
    penalty = policy.get("late_penalty", {})
    share = penalty.get("per_day", 0) * late + (penalty.get("flat", 0) if late else 0)
    return float(round(earned - round(min(1.0, share) * earned, 2), 2))


def _days(origin: dict[str, Any], policy: dict[str, Any], deadline: datetime | None) -> int:
    """Days begun; what a platform says goes before the deadline, and a deadline of one's own before both."""
    due, seconds = policy.get("due"), origin.get("late_s")
    moment = datetime.fromisoformat(origin["submitted_at"]) if origin.get("submitted_at") else None
    if moment is None and seconds is not None and due:
        moment = due + timedelta(seconds=seconds)
    if deadline and moment:
        over = moment - deadline
    elif seconds is not None:
        over = timedelta(seconds=seconds)
    elif moment and due:
        over = moment - due
    else:
        return 1 if origin.get("late") else 0
    return -(-over // DAY) if over > timedelta(minutes=policy.get("grace_minutes", 0)) else 0


def _origin(report: dict[str, Any]) -> dict[str, Any]:
    return report["submission"]["origin"] or {}


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
    return {student: row for row in rows if (student := row[key].rpartition(" ")[2])}


def _value(row: dict[str, str]) -> str:
    return next(row[name] for name in GRADES if name in row)


def uploaded(path: Path) -> Grades:
    """The cells that a platform is given, by the student's number."""
    cells = {student: _value(row) for student, row in _table(path).items()}
    return {student: cell if cell == EXCUSED else float(cell) if cell else None for student, cell in cells.items()}


def check_cells(out: Path, downloaded: Path, told: str) -> None:
    """See that no cell holds what neither the platform, nor the reports, nor the preflight's lines have said.

    Args:
        out: The folder of reports, with the upload.
        downloaded: The platform's file; Gradescope has none.
        told: What the command printed on the error stream.
    """
    lines, raw = [line.removeprefix("'") for line in told.splitlines()], _earned(out)
    changed = {  # by student and grade, the reason in the heading above
        one.removeprefix("'"): head.partition(": ")[2]
        for head, names in pairwise(lines)
        if head.partition(": ")[0].endswith((" changed", " left blank"))
        for one in names.strip().split("; ")
    }
    before: Table = _table(downloaded) if downloaded.exists() else {}
    for student, row in _table(out / f"{out.name}.csv").items():
        cell, name = _value(row), next(row[column] for column in NAMES if column in row).removeprefix("'")
        if not cell or cell == EXCUSED:
            assert any(one.startswith(f"{name} (") for one in changed), (student, changed)
        elif float(cell) not in raw.get(student, ()):
            assert any(one.startswith(f"{name}: {float(cell):g}") for one in changed), (student, cell, changed)
        comment = next((row[column] for column in COMMENTS if column in row), "")
        reasons = [why for one, why in changed.items() if one.startswith((f"{name}: ", f"{name} ("))]
        assert any(line.endswith(comment) for line in (*reasons, *[""] * (not comment))), (student, comment)
        for column, text in row.items():
            if before and column not in (*GRADES, *COMMENTS):
                assert text.removeprefix("'") == before[student][column].removeprefix("'"), (student, column)


def _earned(out: Path) -> dict[str, list[float]]:
    """Score and bonus as the grader found them, for each submission of a student."""
    found: dict[str, list[float]] = {}
    for path in out.glob("*/report.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        for student in (report["submission"]["origin"] or {}).get("students", []):
            if report["status"] == "graded":
                found.setdefault(student["id"], []).append(report["score"] + report["bonus"])
    return found
