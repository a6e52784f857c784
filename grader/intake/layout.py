"""Finds the submission inside whatever a student packed: a nested top folder, loose files, renamed copies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from .bundle import Files, Read
from .source_rules import Refused, decoded
from .submission import (
    MAX_FILE_BYTES,
    MAX_FILES,
    PACKAGE,
    Concern,
    Unreadable,
    is_source_path,
    wording,
)

_COPY_SUFFIX = re.compile(
    r"(?:[-_ ]?\((\d+)\)|-(\d+)|[-_ ]copy)$", re.IGNORECASE
)  # norm-1.py, norm (2).py, norm copy.py


@dataclass
class Placed:
    """What has been found so far.

    Attributes:
        files: Path below the submission's root to source text.
        sources: Where each came from, as its student called it.
        notices: Remarks on guesses.
        concerns: What a person should look at.
        used: The names that were taken for files that are asked for, read or not.
    """

    files: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    concerns: list[Concern] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def place(files: Files, expected: Collection[str]) -> Placed:
    """Read the files that make a submission, by where they lie and what they are called.

    A file that cannot be read costs its own tasks only; it stays out, with a notice.

    Raises:
        Unreadable: If there are too many.
    """
    found = Placed()
    for path, name in _places(sorted(files), expected, found.notices).items():
        if path in expected:
            found.used.add(name)
        try:
            found.files[path] = _text(files[name])
            found.sources[path] = name
        except Unreadable as problem:
            found.concerns.append(Concern("left_out", f"{path} {problem}; it was left out."))
        except OSError as problem:
            why = f"{path} cannot be read ({problem.strerror or problem}); it was left out."
            found.concerns.append(Concern("left_out", why))
    return found


def _text(read: Read) -> str:
    try:
        return decoded(read(MAX_FILE_BYTES))
    except Refused as refusal:
        raise Unreadable(wording(refusal)) from None


def _places(names: list[str], expected: Collection[str], notices: list[str]) -> dict[str, str]:
    """Which name serves as which path; remarks on the guesses are added to ``notices``."""
    root = _find_root(names, expected)
    placed: dict[str, str] = {}
    if root is not None:
        inside = {name.removeprefix(root): name for name in names if name.startswith(f"{root}{PACKAGE}/")}
        placed = {path: name for path, name in inside.items() if is_source_path(path)}
        if len(placed) > MAX_FILES:
            raise Unreadable(f"{len(placed)} Python files under src/; at most {MAX_FILES} are taken.")
        if root:
            notices.append(f"Found inside the folder {root.rstrip('/')!r}.")
    for name in sorted(names, key=copy_number, reverse=True):  # handed in again, the latest counts
        path = expected_path(name, expected)
        if path and path not in placed and (root is None or name.startswith(root)):
            placed[path] = name
            notices.append(f"{name!r} was taken as {path}.")
    return placed


def _find_root(names: list[str], expected: Collection[str]) -> str | None:
    """The prefix below which ``src/`` lies with the most expected files; None where there is no such folder."""
    roots: dict[str, int] = {}
    for name in names:
        parts = name.split("/")
        for depth in (index for index, part in enumerate(parts[:-1]) if part == PACKAGE):
            root = "".join(f"{part}/" for part in parts[:depth])
            roots[root] = roots.get(root, 0) + (name.removeprefix(root) in expected)
    return max(roots, key=lambda root: (roots[root], -len(root)), default=None)


def expected_path(name: str, expected: Collection[str]) -> str | None:
    """The expected path that a loose or renamed file stands for, by its name alone."""
    stem, suffix = without_copy_suffix(name)
    by_name = {PurePosixPath(path).name: path for path in expected}
    return by_name.get(f"{stem.lower()}.py") if suffix == ".py" else None


def without_copy_suffix(name: str) -> tuple[str, str]:
    """Stem and suffix of a file, without what a platform or a browser adds to a second one of that name."""
    path = PurePosixPath(name)
    return _COPY_SUFFIX.sub("", path.stem), path.suffix


def copy_number(name: str) -> int:
    """How often a file of that name was there before: 2 for ``norm-2.py``."""
    match = _COPY_SUFFIX.search(PurePosixPath(name).stem)
    digits = (match[1] or match[2] or "1") if match else "0"
    return int(digits[:9])


def renamed(
    files: Files, used: Collection[str], missing: Iterable[str], names: Mapping[str, Collection[str]]
) -> Iterable[Concern]:
    """Files that may be missing ones under another name: offered to a person, never used.

    Args:
        files: All that was handed in.
        used: Names of those that count as something.
        missing: Expected paths that nothing counts as.
        names: What each expected path defines.
    """
    others = [name for name in sorted(files) if name.endswith(".py") and name not in used][:MAX_FILES]
    for path in missing:
        for name in others:
            stem = PurePosixPath(path).stem
            try:
                text = _text(files[name])
            except (Unreadable, OSError):
                continue
            defined = [own for own in names.get(path, ()) if re.search(rf"^(?:class|def) {own}\b", text, re.MULTILINE)]
            if defined or stem in PurePosixPath(name).stem.lower():
                why = f" (it defines {', '.join(defined)})" if defined else ""
                yield Concern("renamed", f"{path} is missing; {name!r} may be it{why}. Rename it if it is.")
