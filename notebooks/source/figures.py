"""One look for all figures: they print in grey, and colour-blind readers tell the lines apart.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), https://jfly.uni-koeln.de/color/. Every line style
of the cycle has its own dashes too, so that no reader depends on colour. Sequential maps go from white to blue, and
what is hidden is grey; diverging ones are PuOr. Both keep their order in grey or on either side of white. On a dark
page, white becomes black and blue stays blue: so call a large number blue, not light or dark.
"""

from __future__ import annotations

import html
import sys
from itertools import pairwise

import matplotlib
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_rgb

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#777777"

_BLUES = LinearSegmentedColormap.from_list("white to blue", ["#FFFFFF", SKY, BLUE, "#003A5C"])
SEQUENTIAL = _BLUES.with_extremes(bad="#E0E0E0")
DIVERGING = "PuOr"

FAST, SLOW = BLUE, ORANGE  # pairs that go round within the trained length, and pairs that do not

SMALL = 8.5  # points of the words within a figure

_LOOKS = {  # colour, dashes and marker of what several figures compare, by the start of its name
    "NoPE": (GREY, ":", "s"),
    "sinusoidal": (GREEN, "-.", "^"),
    "learned": (PURPLE, (0, (1, 1)), "v"),
    "ALiBi": (BLUE, "-", "o"),
    "RoPE": (VERMILION, "--", "D"),
    "as trained": (VERMILION, "--", "D"),  # RoPE without a scaling
    "none": (VERMILION, "--", "D"),
    "PI": (PURPLE, ":", "v"),
    "NTK": (GREEN, "-.", "^"),
    "dynamic NTK": (SKY, (0, (5, 1, 1, 1)), "s"),
    "YaRN": (BLACK, "-", "o"),
    "slow pairs": (SLOW, "-", "o"),
    "fast pairs": (FAST, ":", "v"),
    "all pairs": (GREEN, "-.", "^"),
    "window": (SKY, (0, (3, 1)), "s"),
}

_COLOURS = [BLUE, VERMILION, GREEN, BLACK, ORANGE, PURPLE]
_DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2))]


def use_style() -> None:
    """Apply the look to every figure that follows."""
    if SEQUENTIAL.name not in matplotlib.colormaps:
        matplotlib.colormaps.register(SEQUENTIAL)
    plt.rcParams.update(
        {
            "figure.figsize": (5.0, 2.9),  # of one panel, as wide as text; panels side by side have 7.2
            "figure.dpi": 130,
            "figure.constrained_layout.use": True,
            "font.size": 9.5,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": False,
            "axes.prop_cycle": cycler(color=_COLOURS) + cycler(linestyle=_DASHES),
            "lines.linewidth": 1.8,
            "legend.frameon": False,
            "image.cmap": SEQUENTIAL.name,
            "image.interpolation": "nearest",
        }
    )


def look(name: str) -> tuple[str, object, str]:
    """Colour, dashes and marker of a method or of a kind of pairs: the same in every figure of every notebook."""
    return next(found for start, found in _LOOKS.items() if name.startswith(start))


def headline(figure: plt.Figure, finding: str) -> None:
    """Write what a figure of several panels shows above it, flush left."""
    figure.suptitle(finding, x=0.01, ha="left", fontsize=10.5, fontweight="bold")


def ink(colour: str) -> tuple[float, ...]:
    """A colour, dark enough for letters on white: a contrast of 4.5 (Web Content Accessibility Guidelines, 1.4.3)."""
    rgb = to_rgb(colour)
    while sum(part * c**2.2 for part, c in zip((0.2126, 0.7152, 0.0722), rgb, strict=True)) > 0.18:
        rgb = tuple(0.95 * c for c in rgb)
    return rgb


