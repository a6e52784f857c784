"""Shows figures and citations as HTML.

A figure has its finding as a caption above it, and for screen readers its axes and the labels in it. A work that a page
cites is shown at a link under the pointer, and in a list at the end of the page.
"""

from __future__ import annotations

import base64
import html
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from nbformat import NotebookNode

from grader.core.messages import Sentences
from grader.lab.site.markdown import unbroken

from . import sources
from .pictures import SVG, TABLE, Line, drawn, lines, parsed, reworded, sign_of, translator

SAY = Sentences(Path(__file__).with_name("words.toml"))
LABEL = 3  # characters; bold text this short is a label, such as the letter beside an arrow, rather than a title
WIDE = 500  # points of a figure that is shown wider than the text, so that its letters are about as large

# The letters of a picture are those of the page around it.
_LETTERS = re.compile(r"(?<=font-family: )'DejaVu Sans'[^;\"]*")
_SANS = re.search(r"--sans: ([^;]*);", Path(__file__).with_name("handbook.css").read_text(encoding="utf-8"))
_DOWN = re.compile(r'(?:translate\([-\d.]+ | y=")([\d.]+)')

_LINK = re.compile(r'<a href="(https?://[^"]+)">(.*?)</a>', re.DOTALL)
_VERSION = re.compile(r"(?<=\d)v\d+$")
_COMMAND = re.compile(r"\\math[a-z]+|\\([A-Za-z]+|,)|(-)|[${}]")


def show(notebook: NotebookNode, language: str, words: Mapping[str, str]) -> None:
    """Turn every figure of a notebook into HTML, and translate the words in tables, in place; other outputs stay.

    The words are those in figures, from English to the page's language, placeholders of formatted strings in braces.
    """
    translate = translator(words)
    for data in drawn(notebook):
        markup = reworded(data.get(SVG) or data[TABLE], translate)
        if SVG in data:
            markup = shown(markup, language)
            data.clear()
        data[TABLE] = markup


def shown(svg: str, language: str) -> str:
    """A figure as HTML; its title, which matplotlib sets in bold at the top, becomes a caption that can wrap."""
    figure = parsed(svg)
    bold = [line for line in lines(figure) if line.node.get("style", "").startswith("font-weight: 700")]
    titles = [line for line in bold if len(line.said) > LABEL]
    title = html.escape(unbroken("\n".join(line.said for line in titles)).replace("\n", " "), quote=True)
    wide = False
    if view := figure.get("viewBox"):
        width, height = map(float, view.split()[2:])
        cut = max((float(_DOWN.findall(ElementTree.tostring(line.node, "unicode"))[0]) for line in titles), default=0.0)
        figure.attrib |= {"height": f"{height - cut}pt", "viewBox": f"0 {cut} {width} {height - cut}"}
        wide = width > WIDE
    for line in titles:
        line.node.clear()
    told = html.escape(described(figure, language), quote=True) or title or SAY(language, "no_title")
    drawn = _LETTERS.sub(_SANS[1].replace('"', "'") if _SANS else "sans-serif", ElementTree.tostring(figure, "unicode"))
    image = f'<img alt="{told}" src="data:{SVG};base64,{base64.b64encode(drawn.encode()).decode()}">'
    caption = f"<figcaption>{title}</figcaption>" if title else ""
    return f'<figure class="picture{" wide" * wide}">{caption}<div>{image}</div></figure>'


def described(figure: ElementTree.Element, language: str) -> str:
    """Each panel's axes, and what is named in it; empty where nothing is. The words of the figure are translated."""
    panels = [told for panel in _parts(figure, "axes_") if (told := _panel(panel, language))]
    if len(panels) > 1:
        number = partial(SAY, language, "panel", all=len(panels))
        panels = [number(number=n) + told for n, told in enumerate(panels, 1)]
    return "".join(panels).strip()


def _panel(panel: ElementTree.Element, language: str) -> str:
    say, said = partial(SAY, language), []
    for axis in (part for part in panel if part.get("id", "").startswith("matplotlib.axis_")):
        label, ticks = " ".join(_texts(axis)), [text for tick in axis for text in _texts(tick)]
        if any(map(_is_word, ticks)):  # they name things
            label = say("and").join(filter(None, (label, *ticks)))
        elif label and len(ticks) > 1:
            label += say("ticks", first=ticks[0], last=ticks[-1])
        if label:  # matplotlib counts the axes of a whole figure, first that across
            said.append(say(("up", "across")[int(axis.attrib["id"].rpartition("_")[2]) % 2]) + label)
    names = [*_texts(panel), *(name for legend in _parts(panel, "legend_") for name in _texts(legend))]
    if named := say("and").join(filter(_is_word, dict.fromkeys(names))):
        said.append(say("labels") * bool(said) + named)
    return "".join(sentence + say("end") for sentence in said)


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text))


def _parts(group: ElementTree.Element, kind: str) -> Iterator[ElementTree.Element]:
    return (part for part in group.iter() if part.get("id", "").startswith(kind))


def _texts(group: ElementTree.Element) -> list[str]:
    """The texts of a group itself, without those of its axes and ticks."""
    texts = (part for part in group if part.get("id", "").startswith("text_"))
    said = ("\n".join(filter(None, map(_said, lines(text)))) for text in texts)
    return [unbroken(text).replace("\n", " ") for text in said if text]


def _said(line: Line) -> str:
    """A line of text, its formula without LaTeX's signs but for those of a sub- or superscript."""
    return line.said if line.formula is None else _COMMAND.sub(_spoken, line.said)


def _spoken(found: re.Match[str]) -> str:
    command, minus = found.groups("")
    return "−" if minus else sign_of(command) or command


def works() -> dict[str, str]:
    """The works that the sources can cite, by the end of their address; none if the sources list none."""
    path = sources.SOURCES / "references.toml"
    found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def work_key(address: str) -> str:
    """The key in ``works`` of the work at an address."""
    return _VERSION.sub("", address.rstrip("/").rsplit("/", 1)[-1])


def with_cards(content: str) -> tuple[str, dict[str, str]]:
    """A page's content with a card beside each link to a known work, and these works by author, with their links."""
    known, cited = works(), dict[str, str]()

    def card(found: re.Match[str]) -> str:
        address = html.unescape(found[1])
        work = known.get(work_key(address))
        if work is None:
            return found[0]
        cited.setdefault(work, address)
        # The list has it for those who do not see the card.
        return f'<span class="cite">{found[0]}<span class="card" aria-hidden="true">{html.escape(work)}</span></span>'

    return _LINK.sub(card, content), dict(sorted(cited.items()))
