"""The handout's pages: Markdown with mathematics, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from ..assignment import Rubric

SOURCE = Path(__file__).parents[2] / "handout"
NAMES = ("index", "task1", "task2", "task3", "task4", "submit", "debugging")
BOX = "[ ] "
_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


@dataclass(frozen=True)
class Page:
    """One page in one language.

    Attributes:
        name: What it is called in every language, such as ``task1``.
        folder: Where its source lies; its pictures are named from there.
    """

    name: str
    language: str
    folder: Path
    tokens: list[Token]

    @property
    def title(self) -> str:
        """The first heading."""
        return self.tokens[1].content


class HandoutError(Exception):
    """A source that cannot be rendered; the text says which and why."""


def parser() -> MarkdownIt:
    """CommonMark with tables and formulas between dollar signs; no HTML."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").use(dollarmath_plugin, allow_space=False)


def read(language: str, rubric: Rubric, source: Path = SOURCE) -> list[Page]:
    """All pages of a language, in order.

    Requirements, which are list items that begin with a box, get the id of their property as an anchor, so that
    feedback can point at them.

    Raises:
        HandoutError: If one is missing.
    """
    anchors = {prop.title[language]: prop.id for prop in rubric.properties.values()}
    pages = []
    for name in NAMES:
        path = source / language / f"{name}.md"
        if not path.is_file():
            raise HandoutError(f"{path}: no such file. Every language has the pages {', '.join(NAMES)}.")
        tokens = parser().parse(path.read_text(encoding="utf-8"))
        for item, content in _items(tokens):
            _mark_requirement(item, content, anchors)
        for token in tokens:
            _join_chinese(token.children or [])
        pages.append(Page(name, language, path.parent, tokens))
    return pages


def _items(tokens: list[Token]) -> list[tuple[Token, Token]]:
    """Each list item with the text that it begins with."""
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


def _join_chinese(children: list[Token]) -> None:
    """Drop line breaks between Chinese characters, which a reader would see as spaces."""
    for before, token, after in zip(children, children[1:], children[2:], strict=False):
        ends = (before.content[-1:], after.content[:1])
        if token.type == "softbreak" and all(map(_CHINESE.match, ends)):
            token.type, token.content = "text", ""
