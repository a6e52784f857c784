"""The practice of an assignment: students write tests, and implementations of known truth say what these are worth."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Practice:
    """Implementations of one function that students never see.

    Attributes:
        function: Its name.
        file: The name of the file of tests that students hand in.
        points: What a file of tests is worth that catches every wrong implementation.
        right: From names to source text.
        mistakes: From names of wrong implementations to the edit that makes each: which correct one it is an edit
            ``of``, the ``old`` text and the ``new`` one.
    """

    function: str
    file: str
    points: float
    right: Mapping[str, str]
    mistakes: Mapping[str, Mapping[str, str]]

    @property
    def wrong(self) -> dict[str, str]:
        """From names of wrong implementations to source text.

        Raises:
            ValueError: If the text that an edit replaces does not occur exactly once.
        """
        for edit in self.mistakes.values():
            if self.right[edit["of"]].count(edit["old"]) != 1:
                raise ValueError(f"{edit['old']!r} must occur exactly once in {edit['of']}; fix the edit.")
        edits = self.mistakes.items()
        return {name: self.right[edit["of"]].replace(edit["old"], edit["new"]) for name, edit in edits}


def read(folder: Path) -> Practice:
    """The practice that ``practice.toml`` in a folder declares; correct implementations are files in ``right``."""
    declared = tomllib.loads((folder / "practice.toml").read_text(encoding="utf-8"))
    right = {path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / "right").glob("[a-z]*.py"))}
    return Practice(right=right, **declared)
