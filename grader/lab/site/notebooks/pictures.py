"""Shows a figure that was stored as SVG: its finding as a caption above it, and its words in the page's language."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.symbols_parser import convert_symbol

from grader.lab.site.formulas import UnknownMathematics
from grader.lab.site.markdown import unbroken

from . import panels
from .described import described

if TYPE_CHECKING:
    from nbformat import NotebookNode

SVG, TABLE = "image/svg+xml", "text/html"
NO_TITLE = {"en": "A figure; the text beside it says what it shows.", "zh": "一幅图；旁边的文字说明了它的内容。"}
LABEL = 3  # characters of a bold letter beside an arrow, which is no title
WIDE = 500  # points of a figure that is shown wider than the text, so that its letters are about as large

# The letters of a picture are those of the page around it.
_LETTERS = re.compile(r"(?<=font-family: )'DejaVu Sans'[^;\"]*")
_SANS = re.search(r"--sans: ([^;]*);", Path(__file__).with_name("handbook.css").read_text(encoding="utf-8"))

_TEXT = re.compile(r"(<(?:text[^>]*|t[hd]|caption)>)([^<]*)(</(?:text|t[hd]|caption)>)")  # in a figure or a table
_GROUP = re.compile(r'<g id="text_\d+">(?:(?!</g>).)*</g>', re.DOTALL)
_PLACED = re.compile(
    r'<text style="font-size: ([\d.]+)px;([^>]*?)" transform="translate\(([-\d.]+) ([-\d.]+)\)">([^<]*)<'
)
_WITH_MATHEMATICS = re.compile(
    r'<!-- ((?:(?!-->).)*\$(?:(?!-->).)*) -->(\s*<g (?:style="[^"]*" )?transform="([^"]*)">\s*)'
    r"<text>((?:(?!</text>).)*)</text>",
    re.DOTALL,
)
_LETTER = re.compile(r'<tspan x="([-\d.]+)" y="[^"]*" style="(?:[^"]*; )?font-size: ([\d.]+)px')
_SYMBOL = re.compile(r"([_^])(\{[^}]*\}|.)|\\([a-z]+|,)|([A-Za-z])|(.)")
_LATIN = re.compile(r"[A-Za-z_]{2,}")
_FINDING = re.compile(r'<text style="font-weight: 700[^>]*>(.*?)</text>', re.DOTALL)
_LINE = re.compile(r'(?:translate\([-\d.]+ | y=")([\d.]+)')  # how far down a text stands
_SIZE = re.compile(r'height="[\d.]+pt" viewBox="0 0 ([\d.]+) ([\d.]+)"')
_TAG = re.compile(r"<[^>]*>")
_PLACE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


def show(notebook: NotebookNode, language: str, words: Mapping[str, str]) -> None:
    """Turn every figure of a notebook into HTML, and translate the words in tables, in place; other outputs stay.

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
            elif TABLE in output.get("data", {}):
                output.data[TABLE] = reworded(output.data[TABLE], translate)


def shown(svg: str, language: str) -> str:
    """A figure as HTML; its title, which matplotlib sets in bold at the top, becomes a caption that can wrap."""
    titles = [found for found in _FINDING.finditer(svg) if len(_words(found[1])) > LABEL]
    lines = unbroken("\n".join(_words(found[1]) for found in titles))
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
    told = html.escape(described(svg, language), quote=True) or title or NO_TITLE[language]
    image = f'<img alt="{told}" src="{_source(svg)}">'
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
    svg = _GROUP.sub(lambda found: _centred(found[0]), svg)
    svg = _WITH_MATHEMATICS.sub(lambda found: _with_mathematics(found, translate), svg)
    return _TEXT.sub(lambda found: found[1] + _put(found[2], translate) + found[3], svg)


def _centred(group: str) -> str:
    """Lines that begin at different places, anchored in the middle: matplotlib centred them by the English words."""
    if len({found[3] for found in _PLACED.finditer(group)}) < 2:
        return group

    def anchored(found: re.Match[str]) -> str:
        size, style, left, down, words = found.groups()
        middle = float(left) + _width(html.unescape(words), float(size)) / 2
        place = f'transform="translate({middle:.2f} {down})"'
        return f'<text style="font-size: {size}px;{style}; text-anchor: middle" {place}>{words}<'

    return _PLACED.sub(anchored, group)


