"""The plot of losses by position, or of cosines by layer, as SVG for the page."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass


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
