"""``grader similar``: finds similar submissions, for manual review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.core.cli.grade import Roster, Source, found
from grader.core.cli.terminal import chosen, follow, language_of, needing, prepare, say, warn, writing
from grader.core.export.table import written
from grader.core.intake.origin import clean
from grader.core.intake.reading_process import Reader
from grader.core.results.files import write_text

if TYPE_CHECKING:
    from .pairs import Findings

SHOWN = 20  # pairs in the terminal


def similar(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Submissions, as for grade.")],
    out: Annotated[Path, typer.Option(help="Output folder: OUT/similar.html and OUT/similar.csv.")],
    subtract: Annotated[
        list[Path] | None, typer.Option(help="Published answers: a folder or a file; repeatable.")
    ] = None,
    top: Annotated[int, typer.Option(min=0, help="Number of pairs on the page.")] = 50,
    source: Source = None,
    roster: Roster = None,
    lang: Annotated[str, typer.Option(help="Language of the page: en or zh. Default: the locale.")] = "",
) -> None:
    """Rank pairs of submissions by shared code beyond stubs, reference and published answers.

    A reason to look, never proof; no score changes.
    """
    with needing("grader,similar", "similar"):
        from .page import listing, page
        from .pairs import compared
        from .work import read_known, read_work
    language = language_of(lang)
    with Reader() as reader:
        candidates = found(reader, paths, source, roster)
        known = read_known(chosen(), subtract or ())
        prepare(out)
        reading = (read_work(one, reader.read(one), known, chosen().rubric) for one in candidates)
        with writing(out):
            findings = compared([*follow(reading, "reading submissions", len(candidates))])
            write_text(out / "similar.csv", written(listing(findings.pairs)))
            write_text(out / "similar.html", page(findings, chosen(), [*known.answers], top, language))
        _show(findings, out)


def _show(findings: Findings, out: Path) -> None:
    """The first pairs, what else a person should look at, and where the rest is."""
    from .work import named  # with numpy

    def name(path: str) -> str:
        return named(path).rpartition("/")[2]

    for number, pair in enumerate(findings.pairs[:SHOWN], 1):
        match = pair.strongest
        here, there = match.shares
        what = f"{match.distinctive:.0f} distinctive characters in {name(match.file)}"
        share = f"{here:.0%} of the first, {there:.0%} of the second"
        say(f"{number:3}  {pair.first.id}, {pair.second.id}: {what}, {share}")
    for near in findings.near[:SHOWN]:
        say(f"{near.id}: {near.share:.0%} of what {name(near.file)} adds to the stub is in {near.answer}")
    for identifier, use in findings.library:
        what = f"may do all of {use.task}" if use.task else "is not a required library"
        more = f" (and {use.more} more)" if use.more else ""
        say(f"{identifier}: {clean(use.path)}:{use.line}: {clean(use.name)} {what}: {clean(use.code)}{more}")
    for identifier, notice in findings.notices:
        warn(f"{identifier}: {clean(notice)}")
    rest = f", of which {SHOWN} are shown above" if len(findings.pairs) > SHOWN else ""
    say(f"{len(findings.works)} submissions compared, {len(findings.pairs)} pairs to look at{rest}: {out}/similar.html")


PANEL = "More"
COMMANDS = {"similar": similar}
