"""Markdown as HTML for handout and handbook: formulas, quotation marks, links, interactive figures."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.lab.site import touch
from grader.lab.site.formulas import UnknownMathematics, mathml

TIGHT = '<span class="tight">'
LONG = 50  # characters of a formula in a line of text that may be wider than a phone

_LINK = re.compile(r'(href="\w+)\.(?:md|ipynb)(?=["#])')
_NO_HEAD = re.compile(r"<th[^>]*></th>")  # a screen reader would say that the column has a name
# A formula with the punctuation beside it, which else would end a line, or begin the next.
_HELD = re.compile(
    r'([(（“]*)(<span class="long">)?(<math(?:(?!</math>).)*</math>)(?(2)</span>)'
    r"([-–,.;:!?)%”\u2019，。；：！？）、]*)",
    re.DOTALL,
)
# Markdown cannot end emphasis between Chinese punctuation and a letter, so the source has a space there. It is removed:
# the punctuation mark is wide enough.
_GAP = re.compile(r"(?<=[\u3000-\u303f\uff00-\uffef])(</(?:strong|em)>) ")
# Line breaks in Chinese text, which HTML shows as spaces.
_CHARACTER = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_PUNCTUATION = r"[\u3001-\u3011\uff01-\uff5e\u201c\u201d]"  # which has its own space

_BLOCK = r"[-*+] |\d+\. |[|>#\s]|\$\$|```|<!--"  # what a new paragraph, or an item of a list, begins with
_BREAK_IN_CHINESE = re.compile(  # outside of code; in a list, lines are indented
    r"((?s:```.*?```))|"
    rf"(?<={_CHARACTER})\n *(?=\*{{0,2}}{_CHARACTER})|"
    rf"(?<={_PUNCTUATION})\n *(?!{_BLOCK}|$)|(?<=\S)\n *(?={_PUNCTUATION})"
)


def unbroken(text: str) -> str:
    """A text without line breaks where Chinese has no space: HTML shows a break as one."""
    return _BREAK_IN_CHINESE.sub(r"\1", text)


@cache
def parser() -> MarkdownIt:
    """A parser of CommonMark with tables, formulas between dollar signs, curly quotation marks and ids of headings."""
    markdown = MarkdownIt("commonmark", {"html": True, "typographer": True})
    markdown.enable(["table", "smartquotes"]).use(dollarmath_plugin, allow_labels=False, double_inline=True)

    def anchor(heading: str) -> str:  # as Jupyter's, so that a link into a notebook leads to the same place in its page
        return quote(heading.replace(" ", "-"), safe="?/:@!$&'()*+,;=")

    return markdown.use(anchors_plugin, max_level=6, slug_func=anchor)


class Renderer(RendererHTML):
    """markdown-it's renderer with formulas as MathML; each method is named after its token."""

    def math_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A formula in a line of text."""
        formula = mathml(tokens[idx].content)
        return f'<span class="long">{formula}</span>' if len(tokens[idx].content) > LONG else formula

    def math_inline_double(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A displayed formula within a paragraph."""
        return f'<span class="formula">{mathml(tokens[idx].content, block=True)}</span>'

    def math_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        """A displayed formula between paragraphs."""
        return f"<p>{self.math_inline_double(tokens, idx)}</p>\n"


def html(tokens: Sequence[Token], renderer: RendererHTML | None = None) -> str:
    """Tokens of the parser as HTML, which ``finished`` completes."""
    return str((renderer or Renderer()).render(tokens, parser().options, {}))


def finished(page: str) -> str:
    """HTML with links to pages, interactive figures, and no line break between a formula and its punctuation."""
    page = _HELD.sub(_held, _GAP.sub(r"\1", page))
    return touch.alive(_LINK.sub(r"\1.html", _NO_HEAD.sub("<td></td>", page)))


def _held(found: re.Match[str]) -> str:
    before, long, formula, after = found.groups("")
    return f"{long or TIGHT}{before}{formula}{after}</span>" if before or after else found[0]


@cache
def font() -> str:
    """The font for formulas on pages that bring their own, as base64."""
    return base64.b64encode((Path(__file__).parent / "fonts" / "stix-two-math.woff").read_bytes()).decode()


def wrong_formulas(tokens: Iterable[Token]) -> Iterator[str]:
    """What is wrong with each formula in a text that a browser could not show."""
    for token in tokens:
        if token.type.startswith("math_"):
            try:
                mathml(token.content)
            except UnknownMathematics as error:
                yield str(error)
        yield from wrong_formulas(token.children or ())
