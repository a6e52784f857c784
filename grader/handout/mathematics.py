"""Formulas: LaTeX to MathML, which browsers show without help, and from there to Typst, which makes the PDF."""

from __future__ import annotations

import re
from functools import partial
from xml.etree import ElementTree

from latex2mathml.converter import convert

_LETTERS = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')


class UnknownMathematics(Exception):
    """A formula uses something that the PDF has no words for; the text says what."""


def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as MathML; letters of an upright name become one identifier, which is read out as one."""
    markup = convert(latex, display="block" if block else "inline")
    return _LETTERS.sub(lambda name: f"<mi>{re.sub('<.*?>', '', name[0])}</mi>", markup)


def typst(latex: str) -> str:
    """A formula in Typst's notation, without the dollar signs.

    Raises:
        UnknownMathematics: If it needs an element that no handout has used so far.
    """
    return _element(ElementTree.fromstring(mathml(latex)))


def _element(node: ElementTree.Element) -> str:
    tag = node.tag.rpartition("}")[2]
    parts = [_element(child) for child in node]
    text = node.text or ""
    match tag:
        case "math" | "mrow" | "mstyle" | "mtd":
            return " ".join(parts) or '""'
        case "mi":
            upright = len(text) > 1 or node.get("mathvariant") == "normal"
            return f"upright({' '.join(text)})" if upright else text  # letter by letter: a string would take spaces
        case "mn" | "mtext":
            return _quoted(text)
        case "mo":
            return _operator(text)
        case "mspace":
            return f"#h({node.get('width', '0em')})"
        case "msqrt":
            return f"sqrt({' '.join(parts)})"
        case "mfrac":
            return f"frac({parts[0]}, {parts[1]})"
        case "msub" | "msup" | "msubsup" | "munder" | "munderover":
            return _attached(tag, parts)
        case "mtable":
            return f"mat(delim: #none, {'; '.join(parts)})"
        case "mtr":
            return ", ".join(parts)
    raise UnknownMathematics(f"<{tag}> has no counterpart in grader/handout/mathematics.py.")


def _attached(tag: str, parts: list[str]) -> str:
    places = {"msub": "b", "msup": "t", "munder": "b"}.get(tag, "bt")
    attached = ", ".join(f"{place}: {part}" for place, part in zip(places, parts[1:], strict=True))
    return f"attach({parts[0]}, {attached})"


def _operator(text: str) -> str:
    """A sign by itself; brackets are escaped, so that Typst neither pairs nor counts them."""
    if text == "/":
        return 'class("normal", \\/)'  # no space beside it, as in TeX
    return "".join(f"\\{sign}" if sign in r'()[]{},;/_^&#$"\'`~*-:' else sign for sign in text)


_quoted = partial(re.compile(r"(.*)", re.DOTALL).sub, r'"\1"', count=1)
