"""Shows a figure that was stored as SVG: its finding as a caption above it, and its words in the page's language."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from . import panels, sources

if TYPE_CHECKING:
    from nbformat import NotebookNode

SVG = "image/svg+xml"
NO_TITLE = {"en": "A figure; the text beside it says what it shows.", "zh": "一幅图；旁边的文字说明了它的内容。"}
LABEL = 3  # characters of a bold letter beside an arrow, which is no title
WIDE = 500  # points of a figure that is shown wider than the text, so that its letters are about as large

# The letters of a picture are those of the page around it.
_LETTERS = re.compile(r"(?<=font-family: )'DejaVu Sans'[^;\"]*")
_SANS = re.search(r"--sans: ([^;]*);", Path(__file__).with_name("handbook.css").read_text(encoding="utf-8"))

_TEXT = re.compile(r"(<text[^>]*>)([^<]*)(</text>)")
_FINDING = re.compile(r'<text style="font-weight: 700[^>]*>(.*?)</text>', re.DOTALL)
_LINE = re.compile(r'(?:translate\([-\d.]+ | y=")([\d.]+)')  # how far down a text stands
_SIZE = re.compile(r'height="[\d.]+pt" viewBox="0 0 ([\d.]+) ([\d.]+)"')
_TAG = re.compile(r"<[^>]*>")
_PLACE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def show(notebook: NotebookNode, language: str, words: Mapping[str, str]) -> None:
    """Turn every figure of a notebook into HTML, in place; figures without SVG stay as they are.

    Args:
        notebook: An executed notebook.
        language: The page's.
        words: What stands in figures, from English to the page's language, placeholders of formatted strings in braces.
    """
    translate = translator(words)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                output.data = {"text/html": shown(reworded(output.data[SVG], translate), language)}


def shown(svg: str, language: str) -> str:
    """A figure as HTML; its title, which matplotlib sets in bold at the top, becomes a caption that can wrap."""
    titles = [found for found in _FINDING.finditer(svg) if len(_words(found[1])) > LABEL]
    lines = sources.unbroken("\n".join(_words(found[1]) for found in titles))
    title = html.escape(lines.replace("\n", " "), quote=True)
    wide = False
    if size := _SIZE.search(svg):
        width, height = float(size[1]), float(size[2])
        cut = max((float(_LINE.findall(found[0])[0]) for found in titles), default=0.0)
        for found in titles:
            svg = svg.replace(found[0], "")
        view = f'height="{height - cut}pt" viewBox="0 {cut} {width} {height - cut}"'
        svg = svg.replace(size[0], view)
        wide = width > WIDE
    svg = _LETTERS.sub(_SANS[1].replace('"', "'") if _SANS else "sans-serif", svg)
    caption = f"<figcaption>{title}</figcaption>" if title else ""
    image = f'<img alt="{title or NO_TITLE[language]}" src="{_source(svg)}">'
    narrow = panels.stacked(svg) if wide else ""
    if narrow:
        image = f'<picture><source media="(max-width: 40rem)" srcset="{_source(narrow)}">{image}</picture>'
    kinds = f"picture{' wide' * wide}{' stacked' * bool(narrow)}"
    return f'<figure class="{kinds}">{caption}<div>{image}</div></figure>'


def _source(svg: str) -> str:
    return f"data:{SVG};base64,{base64.b64encode(svg.encode()).decode()}"


def _words(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def reworded(svg: str, translate: Callable[[str], str]) -> str:
    """A figure with its words translated."""
    return _TEXT.sub(lambda found: found[1] + _put(found[2], translate) + found[3], svg)


def texts(notebook: NotebookNode) -> Iterator[str]:
    """What stands in the figures of a notebook, as far as it has a word in it."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            for _, text, _ in _TEXT.findall(output.get("data", {}).get(SVG, "")):
                if re.search(r"[A-Za-z]{3}", text):
                    yield html.unescape(text).strip()


def translator(words: Mapping[str, str]) -> Callable[[str], str]:
    """A function that translates one text of a figure; a text that is not in the table stays as it is."""
    patterns = []
    for english, other in words.items():
        for line, twin in zip(english.split("\n"), other.split("\n"), strict=True):
            places = _PLACE.findall(line)
            fixed = map(re.escape, _PLACE.split(line))
            patterns.append((re.compile("(.+)".join(fixed)), twin, places))
    patterns.sort(key=lambda one: len(one[2]))  # a text without placeholders is the most certain

    def translate(text: str) -> str:
        for pattern, twin, places in patterns:
            if found := pattern.fullmatch(text):
                for place, value in zip(places, found.groups(), strict=True):
                    twin = twin.replace(place, translate(value), 1)
                return twin
        return text

    return translate


def _put(text: str, translate: Callable[[str], str]) -> str:
    bare = html.unescape(text)
    return text.replace(text.strip(), html.escape(translate(bare.strip()), quote=False)) if bare.strip() else text
