"""Known code, available to all students: the stubs, the reference, and published answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from grader.core.assignment import Assignment
from grader.core.rubric import SUBMITTED

from .code import NOTHING, Array, TooLong, read_code

REFERENCE: Final = "ref"


class KnownError(Exception):
    """A folder without a published answer that can be read; the message is one line that says what to do."""


@dataclass(frozen=True)
class Known:
    """Passages that students may have without copying from each other, so that they are not evidence.

    Attributes:
        stubs: The passages of the stubs.
        answers: The passages of each solution, by its name.
    """

    stubs: Array
    answers: Mapping[str, Array]

    @cached_property
    def everything(self) -> Array:
        """All known passages, each once, sorted."""
        return np.unique(np.concatenate([self.stubs, *self.answers.values()]))


def read_known(assignment: Assignment, folders: Iterable[Path] = ()) -> Known:
    """Read the stubs of the assignment, its reference, and every Python file below ``folders``.

    Raises:
        KnownError: If a folder has no Python file, or one that cannot be read or compared.
    """
    answers = {REFERENCE: _passages(assignment.solution_paths(), REFERENCE)}
    answers |= {str(folder): _below(folder) for folder in folders}
    return Known(_below(assignment.root / SUBMITTED), answers)


def _below(folder: Path) -> Array:
    paths = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    return _passages(paths, str(folder))


def _passages(paths: Iterable[Path], called: str) -> Array:
    found = [NOTHING]
    for path in paths:
        try:
            found.append(read_code(path.read_text(encoding="utf-8")).passages)
        except (OSError, ValueError, TooLong) as error:
            raise KnownError(f"{path}: cannot be subtracted ({error}).") from None
    if len(found) == 1:
        raise KnownError(f"{called}: no Python file to subtract. Give a folder with Python files.")
    return np.unique(np.concatenate(found))
