"""Exports as platforms make them, of a generated class: good, wrong, hostile, empty, late and duplicated work."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.export.table import written
from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, zipped

NAMES = ("Ada Lovelace", "O'Neil, Jr", "王芳", '=HYPERLINK("x")', 'Zoë "Z" Müller', "Nguyễn Văn An")
KINDS = ("good", "wrong", "hostile", "empty", "late", "duplicated")
FULL = ASSIGNMENT.rubric.max_score
LOST = ASSIGNMENT.rubric.properties["attention_causal"].points
SCORES: dict[str, float | None] = {"good": FULL, "late": FULL, "duplicated": FULL, "wrong": FULL - LOST}
SCORES |= dict.fromkeys(("hostile", "empty", "absent"))

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Someone:
    """A student of the generated class."""

    number: int
    name: str
    kind: str

    @property
    def user(self) -> str:
        """The name that the platform shows."""
        return str(4000 + self.number)

    @property
    def email(self) -> str:
        """The e-mail address."""
        return f"s{self.number}@example.org"


def class_of(count: int) -> list[Someone]:
    """So many students who handed something in, and one who did not."""
    names = (f"{NAMES[number % len(NAMES)]} {number}" for number in range(count))
    everyone = [Someone(number, name, KINDS[number % len(KINDS)]) for number, name in enumerate(names)]
    return [*everyone, Someone(count, "Absent, Anton", "absent")]


@cache
def _work(kind: str) -> Files:
    """The files that a student of that kind handed in last."""
    match kind:
        case "wrong":
            return {
                Path(path).name: text.encode()
                for path, text in edited(SEES_LATER_TOKENS).items()
                if "__init__" not in path
            }
        case "hostile":
            return {"../../escaped.zip": _hostile()}
        case "empty":
            return {"notes.txt": b"I ran out of time."}
        case "duplicated":
            return {"submission-1.zip": zipped(ASSIGNMENT.solution())}
        case _:
            return {"submission.zip": zipped(ASSIGNMENT.solution())}


def _hostile() -> bytes:
    """A zip with paths that lead out of the folder, with a link, and with nothing to grade."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../../escaped.py", "x = 1\n")
        link = zipfile.ZipInfo(ATTENTION)
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return buffer.getvalue()


def canvas(people: Sequence[Someone]) -> Files:
    """Flat files; somebody who handed in twice has both, the later one with a larger attachment id."""
    files: dict[str, bytes] = {}
    attachment = 90_000
    for person in people:
        work = dict(_work(person.kind)) if person.kind != "absent" else {}
        if person.kind == "duplicated":
            work = {"submission.zip": zipped(ASSIGNMENT.stubs()), **work}
        name = re.sub(r"\W", "", person.name).lower()
        for file, data in work.items():
            attachment += 1
            flag = "_LATE" if person.kind == "late" else ""
            files[f"{name}{flag}_{person.user}_{attachment}_{file.replace('../', '')}"] = data
    return files


def moodle(people: Sequence[Someone]) -> Files:
    """A folder for each participant."""
    return {
        f"{person.name}_{person.user}_assignsubmission_file/{file}": data
        for person in people
        if person.kind != "absent"
        for file, data in _work(person.kind).items()
    }


def gradescope(people: Sequence[Someone]) -> Files:
    """A folder for each submission, below one for the assignment, with the metadata that Ruby wrote."""
    files: dict[str, bytes] = {}
    lines = ["---"]
    for person in people:
        times = {"late": [23], "duplicated": [8, 9], "absent": []}.get(person.kind, [9])
        for attempt, hour in enumerate(times):
            folder = f"submission_{10 * person.number + attempt + 1}"
            last = attempt == len(times) - 1
            work = _work(person.kind) if last else {"submission.zip": zipped(ASSIGNMENT.stubs())}
            files |= {f"assignment_7_export/{folder}/{file}": data for file, data in work.items()}
            quoted = person.name.replace("'", "''")
            lines += [f"{folder}:", "  :submitters:", f"  - :name: '{quoted}'", f"    :sid: '{person.user}'"]
            lines += [f"    :email: {person.email}", f"  :created_at: 2026-10-02 {hour:02}:00:00.123456000 Z"]
            lines += ["  :score: 0.0", "  :status: processed"]
    return {**files, "assignment_7_export/submission_metadata.yml": "\n".join(lines).encode()}


def gradebook(people: Sequence[Someone]) -> str:
    """A Canvas gradebook as it is downloaded, with two assignments, the second of which is the graded one."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A1 (55)", "Small (77)"]
    possible = ["    Points Possible", "", "", "", "", "10", "100"]
    rows = [[person.name, person.user, f"sis{person.number}", person.email, "1", "9", ""] for person in people]
    return written([head, possible, *rows])


def worksheet(people: Sequence[Someone], most: str = "150.00") -> str:
    """A Moodle grading worksheet as it is downloaded."""
    head = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
    head += ["Last modified (submission)", "Last modified (grade)", "Feedback comments"]
    return written(
        [
            head,
            *(
                [
                    *(f"Participant {person.user}", person.name, person.email, _status(person)),
                    *("", most, "Yes", "Friday, 2 October 2026, 9:00 AM", "-", ""),
                ]
                for person in people
            ),
        ]
    )


def _status(person: Someone) -> str:
    late = " - 1 day 3 hours late" * (person.kind == "late")
    return f"Submitted for grading{late} - Not marked"


def write_zip(path: Path, files: Files) -> Path:
    """Write an export as a zip, and return its path."""
    path.write_bytes(zipped(files))
    return path
