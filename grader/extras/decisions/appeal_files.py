"""Finds the files that an appeal grades: the original submission, or replacements."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import IntakeError
from grader.core.intake.reader import Reader
from grader.core.intake.submission import Expected


class AppealError(Exception):
    """Nothing can be regraded; the message is one line with the reason and the remedy."""


def given(
    identifier: str, files: Sequence[Path], before: Candidate | None, reader: Reader, expected: Expected, scratch: Path
) -> Candidate:
    """The submission to grade; ``before`` is the one that was handed in, None if it is no longer there.

    ``files`` are none, one folder or archive with everything, or files that replace those of the same name. Copies of
    these are made in ``scratch``, an empty folder.

    Raises:
        AppealError: If there is no such thing.
        OSError: If a file cannot be copied.
    """
    for path in files:
        if not path.exists():
            raise AppealError(f"{path}: no such file or folder.")
    single = [path for path in files if path.is_file() and path.suffix in (".py", ".ipynb")]
    if files and not single:
        if len(files) > 1:
            raise AppealError(f"{files[1]}: a folder or zip is a whole submission; give only one.")
        return _one(files[0], reader, expected)
    if len(single) < len(files):
        raise AppealError("FILES: either one folder or zip, or single files; not both.")
    if before is None:
        raise AppealError(f"{identifier}: no longer among the submissions. Pass its location with --submissions.")
    return _merged(identifier, single, before, reader, expected, scratch) if single else before


def _one(path: Path, reader: Reader, expected: Expected) -> Candidate:
    """The only submission at a place."""
    try:
        found = reader.discover([path], None, (), expected)
    except IntakeError as error:
        raise AppealError(str(error)) from None
    if len(found) > 1:
        raise AppealError(f"{path}: contains {len(found)} submissions. Give the folder or zip of one student.")
    return found[0]


def _merged(
    identifier: str, single: Sequence[Path], before: Candidate, reader: Reader, expected: Expected, scratch: Path
) -> Candidate:
    """The submission with some files replaced, written into the scratch place."""
    sent, whole = scratch / "sent", scratch / "handed-in"
    sent.mkdir()
    for path in single:
        shutil.copyfile(path, sent / path.name)
    new = reader.read(_one(sent, reader, expected))
    if new.reason is not None or not new.files:
        raise AppealError(f"{', '.join(map(str, single))}: {new.reason or 'none of the required files'}")
    for name, text in {**reader.read(before).files, **new.files}.items():
        place = whole / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")
    return Candidate(identifier, whole, expected=expected)
