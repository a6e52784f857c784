"""Finds the submission inside whatever a student packed: a nested top folder, loose files, renamed copies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from .submission import (
    EXPECTED,
    MAX_FILES,
    MAX_NAME,
    MAX_SOURCE_BYTES,
    PACKAGE,
    Submission,
    Unreadable,
    decode_source,
    is_source_path,
)

_BY_NAME = {PurePosixPath(path).name: path for path in EXPECTED}
_COPY_SUFFIX = re.compile(
    r"(?:[-_ ]?\((\d+)\)|-(\d+)|[-_ ]copy)$", re.IGNORECASE
)  # norm-1.py, norm (2).py, norm copy.py


def arrange(identifier: str, names: Iterable[str], read: Callable[[str], bytes]) -> Submission:
    """Make a submission of the files called ``names`` (relative, with ``/``), read by ``read``.

    A file that cannot be read costs its own tasks only; it stays out, with a notice.
    """
    placed, notices = _place(sorted(name for name in names if not _is_clutter(name)))
    files: dict[str, str] = {}
    for path, name in placed.items():
        try:
            files[path] = decode_source(read(name))
        except Unreadable as problem:
            notices.append(f"{path} {problem}; it was left out.")
        except OSError as problem:
            notices.append(f"{path} cannot be read ({problem.strerror or problem}); it was left out.")
    if (total := sum(len(text.encode()) for text in files.values())) > MAX_SOURCE_BYTES:
        raise Unreadable(f"{total >> 20} MiB of Python source; at most {MAX_SOURCE_BYTES >> 20} MiB are taken.")
    missing = [path for path in EXPECTED if path not in files]
    if len(missing) == len(EXPECTED):
        why = " ".join(notices) or f"None of {', '.join(EXPECTED)} is in the submission."
        return Submission(identifier, notices=tuple(notices), reason=why)
    notices += [f"{path} is missing." for path in missing if path not in placed]
    return Submission(identifier, files, tuple(notices))


def _place(names: list[str]) -> tuple[dict[str, str], list[str]]:
    """Which name serves as which path, and remarks on the guesses."""
    root = _find_root(names)
    notices = []
    if root is not None:
        inside = {name.removeprefix(root): name for name in names if name.startswith(f"{root}{PACKAGE}/")}
        placed = {path: name for path, name in inside.items() if is_source_path(path)}
        if len(placed) > MAX_FILES:
            raise Unreadable(f"{len(placed)} Python files under src/; at most {MAX_FILES} are taken.")
        if root:
            notices.append(f"Found inside the folder {root.rstrip('/')!r}.")
    else:
        placed = {}
    for name in sorted(names, key=copy_number, reverse=True):  # handed in again, the latest counts
        path = expected_path(name)
        if path and path not in placed and (root is None or name.startswith(root)):
            placed[path] = name
            notices.append(f"{name!r} was taken as {path}.")
    return placed, notices


def _find_root(names: list[str]) -> str | None:
    """The prefix below which ``src/`` lies with the most expected files; None where there is no such folder."""
    roots: dict[str, int] = {}
    for name in names:
        parts = name.split("/")
        for depth in (index for index, part in enumerate(parts[:-1]) if part == PACKAGE):
            root = "".join(f"{part}/" for part in parts[:depth])
            roots[root] = roots.get(root, 0) + (name.removeprefix(root) in EXPECTED)
    return max(roots, key=lambda root: (roots[root], -len(root)), default=None)


def expected_path(name: str) -> str | None:
    """The expected path that a loose or renamed file stands for, by its name alone."""
    stem, suffix = without_copy_suffix(name)
    return _BY_NAME.get(f"{stem.lower()}.py") if suffix == ".py" else None


def without_copy_suffix(name: str) -> tuple[str, str]:
    """Stem and suffix of a file, without what a platform or a browser adds to a second one of that name."""
    path = PurePosixPath(name)
    return _COPY_SUFFIX.sub("", path.stem), path.suffix


def copy_number(name: str) -> int:
    """How often a file of that name was there before: 2 for ``norm-2.py``."""
    match = _COPY_SUFFIX.search(PurePosixPath(name).stem)
    digits = (match[1] or match[2] or "1") if match else "0"
    return int(digits[:9])


def _is_clutter(name: str) -> bool:
    return len(name) > MAX_NAME or any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
