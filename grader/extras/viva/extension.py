"""What the core shows beside the grade: points for answers about one's own code, and a picture on the class page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from grader.core.results.report import Practice
from grader.core.results.statistics import Entry

from .answers import AnswersError, read_understood
from .words import say


def understood(folder: Path) -> dict[str, Practice]:
    """The points by submission; none where no answers were read, or the file is damaged, as ``viva --answers`` says."""
    try:
        return read_understood(folder)
    except AnswersError:
        return {}


def picture(entries: Sequence[Entry], points: Mapping[str, Practice], language: str) -> Markup:
    """A section of the class page: right code against understood code; empty without answers."""
    from grader.core.pages.render import templates  # slow to import, and every command imports this file

    graded = [own.line for own in entries if own.line.score is not None and own.line.id in points]
    if not graded:
        return Markup("")
    pairs = Counter((line.score, points[line.id].points) for line in graded)
    environment = templates(Path(__file__).parent)
    environment.filters["number"] = "{:g}".format
    values = {
        "pairs": sorted(pairs.items()),
        "most": max(line.max_score for line in graded),
        "ask": partial(say, language),
    }
    return Markup(environment.get_template("picture.html.j2").render(values))  # our template, which escapes values
