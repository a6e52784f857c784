"""The comparison of two gradings as one HTML page that loads no other file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
from markupsafe import Markup

from grader import PACKAGE
from grader.core.results import difference_words as words
from grader.core.results.difference import Difference, Kind, PropertyChange, Reason
from grader.core.rubric import Rubric

TEMPLATE = Path(__file__).with_name("diff.html.j2")
STYLE = PACKAGE / "core" / "pages" / "pages.css"
LANGUAGE_TAGS = {"en": "en", "zh": "zh-CN"}


@dataclass
class Tally:
    """How one property changed in the whole class."""

    change: PropertyChange
    lost: int = 0
    gained: int = 0
    reasons: dict[Reason, None] = field(default_factory=dict)  # in order, each once


def tallies(differences: Sequence[Difference]) -> list[Tally]:
    """A tally for each property that changed for any student, the one that cost most students first."""
    found: dict[str, Tally] = {}
    for change in (change for own in differences for change in own.changes):
        tally = found.setdefault(change.id, Tally(change))
        gain = (change.new.points if change.new else 0) - (change.old.points if change.old else 0)
        tally.lost += gain < 0
        tally.gained += gain > 0
        tally.reasons |= dict.fromkeys(change.reasons)
    return sorted(found.values(), key=lambda tally: (-tally.lost, -tally.gained, tally.change.id))


def page(differences: Sequence[Difference], same: int, rubric: Rubric, language: str, sides: tuple[str, str]) -> str:
    """Render the page.

    Args:
        differences: The submissions that changed, in the order in which they are shown.
        same: How many submissions did not change.
        rubric: Gives the titles of properties.
        language: The language of the page.
        sides: What to call the old and the new grading.
    """
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    by_kind = {kind: own for kind in Kind if (own := [each for each in differences if each.kind is kind])}
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        words=words,
        language=language,
        tag=LANGUAGE_TAGS[language],
        css=Markup(STYLE.read_text(encoding="utf-8")),  # ours, as on the other pages
        rubric=rubric,
        by_kind=by_kind,
        tallies=tallies(differences),
        same=same,
        sides=sides,
        down=Kind.DROP,
    )
