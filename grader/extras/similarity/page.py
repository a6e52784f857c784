"""The findings as one HTML page that loads no other file, and all pairs as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from grader.core.assignment import Assignment
from grader.core.intake.origin import clean
from grader.core.results.language import in_words
from grader.core.rubric import LANGUAGES

from .blocks import Block, blocks
from .code import PASSAGE
from .pairs import Findings, Match, Pair
from .wording import FILES, WORDS
from .work import SHORT

COLUMNS = (
    *("rank", "first", "second", "file", "strongest", "distinctive", "first_shared", "second_shared"),
    *("first_length", "second_length", "first_share", "second_share", "remark"),
)


def page(findings: Findings, assignment: Assignment, answers: Sequence[str], top: int, language: str) -> str:
    """Render the page; all text from submissions is escaped.

    Args:
        findings: The findings of the comparison.
        assignment: Gives the titles of the tasks, and the Chinese of its own messages.
        answers: Names of the known answers that were left out of the comparison, as the stubs were.
        top: How many pairs are shown.
        language: The language of the page: ``en`` or ``zh``.
    """
    words = {key: texts[LANGUAGES.index(language)] for key, texts in WORDS.items()}
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {
        "said": lambda message: in_words(message, assignment, language),
        "percent": "{:.0%}".format,
        "clean": clean,
        "file": lambda path: words.get(path) or path.rpartition("/")[2],
    }
    return templates.get_template("page.html.j2").render(
        w=words,
        tag={"en": "en", "zh": "zh-CN"}[language],
        findings=findings,
        assignment=assignment.rubric.title[language],
        tasks={task.id: task.title for task in assignment.rubric.tasks},
        answers=", ".join(answers),
        sides=[(pair, list(_sides(pair))) for pair in findings.pairs[:top]],
        most=max((pair.strongest.strength for pair in findings.pairs), default=1),
        passage=PASSAGE,
        short=SHORT,
    )


def _sides(pair: Pair) -> Iterator[tuple[Match, list[Block]]]:
    """The matching lines of each file of a pair, where there are any."""
    for match in pair.matches:
        found = blocks(pair.first.pieces[match.file], pair.second.pieces[match.file])
        if found:
            yield match, found


def listing(pairs: Sequence[Pair]) -> Iterator[tuple[str, ...]]:
    """The header, then a row for each pair and each of its files, the strongest pair first."""
    yield COLUMNS
    for number, pair in enumerate(pairs, 1):
        for match in (pair.whole, *pair.matches):
            strongest = "yes" if match is pair.strongest else ""
            yield (
                f"{number}",
                pair.first.id,
                pair.second.id,
                FILES.get(match.file, match.file),
                strongest,
                *_cells(match),
            )


def _cells(match: Match) -> tuple[str, ...]:
    numbers = (*match.shared, *match.lengths)
    shares = ("", "") if match.short else tuple(f"{share:.3f}" for share in match.shares)
    remark = f"too short to tell: one has fewer than {SHORT} characters of own code" if match.short else ""
    return (f"{match.distinctive:.1f}", *map(str, numbers), *shares, remark)