def _width(words: str, size: float) -> float:
    """How wide matplotlib takes them to be, in points."""
    from matplotlib.font_manager import FontProperties  # takes a second
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(words, FontProperties(size=size), ismath=False)[0])


def _with_mathematics(found: re.Match[str], translate: Callable[[str], str]) -> str:
    """A text with a formula, which matplotlib puts in letter by letter, and says in a comment what it is."""
    said = html.unescape(found[1])
    if (other := translate(said)) == said:
        return found[0]
    letters = [(float(x), float(size)) for x, size in _LETTER.findall(found[4])]
    (_, size), (last, _) = letters[0], max(letters)
    upright = "rotate" not in found[3]
    place = 'x="0"' if upright else f'x="{(last + size / 2) / 2:.1f}" text-anchor="middle"'  # along an axis, centred
    style = f"font-size: {size}px; font-family: 'DejaVu Sans', sans-serif"
    return f'{found[2]}<text {place} style="{style}">{_set(other)}</text>'


def _set(text: str) -> str:
    """A text for SVG; text between dollar signs is set as a formula."""
    plain, formulas = text.split("$")[::2], text.split("$")[1::2]
    parts = zip(map(html.escape, plain), [*map(_formula, formulas), ""], strict=True)
    return "".join(part for both in parts for part in both)


def _formula(latex: str) -> str:
    def symbol(found: re.Match[str]) -> str:
        where, script, command, letter, other = found.groups()
        if where:
            down = {"_": 0.2, "^": -0.35}[where]
            inside = _formula(script.strip("{}"))
            # What follows goes back to the line: a blank without width takes it there.
            return f'<tspan dy="{down}em" font-size="75%">{inside}</tspan><tspan dy="{-0.75 * down}em">\u200b</tspan>'
        if command or letter:
            return f'<tspan font-style="italic">{_sign(command) if command else letter}</tspan>'
        return html.escape(other.replace("-", "−")).strip()

    return _SYMBOL.sub(symbol, latex)


def _sign(command: str) -> str:
    """The character that a command of LaTeX stands for."""
    if command == ",":
        return "\u2009"
    if code := convert_symbol(f"\\{command}"):
        return chr(int(code, 16))
    raise UnknownMathematics(f"\\{command} in the words of a figure has no character of its own. Write another sign.")


def in_english(notebook: NotebookNode, words: Mapping[str, str], known: str) -> list[str]:
    """The texts in figures that have, translated, a word of two Latin letters or more that is not in ``known``.

    Args:
        notebook: An executed notebook.
        words: What stands in figures, from English to another language.
        known: What the notebook says in that language; names that are the same in both stand there.
    """
    translate, names = translator(words), {*_LATIN.findall(" ".join([known, *words.values()]))}
    found = {text: translate(text) for text in _texts(notebook)}
    return sorted(text for text, other in found.items() if {*_LATIN.findall(re.sub(r"\$.*?\$", "", other))} - names)


def _texts(notebook: NotebookNode) -> Iterator[str]:
    """The texts in the figures and tables of a notebook."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            markup = output.get("data", {}).get(SVG) or output.get("data", {}).get(TABLE, "")
            for text in (
                *(text for _, text, _ in _TEXT.findall(markup)),
                *(one[0] for one in _WITH_MATHEMATICS.findall(markup)),
            ):
                yield html.unescape(text).strip()


def translator(words: Mapping[str, str]) -> Callable[[str], str]:
    """A function that translates one text of a figure; a text that is not in the table stays as it is."""
    patterns = []
    for english, other in words.items():
        for line, twin in zip(english.split("\n"), other.split("\n"), strict=True):
            places = _PLACE.findall(line)
            fixed = _PLACE.split(line)
            patterns.append((-sum(map(len, fixed)), re.compile("(.+)".join(map(re.escape, fixed))), twin, places))
    patterns.sort(key=lambda one: one[0])  # the more of a text is fixed, the more certain is what it says

    def translate(text: str) -> str:
        for _, pattern, twin, places in patterns:
            if found := pattern.fullmatch(text):
                for place, value in zip(places, found.groups(), strict=True):
                    twin = twin.replace(place, translate(value), 1)
                return twin
        return text

    return translate


def _put(text: str, translate: Callable[[str], str]) -> str:
    bare = html.unescape(text)
    return text.replace(text.strip(), html.escape(translate(bare.strip()), quote=False)) if bare.strip() else text
