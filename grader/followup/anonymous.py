"""Reports without anything that says whose they are: no id, name, time or file name, and no words of a student.

In place of an id stands a pseudonym: the same one for the same submission, which nobody can guess without the key of
the class. The key lies beside the reports, so that a pseudonym stays the same through regrades, and an assistant can
look up whose it is. A digest of the id alone is not enough: anyone with the class list could compute it for every
student.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, ValidationError

from grader.core.grades.graded import GradedClass, StudentGrade
from grader.core.intake.origin import Origin, Student
from grader.core.messages import Message, MessagePart, Part, UserError, as_data, from_data
from grader.core.results.files import write_text
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.policy import days_late
from grader.core.results.report import Attention, PropertyReport, Record, Report, SummaryLine
from grader.core.rubric import Rubric, first_problem

OURS = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MEMORY_EXCEEDED)  # outcomes whose messages are the grader's words
# Reasons whose texts name no file and nobody.
SAID = ("environment", "near_zero", "nothing_ran", "timed_out", "inconsistent", "late_without_date")
MARK = "█"
SHORT = 4  # characters; shorter names are words of programs, too, such as max
LEAST = 2  # characters of a name; a single letter would be found in every word


@dataclass(frozen=True)
class Anonymous:
    """A class in which nobody can be recognised.

    Attributes:
        names: From the id of a submission to the pseudonym that takes its place.
        rubric: Names the files that everyone hands in, and says what is late.
        hidden: Matches every id, name and address of the class.
    """

    names: Mapping[str, str]
    rubric: Rubric
    hidden: re.Pattern[str]

    def report(self, report: Report) -> Report:
        """A report that can be shown to people who should not know whose it is."""
        submission, nothing = report.submission, {"files": [], "notices": [], "notice_parts": [], "sha256": ""}
        identity = {"id": self.names[submission.id], "origin": self._origin(submission.origin)}
        changed: dict[str, object] = {
            "submission": submission.model_copy(update={**nothing, **identity}),
            "reason": None,
            "reason_parts": [],
            "provenance": report.provenance.model_copy(update={"command": ""}),
        }
        return report.with_properties(self._property).model_copy(update=changed)

    def line(self, line: SummaryLine) -> SummaryLine:
        """A line of the summary under its pseudonym."""
        return line.model_copy(update={"id": self.names[line.id], "reason": None, "origin": self._origin(line.origin)})

    def text(self, text: str) -> str:
        """A text in which nobody of the class is named."""
        return self.hidden.sub(MARK, text)

    def _origin(self, origin: Origin | None) -> Origin | None:
        """Only the platform, and whether the work was late: by its exact time, staff could find it on the platform."""
        return origin and Origin(source=origin.source, late=days_late(self.rubric.policy, origin) > 0 or origin.late)

    def _property(self, prop: PropertyReport) -> PropertyReport:
        cases = []
        for case in prop.cases:
            told = from_data(case.parts, self.text) if case.outcome in OURS else Message(*self._bare(case.parts))
            cases.append(case.model_copy(update={"message": str(told), "parts": as_data(told)}))
        return prop.model_copy(update={"cases": cases})

    def _bare(self, parts: Sequence[MessagePart]) -> Iterator[Part]:
        """Of an exception, its kind and the lines in the files that everyone has: the rest is the student's own."""
        for part in parts:
            kind, path = part["fields"].get("exception"), part["fields"].get("path")
            found = getattr(builtins, kind, None) if isinstance(kind, str) else None
            if isinstance(found, type) and issubclass(found, BaseException):
                yield Part("{exception}", {"exception": found.__name__})
            if part["key"] == FRAME and path in self.rubric.expected:
                yield Part("\n  {path}:{line}", {"path": str(path), "line": str(part["fields"].get("line"))})

    def grades(self, graded: Sequence[StudentGrade], pseudonym: str) -> list[StudentGrade]:
        """The grades of a submission; of a team, each member has a number. What people said about it is left out."""
        pairs = zip(graded, called(pseudonym, len(graded)), strict=True)
        return [replace(one, student=Student(id=name), decisions=(), blank="") for one, name in pairs]

    def attention(self, found: Iterable[Attention]) -> list[Attention]:
        """Who needs a person, and why; texts about files are left out."""
        told = (
            one.model_copy(update={"id": self.names[one.id], "text": one.text if one.code in SAID else ""})
            for one in found
            if one.id in self.names
        )
        return sorted(told, key=lambda one: one.id)  # before this, their order is that of the real ids


def called(pseudonym: str, count: int) -> list[str]:
    """What the students of a submission are called: of several, each has a number."""
    return [pseudonym] if count == 1 else [f"{pseudonym} ({number})" for number in range(1, count + 1)]


def own_names(line: SummaryLine) -> re.Pattern[str]:
    """Matches the names that students may have written into their files; a short name only in the same case."""
    return _matching([line], cased=SHORT)


def hide(known: GradedClass) -> Anonymous:
    """What takes the place of everyone in a class; raises as :func:`pseudonyms` does."""
    names = pseudonyms(known.folder, [line.id for line in known.lines])
    return Anonymous(names, known.rubric, _matching(known.lines, cased=0))


def _matching(lines: Iterable[SummaryLine], cased: int) -> re.Pattern[str]:
    """Matches identities that are whole words; one of fewer than ``cased`` characters in its own case only."""
    texts = {part for line in lines for part in _identities(line) if len(part) >= LEAST}
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    whole = "|".join(re.escape(text) if len(text) < cased else f"(?i:{re.escape(text)})" for text in longest_first)
    return re.compile(rf"(?<![^\W_])(?:{whole})(?![^\W_])" if whole else r"(?!)")


def _identities(line: SummaryLine) -> Iterator[str]:
    """Everything by which somebody may know the students of a submission."""
    yield line.id
    for student in line.origin.students if line.origin else ():
        yield from filter(None, (student.id, student.name, student.email, student.email.partition("@")[0]))
        yield from re.findall(r"\w+", student.name)


FILE = "pseudonyms.json"
LENGTH = 8  # characters of five bits each: two of a thousand students share a name once in two million classes
PREFIX = "anon-"


class _Kept(Record):
    """What the file holds."""

    key: str = Field(pattern="[0-9a-f]{64}")


def pseudonyms(folder: Path, submissions: Iterable[str]) -> dict[str, str]:
    """From the id of a submission to its pseudonym; the key is made if there is none.

    Raises:
        UserError: If the key is damaged.
        OSError: If it cannot be read or written.
    """
    path = folder / FILE
    if not path.exists():
        write_text(path, _Kept(key=secrets.token_hex(32)).model_dump_json() + "\n", mode=0o600, lasting=True)
    try:
        key = bytes.fromhex(_Kept.model_validate_json(path.read_bytes()).key)
    except ValidationError as error:
        raise UserError(
            f"{path}: {first_problem(error)}. Restore the file; without it, everyone gets a new pseudonym."
        ) from None

    def pseudonym(submission: str) -> str:
        digest = hmac.new(key, submission.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return PREFIX + base64.b32encode(digest).decode().lower()[:LENGTH]

    return {name: pseudonym(name) for name in submissions}


def known(folder: Path, submissions: Iterable[str]) -> dict[str, str]:
    """The pseudonyms as :func:`pseudonyms` gives them; empty, and no key is made, if the folder has none yet."""
    return pseudonyms(folder, submissions) if (folder / FILE).exists() else {}
