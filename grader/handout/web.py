"""Pages as HTML that needs nothing beside itself: pictures, formulas and colours are in it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from ..assignment import LANGUAGES
from .mathematics import mathml
from .pages import Page, parser

TEMPLATE = Path(__file__).with_name("page.html.j2")
OTHER_LANGUAGE = {"en": "English", "zh": "中文"}
LIGHT, DARK = "friendly", "github-dark"


def write(pages: Sequence[Page], out: Path) -> list[Path]:
    """Write a page each into ``out``, linked with each other and with the other languages beside ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    template = jinja2.Template(TEMPLATE.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True)
    written = []
    for page in pages:
        path = out / f"{page.name}.html"
        text = template.render(
            page=page,
            pages=pages,
            others={code: OTHER_LANGUAGE[code] for code in LANGUAGES if code != page.language},
            content=body(page),
            light=HtmlFormatter(style=LIGHT).get_style_defs(".code"),
            dark=HtmlFormatter(style=DARK).get_style_defs(".code"),
        )
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def body(page: Page) -> str:
    """The page's content as HTML."""
    return str(_Renderer(page).render(page.tokens, parser().options, {}))


class _Renderer(RendererHTML):
    """markdown-it's own renderer, with formulas, pictures and code put in place; methods are named after tokens."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page

    def math_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return mathml(tokens[idx].content)

    def math_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return mathml(tokens[idx].content, block=True) + "\n"

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        lexer = get_lexer_by_name(tokens[idx].info or "text", stripnl=False)
        return str(highlight(tokens[idx].content, lexer, HtmlFormatter(cssclass="code")))

    def image(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        picture = (self.page.folder / str(tokens[idx].attrs["src"])).read_text(encoding="utf-8")
        label = html.escape(tokens[idx].content)
        return re.sub(r"<svg ", f'<svg role="img" aria-label="{label}" ', picture, count=1)

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("href", re.sub(r"^(\w+)\.md", r"\1.html", str(tokens[idx].attrs["href"])))
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<div class="table">{self.renderToken(tokens, idx, options, env)}'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"{self.renderToken(tokens, idx, options, env)}</div>"
