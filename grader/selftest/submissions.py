"""Submissions to try the grader on: the reference with edits, as text, as a folder or as a zip."""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader import REPOSITORY
from grader.core.assignment import Assignment
from grader.core.intake.candidate import Candidate
from grader.core.intake.submission import ANYTHING, Expected, Submission
from grader.core.rubric import Rubric
from grader.examples.small.grader.assignment import ASSIGNMENT

ATTENTION, SWIGLU = "src/attention.py", "src/swiglu.py"
WORK = Rubric.model_validate(  # asks for two functions of one tensor, for tests of what student code may do
    {
        "id": "work",
        "title": {"en": "Work", "zh": "\u5de5\u4f5c"},
        "practice": 10,
        "tasks": [{"id": "task1", "title": "work", "file": "src/work.py", "names": ["work", "play"], "properties": []}],
        "misconceptions": [],
        "sha256": "",
    }
)
OPTIONAL = ("demo.py", "chat.py", "models", "practice")  # what of tests/ an assignment may do without
EXPECTED = {  # what an assignment with a nested file asks for, for tests of what is found where
    "src/functional.py": ("apply",),
    "src/modeling/norm.py": ("Norm",),
    "src/modeling/vocab.py": ("Vocab", "ParallelVocab"),
}
HANDED_IN = {path: "".join(f"class {name}: ...\n" for name in names) for path, names in EXPECTED.items()}
SEES_LATER_TOKENS = (ATTENTION, "scores.masked_fill(later, -torch.inf)", "scores")  # costs attention_causal


def edited(*edits: tuple[str, str, str], of: Assignment = ASSIGNMENT) -> dict[str, str]:
    """The reference with each ``(path, what stands there, what takes its place)`` carried out.

    Raises:
        ValueError: If the text that an edit replaces is not in the reference.
    """
    files = of.solution()
    for path, old, new in edits:
        if old not in files[path]:
            raise ValueError(f"{old!r} is not in the reference's {path}; fix the edit.")
        files[path] = files[path].replace(old, new)
    return files


def submission(files: Mapping[str, str], identifier: str = "someone") -> Submission:
    """The files as a submission."""
    return Submission(identifier, dict(files))


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files below ``folder``, and return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def from_folder(place: Path, files: Mapping[str, str | bytes]) -> Submission:
    """What intake makes of a folder with those files, where ``EXPECTED`` is asked for."""
    return Candidate("someone", write_folder(place / "someone", files), expected=EXPECTED).read()


def zipped(
    files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED, *more: tuple[str | zipfile.ZipInfo, str]
) -> bytes:
    """The bytes of a zip with those files, and with more entries that no honest tool would write."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in (*files.items(), *more):
            archive.writestr(name, content)
    return buffer.getvalue()


def read_archive(data: bytes, expected: Expected = ANYTHING) -> Submission:
    """What intake makes of an archive of these bytes."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return Candidate("someone", Path(file.name), expected=expected).read()


def handed_out(folder: Path, of: Assignment = ASSIGNMENT) -> Path:
    """Copy what a student gets into a folder, as far as the tests need it."""
    shutil.copytree(of.root / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    harness = shutil.ignore_patterns("__pycache__", "test_*.py", "rubric.toml", "second_device", *OPTIONAL)
    shutil.copytree(REPOSITORY / "tests", folder / "tests", ignore=harness)
    for test in (of.root / "tests").glob("test_*.py"):
        shutil.copy(test, folder / "tests")
    for part in OPTIONAL:
        if (path := of.root / "tests" / part).is_dir():
            shutil.copytree(path, folder / "tests" / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.is_file():
            shutil.copy(path, folder / "tests")
    shutil.copy(of.folder / "rubric.toml", folder / "tests" / "harness")
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    return folder
