"""What the core shows beside the grade: points for answers about one's own code, and a picture on the class page."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from markupsafe import Markup

from grader.core.results.report import Practice
from grader.core.results.statistics import Entry
from grader.core.results.written import NotWritten, read_written

from .answers import ANSWERS, Understood
from .quiz import say


def understood(folder: Path) -> dict[str, Practice]:
    """The points by submission; none where no answers were read, or the file is damaged, as ``viva --answers`` says."""
    with contextlib.suppress(NotWritten):
        return read_written(folder / ANSWERS, Understood).submissions
    return {}


def picture(entries: Sequence[Entry], points: Mapping[str, Practice], language: str) -> Markup:
    """A section of the class page: right code against understood code; empty without answers."""
    from grader.core.pages.render import templates  # slow to import, and every command imports this file

    graded = [own.line for own in entries if own.line.score is not None and own.line.id in points]
    if not graded:
        return Markup("")
    pairs = sorted(Counter((line.score, points[line.id].points) for line in graded).items())
    template = templates(Path(__file__).parent).get_template("picture.html.j2")
    shown = template.render(pairs=pairs, most=max(line.max_score for line in graded), ask=partial(say, language))
    return Markup(shown)  # of our template, which escapes values
