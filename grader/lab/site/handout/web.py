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

from grader.lab.site import markdown, touch
from grader.lab.site.formulas import mathml

from .pages import Page

COVER = "figures/cover.svg"  # in the handout's source; what is printed does without, too
WHOLE = "all"
FOLDED = {"Common mistakes": "Show", "常见错误": "展开"}  # sections that would spoil the search for one's own mistake
LONGEST_WHOLE = 28  # characters; shorter code in a sentence is not broken over two lines
LIGHT, DARK = "xcode", "github-dark"  # each colour reads well: 4.5 to 1 on the ground of code


def write(pages: Sequence[Page], out: Path, title: str) -> list[Path]:
    """Write every page into ``out``, with links to the others and to the languages in folders beside ``out``.

    The last is all of them as one, to print.
    """
    out.mkdir(parents=True, exist_ok=True)
    language, source = pages[0].language, pages[0].folder.parent
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True
    )
    templates.globals |= {
        "language": language,
        "pages": pages,
        "contents": {
            page.name: markdown.finished(markdown.html(page.tokens, _Renderer(page.folder))) for page in pages
        },
        "light": HtmlFormatter(style=LIGHT).get_style_defs(".code"),
        "dark": HtmlFormatter(style=DARK).get_style_defs(".code"),
    }
    texts = {
        page.name: templates.get_template("page.html.j2").render(
            page=page,
            title=page.title,
            script=touch.script(source / "touch", page.touches),
            touch_styles=touch.styles() if page.touches else "",
        )
        for page in pages
    }
    cover = (source / COVER).read_text(encoding="utf-8") if (source / COVER).is_file() else ""
    whole = templates.get_template("book.html.j2").render(title=title, cover=cover, font=markdown.font())
    whole = re.sub(r'(<h\d) id="[^"]*"', r"\1", whole)  # pages have headings of the same name
    texts[WHOLE] = re.sub(r'href="(\w+)\.html(?:#[^"]*)?"', r'href="#\1"', whole)
    for name, text in texts.items():
        (out / f"{name}.html").write_text(text, encoding="utf-8")
    return [out / f"{name}.html" for name in texts]


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
