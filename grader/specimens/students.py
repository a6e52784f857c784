"""A sample class to try the grader on; each student hands in the reference with a few edits."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.core.assignment import Assignment
from grader.core.results.files import write_zip


@dataclass(frozen=True)
class SampleStudent:
    """One student of the class.

    Attributes:
        id: The name of the folder or the zip.
        story: What the student did, in one line.
        edits: The mistakes, as edits of the reference: the ``path`` of a file, the ``old`` text and the ``new`` one.
        stubs: Files that the student left as they were handed out; one of a task that was deleted is passed over.
        without: Files that the student forgot.
        latin_1: Files that are not UTF-8, by path, as text that is written in Latin-1; ``""`` stands for the whole zip.
        packed: ``folder``, ``zip``, or ``nested`` for a zip in which a folder holds all files.
    """

    id: str
    story: str
    edits: Sequence[Mapping[str, str]] = ()
    stubs: Sequence[str] = ()
    without: Sequence[str] = ()
    latin_1: Mapping[str, str] = field(default_factory=dict)
    packed: str = "folder"


def students(assignment: Assignment) -> list[SampleStudent]:
    """The class, from the assignment's ``corpus/students.toml``."""
    text = (assignment.folder / "corpus" / "students.toml").read_text(encoding="utf-8")
    return [SampleStudent(**entry) for entry in tomllib.loads(text)["students"]]


def files_of(assignment: Assignment, student: SampleStudent) -> dict[str, bytes]:
    """The files that the student handed in.

    Raises:
        ValueError: If the text that an edit replaces is not in the reference.
    """
    texts, stubs = assignment.solution(), assignment.stubs()
    texts |= {path: stubs[path] for path in student.stubs if path in stubs}
    for edit in student.edits:
        path, old = edit["path"], edit["old"]
        if old not in texts.get(path, ""):
            raise ValueError(f"{student.id}: {old!r} is not in the reference's {path}; fix the edit.")
        texts[path] = texts[path].replace(old, edit["new"])
    data = {path: text.encode() for path, text in texts.items() if path not in student.without}
    return {**data, **{path: text.encode("latin-1") for path, text in student.latin_1.items()}}


def write_class(assignment: Assignment, folder: Path) -> None:
    """Write every student's submission into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for student in students(assignment):
        files = files_of(assignment, student)
        if "" in files:
            (folder / f"{student.id}.zip").write_bytes(files[""])
        elif student.packed == "folder":
            write_files(files, folder / student.id)
        else:
            write_zip(files, folder / f"{student.id}.zip", "my homework" if student.packed == "nested" else "")


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files below a folder."""
    for path, data in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
