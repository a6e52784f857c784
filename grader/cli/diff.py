"""``grader diff``: what a change of tests, rubric or files did to the class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ..assignment import ASSIGNMENT
from ..pages import diff_words as words
from ..results.diff import Difference, Kind, difference, in_order
from ..results.report import Report, Summary, write_text
from ..rubric import Rubric
from .terminal import OUT, fail, language_of, read_written

STYLES = {Kind.DROP: "red", Kind.GONE: "red", Kind.RISE: "green"}


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The folder of the earlier grading.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The folder of the later one.")],
    out: Annotated[Path | None, typer.Option(metavar="HTML", help="Write it as a page, too.")] = None,
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
) -> None:
    """Compare two gradings: who changed, in which property, and why; drops first."""
    language = language_of(lang)
    sides = [*_pairs(old, new)]
    differences = in_order(filter(None, sides))
    rubric, same = ASSIGNMENT.rubric, sides.count(None)
    if out:
        from ..pages.diff import page  # templates are slow to import, and every command imports this file

        try:
            write_text(out, page(differences, same, rubric, language, (str(old), str(new))))
        except OSError as error:
            fail(f"--out {out}: {error.strerror}. Choose a file in a folder that you can write to.")
    _print(differences, same, rubric, language)
    if out:
        OUT.print(str(out), markup=False, highlight=False, soft_wrap=True)


def _pairs(old: Path, new: Path) -> Iterator[Difference | None]:
    """The difference of each submission in the two summaries; only two reports at a time are in memory.

    A submission that was graded again alone, as for an appeal, says nothing about all others.
    """
    before, after = (
        {line.id for line in read_written(out / "summary.json", Summary).submissions} for out in (old, new)
    )
    alone = len(after) == 1 and after < before
    for identifier in sorted(after if alone else before | after):
        sides = (
            read_written(out / identifier / "report.json", Report) if identifier in known else None
            for out, known in ((old, before), (new, after))
        )
        yield difference(*sides)


def _print(differences: list[Difference], same: int, rubric: Rubric, lang: str) -> None:
    """Print each submission with its points, and below it its properties with their reasons."""
    kind = None
    for own in differences:
        if own.kind is not kind:
            kind = own.kind
            number = sum(other.kind is kind for other in differences)
            _line(f"{words.KINDS[kind][lang]}: {number}", "bold")
        _line(f"  {own.id}: {words.arrow(words.points(own))} ({own.change:+g})", STYLES.get(own.kind, ""))
        for change in own.changes:
            ended, earned = words.arrow(words.outcomes(change)), words.arrow(words.worth(change))
            _line(f"    {words.title(change, rubric, lang)}: {ended}, {earned}")
            _reasons(words.reasons(change.reasons, lang))
        if not own.changes:
            _reasons(words.reasons(own.reasons, lang))
    if not differences:
        _line(words.word("nothing", lang))
    _line(words.word("same", lang, n=same))


def _reasons(sentences: list[str]) -> None:
    for sentence in sentences:
        _line(f"      {sentence}", "dim")


def _line(text: str, style: str = "") -> None:
    OUT.print(Text(text, style=style), soft_wrap=True)
