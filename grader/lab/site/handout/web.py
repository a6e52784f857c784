"""Renders pages as HTML that loads no other file: pictures, formulas and colours are in the page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from grader.core.rubric import LANGUAGES
from grader.lab.site import markdown, touch
from grader.lab.site.formulas import mathml

from .pages import Page

TEMPLATE = Path(__file__).with_name("page.html.j2")
OTHER_LANGUAGE = {"en": "English", "zh": "中文"}
FOLDED = {"Common mistakes": "Show", "常见错误": "展开"}  # sections that would spoil the search for one's own mistake
LONGEST_WHOLE = 28  # characters; shorter code in a sentence is not broken over two lines
LIGHT, DARK = "xcode", "github-dark"  # each colour reads well: 4.5 to 1 on the ground of code


def write(pages: Sequence[Page], out: Path) -> list[Path]:
    """Write every page into ``out``, with links to the others and to the languages in folders beside ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    template = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    written = []
    for page in pages:
        path = out / f"{page.name}.html"
        text = template.render(
            page=page,
            pages=pages,
            others={code: OTHER_LANGUAGE[code] for code in LANGUAGES if code != page.language},
            content=markdown.finished(markdown.html(page.tokens, _Renderer(page.folder))),
            script=touch.script(page.touch_folder, page.touches),
            touch_styles=touch.styles() if page.touches else "",
            light=HtmlFormatter(style=LIGHT).get_style_defs(".code"),
            dark=HtmlFormatter(style=DARK).get_style_defs(".code"),
        )
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


class _Renderer(markdown.Renderer):
    """The renderer with pictures and code of the handout."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def math_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        beside = re.split(r"\\qquad\b", tokens[idx].content)  # formulas side by side, which wrap on a narrow screen
        return f'<div class="formulas">{"".join(mathml(formula, block=True) for formula in beside)}</div>\n'

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        content = tokens[idx].content
        kind = ' class="whole"' if len(content) <= LONGEST_WHOLE else ""
        return f"<code{kind}>{html.escape(content, quote=False)}</code>"

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        lexer = get_lexer_by_name(tokens[idx].info or "text", stripnl=False)
        return str(highlight(tokens[idx].content, lexer, HtmlFormatter(cssclass="code")))

    def image(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        picture = (self.folder / str(tokens[idx].attrs["src"])).read_text(encoding="utf-8")
        label = html.escape(tokens[idx].content)
        labelled = re.sub(r"<svg ", f'<svg role="img" aria-label="{label}" ', picture, count=1)
        return f'<span class="figure">{labelled}</span>'

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        folded = FOLDED.get(_heading(tokens, idx))
        opened = f"<details><summary>{folded}</summary>" if folded else ""
        return f'{opened}<div class="table">{self.renderToken(tokens, idx, options, env)}'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        closed = "</details>" if _heading(tokens, idx) in FOLDED else ""
        return f"{self.renderToken(tokens, idx, options, env)}</div>{closed}"


def _heading(tokens: Sequence[Token], idx: int) -> str:
    """The heading of the section that a token is in."""
    return next((tokens[at + 1].content for at in range(idx, -1, -1) if tokens[at].type == "heading_open"), "")
