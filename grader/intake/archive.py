"""Reads a submission from an archive, or from a part of a platform's zip, in memory."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import IO

from .bundle import Files, open_regular
from .origin import WHOLE, Part
from .reading import archive_files, read_files
from .submission import ANYTHING, Expected, Submission


def read_archive(
    source: Path | IO[bytes],
    identifier: str,
    part: Part = WHOLE,
    follow: bool = True,
    expected: Expected = ANYTHING,
) -> Submission:
    """The submission in an archive, or in a part of one; if it cannot be read, it has a reason.

    Args:
        source: The archive.
        identifier: The submission's id.
        part: The part of the archive that belongs to the submission.
        follow: Whether ``source`` may be a link: yes if a person named it, no in a folder of students' files.
        expected: The files that are asked for.
    """
    with contextlib.ExitStack() as stack:

        def files() -> Files:
            file = stack.enter_context(open_regular(source, follow=follow)) if isinstance(source, Path) else source
            found = archive_files(file, part)
            return {part.shown(name): read for name, read in found.items() if name in part} if part != WHOLE else found

        return read_files(identifier, files, expected)
