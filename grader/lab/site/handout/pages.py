"""Reads and parses the handout's pages: Markdown with mathematics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.core.rubric import Rubric
from grader.lab.site import chinese
from grader.lab.site.formulas import UnknownMathematics
from grader.lab.site.touch import MARKER

from .mathematics import typst

FIRST = "index"
BOX = "[ ] "
_CHINESE, _WIDE = re.compile(chinese.CHARACTER), re.compile(chinese.PUNCTUATION)


@dataclass(frozen=True)
class Page:
    """One page in one language.

    Attributes:
        name: The name of the page, the same in every language, such as ``task1``.
        folder: The folder of its Markdown file; paths of pictures are relative to it.
    """

    name: str
    language: str
    folder: Path
    tokens: list[Token]

    @property
    def title(self) -> str:
        """The first heading of the page."""
        return self.tokens[1].content

    @property
    def touches(self) -> list[str]:
        """The names of the figures to touch, in order."""
        return [token.content for token in self.tokens if token.type == "touch"]

    @property
    def touch_folder(self) -> Path:
        """Where the scripts of such figures are; one serves all languages."""
        return self.folder.parent / "touch"


class HandoutError(Exception):
    """A page cannot be rendered; the text names the page and the reason."""


def parser() -> MarkdownIt:
    """A parser of CommonMark with tables and formulas between dollar signs, and without HTML in lines of text."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table").disable("html_inline")
    return markdown.use(dollarmath_plugin, allow_space=False)


def read(language: str, rubric: Rubric, source: Path) -> list[Page]:
    """Read all pages of a language, in order.

    A requirement is a list item that begins with ``[ ]``. It gets the id of its property as an anchor, so that feedback
    can link to it.

    Raises:
        HandoutError: If a page is missing, holds HTML other than the mark of a figure to touch, or has a formula that a
            browser or the PDF could not show.
    """
    anchors = {prop.title[language]: prop.id for prop in rubric.properties.values()}
    pages = []
    names = page_names(rubric, source)
    for name in names:
        path = source / language / f"{name}.md"
        if not path.is_file():
            raise HandoutError(f"{path}: no such file. Every language has the pages {', '.join(names)}.")
        tokens = parser().parse(path.read_text(encoding="utf-8"))
        for item, content in _items(tokens):
            _mark_requirement(item, content, anchors)
        for token in tokens:
            _join_chinese(token.children or [])
            _mark_touch(token, path)
            _check_formulas(token, path)
        pages.append(Page(name, language, path.parent, tokens))
    return pages


def page_names(rubric: Rubric, source: Path) -> list[str]:
    """The names of all pages: ``index``, one page for each task, then all others that exist in any language."""
    needed = [FIRST, *(task.id for task in rubric.tasks)]
    return [*needed, *sorted({path.stem for path in source.glob("*/*.md")} - {*needed})]


def _items(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """The token of each list item that begins with text, and the token of that text."""
    return [
        (token, tokens[index + 2])
        for index, token in enumerate(tokens)
        if token.type == "list_item_open" and tokens[index + 2].type == "inline"
    ]


def _mark_requirement(item: Token, content: Token, anchors: dict[str, str]) -> None:
    """Turn ``[ ] **title** …`` into an item with a class and an anchor."""
    children = content.children or []
    if not content.content.startswith(BOX) or len(children) < 3:
        return
    children[0].content = children[0].content.removeprefix(BOX)
    item.attrSet("class", "requirement")
    title = re.match(r"\[ \] \*\*(.+?)\*\*", content.content)
    if title and title[1] in anchors:
        item.attrSet("id", anchors[title[1]])


def _mark_touch(token: Token, path: Path) -> None:
    """Turn HTML that marks the place of a figure to touch into a token of its own, whose content is the name."""
    if token.type == "html_block":
        if not (marker := MARKER.fullmatch(token.content.strip())):
            raise HandoutError(
                f"{path}: {token.content.strip()!r} is HTML, which pages may not contain. Write Markdown."
            )
        token.type, token.content = "touch", marker[1]


def _check_formulas(token: Token, path: Path) -> None:
    for one in (token, *(token.children or [])):
        if one.type.startswith("math_"):
            try:
                typst(one.content)
            except UnknownMathematics as error:
                raise HandoutError(f"{path}: {error}") from None


def _join_chinese(children: list[Token]) -> None:
    """Drop line breaks between Chinese characters and beside their punctuation, since HTML shows them as spaces."""
    for before, token, after in zip(children, children[1:], children[2:], strict=False):
        ends = (before.content[-1:], after.content[:1])
        if token.type == "softbreak" and (all(map(_CHINESE.match, ends)) or any(map(_WIDE.match, ends))):
            token.type, token.content = "text", ""
