"""``python -m grader.samples DIR`` writes the sample class to a folder."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from .students import STUDENTS, SampleStudent

REPOSITORY = Path(__file__).parents[2]
MOMENT = (2026, 9, 1, 12, 0, 0)  # of every file in a zip, so that the same class has the same bytes


def files_of(student: SampleStudent) -> dict[str, bytes]:
    """What the student handed in.

    Raises:
        ValueError: If an edit does not find its place.
    """
    texts = {f"src/{name}": text for name, text in _tree("ref").items()}
    stubs = {f"src/{name}": text for name, text in _tree("src").items()}
    texts |= {path: stubs[path] for path in student.stubs}
    for path, old, new in student.edits:
        if old not in texts[path]:
            raise ValueError(f"{student.id}: {old!r} is not in the reference's {path}; mend the edit.")
        texts[path] = texts[path].replace(old, new)
    data = {path: text.encode() for path, text in texts.items() if path not in student.without}
    return {**data, **student.raw}


def _tree(folder: str) -> dict[str, str]:
    root = REPOSITORY / folder
    paths = [root / "__init__.py", root / "functional.py", *sorted((root / "modeling").glob("*.py"))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def write_class(folder: Path) -> None:
    """Write every student's submission, in place of what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for student in STUDENTS:
        files = files_of(student)
        if "" in files:
            (folder / f"{student.id}.zip").write_bytes(files[""])
        elif student.packed == "folder":
            for path, data in files.items():
                target = folder / student.id / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        else:
            _write_zip(folder / f"{student.id}.zip", files, "my homework/" if student.packed == "nested" else "")


def _write_zip(path: Path, files: Mapping[str, bytes], prefix: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(prefix + name, MOMENT), data)


if __name__ == "__main__":
    write_class(Path(sys.argv[1]))
