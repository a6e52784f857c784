"""A page as its reader meets it: an outline, tables, pictures and links, from HTML by the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr"}

Attributes = dict[str, str | None]


@dataclass
class Element:
    """An element with what is in it, in order."""

    tag: str
    attributes: Attributes = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def all(self, *tags: str) -> list[Element]:
        """Every element below this one with one of these tags, or every one at all."""
        found: list[Element] = []
        for child in self.children:
            if isinstance(child, Element):
                found += [child] if child.tag in tags or not tags else []
                found += child.all(*tags)
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        """The only element below this one with that tag and those attributes."""
        (found,) = [
            element
            for element in self.all(tag)
            if all(element.attributes.get(name) == value for name, value in attributes.items())
        ]
        return found

    @property
    def text(self) -> str:
        """All text below, with single spaces."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return " ".join(" ".join(parts).split())


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        last = self.open.pop()
        if last.tag != tag:
            raise ValueError(f"</{tag}> ends <{last.tag}>")

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Element:
    """The page.

    Raises:
        ValueError: If an element is not closed, or closed in the wrong place.
    """
    parser = _Parser()
    parser.feed(text)
    parser.close()
    (root,) = parser.open
    return root
