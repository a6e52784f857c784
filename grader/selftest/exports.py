"""Exports as platforms make them, of a generated class: good, wrong, hostile, empty, late and duplicated work."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from grader.core.export.table import written
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, zipped

NAMES = ("Ada Lovelace", "O'Neil, Jr", "王芳", '=HYPERLINK("x")', 'Zoë "Z" Müller', "Nguyễn Văn An")
KINDS = ("good", "wrong", "hostile", "empty", "late", "duplicated")
FULL = ASSIGNMENT.rubric.max_score
LOST = ASSIGNMENT.rubric.properties["attention_causal"].points
SCORES: dict[str, float | None] = {"good": FULL, "late": FULL, "duplicated": FULL, "wrong": FULL - LOST}
SCORES |= dict.fromkeys(("hostile", "empty", "absent"))

DUE = datetime(2026, 10, 2, 20)  # in UTC
LATE = 3 * 60  # minutes
NOTHING = ("absent", "mate")  # kinds without a submission of their own

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Someone:
    """A student of the generated class.

    Attributes:
        kind: What was handed in; a ``mate`` is in the team of the student before.
        minutes: How late, where the platform says so; None for what the platform says of everyone who is late.
    """

    number: int
    name: str
    kind: str
    minutes: int | None = None

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
    link = zipfile.ZipInfo(ATTENTION)
    link.external_attr = 0o120777 << 16
    return zipped({"../../../escaped.py": "x = 1\n"}, zipfile.ZIP_STORED, (link, "/etc/passwd"))


def canvas(people: Sequence[Someone]) -> Files:
    """Flat files; somebody who handed in twice has both, the later one with a larger attachment id."""
    files: dict[str, bytes] = {}
    attachment = 90_000
    for person in people:
        work = dict(_work(person.kind)) if person.kind not in NOTHING else {}
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
        if person.kind not in NOTHING
        for file, data in _work(person.kind).items()
    }


def gradescope(people: Sequence[Someone]) -> Files:
    """A folder for each submission, below one for the assignment, with the metadata that Ruby wrote."""
    files: dict[str, bytes] = {}
    lines = ["---"]
    for person in people:
        moments = {"late": [LATE], "duplicated": [-12 * 60, -11 * 60], "absent": [], "mate": []}
        times = [person.minutes] if person.minutes is not None else moments.get(person.kind, [-11 * 60])
        mates = [one for one in people if one.kind == "mate" and one.number == person.number + 1]
        for attempt, minutes in enumerate(times):
            folder = f"submission_{10 * person.number + attempt + 1}"
            last = attempt == len(times) - 1
            work = _work(person.kind) if last else {"submission.zip": zipped(ASSIGNMENT.stubs())}
            files |= {f"assignment_7_export/{folder}/{file}": data for file, data in work.items()}
            lines += [f"{folder}:", "  :submitters:"]
            for one in (person, *mates):
                quoted = one.name.replace("'", "''")
                lines += [f"  - :name: '{quoted}'", f"    :sid: '{one.user}'", f"    :email: {one.email}"]
            lines += [f"  :created_at: {DUE + timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S}.123456000 Z"]
            lines += ["  :score: 0.0", "  :status: processed"]
    return {**files, "assignment_7_export/submission_metadata.yml": "\n".join(lines).encode()}


def gradebook(people: Sequence[Someone]) -> str:
    """A Canvas gradebook as it is downloaded, with two assignments, the second of which is the graded one."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "A1 (55)", "Small (77)"]
    possible = ["    Points Possible", "", "", "", "", "10", "100"]
    rows = [[person.name, person.user, f"sis{person.number}", person.email, "1", "9", ""] for person in people]
    return written([head, possible, *rows])


ENGLISH = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
ENGLISH += ["Last modified (submission)", "Last modified (grade)", "Feedback comments"]
CHINESE = ["标识符", "全名", "电子邮件地址", "状态", "成绩", "最高分", "成绩可以更改"]
CHINESE += ["最后修改（提交）", "最后修改（成绩）", "反馈评论"]


def worksheet(people: Sequence[Someone], most: str = "150.00", chinese: bool = False) -> str:
    """A Moodle grading worksheet as it is downloaded, from a site in English or in Chinese."""
    word, status, changes = ("参与者", _chinese_status, "是") if chinese else ("Participant", _status, "Yes")
    moment = "2026-10-02" if chinese else "Friday, 2 October 2026, 9:00 AM"
    rows = (
        [f"{word} {person.user}", person.name, person.email, status(person), "", most, changes, moment, "-", ""]
        for person in people
    )
    return written([CHINESE if chinese else ENGLISH, *rows])


PACKS = {  # from published language packs: identifier and its word, full name, grade, last modified (grade)
    "zh_cn": ("标识符", "参与者", "全名", "成绩", "最后修改（成绩）"),
    "zh_cn_older": ("编号", "参与者", "全名", "成绩", "最后修改（成绩）"),
    "zh_cn_newer": ("标识符", "参与者", "全名", "成绩", "最后修改 (评分)"),
    "de": ("ID", "Teilnehmer/in", "Vollständiger Name", "Bewertung", "Zuletzt geändert (Bewertung)"),
    "es": ("Identificador", "Participante", "Nombre completo", "Calificación", "Última modificación (calificación)"),
    "fr": ("Identifiant", "Participant", "Nom complet", "Note", "Dernière modification (note)"),
    "nl": ("Identificatie", "Deelnemer", "Volledige naam", "Cijfer", "Laatst gewijzigd (beoordeling)"),
    "ru": ("Идентификатор", "Участник", "Полное имя", "Оценка", "Последнее изменение (оценка)"),
    "ja": ("ID", "参加者", "氏名", "評点", "最終更新日時 (評定)"),
    "en": ("Identifier", "Participant ", "Full name", "Grade", "Last modified (grade)"),
}


def worksheet_in(language: str, names: Mapping[str, str], most: str = "150.00") -> str:
    """The columns of a Moodle worksheet that matter, from a site in one of these languages."""
    identifier, word, name, grade, modified = PACKS[language]
    head = [identifier, name, grade, "(maximum)", modified, "(comments)"]
    return written([head, *([f"{word}{key}", names[key], "", most, "-", ""] for key in names)])


def _status(person: Someone) -> str:
    late = f" - {_span(person, 'day', 'hour', 'min')} late" * (person.kind == "late")
    return f"Submitted for grading{late} - Not marked"


def _span(person: Someone, *units: str) -> str:
    """How late somebody is, in words."""
    minutes = 27 * 60 if person.minutes is None else person.minutes
    counts = (minutes // 1440, minutes // 60 % 24, minutes % 60)
    return " ".join(f"{count} {unit}" for count, unit in zip(counts, units, strict=True) if count)


def _chinese_status(person: Someone) -> str:
    if person.kind in NOTHING:
        return "没有提交"
    late = f" - 迟交 {_span(person, '天', '小时', '分钟')}" * (person.kind == "late")
    return f"已提交待评分{late} - 未评分"


def write_zip(path: Path, files: Files) -> Path:
    """Write an export as a zip, and return its path."""
    path.write_bytes(zipped(files))
    return path
