"""``grader similar``: finds similar submissions, for manual review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from grader.core.cli.submissions import Roster, Source, found
from grader.core.cli.terminal import ERR, OUT, chosen, fail, language_of, needing, prepare, say, warn
from grader.core.export.table import written
from grader.core.intake.origin import clean
from grader.core.intake.reader import Reader
from grader.core.results.report import write_text
from grader.core.run.progress import follow

from .wording import FILES

if TYPE_CHECKING:
    from .pairs import Findings

SHOWN = 20  # pairs in the terminal


def similar(
    paths: Annotated[list[Path], typer.Argument(help="A folder of submissions or a zip, as for grade.")],
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
        from .work import KnownError, read_known, read_work
    language = language_of(lang)
    with Reader() as reader:
        candidates = found(reader, paths, source, roster)
        try:
            known = read_known(chosen(), subtract or ())
        except KnownError as error:
            fail(f"--subtract {error}")
        prepare(out)
        reading = (read_work(candidate, known, chosen().rubric, reader.read) for candidate in candidates)
        try:
            findings = compared([*follow(reading, "reading submissions", len(candidates), ERR)])
            write_text(out / "similar.csv", written(listing(findings.pairs)))
            write_text(out / "similar.html", page(findings, chosen(), [*known.answers], top, language))
        except KeyboardInterrupt:
            fail("stopped; nothing was written.", 130)
        except OSError as error:
            fail(f"{error.filename or out}: {error.strerror}. Free disk space and run again.", 3)
        _show(findings, out)


def _show(findings: Findings, out: Path) -> None:
    """The first pairs, what else a person should look at, and where the rest is."""
    if findings.pairs:
        OUT.print(_table(findings))
    for near in findings.near[:SHOWN]:
        say(f"{near.id}: {near.share:.0%} of what {_name(near.file)} adds to the stub is in {near.answer}")
    for identifier, use in findings.library:
        what = f"may do all of {use.task}" if use.task else "is not a required library"
        say(f"{identifier}: {clean(use.path)}:{use.line}: {clean(use.name)} {what}: {clean(use.code)}")
    for identifier, notice in findings.notices:
        warn(f"{identifier}: {clean(notice)}")
    rest = f", of which {SHOWN} are shown above" if len(findings.pairs) > SHOWN else ""
    say(f"{len(findings.works)} submissions compared, {len(findings.pairs)} pairs to look at{rest}: {out}/similar.html")


def _table(findings: Findings) -> Table:
    """One row for each of the first pairs, with its strongest evidence."""
    table = Table(box=None, header_style="bold", padding=(0, 1))
    table.add_column("", justify="right")
    table.add_column("first", overflow="fold")
    table.add_column("second", overflow="fold")
    table.add_column("in", no_wrap=True)
    for name in ("distinctive", "of first", "second"):
        table.add_column(name, justify="right", no_wrap=True)
    for number, pair in enumerate(findings.pairs[:SHOWN], 1):
        match = pair.strongest
        cells = [f"{match.distinctive:.0f}", *(f"{share:.0%}" for share in match.shares)]
        table.add_row(f"{number}", Text(pair.first.id), Text(pair.second.id), _name(match.file), *cells)
    return table


def _name(path: str) -> str:
    return FILES.get(path) or path.rpartition("/")[2]


PANEL = "More"
COMMANDS = {
    "similar": similar,
}
