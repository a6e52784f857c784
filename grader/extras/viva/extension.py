"""What the core shows beside the grade: points for answers about one's own code, and a picture on the class page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from markupsafe import Markup

from grader.core.results.report import Practice
from grader.core.results.statistics import Entry

from .answers import AnswersError, read_understood
from .quiz import ASKED
from .words import say

WIDTH, HEIGHT, LEFT, BOTTOM = 560, 300, 60, 40


def understood(folder: Path) -> dict[str, Practice]:
    """The points by submission; none where no answers were read, or the file is damaged, as ``viva --answers`` says."""
    try:
        return read_understood(folder)
    except AnswersError:
        return {}


def picture(entries: Sequence[Entry], points: Mapping[str, Practice], language: str) -> Markup:
    """A section of the class page: score against answers, a circle for each pair of them; empty without answers."""
    pairs = Counter(
        (own.line.score, points[own.line.id].points)
        for own in entries
        if own.line.score is not None and own.line.id in points
    )
    if not pairs:
        return Markup("")
    most = max(own.line.max_score for own in entries)
    text = {key: escape(say(language, key)) for key in ("picture", "picture_is", "answers_right", "score_axis")}
    lines = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH}" y1="{_y(0) + 14}" y2="{_y(0) + 14}"/>']
    lines += [
        f'<text class="tick" x="{_x(part * most, most)}" y="{HEIGHT - 8}">{part * most:g}</text>'
        for part in (0, 0.5, 1)
    ]
    lines += [f'<text class="tick" x="{LEFT - 32}" y="{_y(right) + 4}">{right}</text>' for right in range(ASKED + 1)]
    lines += [
        f'<circle class="bar" cx="{_x(score, most)}" cy="{_y(right)}" r="{8 + min(count, 12)}">'
        f"<title>{escape(say(language, 'dot', score=f'{score:g}', right=f'{right:g}', count=count))}</title></circle>"
        f'<text class="on" x="{_x(score, most)}" y="{_y(right) + 4}">{count}</text>'
        for (score, right), count in sorted(pairs.items())
    ]
    return Markup(  # every text in it is ours or escaped, and all else are numbers
        f'<section><h2 id="understood">{text["picture"]}</h2><p>{text["picture_is"]}</p><figure>'
        f'<svg class="histogram" viewBox="0 0 {WIDTH + 20} {HEIGHT}" role="img" aria-labelledby="understood">'
        + "".join(lines)
        + f"</svg><figcaption>↑ {text['answers_right']}, → {text['score_axis']}</figcaption></figure></section>"
    )


def _x(score: float, most: float) -> int:
    return round(LEFT + 20 + (WIDTH - LEFT - 40) * score / most)


def _y(right: float) -> int:
    return round(HEIGHT - BOTTOM - 14 - (HEIGHT - BOTTOM - 40) * right / ASKED)
