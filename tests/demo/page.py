"""What a demo found, and the page that shows it with pictures: one file that needs no network and no script."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..harness.messages import Language
from .layers import Report
from .words import say


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
        parts = [f'<polygon class="band" points="{" ".join((*upper, *reversed(lower)))}"/>']
        step = 1 if high - low > 2 else 0.25
        for value in (tick * step for tick in range(math.ceil(low / step), math.floor(high / step) + 1)):
            parts.append(f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y(value)}" y2="{y(value)}"/>')
            parts.append(f'<text x="{left - 6}" y="{y(value) + 4}" text-anchor="end">{value:g}</text>')
        for position in sorted({1, self.trained or 1, 2 * self.trained or 1, self._length}):
            anchor = "end" if position == self._length else "middle"
            parts.append(f'<text x="{x(position)}" y="{top + height + 20}" text-anchor="{anchor}">{position}</text>')
        if self.trained:
            border = x(self.trained)
            parts.append(f'<line class="border" x1="{border}" x2="{border}" y1="{top}" y2="{top + height}"/>')
            parts.append(f'<text x="{border + 6}" y="{top + 14}">{html.escape(self.words["trained_to"])}</text>')
        for curve in self.curves:  # a dotted one comes last, to be seen where it follows another
            points = " ".join(f"{middle},{y(value)}" for middle, value in zip(middles, curve.values, strict=True))
            parts.append(f'<polyline class="curve {curve.key}" points="{points}"/>')
        parts.append(
            f'<text x="{left + width}" y="{top + height + 42}" text-anchor="end">{self.words["axis_x"]}</text>'
        )
        parts.append(f'<text x="{left}" y="{top + height + 42}">{self.words["axis_y"]}</text>')
        label = html.escape("; ".join(curve.name for curve in self.curves))
        box = f"0 0 {left + width + 14} {top + height + 52}"
        return f'<svg viewBox="{box}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


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
        cells: For parts of the vocabulary whether a row there is wrong; empty if there is nothing to show.
        ranks: Over how many ranks the vocabulary is split.
        plot: Losses by position, or cosines by layer.
    """

    title: str
    right: str
    run: Callable[[Section], Iterator[str]]
    speeches: list[Speech] = field(default_factory=list)
    verdicts: list[tuple[bool | None, str]] = field(default_factory=list)
    cells: list[bool] = field(default_factory=list)
    ranks: int = 1
    plot: Plot | None = None

    @property
    def fine(self) -> bool:
        """Whether nothing in it is wrong."""
        return all(right is not False for right, _ in self.verdicts)


KINDS = {True: "right", False: "wrong", None: "should"}
STYLE = Path(__file__).with_name("page.css")


def page(about: str, reports: Iterable[Report], sections: Iterable[Section], language: Language) -> str:
    """The whole page: a sentence about the model, a report on each layer, and the parts that ran."""
    title, style = html.escape(say(language, "title")), STYLE.read_text(encoding="utf-8")
    body = "\n".join((*_layers(reports, language), *(part for one in sections for part in _section(one, language))))
    limits = html.escape(say(language, "not_shown"))
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{style}</style>\n</head>\n<body>\n<main>\n'
        f'<h1>{title}</h1>\n<p>{html.escape(about)}</p>\n{body}\n<p class="should">{limits}</p>\n'
        "</main>\n</body>\n</html>\n"
    )


def _layers(reports: Iterable[Report], language: Language) -> Iterator[str]:
    yield f"<h2>{html.escape(say(language, 'layers'))}</h2>\n<table>"
    for report in reports:
        kind = {"yours": "own", "todo": "stand-in", "stopped": "wrong"}[report.state]
        told = html.escape(say(language, report.state, why=report.why))
        yield f'<tr><td><code>{report.name}</code></td><td class="{kind}">{told}</td></tr>'
    yield "</table>"


def _section(section: Section, language: Language) -> Iterator[str]:
    yield f"<h2>{html.escape(section.title)}</h2>"
    yield f'<p class="should">{html.escape(section.right)}</p>'
    side = "side" if len(section.speeches) > 1 and not any(speech.prompt for speech in section.speeches) else ""
    yield f'<div class="{side}">'
    for speech in section.speeches:
        about = f"<figcaption>{html.escape(speech.about)}</figcaption>" if speech.about else ""
        text = f"<b>{html.escape(speech.prompt)}</b>{html.escape(speech.text)}"
        yield f"<figure>{about}<blockquote>{text}</blockquote></figure>"
    yield "</div>"
    if section.plot:
        yield section.plot.as_svg()
        yield '<ul class="legend">'
        for curve in section.plot.curves:
            line = f'<polyline class="curve {curve.key}" points="0,6 40,6"/>'
            yield f'<li><svg viewBox="0 0 40 12" aria-hidden="true">{line}</svg>{html.escape(curve.name)}</li>'
        if section.plot.band:
            band = '<rect class="band" width="40" height="12"/>'
            name = html.escape(section.plot.words["band"])
            yield f'<li><svg viewBox="0 0 40 12" aria-hidden="true">{band}</svg>{name}</li>'
        yield "</ul>"
    for right, sentence in section.verdicts:
        yield f'<p class="{KINDS[right]}">{html.escape(sentence)}</p>'
    if section.cells:
        yield _strip(section.cells, section.ranks, html.escape(say(language, "strip")))


def _strip(cells: list[bool], ranks: int, label: str) -> str:
    """A row of boxes, one for each part of the vocabulary, with the border between the ranks."""
    size = 640 / len(cells)
    boxes = "".join(
        f'<rect class="{"warm" if wrong else "calm"}" x="{place * size:g}" y="4" width="{size - 1:g}" height="22"/>'
        for place, wrong in enumerate(cells)
    )
    borders = "".join(
        f'<line class="border" x1="{640 * rank / ranks - 0.5:g}" x2="{640 * rank / ranks - 0.5:g}" y1="0" y2="30"/>'
        for rank in range(1, ranks)
    )
    return (
        f'<svg viewBox="0 0 640 30" role="img" aria-label="{label}">{boxes}{borders}</svg><p class="should">{label}</p>'
    )
