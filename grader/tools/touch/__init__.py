"""Figures that can be touched, in pages of the handout and the handbook: by pointer and by keys, without a network.

A page marks the place of a figure with ``<!-- touch: NAME -->``; the figure is ``NAME.js`` in a folder ``touch`` beside
the pages. What figures share is ``base.js``, and how they look ``touch.css``. Without JavaScript nothing of a
figure shows, and the picture or table before it stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
MARKER = re.compile(r"<!-- touch: (\w+) -->")


def figure(name: str) -> str:
    """The element that a figure fills when the page has loaded."""
    return f'<figure class="touch" data-touch="{name}"></figure>'


def script(folder: Path, names: Sequence[str]) -> str:
    """The script of a page with these figures from this folder; without figures, what lets keys scroll."""
    figures = [HERE / "base.js", *(folder / f"{name}.js" for name in dict.fromkeys(names))] if names else []
    text = "".join(path.read_text(encoding="utf-8") for path in (HERE / "scroll.js", *figures))
    return f"{text}touch.start();\n" if names else text


def styles() -> str:
    """How figures look; the page's own style sheet defines the colours ``ink``, ``paper``, ``faint`` and ``line``."""
    return (HERE / "touch.css").read_text(encoding="utf-8")
