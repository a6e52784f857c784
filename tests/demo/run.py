"""What ``make demo`` and ``make chat`` have in common: run the parts, report what they do, and write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from ..harness.messages import Language, language_of
from ..harness.student import import_packages
from .checkpoint import load
from .findings import Findings, Part, Section
from .layers import Report, Stopped
from .page import page
from .parts import Demo
from .terminal import Terminal
from .words import say

STOPPED_BY_CTRL_C = 130


class Show(Protocol):
    """A model with a student's layers: a sentence about it, a report on each layer, and the parts to run."""

    about: str
    reports: list[Report]

    def parts(self) -> list[Part]:
        """What there is to see."""


def main() -> int:
    """Run the demo and return 0 only if nothing that the student wrote is wrong in it."""
    return show(parser("tests.demo"), lambda _, language: Demo(load(), language))


def parser(module: str) -> argparse.ArgumentParser:
    """The options that both commands have."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", allow_abbrev=False)
    made.add_argument("--out", type=Path, default=Path("demo.html"), help="the page to write")
    made.add_argument("--part", type=int, help="only this part, from 1 on")
    made.add_argument("--lang", choices=("en", "zh"), help="language; default: the locale")
    return made


def show(options: argparse.ArgumentParser, load: Callable[[argparse.Namespace, Language], Show]) -> int:
    """Run all parts of what ``load`` makes, and write the page; returns the exit status."""
    arguments = options.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # older Windows consoles have other encodings
    torch.set_num_threads(1)  # this and a seed give the same text each time, also where a layer draws numbers
    torch.manual_seed(0)
    language = arguments.lang or language_of()
    import_packages()
    try:
        with torch.no_grad():
            findings = _found(load(arguments, language), arguments.part, language)
        arguments.out.write_text(page(findings, language), encoding="utf-8")
    except KeyboardInterrupt:
        return STOPPED_BY_CTRL_C
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    Terminal(language).tell(say(language, "page", page=arguments.out))
    return 0 if findings.fine else 1


def _found(model: Show, number: int | None, language: Language) -> Findings:
    """Run the parts, or one of them, and print what they find."""
    terminal = Terminal(language)
    findings = Findings(model.about, model.reports)
    terminal.tell(model.about)
    terminal.reports(model.reports)
    parts = dict(enumerate(model.parts(), start=1))
    if number is not None and number not in parts:
        raise ValueError(say(language, "no_such_part", number=number, last=len(parts)))
    for place in [number] if number else parts:
        part = parts[place]
        section = Section(f"{place}  {part.title}", part.right)
        findings.sections.append(section)
        terminal.heading(section)
        try:
            terminal.stream(part.run(section))
        except Stopped as stop:
            section.stopped = stop
        terminal.rest(section)
    terminal.tell(say(language, "not_shown"))
    return findings
