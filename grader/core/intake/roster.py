"""A class list: whose a submission is, one submission for each student, and who handed in nothing.

It can be any CSV with a header and a column for an id, a name or an address: Classroom 50's ``roster.csv``, a Canvas
gradebook, a Moodle worksheet, or a file made by hand.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from grader.core.messages import UserError, say

from .candidate import Candidate
from .origin import Origin, Student, clean

MAX_BYTES = 16 << 20
# Headings as heading() returns them; earlier ones are preferred. Moodle finds its participants by the first three.
IDS: tuple[str, ...] = ("identifier", "标识符", "编号", "識別碼", "identificador", "identificatie", "username")
IDS += ("id", "studentid", "sid", "sisloginid", "学号", "用户名")
MORE_IDS = ("sisuserid", "sisloginid")  # in a Canvas gradebook, beside its own
NAMES: tuple[str, ...] = ("name", "student", "fullname", "姓名", "全名", "学生")
NAMES += ("vollständigername", "nombrecompleto", "nomcomplet", "volledigenaam", "nomecompleto", "полноеимя")
FIRST_NAMES, LAST_NAMES = ("firstname", "名", "名字"), ("lastname", "姓", "姓氏")
EMAILS: tuple[str, ...] = ("email", "emailaddress", "邮箱", "电子邮箱", "邮箱地址", "电子邮件", "电子邮件地址")
EMAILS += ("email地址", "e-mail-adresse", "direccióndecorreo", "adressedecourriel", "e-mailadres", "endereçodee-mail")
# What Moodle calls a participant in its language packs; most have no blank before the number.
PARTICIPANT: tuple[str, ...] = ("Participant", "Participante", "Partecipante", "Teilnehmer/in", "Deelnemer")
PARTICIPANT += ("Deltagare", "Участник", "参与者", "參與者", "参加者")
_PARTICIPANT = re.compile(rf"(?:(?:{'|'.join(PARTICIPANT)})|.* )(?P<id>\d+)")
_NOBODY = ("points possible", "student, test", "test student")  # rows of a Canvas gradebook that hold no student
_HAN = range(0x4E00, 0xA000)
STRANGER = say("No roster entry matches this submission.")


class Listed(Student):
    """A student with the other ids that a roster has."""

    more_ids: tuple[str, ...] = ()


def read_roster(path: Path) -> list[Student]:
    """Everyone in a roster, in its order.

    Raises:
        UserError: If it cannot be read, or has no column for an id, a name or an address.
    """
    lines: dict[str, int] = {}
    students = []
    for line, row in read_rows(path):
        if (student := student_of(row)) == Student():
            continue
        if student.id and lines.setdefault(student.id, line) != line:
            before = lines[student.id]
            raise UserError(f"{path}: duplicate id {student.id!r} in lines {before} and {line}. Give each its own.")
        more = tuple(clean(row[column]).casefold() for column in MORE_IDS if row.get(column, "").strip())
        students.append(Listed(**dict(student), more_ids=more) if more else student)
    if not students:
        raise UserError(f"{path}: no student found. It needs a header with a column username, name or email.")
    return students


def read_rows(path: Path) -> list[tuple[int, Mapping[str, str]]]:
    """Every row, with the line at which it ends: its cells by heading (see :func:`heading`).

    Raises:
        UserError: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8-sig")
        rows = csv.DictReader(io.StringIO(text, newline=""), restkey="", delimiter=delimiter_of(text))
        return [
            (rows.line_num, {heading(key): value for key, value in row.items() if isinstance(value, str)})
            for row in rows
        ]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}. Give a CSV with a column username, name or email.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: not a UTF-8 CSV ({error}). Save it as one.") from None


def delimiter_of(text: str) -> str:
    """What divides cells, by the first line: a comma, a semicolon where the comma is the decimal sign, or a tab."""
    return max(",;\t", key=re.sub('"[^"]*"', "", text.partition("\n")[0]).count)


def student_of(row: Mapping[str, str]) -> Student:
    """The student in a row of cells by heading (see :func:`heading`); an empty one if there is none."""

    def first(columns: Iterable[str]) -> str:
        return next((clean(row[column]) for column in columns if row.get(column, "").strip()), "")

    name = first(NAMES) or _joined(first(FIRST_NAMES), first(LAST_NAMES))
    if any(nobody in name.casefold() for nobody in _NOBODY):
        return Student()
    identifier = first(IDS)
    found = _PARTICIPANT.fullmatch(identifier)
    return Student(id=found["id"] if found else identifier, name=name, email=first(EMAILS))