def name_lines(*panels: plt.Axes) -> None:
    """Write the label of each line where it ends on the right, in its colour. Call it last, when places are known."""
    panels[0].figure.draw_without_rendering()
    dot = panels[0].figure.dpi / 72
    for axes in panels:
        columns = {}  # names that stand at the same place across: label, line, place of its end, height of the name
        for line in axes.get_lines():
            inside = [place for place in axes.transData.transform(line.get_xydata()) if _holds(axes, place)]
            if inside and not line.get_label().startswith("_"):
                column = columns.setdefault(round(inside[-1][0] / (20 * dot)), [])
                column.append([line, inside[-1], inside[-1][1]])
        for column in columns.values():
            column.sort(key=lambda name: name[2])
            for low, high in 50 * [*pairwise(column)]:  # those that would lie on each other go apart
                lines = (name[0].get_label().count("\n") + 1 for name in (low, high))
                missing = 0.6 * SMALL * dot * sum(lines) - (high[2] - low[2])
                if missing > 0:
                    low[2], high[2] = low[2] - missing / 2, high[2] + missing / 2
            moved = max(abs(height - end[1]) for _, end, height in column) > SMALL * dot
            for line, end, height in column:
                axes.annotate(
                    line.get_label(),
                    axes.transData.inverted().transform(end),
                    (16 if moved else 5, (height - end[1]) / dot),
                    textcoords="offset points",
                    color=ink(line.get_color()),
                    fontsize=SMALL,
                    va="center",
                    annotation_clip=False,
                    arrowprops=_thin(line.get_color(), (0, 0.5)) if moved else None,
                )


def point(axes: plt.Axes, words: str, xy: tuple, offset: tuple, colour: str = BLACK, line: bool = True) -> None:
    """Say something of one place in a figure.

    Args:
        axes: The panel.
        words: A few; they stand at the side to which the offset leads.
        xy: The place, in the figure's numbers.
        offset: From there to the words, in points.
        colour: That of what is spoken of.
        line: Whether a thin line leads from the words to the place.
    """
    across, up = ((one > 0) - (one < 0) for one in offset)
    axes.annotate(
        words,
        xy,
        offset,
        textcoords="offset points",
        color=ink(colour),
        fontsize=SMALL,
        ha=("center", "left", "right")[across],
        va=("center", "bottom", "top")[up],
        multialignment="left" if across else "center",
        annotation_clip=False,
        arrowprops=_thin(colour, ((1 - across) / 2, (1 - up) / 2)) if line else None,
    )


def shade_beyond(axes: plt.Axes, start: float, end: float, words: str = "") -> None:
    """Shade what lies beyond the trained length, and say so at its top."""
    axes.axvspan(start, end, color=GREY, alpha=0.12, linewidth=0, zorder=0)
    axes.annotate(words, (start, 1), (4, -4), ("data", "axes fraction"), "offset points", fontsize=SMALL, va="top")


def _holds(axes: plt.Axes, place: tuple[float, float]) -> bool:
    """Whether a place of the screen lies in a panel, or on its edge."""
    return axes.bbox.padded(1).contains(*place)


def _thin(colour: str, start: tuple[float, float]) -> dict:
    """A thin line from where it leaves its words."""
    return {"arrowstyle": "-", "color": ink(colour), "linewidth": 0.7, "relpos": start, "shrinkA": 1, "shrinkB": 2}


def no_frame(axes: plt.Axes) -> None:
    """Take frame and ticks from a heatmap whose entries speak for themselves."""
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)


def to_touch(name: str, data: object) -> None:
    """Hand numbers over to the figure to touch of that name: the handbook takes them from the cell's output.

    Args:
        name: The figure, ``notebooks/source/touch/NAME.js``, which reads ``touch.data.NAME``.
        data: Whatever JSON can hold. Without a notebook it goes nowhere.
    """
    _publish({"application/vnd.touch+json": {name: data}}, f"(numbers for the handbook's figure: {name})")


def show_table(title: str, head: list[str], rows: dict[str, list[str]]) -> None:
    """Show a table, whose columns stand below each other in any language; without a notebook print it.

    Args:
        title: What it shows.
        head: The name of each column, but for that of the rows' names.
        rows: The cells of each row, by its name. The handbook translates names as it does those in figures.
    """
    heads = "".join(f"<th>{html.escape(one)}</th>" for one in head)
    lines = [f"<table><caption>{html.escape(title)}</caption><thead><tr><td></td>{heads}</tr></thead><tbody>"]
    for name, cells in rows.items():
        lines.append(f"<tr><th>{html.escape(name)}</th>{''.join(f'<td>{html.escape(one)}</td>' for one in cells)}</tr>")
    plain = "\n".join([title, *("\t".join(row) for row in (["", *head], *([n, *cells] for n, cells in rows.items())))])
    if not _publish({"text/html": "\n".join([*lines, "</tbody></table>"])}, plain):
        print(plain)


def _publish(data: dict[str, object], plain: str) -> bool:
    """Show data in the notebook; False if there is none."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.display_pub.publish(data | {"text/plain": plain})
    return shell is not None
