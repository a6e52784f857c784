"""Describes a figure for screen readers: its axes, and the labels in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from grader.lab.site.markdown import unbroken

WORDS: Mapping[str, Mapping[str, Any]] = {
    "en": {
        "panel": "Panel {} of {}: ",
        "axes": ("Up: ", "Across: "),
        "ticks": ", ticks {} to {}",
        "labels": "Labels: ",
        "and": "; ",
        "end": ". ",
    },
    "zh": {
        "panel": "第 {} 幅，共 {} 幅：",
        "axes": ("纵轴：", "横轴："),
        "ticks": "，刻度从 {} 到 {}",
        "labels": "标注：",
        "and": "；",
        "end": "。",
    },
}

_SIZE = re.compile(r"font-size: ([\d.]+)px")


def described(svg: str, language: str) -> str:
    """Each panel's axes, and what is named in it; empty where nothing is.

    Args:
        svg: A figure as matplotlib wrote it, its words in the page's language.
        language: The page's.
    """
    words = WORDS[language]
    panels = [told for panel in _parts(ElementTree.fromstring(svg), "axes_") if (told := _panel(panel, words))]
    if len(panels) < 2:
        return "".join(panels).strip()
    return "".join(words["panel"].format(n, len(panels)) + told for n, told in enumerate(panels, 1)).strip()


def _panel(panel: ElementTree.Element, words: Mapping[str, Any]) -> str:
    said = []
    for axis in (part for part in panel if part.get("id", "").startswith("matplotlib.axis_")):
        label, ticks = " ".join(_texts(axis)), [text for tick in axis for text in _texts(tick)]
        if any(map(_is_word, ticks)):  # they name things
            label = words["and"].join(filter(None, (label, *ticks)))
        elif label and len(ticks) > 1:
            label += words["ticks"].format(ticks[0], ticks[-1])
        if label:  # matplotlib counts the axes of a whole figure, first that across
            said.append(words["axes"][int(axis.attrib["id"].rpartition("_")[2]) % 2] + label)
    names = [*_texts(panel), *(name for legend in _parts(panel, "legend_") for name in _texts(legend))]
    if named := words["and"].join(filter(_is_word, dict.fromkeys(names))):
        said.append(words["labels"] * bool(said) + named)
    return "".join(sentence + words["end"] for sentence in said)


def _is_word(text: str) -> bool:
    return any(map(str.isalpha, text))


def _parts(group: ElementTree.Element, kind: str) -> Iterator[ElementTree.Element]:
    return (part for part in group.iter() if part.get("id", "").startswith(kind))


def _texts(group: ElementTree.Element) -> list[str]:
    """The texts of a group itself, without those of its axes and ticks."""
    texts = (part for part in group if part.get("id", "").startswith("text_"))
    return [said for text in texts if (said := _joined(map(_line, text.iterfind(".//{*}text"))))]


def _joined(lines: Iterable[str]) -> str:
    return unbroken("\n".join(filter(None, lines))).replace("\n", " ")


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
    full = max(sizes)
    base = float(letters[sizes.index(full)].get("y", "0"))
    said, before = "", ""
    for part, size in sorted(zip(letters, sizes, strict=True), key=lambda one: float(one[0].get("x", "0").split()[0])):
        raised = "" if size == full else "^" if float(part.get("y", "0")) < base else "_"
        said += (raised if raised != before else "") + "".join(part.itertext())
        before = raised
    return said.strip()
