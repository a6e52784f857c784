"""``python -m tests.demo``, behind ``make demo``: run the model, report what it does, and write the page."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

from ..harness.messages import Language, language_of
from ..harness.student import import_packages
from ..harness.terminal import pad, painter, width, wrap
from .checkpoint import load
from .findings import Findings, Section
from .layers import RANKS, Report, Stopped
from .page import page
from .parts import CELLS, Demo
from .words import say

PARTS = ("speaks", "ranks", "stretch")  # methods of Demo, and keys of sentences
STOPPED_BY_CTRL_C = 130
NARROWEST, WIDEST = 40, 96
MARKS = {"yours": ("●", "green"), "todo": ("○", "yellow"), "stopped": ("✗", "red")}  # running is not yet right


def main() -> int:
    """Run the demo and return 0 only if nothing that the student wrote is wrong in it."""
    arguments = _parser().parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # older Windows consoles have other encodings
    torch.set_num_threads(1)  # this and a seed give the same text each time, also where a layer draws numbers
    torch.manual_seed(0)
    try:
        return _run(arguments, arguments.lang or language_of())
    except KeyboardInterrupt:
        return STOPPED_BY_CTRL_C


def _run(arguments: argparse.Namespace, language: Language) -> int:
    try:
        checkpoint = load()
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    import_packages()
    with torch.no_grad():
        chosen = [PARTS[arguments.part - 1]] if arguments.part else PARTS
        findings = _shown(Demo(checkpoint, language), chosen, language)
    try:
        arguments.out.write_text(page(findings, language), encoding="utf-8")
    except OSError as error:
        print(f"{arguments.out}: {error.strerror}", file=sys.stderr)
        return 2
    Terminal().tell(say(language, "page", page=arguments.out))
    return 0 if findings.fine else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo.html"), help="the page to write")
    parser.add_argument("--part", type=int, choices=range(1, 1 + len(PARTS)), help="only this part")
    parser.add_argument("--lang", choices=("en", "zh"), help="language; default: the locale")
    return parser


def _shown(demo: Demo, parts: Sequence[str], language: Language) -> Findings:
    """Run these parts, and print what they find."""
    terminal = Terminal()
    findings = Findings(say(language, "model", **demo.facts), demo.desk.reports)
    terminal.tell(findings.about)
    terminal.reports(findings.reports, language)
    for name in parts:
        section = Section(say(language, name), say(language, f"{name}_right", **demo.facts))
        findings.sections.append(section)
        terminal.heading(section)
        try:
            terminal.stream(getattr(demo, name)(section))
        except Stopped as stop:
            section.stopped = stop
        terminal.rest(section, language)
    terminal.tell(say(language, "not_shown"))
    return findings


class Terminal:
    """Prints within the columns of the terminal."""

    def __init__(self) -> None:
        """Find out how many columns there are."""
        self._columns = min(max(shutil.get_terminal_size().columns - 1, NARROWEST), WIDEST)
        self._paint = painter()

    def tell(self, text: str, colour: str = "") -> None:
        """Print a text, wrapped, and an empty line."""
        for line in wrap(text, self._columns):
            print(self._paint(line, colour) if colour else line)
        print(flush=True)

    def reports(self, reports: list[Report], language: Language) -> None:
        """Print which layers are the student's."""
        most = max(len(report.name) for report in reports)
        for report in reports:
            mark, colour = MARKS[report.state]
            lines = wrap(say(language, report.state, why=report.why), self._columns - most - 6)
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

    def rest(self, section: Section, language: Language) -> None:
        """Print what was measured."""
        if section.plot:
            print("\n".join(section.plot.in_letters(self._columns)), end="\n\n")
        if section.stopped:
            stop = section.stopped
            self.tell(f"✗ {say(language, 'stopped_in', name=stop.name, why=stop.why)}", "red")
        for right, sentence in section.verdicts:
            self.tell(f"✗ {sentence}" if right is False else sentence, "red" if right is False else "")
        if section.cells:
            marks = ["X" if wrong else "." for wrong in section.cells]
            half = CELLS // RANKS
            print(f"  {''.join(marks[:half])}|{''.join(marks[half:])}", end="\n\n")
            self.tell(say(language, "marks", all=CELLS), "dim")
