"""Prints what second hand-ins regain."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..decisions.rounds import Repair
from ..decisions.words import repair_sentence
from ..results.report import Summary
from ..rubric import Rubric
from .decided import read_decided
from .terminal import read_written, say


def print_repair(first: Path, rubric: Rubric) -> None:
    """A line for each student who regains something, and for each second hand-in without a first one."""
    known = read_decided(first, rubric)
    used = set()
    for line in known.lines:
        path = known.rounds.path(line)
        used.add(path)
        repair = known.repair(line.id) if path else None
        if repair:
            say(f"{line.id}: {repair_sentence(repair, 'en')}")
    for own in read_written(known.rounds.folder / "summary.json", Summary).submissions:
        if own.score is not None and known.rounds.folder / own.id / "report.json" not in used:
            say(f"{own.id}: no first hand-in to repair, or several second ones; it counts for nobody.")


def print_regained(repair: Repair, language: str, console: Console) -> None:
    """What one student's second hand-in regains, property by property."""
    console.print(Text("\nRepaired", style="bold"))
    console.print(Text(f"  {repair_sentence(repair, language)}"), soft_wrap=True)
    for own in repair.regained:
        text = f"  {own.first:>4g} → {own.second:<4g} +{own.points:<4g} {own.title}"
        console.print(Text(text), soft_wrap=True)