def heading(text: str) -> str:
    """A heading for comparison: without spaces and underscores, in lower case and normal width."""
    return "".join(clean(unicodedata.normalize("NFKC", text)).casefold().replace("_", " ").split())


def _joined(first: str, last: str) -> str:
    """A full name; a Chinese one begins with the family name and has no space."""
    return f"{last}{first}" if last and ord(last[0]) in _HAN else f"{first} {last}".strip()


def match(known: Student, everyone: Sequence[Student]) -> Student | None:
    """The student of a roster with the same id or address, or else the same name, if only one has it; None if none.

    An id that only the roster has beside another is the last to be compared.
    """
    for field in ("id", "email"):
        mine = getattr(known, field).casefold()
        if found := [student for student in everyone if mine and getattr(student, field).casefold() == mine]:
            return found[0]
    mine = {known.id.casefold(), known.email.casefold()}
    if found := [student for student in everyone if not mine.isdisjoint(_ids(student)[1:])]:
        return found[0]
    namesakes = [student for student in everyone if known.name and _folded(student.name) == _folded(known.name)]
    return namesakes[0] if len(namesakes) == 1 else None


def owner(repository: str, everyone: Sequence[Student]) -> Student | None:
    """The student with an id that the repository's name ends in, after a hyphen; of several, that of the longest id."""
    ids = [(one, student) for student in everyone for one in _ids(student) if one]
    ends = [(len(one), student) for one, student in ids if f"-{repository}".casefold().endswith(f"-{one}".casefold())]
    return max(ends, key=lambda end: end[0])[1] if ends else None


def _ids(student: Student) -> Sequence[str]:
    return (student.id, *(student.more_ids if isinstance(student, Listed) else ()))


def merged(known: Student, listed: Student, guessed: bool) -> Student:
    """A known student, completed from the roster.

    A platform's own id is kept, since its gradebook needs it; an id that was guessed from a folder's name is not.
    """
    ids = (listed.id, known.id) if guessed else (known.id, listed.id)
    return Student(id=ids[0] or ids[1], name=listed.name or known.name, email=known.email or listed.email)


def _folded(name: str) -> str:
    """A name for comparison: "Lovelace, Ada" is "Ada Lovelace"."""
    last, comma, first = name.casefold().partition(",")
    return " ".join((f"{first} {last}" if comma else name.casefold()).split())


def with_roster(candidates: Iterable[Candidate], roster: Sequence[Student]) -> list[Candidate]:
    """The candidates with their students' names and ids from the roster, and one for everyone who handed in nothing."""
    named: list[Candidate] = []
    present: set[Student] = set()
    for candidate in candidates:
        name = clean(candidate.called)  # of a folder or a zip, which may carry its student's name
        by_name = Origin(source="folders", students=(Student(id=name, name=name.replace("_", " ")),))
        origin = candidate.origin or by_name
        everyone = roster if origin.source == "clones" else ()
        whose = [match(student, roster) or owner(student.id, everyone) for student in origin.students]
        present.update(filter(None, whose))
        if any(whose):
            guessed = origin.source in ("folders", "clones")
            students = tuple(
                merged(student, listed, guessed) if listed else student
                for student, listed in zip(origin.students, whose, strict=True)
            )
            named.append(replace(candidate, origin=origin.model_copy(update={"students": students})))
        else:
            named.append(replace(candidate, notices=(*candidate.notices, STRANGER)))
    for student in roster:
        if student not in present:
            reason = say("No submission: {called} is in the roster but did not submit.", called=str(student))
            origin = Origin(source="roster", students=(merged(student, student, guessed=False),))
            called = student.id or student.name or student.email
            named.append(Candidate(called, Path(), origin=origin, reason=reason))
    return named


def latest(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Keep only the last of several submissions of the same students, if the platform tells when each was handed in."""
    kept: dict[object, Candidate] = {}
    for number, candidate in enumerate(candidates):
        origin = candidate.origin
        timed = origin is not None and origin.students and origin.submitted_at
        key: object = frozenset(origin.students) if origin and timed else number
        if (before := kept.setdefault(key, candidate)) is candidate:
            continue
        older, newer = sorted((before, candidate), key=_moment)
        earlier = say("{called} is an earlier submission of the same students", called=older.id)
        kept[key] = replace(newer, notices=(*newer.notices, earlier.then(say("it is left out."))))
    return [*kept.values()]


def _moment(candidate: Candidate) -> datetime:
    return datetime.fromisoformat(candidate.origin.submitted_at or "") if candidate.origin else datetime.min
