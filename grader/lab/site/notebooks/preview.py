"""Draws the picture that a messenger or a search engine shows beside a link to the handbook."""

from __future__ import annotations

import io

TRAINED, WORDS, PAIRS = 7, 11, 5  # words in training, words, and hands below each


def preview() -> bytes:
    """A PNG of 1200 by 630 without words: hands turn from word to word, and angles beyond training are orange."""
    from matplotlib.figure import Figure  # takes a second, as does the next
    from matplotlib.patches import Circle, Wedge

    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.set_layout_engine("none")  # a chapter may have chosen one for all figures of the process
    axes = figure.add_axes((0.03, 0.03, 0.94, 0.94))
    for word, pair in ((word, pair) for word in range(WORDS) for pair in range(PAIRS)):
        step = 57.3 * 20 ** (-pair / PAIRS)  # degrees from word to word
        known, angle, middle = (TRAINED - 1) * step, word * step, (word, -pair)
        new = known < angle and known < 360
        axes.add_patch(Circle(middle, 0.44, facecolor="white", edgecolor="#dcdfe3"))
        axes.add_patch(Wedge(middle, 0.44, 0, known if new else angle % 360, facecolor="#a7c9e2"))
        if new:
            axes.add_patch(Wedge(middle, 0.44, known, min(angle, 360), facecolor="#eba77a"))
        axes.add_patch(Wedge(middle, 0.42, angle - 3, angle + 3, facecolor="#b84e00" if new else "#0072b2"))
    axes.set(xlim=(-0.6, WORDS - 0.4), ylim=(0.6 - PAIRS, 0.6), aspect="equal")
    axes.axis("off")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
