"""What the demo found: what the terminal tells, and the page shows again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .layers import Report, Stopped
from .plot import Plot


@dataclass
class Speech:
    """A text that a model wrote: what it went on from, and what came; above it a sentence about it, if there is one."""

    prompt: str
    about: str = ""
    text: str = ""


@dataclass
class Section:
    """One part of the demo.

    Attributes:
        title: Its heading.
        right: What right layers give.
        speeches: Texts that were written.
        verdicts: Sentences on what was measured, each with whether it is as it should be; None where nothing was.
        stopped: The error that ended the part early.
        cells: For parts of the vocabulary whether a row there is wrong; empty if there is nothing to show.
        ranks: Over how many ranks the vocabulary is split.
        plot: Losses by position, or cosines by layer.
    """

    title: str
    right: str
    speeches: list[Speech] = field(default_factory=list)
    verdicts: list[tuple[bool | None, str]] = field(default_factory=list)
    stopped: Stopped | None = None
    cells: list[bool] = field(default_factory=list)
    ranks: int = 1
    plot: Plot | None = None

    @property
    def fine(self) -> bool:
        """Whether nothing in it is wrong."""
        return self.stopped is None and all(right is not False for right, _ in self.verdicts)


class Part(NamedTuple):
    """A part that has not run yet: its heading, what right layers give, and what fills its section.

    What ``run`` yields is for the terminal alone, as it comes.
    """

    title: str
    right: str
    run: Callable[[Section], Iterator[str]]


@dataclass
class Findings:
    """All parts, and the layers that they ran on."""

    about: str
    reports: list[Report]
    sections: list[Section] = field(default_factory=list)

    @property
    def fine(self) -> bool:
        """Whether no layer stopped, and nothing is wrong."""
        return all(report.state != "stopped" for report in self.reports) and all(part.fine for part in self.sections)
