"""How a page is set, as in print: quotation marks, remarks in the margin, formulas with the stop that follows."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

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

_NAMED = re.compile(r"(<mi>(?:ln|log|exp|cos|sin)</mi>)(?=<m(?!o))")  # a thin space follows
_STOP = re.compile(r"(<math(?:(?!</math>).)*</math>)([,.;:!?)，。；：！？）]+)", re.DOTALL)
_PLACEHOLDER = re.compile(r"MATHEMATICS(\d+)X")


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
    """HTML with its formulas; what ends a clause stays in the formula's line."""
    text = _PLACEHOLDER.sub(lambda found: formulas[int(found[1])], text)
    return _STOP.sub(r'<span class="tight">\1\2</span>', text)


def _formula(latex: str, *, block: bool) -> str:
    """A formula as MathML, which scrolls where there is no room."""
    mathml = _NAMED.sub(r'\1<mspace width="0.17em"/>', convert(latex, display="block" if block else "inline"))
    wide = "formula" if block else "long" if len(latex) > LONG else ""
    return f'<span class="{wide}">{mathml}</span>' if wide else mathml
