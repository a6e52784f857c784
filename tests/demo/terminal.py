"""Prints what a demo finds, as it comes, within the columns of the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from ..harness.messages import Language
from ..harness.terminal import pad, painter, width, wrap
from .findings import Section
from .layers import Report
from .words import say

NARROWEST, WIDEST = 40, 96
MARKS = {"yours": ("●", "green"), "todo": ("○", "yellow"), "stopped": ("✗", "red")}  # running is not yet right


class Terminal:
    """Prints within the columns of the terminal."""

    def __init__(self, language: Language) -> None:
        """Find out how many columns there are."""
        self._language = language
        self._columns = min(max(shutil.get_terminal_size().columns - 1, NARROWEST), WIDEST)
        self._paint = painter()

    def tell(self, text: str, colour: str = "") -> None:
        """Print a text, wrapped, and an empty line."""
        for line in wrap(text, self._columns):
            print(self._paint(line, colour) if colour else line)
        print(flush=True)

    def reports(self, reports: list[Report]) -> None:
        """Print which layers are the student's."""
        most = max(len(report.name) for report in reports)
        for report in reports:
            mark, colour = MARKS[report.state]
            lines = wrap(say(self._language, report.state, why=report.why), self._columns - most - 6)
            for number, line in enumerate(lines):
                print(
                    f"  {self._paint(mark, colour)} {pad(report.name, most)}  {line}"
                    if not number
                    else " " * (most + 6) + line
                )
        print()

    def heading(self, section: Section) -> None:
        """Print the title, and what right layers give."""
        print(self._paint(section.title, "bold"), end="\n\n")
        self.tell(section.right, "dim")

    def stream(self, characters: Iterable[str]) -> None:
        """Print characters as they come, and break lines where they are full."""
        column = 0
        for piece in characters:
            if column + width(piece) > self._columns - 2 or (piece == " " and column > self._columns - 12):
                piece = "\n" + piece.lstrip(" ")
            print(piece.replace("\n", "\n  "), end="", flush=True)
            column = 2 + width(piece.rpartition("\n")[2]) if "\n" in piece else column + width(piece)
        print("\n" if column else "", flush=True)

    def rest(self, section: Section) -> None:
        """Print what was measured."""
        if section.stopped:
            stop = section.stopped
            self.tell(f"✗ {say(self._language, 'stopped_in', name=stop.name, why=stop.why)}", "red")
        for right, sentence in section.verdicts:
            self.tell(f"✗ {sentence}" if right is False else sentence, "red" if right is False else "")
