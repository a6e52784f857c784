"""Says in words what a figure draws, for readers who cannot see it: its axes, and what is named in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

from . import sources

ACROSS, UP = "matplotlib.axis_1", "matplotlib.axis_2"
WORDS = {
    "en": {ACROSS: "Across: ", UP: "Up: ", "ticks": ", {} to {}", "named": "Named in it: ", "and": "; ", "end": ". "},
    "zh": {ACROSS: "横轴：", UP: "纵轴：", "ticks": "，从 {} 到 {}", "named": "图中标出：", "and": "；", "end": "。"},
}

_SIZE = re.compile(r"font-size: ([\d.]+)px")


def described(svg: str, language: str) -> str:
    """A sentence for each axis and one for what is named, panel by panel; empty where nothing is.

    Args:
        svg: A figure as matplotlib wrote it, its words in the page's language.
        language: The page's.
    """
    said: list[str] = []
    named: list[str] = []
    words = WORDS[language]

    def name() -> None:
        """Say what has been found named, in one sentence for panels without axes."""
        if named:
            said.append(words["named"] + words["and"].join(dict.fromkeys(named)))
            named.clear()

    for panel in (part for part in ElementTree.fromstring(svg).iter() if part.get("id", "").startswith("axes_")):
        for axis in (group for group in panel if group.get("id") in (ACROSS, UP)):
            if label := " ".join(_texts(axis)):
                name()
                ticks = [text for tick in axis for text in _texts(tick)]
                ends = words["ticks"].format(ticks[0], ticks[-1]) if len(ticks) > 1 else ""
                said.append(words[axis.attrib["id"]] + label + ends)
        named += [text for text in _texts(panel) if any(map(str.isalpha, text))]
    name()
    return "".join(sentence + words["end"] for sentence in said).strip()


def _texts(group: ElementTree.Element) -> list[str]:
    """What stands in a group itself, not in the groups of it that are axes or ticks."""
    texts = (part for part in group if part.get("id", "").startswith("text_"))
    return [said for text in texts if (said := _joined(map(_line, text.iterfind(".//{*}text"))))]


def _joined(lines: Iterable[str]) -> str:
    return sources.unbroken("\n".join(filter(None, lines))).replace("\n", " ")


def _line(text: ElementTree.Element) -> str:
    """A line of text; matplotlib puts in each letter of a formula at its place, in no order."""
    letters = [part for part in text if part.get("x")]
    if not letters:  # a formula that was translated
        parts = (("_^"[part.get("dy", "").startswith("-")] if part.get("font-size") else "", part) for part in text)
        said = (text.text or "") + "".join(
            script + "".join(part.itertext()) + (part.tail or "") for script, part in parts
        )
        return said.replace("\u200b", "").strip()
    sizes = [float(found[1]) if (found := _SIZE.search(part.get("style", ""))) else 0.0 for part in letters]
    base = float(letters[sizes.index(max(sizes))].get("y", "0"))
    said, before = "", ""
    for part, size in sorted(zip(letters, sizes, strict=True), key=lambda one: float(one[0].get("x", "0").split()[0])):
        raised = "" if size == max(sizes) else "^" if float(part.get("y", "0")) < base else "_"
        said += (raised if raised != before else "") + "".join(part.itertext())
        before = raised
    return said.strip()
