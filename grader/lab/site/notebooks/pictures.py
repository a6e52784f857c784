"""The words of figures that were stored as SVG, and of tables: read, and put into another language."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree

from latex2mathml.symbols_parser import convert_symbol

from grader.lab.site.formulas import UnknownMathematics

from .wording import FIGURES

if TYPE_CHECKING:
    from nbformat import NotebookNode

SVG, TABLE = "image/svg+xml", "text/html"
NAMESPACE = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", NAMESPACE)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")  # the prefix that a page of HTML knows

_WITH_TEXT = {"text", "th", "td", "caption"}
_FONT_SIZE = re.compile(r"font-size: ([\d.]+)px")
_SYMBOL = re.compile(r"([_^])(\{[^}]*\}|.)|\\([a-z]+|,)|([A-Za-z])|(.)")
_LATIN = re.compile(r"[A-Za-z_]{2,}")
_PLACE = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")


class Line(NamedTuple):
    """A line of text in a figure, or a cell of a table.

    Attributes:
        said: What it says; a formula is between dollar signs, as in LaTeX.
        node: Its element.
        formula: The comment in which matplotlib says it if it has a formula, whose letters are elements of their own.
        place: How the group around it is placed.
    """

    said: str
    node: ElementTree.Element
    formula: ElementTree.Element | None
    place: str


def parsed(markup: str) -> ElementTree.Element:
    """A figure or a table, with its comments."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    return ElementTree.fromstring(markup, ElementTree.XMLParser(target=builder))


def lines(part: ElementTree.Element) -> Iterator[Line]:
    """The lines in a part of a figure or of a table, in order."""
    formula, place = None, ""
    for node in part.iter():
        if not isinstance(node.tag, str):
            formula = node
        elif (tag := node.tag.rpartition("}")[2]) == "g":
            place = node.get("transform", "")
        elif tag in _WITH_TEXT:
            text = "".join(node.itertext()) if formula is None else formula.text or ""
            yield Line(text.strip(), node, formula, place)
            formula = None


def reworded(markup: str, translate: Callable[[str], str]) -> str:
    """A figure or a table with its words translated."""
    root = parsed(markup)
    for line in lines(root):
        if (other := translate(line.said)) == line.said:
            continue
        if line.formula is None:
            line.node.text = other
        else:
            line.formula.text = other
            _set(line.node, other, upright="rotate" not in line.place)
    return ElementTree.tostring(root, "unicode", "xml" if root.tag.endswith("svg") else "html")


def _set(node: ElementTree.Element, text: str, *, upright: bool) -> None:
    """Replace single letters by a text in which formulas are between dollar signs.

    Unless it is ``upright``, the text runs along an axis and is centred.
    """
    letters = [(float(x), part.get("style", "")) for part in node for x in (part.get("x") or "0").split()]
    size = float(_FONT_SIZE.findall(letters[0][1])[0])
    place = {"x": "0"} if upright else {"x": f"{(max(letters)[0] + size / 2) / 2:.1f}", "text-anchor": "middle"}
    plain, formulas = text.split("$")[::2], text.split("$")[1::2]
    parts = zip(map(html.escape, plain), [*map(_formula, formulas), ""], strict=True)
    new = ElementTree.fromstring(f'<text xmlns="{NAMESPACE}">{"".join(part for both in parts for part in both)}</text>')
    node.text, node[:] = new.text, new[:]
    node.attrib = place | {"style": f"font-size: {size}px; font-family: 'DejaVu Sans', sans-serif"}


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
    if sign := sign_of(command):
        return sign
    raise UnknownMathematics(f"\\{command} in the words of a figure has no character of its own. Write another sign.")


def sign_of(command: str) -> str:
    """The character that a command of LaTeX stands for; empty if there is none."""
    code = "2009" if command == "," else convert_symbol(f"\\{command}")
    return chr(int(code, 16)) if code else ""


def in_english(notebook: NotebookNode, words: Mapping[str, str]) -> list[str]:
    """A line for each text that would be in English in a figure of a page in another language.

    Translated by ``words``, it has a word of two Latin letters or more that the notebook's prose does not have either.
    """
    prose = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    translate, names = translator(words), {*_LATIN.findall(" ".join([prose, *words.values()]))}
    texts = {line.said for data in drawn(notebook) for line in lines(parsed(data.get(SVG) or data[TABLE]))}
    foreign = (text for text in texts if {*_LATIN.findall(re.sub(r"\$.*?\$", "", translate(text)))} - names)
    return [f"[{FIGURES}] has no translation of {text!r}, which a figure shows" for text in sorted(foreign)]


def drawn(notebook: NotebookNode) -> list[NotebookNode]:
    """The data of the figures and tables of a notebook."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return [data for output in outputs if (data := output.get("data", {})).keys() & {SVG, TABLE}]


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


# The outputs of a notebook are computed once, for the first language. The code of the other differs in words only, and
# has the same placeholders: what it prints is a string of its table of words, with numbers and names in them.


def retold(executed: NotebookNode, notebook: NotebookNode, words: Mapping[str, str]) -> None:
    """Write the outputs of a notebook into the same one in another language, by the words of its code."""
    lines = {text: other for text, other in words.items() if text.count("\n") == other.count("\n")}
    before = {f"{text} {{more}}": f"{other} {{more}}" for text, other in lines.items()}  # print(text, more)
    translate = translator(lines | before)
    outputs = {cell.id: cell.outputs for cell in executed.cells if cell.cell_type == "code"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_output(deepcopy(output), translate) for output in outputs[cell.id]]


def _output(output: NotebookNode, translate: Callable[[str], str]) -> NotebookNode:
    if output.output_type == "stream":
        output.text = "\n".join(map(translate, output.text.split("\n")))
    elif TABLE in output.get("data", {}):
        output.data[TABLE] = reworded(output.data[TABLE], translate)
        cells = (line.split("\t") for line in output.data["text/plain"].split("\n"))
        output.data["text/plain"] = "\n".join("\t".join(map(translate, line)) for line in cells)
    return output
