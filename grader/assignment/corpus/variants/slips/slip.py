"""What a slip is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Slip:
    """One mistake.

    Attributes:
        name: What the mistake is called here.
        properties: The properties that the mistake breaks, and that alone may lose their points.
        steps: The steps of a template that it changes, and what stands there instead.
        misconception: Ids of the misconceptions that the feedback should name, separated by spaces; may be empty.
        excludes: The slips whose code it leaves unused, or which do not run together with it, by name.
    """

    name: str
    properties: frozenset[str]
    steps: Mapping[str, str]
    misconception: str = ""
    excludes: frozenset[str] = frozenset()

    @property
    def hints(self) -> frozenset[str]:
        """The ids in ``misconception``."""
        return frozenset(self.misconception.split())


def slip(name: str, breaks: str, misconception: str = "", excludes: str = "", **steps: str) -> Slip:
    """A slip that breaks the properties of that space-separated list."""
    return Slip(name, frozenset(breaks.split()), steps, misconception, frozenset(excludes.split()))
