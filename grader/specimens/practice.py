"""The practice of an assignment: students write tests, and implementations of known truth say what these are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Edit = tuple[str, str, str]  # (name of a correct implementation, its text, replacement)


@dataclass(frozen=True)
class Practice:
    """Implementations of one function that students never see.

    Attributes:
        function: Its name.
        file: The name of the file of tests that students hand in.
        points: What a file of tests is worth that catches every wrong implementation.
        right: From names to source text.
        mistakes: From names of wrong implementations to the edit that makes each.
    """

    function: str
    file: str
    points: float
    right: Mapping[str, str]
    mistakes: Mapping[str, Edit]

    @property
    def wrong(self) -> dict[str, str]:
        """From names of wrong implementations to source text.

        Raises:
            ValueError: If the text that an edit replaces does not occur exactly once.
        """
        for of, old, _ in self.mistakes.values():
            if self.right[of].count(old) != 1:
                raise ValueError(f"{old!r} must occur exactly once in {of}; fix the edit.")
        return {name: self.right[of].replace(old, new) for name, (of, old, new) in self.mistakes.items()}
