"""Who handed in a submission, when, and through which platform, as far as the platform tells."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from grader.core.messages import Message

Source = Literal["folders", "clones", "canvas", "moodle", "gradescope", "roster"]
MAX_TEXT = 200
T = TypeVar("T")


class Student(BaseModel):
    """One person; fields that the platform lacks or hides are empty.

    Attributes:
        id: The platform's own: a Canvas user, a Moodle participant, a student number, a user name.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str = ""
    name: str = ""
    email: str = ""

    def __str__(self) -> str:
        return self.name or self.email or self.id or "unnamed student"


class Origin(BaseModel):
    """Where a submission comes from.

    Attributes:
        students: More than one for a group, none where nobody is known.
        late: What the platform flagged; null where it says nothing.
        late_s: Seconds after the deadline or its extension, where the platform says that rather than a time.
        submitted_at: ISO 8601; null where the platform does not tell. Of a clone, when the last commit was made.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    source: Source
    students: tuple[Student, ...] = ()
    late: bool | None = None
    late_s: float | None = None
    submitted_at: str | None = None


def absent(origin: Origin | None) -> bool:
    """Whether it is of somebody in the roster who handed in nothing."""
    return origin is not None and origin.source == "roster"


@dataclass(frozen=True)
class Part:
    """The part of a folder or archive that belongs to one submission: all below ``below``, or only ``files``.

    Attributes:
        below: A folder, with a slash at its end; empty for all.
        files: From the student's name for a file to its path in the folder or archive.
    """

    below: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def of(self, found: Mapping[str, T]) -> dict[str, T]:
        """Those of all files that are in this part, by the student's names for them."""
        if self.files:
            return {shown: found[path] for shown, path in self.files.items() if path in found}
        return {path.removeprefix(self.below): file for path, file in found.items() if path.startswith(self.below)}


WHOLE = Part()


@dataclass(frozen=True)
class Found:
    """A submission in an export.

    ``claimed`` is every name at the top of the export that belongs to this submission, whether it counts or not.
    """

    id: str
    part: Part
    claimed: tuple[str, ...]
    origin: Origin | None = None
    notices: tuple[Message, ...] = ()


def clean(text: object, most: int = MAX_TEXT) -> str:
    """One line of printable text from a name that a platform or a student gave; empty if it is neither text nor int."""
    if not isinstance(text, str | int) or isinstance(text, bool):
        return ""
    line = "".join(char if char.isprintable() else " " for char in unicodedata.normalize("NFC", str(text)))
    return " ".join(line.split())[:most]


def folded(text: str) -> str:
    """A text for comparison: without accents, commas and surplus blanks, in lower case."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return " ".join(plain.casefold().replace(",", " ").split())


def called(student: Student) -> list[str]:
    """Everything that a student is called, folded: id, address, and the name in either order."""
    last, _, first = student.name.partition(",")
    words = folded(student.name).split()
    texts = [
        folded(student.id),
        folded(student.email),
        " ".join(words),
        folded(f"{first} {last}"),
        " ".join(words[::-1]),
    ]
    return [*dict.fromkeys(filter(None, texts))]
