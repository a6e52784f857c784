"""Interactive figures in pages of the handout and the handbook: by pointer and keys, without a network.

A page marks the place of a figure with ``<!-- touch: NAME -->``; the figure is ``NAME.js`` in a folder ``touch`` beside
the pages. All figures share ``base.js`` and ``touch.css``. Without JavaScript, a reader sees only the picture or table
before the figure.

Words in the text can set a figure's controls: ``[a base of 100](#NAME?base=100&words=alike)``, with the names of the
controls. In a page, they are a button; elsewhere, and without JavaScript, only words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
MARKER = re.compile(r"<!-- touch: (\w+) -->")
_FIGURE = re.compile(r'data-touch="(\w+)"')
SETTING = re.compile(r"\[([^][]+)\]\(#(\w+)\?([^()\s]+)\)")  # the words, the figure, and what to set
# The same as a link in HTML, with the punctuation beside it, which else would end a line, or begin the next.
_SETTING_IN_HTML = re.compile(r'([(（]*)<a href="#(\w+\?[^"]+)">(.*?)</a>([,.;:)，。；：）、]*)', re.DOTALL)


def alive(page: str) -> str:
    """HTML with what the page's script brings to life: figures, and buttons that set them."""
    page = MARKER.sub(r'<figure class="touch" data-touch="\1"></figure>', page)
    return _SETTING_IN_HTML.sub(r'<span class="held">\1<span data-sets="\2">\3</span>\4</span>', page)


def figures(page: str) -> list[str]:
    """The names of the figures in HTML, each once."""
    return [*dict.fromkeys(_FIGURE.findall(page))]


def script(folder: Path, names: Sequence[str], numbers: Mapping[str, object] | None = None) -> str:
    """The script of a page with these figures from this folder; without figures, what lets keys scroll.

    The folder has a file of JavaScript for each figure, and for a large one a folder of its name, with JavaScript that
    comes before it and numbers as JSON. ``numbers`` are what a figure shows that a cell of a notebook has measured.
    """
    scroll, base = ((HERE / name).read_text(encoding="utf-8") for name in ("scroll.js", "base.js"))
    if not names:
        return scroll
    kept = {name: json.loads(path.read_bytes()) for name in names for path in (folder / name).glob("*.json")}
    given = json.dumps(kept | dict(numbers or {}), separators=(",", ":")).replace("</", "<\\/")
    paths = [path for name in dict.fromkeys(names) for path in (*(folder / name).glob("*.js"), folder / f"{name}.js")]
    figures = [
        path.read_text(encoding="utf-8") for path in sorted(paths, key=lambda path: (path.parent == folder, path))
    ]
    return "".join([scroll, base, f"touch.data = {given};\n", *figures, "touch.start();\n"])


def styles() -> str:
    """How figures look; the page's own style sheet defines the colours ``ink``, ``paper``, ``faint`` and ``line``."""
    return (HERE / "touch.css").read_text(encoding="utf-8")
