"""One look for all figures: they print in grey, and colour-blind readers tell the lines apart.

Colours are those of Okabe and Ito, "Color Universal Design" (2008), https://jfly.uni-koeln.de/color/. Every line style
of the cycle has its own dashes too, so that no reader depends on colour. Sequential maps go from white to blue, and
what is hidden is grey; diverging ones are PuOr. Both keep their order in grey or on either side of white. On a dark
page, white becomes black and blue stays blue: so call a large number blue, not light or dark.
"""

from __future__ import annotations

import html
import sys

import matplotlib
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#777777"

_BLUES = LinearSegmentedColormap.from_list("white to blue", ["#FFFFFF", SKY, BLUE, "#003A5C"])
SEQUENTIAL = _BLUES.with_extremes(bad="#E0E0E0")
DIVERGING = "PuOr"

FAST, SLOW = BLUE, ORANGE  # pairs that go round within the trained length, and pairs that do not

_LOOKS = {  # colour, dashes and marker of what several figures compare, by the start of its name
    "NoPE": (GREY, ":", "s"),
    "sinusoidal": (GREEN, "-.", "^"),
    "learned": (PURPLE, (0, (1, 1)), "v"),
    "ALiBi": (BLUE, "-", "o"),
    "RoPE": (VERMILION, "--", "D"),
    "as trained": (VERMILION, "--", "D"),  # RoPE without a scaling
    "unchanged": (VERMILION, "--", "D"),
    "none": (VERMILION, "--", "D"),
    "PI": (PURPLE, ":", "v"),
    "NTK": (GREEN, "-.", "^"),
    "dynamic NTK": (SKY, (0, (5, 1, 1, 1)), "s"),
    "YaRN, paper": (GREY, (0, (9, 2)), "s"),
    "YaRN": (BLACK, "-", "o"),
    "slow pairs": (SLOW, "-", "o"),
    "fast pairs": (FAST, ":", "v"),
    "all pairs": (GREEN, "-.", "^"),
    "window": (SKY, (0, (3, 1)), "s"),
    "angles dropped": (ORANGE, "--", "^"),
}

_COLOURS = [BLUE, VERMILION, GREEN, BLACK, ORANGE, PURPLE]
_DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2))]


def use_style() -> None:
    """Apply the look to every figure that follows."""
    if SEQUENTIAL.name not in matplotlib.colormaps:
        matplotlib.colormaps.register(SEQUENTIAL)
    plt.rcParams.update(
        {
            "figure.figsize": (7.2, 3.0),
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
