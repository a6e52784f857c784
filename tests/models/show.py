"""What ``make demo`` and ``make chat`` share: run parts, print what they find as it comes, and write it as a page."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import torch

from ..harness.student import import_packages
from ..harness.terminal import LANGUAGES, Language, language_of, pad, painter, width, wrap
from .layers import Report, Stopped
from .page import Section, page, say

NARROWEST, WIDEST = 40, 96
MARKS = {"yours": ("●", "green"), "todo": ("○", "yellow"), "stopped": ("✗", "red")}  # running is not yet right


class Model(Protocol):
    """A model with a student's layers: a sentence about it, a report on each layer, and the parts to run."""

    about: str
    reports: list[Report]

    def parts(self) -> list[Section]:
        """What there is to see."""


def parser(module: str) -> argparse.ArgumentParser:
    """The options that both commands have."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", allow_abbrev=False)
    made.add_argument("--out", type=Path, default=Path("demo.html"), help="the page to write")
    made.add_argument("--part", type=int, help="run only this part: 1, 2, …")
    made.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    return made


def show(options: argparse.ArgumentParser, load: Callable[[argparse.Namespace, Language], Model]) -> int:
    """Run all parts of what ``load`` makes, and write the page; return 0 only if nothing the student wrote is wrong."""
    arguments = options.parse_args()
    torch.set_num_threads(1)  # this and a seed give the same text each time, also where a layer draws numbers
    torch.manual_seed(0)
    language = arguments.lang
    terminal = Terminal(language)
    import_packages()
    try:
        with torch.no_grad():
            model = load(arguments, language)
            sections = _run(model, arguments.part, terminal, language)
        arguments.out.write_text(page(model.about, model.reports, sections, language), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    terminal.tell(say(language, "page", page=arguments.out))
    fine = all(report.state != "stopped" for report in model.reports) and all(section.fine for section in sections)
    return 0 if fine else 1


def _run(model: Model, number: int | None, terminal: Terminal, language: Language) -> list[Section]:
    """Run the parts, or one of them, and print what they find."""
    terminal.tell(model.about)
    terminal.reports(model.reports)
    parts = model.parts()
    if number is not None and not 1 <= number <= len(parts):
        raise ValueError(say(language, "no_such_part", number=number, last=len(parts)))
    for place, section in enumerate(parts, start=1):
        section.title = f"{place}  {section.title}"
    chosen = [parts[number - 1]] if number else parts
    for section in chosen:
        terminal.run(section)
    terminal.tell(say(language, "not_shown"))
    return chosen


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
            first, *others = wrap(say(self._language, report.state, why=report.why), self._columns - most - 6)
            print(f"  {self._paint(*MARKS[report.state])} {pad(report.name, most)}  {first}")
            for line in others:
                print(" " * (most + 6) + line)
        print()

    def run(self, section: Section) -> None:
        """Print the title and what right layers give, run the part, and print what it measured."""
        print(self._paint(section.title, "bold"), end="\n\n")
        self.tell(section.right, "dim")
        try:
            self._stream(section.run(section))
        except Stopped as stop:
            section.verdicts.insert(0, (False, say(self._language, "stopped_in", name=stop.name, why=stop.why)))
        for right, sentence in section.verdicts:
            self.tell(f"✗ {sentence}" if right is False else sentence, "red" if right is False else "")

    def _stream(self, characters: Iterable[str]) -> None:
        """Print characters as they come, and break lines where they are full."""
        column = 0
        for piece in characters:
            if column + width(piece) > self._columns - 2 or (piece == " " and column > self._columns - 12):
                piece = "\n" + piece.lstrip(" ")
            print(piece.replace("\n", "\n  "), end="", flush=True)
            column = 2 + width(piece.rpartition("\n")[2]) if "\n" in piece else column + width(piece)
        print("\n" if column else "", flush=True)
