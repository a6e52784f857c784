"""The findings as one HTML page that loads no other file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from grader.core.assignment import Assignment
from grader.core.intake.origin import clean
from grader.core.results.language import in_words

from .blocks import Block, blocks
from .code import PASSAGE
from .findings import Findings
from .pairs import Match, Pair
from .wording import WORDS
from .work import SHORT


def page(findings: Findings, assignment: Assignment, answers: Sequence[str], top: int, language: str) -> str:
    """Render the page; all text from submissions is escaped.

    Args:
        findings: The findings of the comparison.
        assignment: Gives the titles of the tasks, and the Chinese of its own messages.
        answers: Names of the known answers that were left out of the comparison, as the stubs were.
        top: How many pairs are shown.
        language: The language of the page: ``en`` or ``zh``.
    """
    words = WORDS[language]
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= {
        "said": lambda message: in_words(message, assignment, language),
        "percent": _percent,
        "clean": clean,
        "file": lambda path: words.get(path) or path.rpartition("/")[2],
    }
    return templates.get_template("page.html.j2").render(
        w=words,
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


def _percent(share: float) -> str:
    return f"{share:.0%}"
