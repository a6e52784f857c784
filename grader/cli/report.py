"""``grader report``: results as pages for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..decisions.folder import about
from ..decisions.words import for_staff
from ..pool.progress import follow
from ..results.language import in_language
from ..results.report import write_text
from ..results.statistics import Entry, entry
from .decided import DecidedClass, read_decided
from .terminal import ERR, OUT, fail, language_of, prepare, read_attention


def report(
    written: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that grade wrote to.")],
    out: Annotated[
        Path | None, typer.Option(help="Where the pages go: OUT/index.html, OUT/students/<id>.html. Default: DIR/html.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Language of the pages: en or zh. Default: the locale.")] = "",
    handout: Annotated[
        str, typer.Option(metavar="URL", help="Where the handout can be read, to link to. Default: its file is named.")
    ] = "",
) -> None:
    """Write static HTML: a page of the class, and one for each student that explains every lost point."""
    from ..pages.render import Pages  # templates are slow to import, and every command imports this file

    out, language = out or written / "html", language_of(lang)
    known = read_decided(written, ASSIGNMENT.rubric)
    lines = known.lines
    if handout and not handout.startswith(("https://", "http://")):
        fail(f"--handout {handout}: not a web address. Give the one that en/ and zh/ lie below, with https://.")
    prepare(students := out / "students")
    pages = Pages(ASSIGNMENT.rubric, language, handout)
    entries: list[Entry] = []  # rather than whole reports, which would fill the memory for a large class
    try:
        for line in follow(lines, "pages", len(lines), ERR):
            one = in_language(known.report(line.id), ASSIGNMENT, language)
            write_text(
                students / f"{line.id}.html",
                pages.student(one, line.practice, known.grades[line.id], known.repair(line.id)),
            )
            entries.append(entry(one, line.practice))
        here = {line.id for line in lines}
        for page in students.glob("*.html"):
            if page.stem not in here:  # a page of an earlier run, whose student is no longer in the class
                page.unlink()
        write_text(out / "index.html", pages.classroom(entries, read_attention(written), _told(known, language)))
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}.", 3)
    OUT.print(f"{len(entries)} students: {out / 'index.html'}", markup=False, highlight=False, soft_wrap=True)


def _told(known: DecidedClass, language: str) -> list[tuple[str, str]]:
    """Every decision that holds: the submission that it is about, and the words for staff."""
    return [
        (line.id, for_staff(ruling, known.rubric, language))
        for line in known.lines
        for ruling in about(line, known.book)
    ]
