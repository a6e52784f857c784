"""Typesets a page as in print: quotation marks, remarks in the margin, formulas kept with their punctuation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.lab.site.formulas import UnknownMathematics, mathml

TIGHT = '<span class="tight">'
LONG = 50  # characters of a formula in a line of text that may be wider than a phone

# Code spans come first, so that a dollar sign or a quotation mark in one is left alone.
_MATH = re.compile(r"(?P<code>`[^`]*`)|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+?)\$", re.DOTALL)
_QUOTE = re.compile(r"""`[^`]*`|(?P<open>(?<![^\s(\[*—])")|(?P<close>")|(?P<half>')""")
_MARKS = {"open": "“", "close": "”", "half": "\u2019"}

# Whole sentences in parentheses, in Latin and in Chinese; a link has parentheses of its own.
_REMARKS = (
    re.compile(r"(?:(?<=[.:?!*]\s)|(?<=\n\n))(\()([A-Z\[`][^()]*(?:\([^()]*\)[^()]*)*[.?!])(\))"),
    re.compile(r"(?<=[。：？！\n])(（)([^（）]*(?:（[^（）]*）[^（）]*)*。)(）)"),
)

# A formula with the punctuation beside it, which else would end a line, or begin the next.
_HELD = re.compile(
    r'([(（“]*)(<span class="long">)?(<math(?:(?!</math>).)*</math>)(?(2)</span>)'
    r"([-–,.;:!?)%”\u2019，。；：！？）、]*)",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(r"MATHEMATICS(\d+)X")

# Markdown does not end emphasis between a Chinese mark and a letter: a blank stands there, and the mark has its own.
_GAP = re.compile(r"(?<=[\u3000-\u303f\uff00-\uffef])(</(?:strong|em)>) ")

SOLUTION = "# A solution"  # the first line of a cell that shows one

_FOLDED = {  # what the page folds away, by what its code shows
    "figure": re.compile(r"(?s).*(?:plt\.show|to_touch)\("),
    "set-up": re.compile(r"(?:import|from)\b"),
    "checks": re.compile(r"with quiet\(\):"),
    "solution": re.compile(rf"{SOLUTION}\n"),
}


def folded(code: str) -> str:
    """What a cell that the page folds away does, such as ``figure`` or ``checks``; empty for others."""
    lines = code.splitlines()
    claims = 2 * sum("assert " in line for line in lines) >= len(lines) > 1
    return next((kind for kind, shows in _FOLDED.items() if shows.match(code)), "claims" if claims else "")


def prose(source: str, formulas: list[str]) -> str:
    """Markdown with curly quotation marks and marked remarks; its formulas go into the list, and are named instead."""

    def set_aside(found: re.Match[str]) -> str:
        if found["code"]:
            return found["code"]
        formulas.append(_formula(found["block"] or found["inline"], block=found["block"] is not None))
        return f"MATHEMATICS{len(formulas) - 1}X"  # which Markdown leaves alone

    source = _MATH.sub(set_aside, source)
    for remark in _REMARKS:
        source = remark.sub(r"<span class=aside><i>\1</i>\2<i>\3</i></span>", source)
    return _QUOTE.sub(lambda found: _MARKS.get(found.lastgroup or "", found[0]), source)


def with_formulas(text: str, formulas: list[str]) -> str:
    """HTML with its formulas; punctuation beside one stays in its line, and no space follows a Chinese mark."""
    text = _PLACEHOLDER.sub(lambda found: formulas[int(found[1])], text)
    return _HELD.sub(_held, _GAP.sub(r"\1", text))


def _held(found: re.Match[str]) -> str:
    before, long, formula, after = found.groups("")
    return f"{long or TIGHT}{before}{formula}{after}</span>" if before or after else found[0]


def _formula(latex: str, *, block: bool) -> str:
    """A formula as MathML, which scrolls where there is no room."""
    markup = mathml(latex, block=block)
    wide = "formula" if block else "long" if len(latex) > LONG else ""
    return f'<span class="{wide}">{markup}</span>' if wide else markup


def problems(source: str) -> Iterator[str]:
    """A line for each formula of a text in Markdown that a browser could not show."""
    for found in _MATH.finditer(source):
        try:
            if not found["code"]:
                _formula(found["block"] or found["inline"], block=found["block"] is not None)
        except UnknownMathematics as error:
            yield str(error)
