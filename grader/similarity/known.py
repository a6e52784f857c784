"""What everybody was given or can look up: the stubs, the reference, and answers that were published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from ..assignment import reference_paths
from .code import NOTHING, Array, TooLong, read_code

STUBS: Final = Path(__file__).parents[2] / "src"
REFERENCE: Final = "ref"


class KnownError(Exception):
    """A folder that holds nothing to subtract; one line that says what to do."""


@dataclass(frozen=True)
class Known:
    """Passages that say nothing about who wrote with whom.

    Attributes:
        stubs: Of what students were given to fill.
        answers: Of solutions, by what they are called.
    """

    stubs: Array
    answers: Mapping[str, Array]

    @cached_property
    def everything(self) -> Array:
        """All of them, each once, sorted."""
        return np.unique(np.concatenate([self.stubs, *self.answers.values()]))


def read_known(folders: Iterable[Path] = (), stubs: Path = STUBS) -> Known:
    """The stubs, the reference, and every Python file below ``folders``.

    Raises:
        KnownError: If a folder has no Python file, or one that cannot be read or compared.
    """
    answers = {REFERENCE: _passages(reference_paths(), REFERENCE)}
    answers |= {str(folder): _below(folder) for folder in folders}
    return Known(_below(stubs), answers)


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
        raise KnownError(f"{called}: no Python file to subtract in it. Give a folder that has some.")
    return np.unique(np.concatenate(found))
