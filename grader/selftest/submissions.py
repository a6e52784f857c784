"""Submissions to try the grader on: the reference with edits, as text, as a folder or as a zip."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from grader.grading import reference_files
from grader.intake.submission import Submission

REPOSITORY = Path(__file__).parents[2]


def edited(*edits: tuple[str, str, str]) -> dict[str, str]:
    """The reference with each ``(path, what stands there, what takes its place)`` carried out.

    Raises:
        ValueError: If an edit does not find its place.
    """
    files = reference_files()
    for path, old, new in edits:
        if old not in files[path]:
            raise ValueError(f"{old!r} is not in the reference's {path}; mend the edit.")
        files[path] = files[path].replace(old, new)
    return files


def stubs() -> dict[str, str]:
    """The submission of someone who has not begun."""
    root = REPOSITORY / "src"
    return {f"src/{path.relative_to(root).as_posix()}": path.read_text() for path in sorted(root.rglob("*.py"))}


def submission(files: Mapping[str, str], identifier: str = "someone") -> Submission:
    """What intake makes of those files."""
    return Submission(identifier, dict(files))


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files below ``folder``, and give it back."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """The bytes of a zip with those files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def handed_out(folder: Path) -> Path:
    """What a student gets, as far as the tests need it."""
    for name in ("src", "tests"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "grader" / "rubric.toml", folder / "tests" / "rubric.toml")
    shutil.copy(REPOSITORY / "pyproject.toml", folder)
    return folder


def run(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m module`` in a folder, in English unless the arguments say otherwise."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
