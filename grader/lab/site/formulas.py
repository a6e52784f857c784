"""Formulas from LaTeX to MathML; refuses formulas that browsers render wrong."""

from __future__ import annotations

import re
from functools import cache
from itertools import cycle
from xml.etree import ElementTree

from latex2mathml.converter import convert
from latex2mathml.symbols_parser import convert_symbol

# What latex2mathml reads right only if it is written in another way, which means the same in LaTeX.
_ALIKE = (
    (re.compile(r"\\mathrm\{([A-Za-z])\}"), r"\\mathrm \1"),  # else italic
    (re.compile(r"(\\math(?!rm)[a-z]+)\s+([A-Za-z])"), r"\1{\2}"),  # else without its style
    (re.compile(r"\\[lr]Vert\b"), r"\\|"),  # else stretched to the height of its neighbours
    (
        re.compile(r"(\\begin\{(\w*matrix)\}.*?\\end\{\2\})", re.DOTALL),
        r"{\1}",
    ),  # else an exponent has only its bracket
)

_BIG = re.compile(r"(?<=>)\\[a-z]+(?=</mo>)")  # the name of a bracket after \Big, which latex2mathml leaves as it is
_LETTERS = re.compile(r'(?:<mi mathvariant="normal">\w</mi>){2,}')
_MONOSPACE, _AS_STYLE = 'mathvariant="monospace"', 'style="font-family: monospace"'
_OPERATOR = re.compile(r"<mo[^>]*>([a-z]{2,})</mo>")  # a name, to which a browser gives the spaces of a relation
_SCRIPT = r"(?:<m[ino]>[^<]*</m[ino]>|<mrow>(?:(?!</?mrow).)*</mrow>)"
_BELOW = re.compile(rf"<msub>((?:<mi>(?:min|max)</mi>|<mo>&#x02211;</mo>){_SCRIPT})</msub>")
# A function with what is written on it, what ends before it, and what begins after it: between two, TeX puts a space.
_FUNCTION = re.compile(
    r"(?P<before></m(?:[in]|su[bp]|subsup|row|frac|sqrt)>|(?:\)|&#x00029;)</mo>|postfix[^>]*>[^<]*</mo>)?"
    r"(?P<name>(?P<script><(msu[bp]|munder)>)?<mi>(?:ln|log|exp|arg|cos|sin|det|min|max)</mi>"
    rf"(?(script){_SCRIPT}</\4>))"
    r"(?P<after>(?=<m(?!o|space)|<mo form=.prefix))?"
)
# What no number ends: a minus after it is a sign, and a browser would take it for a subtraction.
_SIGN = re.compile(
    r"(<m(?:row|td|ath)[^>]*>|<mo[^>]*form=.prefix[^>]*>[^<]*</mo>|"
    r"<mo(?![^>]*form=)[^>]*>(?!\)|\]|\*|&#x000(?:29|5D|2A|7D);)[^<]*</mo>)<mo>&#x02212;</mo>"
)
_NAME = re.compile(r"<mrow>(<mi>arg</mi>)</mrow>")
_INFINITY = "<mo>&#x0221E;</mo>"  # a number, and no operator
_SPACE = '<mspace width="0.17em"/>'
_PRIME = "<mi>&#x02032;</mi>"  # fonts have another one for superscripts; a page whose font lacks it can move it
_SLASH = "<mo>&#x0002F;</mo>"
_BAR = re.compile(r"<mo(?=[^>]*>(?:\||&#x0007C;|&#x02016;)</mo>)(?![^>]*form=)")

_NOT_CORE = {"menclose", "mfenced", "mlabeledtr"}  # obsolete: browsers ignore the element and show its parts
_PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


class UnknownMathematics(Exception):
    """A formula has something that cannot be written in another notation; the text names it, in one line."""


@cache
def mathml(latex: str, *, block: bool = False) -> str:
    """A formula as MathML; the letters of an upright name become one identifier, so that screen readers say a word.

    Raises:
        UnknownMathematics: If latex2mathml cannot read the formula, or a browser would show something else.
    """
    written, named = latex, f"${' '.join(latex.split())}$"
    for pattern, alike in _ALIKE:
        written = pattern.sub(alike, written)
    try:
        markup = _mended(convert(written, display="block" if block else "inline"), block)
        wrong = _wrong(ElementTree.fromstring(markup))
    except Exception as error:  # those of latex2mathml have nothing in common
        raise UnknownMathematics(f"latex2mathml cannot parse {named}. Write the formula differently.") from error
    if wrong:
        raise UnknownMathematics(f"A browser would not show {named} as it is meant: {wrong}.")
    return markup


def _mended(markup: str, block: bool) -> str:
    markup = _BIG.sub(lambda name: f"&#x{code};" if (code := convert_symbol(name[0])) else name[0], markup)
    markup = markup.replace(_SLASH, '<mo lspace="0" rspace="0">/</mo>')  # no space around a slash, as in TeX
    markup = markup.replace(_MONOSPACE, _AS_STYLE)
    markup = _LETTERS.sub(lambda name: f"<mi>{re.sub('<.*?>', '', name[0])}</mi>", markup)
    sides = cycle(("prefix", "postfix"))  # else a bar has the spaces of a relation
    markup = _BAR.sub(lambda _: f'<mo form="{next(sides)}"', markup)
    markup = markup.replace(_PRIME, _PRIME.replace("<mi", '<mi class="prime"'))
    markup = _NAME.sub(r"\1", _OPERATOR.sub(r"<mi>\1</mi>", markup))
    markup = _SIGN.sub(
        r'\1<mo form="prefix">&#x02212;</mo>', markup.replace(_INFINITY, _INFINITY.replace("mo>", "mi>"))
    )
    if block:
        markup = _BELOW.sub(r"<munder>\1</munder>", markup)
    return _FUNCTION.sub(_spaced, markup)


def _spaced(found: re.Match[str]) -> str:
    before = found["before"] + _SPACE if found["before"] else ""
    return before + found["name"] + (_SPACE if found["after"] is not None else "")


def _wrong(formula: ElementTree.Element) -> str:
    """The parts that a browser would render wrong; empty if there are none."""
    bars = 0
    for node in formula.iter():
        tag, text = node.tag.rpartition("}")[2], node.text or ""
        if "\\" in text:
            return f"{text} would appear as plain text"
        if tag in _NOT_CORE:
            return f"browsers do not know <{tag}>"
        if len(node) != _PARTS.get(tag, len(node)):
            return f"<{tag}> has {len(node)} parts, and needs {_PARTS[tag]}"
        if node.get("mathvariant", "normal") != "normal":
            return f"{text} would lose its style, {node.get('mathvariant')}"
        bars += text in ("|", "‖")
    return r"a bar has no other; between two things, write \mid" if bars % 2 else ""
