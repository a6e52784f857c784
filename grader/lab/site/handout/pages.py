"""Reads and parses the handout's pages: Markdown with mathematics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from markdown_it.token import Token

from grader.core.messages import UserError
from grader.core.rubric import Rubric
from grader.lab.site import languages, markdown
from grader.lab.site.touch import MARKER

BOX = "[ ] "
REQUIREMENT = re.compile(re.escape(BOX) + r"\*\*(.+?)\*\*")


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
        """The names of the interactive figures, in order; each has one script for all languages."""
        return [name for token in self.tokens if token.type == "html_block" for name in MARKER.findall(token.content)]


class HandoutError(UserError):
    """A page cannot be rendered, or disagrees with another; the text names the page and the reason."""


def read(language: str, rubric: Rubric, source: Path) -> list[Page]:
    """Read all pages of a language, in order.

    A requirement is a list item that begins with ``[ ]``. It gets the id of its property as an anchor, so that feedback
    can link to it.

    Raises:
        HandoutError: If a page is missing, holds HTML other than the mark of an interactive figure, or has a formula
            that a browser could not show.
    """
    anchors = {prop.title[language]: prop.id for prop in rubric.properties.values()}
    needed = ["index", *(task.id for task in rubric.tasks)]
    others = {path.stem for path in source.glob("*/*.md")} - {*needed}  # in any language
    names = [*needed, *sorted(others)]
    pages = []
    for name in names:
        path = source / language / f"{name}.md"
        if not path.is_file():
            raise HandoutError(f"{path}: no such file. Every language has the pages {', '.join(names)}.")
        tokens = markdown.parser().parse(markdown.unbroken(path.read_text(encoding="utf-8")))
        _mark_requirements(tokens, anchors)
        for token in (*tokens, *languages.within(tokens)):
            if token.type.startswith("html_") and not MARKER.fullmatch(token.content.strip()):
                said = repr(token.content.strip())
                raise HandoutError(f"{path}: {said} is HTML, which pages may not contain. Write Markdown.")
        for wrong in markdown.wrong_formulas(tokens):
            raise HandoutError(f"{path}: {wrong}")
        pages.append(Page(name, language, path.parent, tokens))
    return pages


def _mark_requirements(tokens: list[Token], anchors: dict[str, str]) -> None:
    """Turn each ``[ ] **title** …`` into an item with a class and an anchor."""
    for item, _, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and text.children and (title := REQUIREMENT.match(text.content)):
            text.children[0].content = text.children[0].content.removeprefix(BOX)
            item.attrSet("class", "requirement")
            if title[1] in anchors:
                item.attrSet("id", anchors[title[1]])
