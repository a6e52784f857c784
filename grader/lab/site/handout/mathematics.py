"""Writes formulas, from MathML, in Typst's notation for the PDF."""

from __future__ import annotations

import re
from functools import partial
from xml.etree import ElementTree

from grader.lab.site.formulas import UnknownMathematics, mathml


def typst(latex: str) -> str:
    """A formula in Typst's notation, without the dollar signs.

    Raises:
        UnknownMathematics: If the formula has no MathML, or this module does not know an element of it.
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
            return f"upright({' '.join(text)})" if upright else text  # not a string: Typst puts spaces around it
        case "mn" | "mtext":
            return _quoted(text)
        case "mo":
            return _operator(text)
        case "mspace":
            return f"#h({node.get('width', '0em')})"
        case "msqrt":
            return f"sqrt({' '.join(parts)})"
        case "mroot":
            return f"root({parts[1]}, {parts[0]})"
        case "mfrac":
            return f"frac({parts[0]}, {parts[1]})"
        case "mover" if len(accent := node[1].text or "") == 1:
            return f"accent({parts[0]}, {_quoted(accent)})"
        case "msub" | "msup" | "msubsup" | "munder" | "mover" | "munderover":
            return _attached(tag, parts)
        case "mtable":
            return f"mat(delim: #none, {'; '.join(parts)})"
        case "mtr":
            return ", ".join(parts)
    raise UnknownMathematics(f"<{tag}> has no counterpart in grader/lab/site/handout/mathematics.py.")


def _attached(tag: str, parts: list[str]) -> str:
    places = {"msub": "b", "msup": "t", "munder": "b", "mover": "t"}.get(tag, "bt")
    attached = ", ".join(f"{place}: {part}" for place, part in zip(places, parts[1:], strict=True))
    return f"attach({parts[0]}, {attached})"


def _operator(text: str) -> str:
    """An operator; brackets are escaped, so that Typst neither pairs them nor reports one that is not closed."""
    if text == "/":
        return 'class("normal", \\/)'
    return "".join(f"\\{sign}" if sign in r'()[]{},;/_^&#$"\'`~*-:' else sign for sign in text)


_quoted = partial(re.compile(r"(.*)", re.DOTALL).sub, r'"\1"', count=1)
