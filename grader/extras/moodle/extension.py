"""Moodle: whose the files of its export are, the worksheet of grades that it imports, and the lateness that this tells.

The worksheet was downloaded from Moodle; grades and comments are filled in. Moodle finds participants by
``Identifier``, and ignores rows whose ``Last modified (grade)`` is older than the grade on the site. It refuses a grade
above ``Maximum Grade``. Headings are in the site's language, the order is always the same: ``Identifier`` first,
``Maximum Grade`` after ``Grade``, and ``Feedback comments``, where the assignment has them, after ``Last modified
(grade)``. Source: ``mod/assign/gradingtable.php`` of https://github.com/moodle/moodle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from grader.core.export.rows import Export, Format, Request, Row, remarks
from grader.core.export.table import inert, number
from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import Listing
from grader.core.intake.origin import Found, Origin, Part, Student, absent, clean
from grader.core.intake.roster import PARTICIPANT, match, read_rows, student_of
from grader.followup.table import GRADE, IDENTIFIER, MODIFIED, place, read_number, read_template

_ENTRY = re.compile(
    r"(?P<name>.*?)_(?P<id>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<rest>/|[^/]+)", re.DOTALL
)

STATUS = ("status", "状态")
SUBMITTED = ("Submitted for grading", "已提交")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
UNITS |= {"秒": 1, "分": 60, "小": 3600, "时": 3600, "天": 86400, "日": 86400, "年": 365 * 86400}
_SPAN = r"(?:\d+\s*[^\W\d]+\s*)+"
_LATE = re.compile(rf"(?P<en>{_SPAN})\blate\b|迟交?\s*(?P<zh>{_SPAN})")


def submissions(listing: Listing) -> list[Found]:
    """Moodle, "Download all submissions": a folder for each participant, or, in an older variant, flat files.

    ``{full name}_{participant id}_assignsubmission_file/…``, before Moodle 4.1 with another ``_`` at the end. Flat
    files: ``…_assignsubmission_file_{file}``. With blind marking the name is ``Participant`` in the site's language. A
    text typed in online comes as ``…_assignsubmission_onlinetext``. Of several numbers the first counts: a flat file
    may be called as if it were another participant's. Only the grading worksheet says whether a submission is late.
    """
    by_id: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ENTRY.fullmatch(name):
            by_id.setdefault(match["id"], []).append(match)
    return [_of_participant(participant, matches) for participant, matches in by_id.items()]


def _of_participant(participant: str, matches: list[re.Match[str]]) -> Found:
    """One participant's submission: the files, or the text typed in online if there is no file."""
    matches.sort(key=lambda match: match["plugin"])
    first = matches[0]
    if first["rest"] == "/":
        part = Part(below=first.string)
    else:
        flat = [match for match in matches if match["plugin"] == first["plugin"] and match["rest"] != "/"]
        part = Part(files={match["rest"]: match.string for match in flat})
    name = clean(first["name"])
    student = Student(id=participant, name="" if name in PARTICIPANT else name)
    claimed = tuple(match.string for match in matches)
    return Found(f"{name} {participant}", part, claimed, Origin(source="moodle", students=(student,)))


def with_lateness(candidates: Iterable[Candidate], roster: Path) -> list[Candidate]:
    """The candidates, with lateness from a worksheet if no time is known; a group is as late as its latest member.

    Raises:
        UserError: If the roster cannot be read.
    """
    late_s = read_lateness(roster)
    everyone = [*late_s]

    def told(candidate: Candidate) -> Candidate:
        origin = candidate.origin
        if origin is None or origin.submitted_at or absent(origin):
            return candidate
        listed = filter(None, (match(student, everyone) for student in origin.students))
        seconds = max((late_s[student] for student in listed), default=None)
        if seconds is None:
            return candidate
        return replace(candidate, origin=origin.model_copy(update={"late": seconds > 0, "late_s": seconds}))

    return [told(candidate) for candidate in candidates]


def read_lateness(path: Path) -> dict[Student, float]:
    """Seconds that each student was late, if the roster is a grading worksheet of Moodle that says so.

    A student whose status is in unknown words is left out, rather than taken to be in time.

    Raises:
        UserError: If it cannot be read.
    """
    known = {}
    for _, row in read_rows(path):
        status = next((row[column] for column in STATUS if row.get(column)), "")
        if (late := _late_s(status)) is not None:
            known[student_of(row)] = late
    return known


def _late_s(status: str) -> float | None:
    """The seconds in a status like "Submitted for grading - 1 day 3 hours late"; None if the status does not tell."""
    if found := _LATE.search(status):
        spans = re.findall(r"(\d+)\s*([^\W\d])", found["en"] or found["zh"])
        return float(sum(int(count) * UNITS.get(unit, 0) for count, unit in spans))
    return 0.0 if any(word in status for word in SUBMITTED) and not re.search(r"\d", status) else None


ABSENT = "not in the worksheet. Download it again, or add them to the course"


def export(rows: Sequence[Row], request: Request) -> Export:
    """The worksheet with grades and comments.

    Raises:
        ExportError: If there is no worksheet, or it lacks a column that Moodle asks for.
    """
    template = read_template(request.template, "the grading worksheet of the assignment")
    target = template.column(GRADE)
    comments = template.column(MODIFIED) + 1
    people = template.students(IDENTIFIER)
    filled = [[*map(inert, row[:target]), *row[target:]] for row in template.rows]  # Moodle reads the first alone
    told = []
    for row in rows:
        line = place(row, people, "moodle")
        if line is None:
            told.append(replace(row, refused=ABSENT))
            continue
        cells = filled[line]
        most = cells[target + 1] if target + 1 < len(cells) else ""
        updated = replace(row, there=read_number(cells[target]), refused=_refused(row, most))
        told.append(updated)
        if updated.cell:
            points = number(updated.cell.points)
            cells[target] = points.replace(".", ",") if "," in most else points
        if comments < len(cells):
            remark = updated.remark if updated.cell or updated.excused else ""
            added = [escape(text, quote=False) for text in (updated.comment, remark)]  # the column holds HTML
            new = [text for text in added if text and text not in cells[comments]]
            cells[comments] = inert(" ".join(filter(None, [cells[comments], *new]))) if new else cells[comments]
    return Export({"moodle.csv": template.text(filled)}, told, remarks(told))


def _refused(row: Row, most: str) -> str:
    """Why Moodle would not take a grade."""
    limit = read_number(most)
    if limit is None or row.grade is None or row.grade.points <= limit:
        return ""
    what = "score plus bonus" if row.report.bonus else "the score"
    return f"{what} exceeds the worksheet's maximum {limit:g}; set bonus_cap or raise the maximum"


FORMATS = {"moodle": Format(export, "return {out} --to moodle --template WORKSHEET.csv")}
