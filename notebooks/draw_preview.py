"""Draws what a link to the public pages shows: ``python -m notebooks.draw_preview`` writes ``source/preview.png``.

1200 by 630, without words: below each word five hands turn, and angles beyond training are orange, as in the figure
``touch/sentence.js``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, Wedge

TRAINED, WORDS, PAIRS = 7, 11, 5  # words in training, words, and hands below each
SEEN, NEW, HAND, NEW_HAND, DIAL = "#a7c9e2", "#eba77a", "#0072b2", "#b84e00", "#dcdfe3"


def main() -> None:
    """Write the picture."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    axes = figure.add_axes((0.03, 0.03, 0.94, 0.94))
    for word, pair in ((word, pair) for word in range(WORDS) for pair in range(PAIRS)):
        step = 57.3 * 20 ** (-pair / PAIRS)  # degrees from word to word
        known, angle, middle = min((TRAINED - 1) * step, 360), word * step, (word, -pair)
        covered, at = min(angle, 360), angle % 360
        axes.add_patch(Circle(middle, 0.44, facecolor="white", edgecolor=DIAL))
        axes.add_patch(Wedge(middle, 0.44, 0, min(known, covered), facecolor=SEEN))
        if covered > known:
            axes.add_patch(Wedge(middle, 0.44, known, covered, facecolor=NEW))
        # A hand that has come round may be where it was in training.
        axes.add_patch(Wedge(middle, 0.42, at - 3, at + 3, facecolor=NEW_HAND if at > known else HAND))
    axes.set(xlim=(-0.6, WORDS - 0.4), ylim=(0.5 - PAIRS, 0.5), aspect="equal")
    axes.axis("off")
    figure.savefig(Path(__file__).with_name("source") / "preview.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
