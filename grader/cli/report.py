"""``grader report``: results as pages for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..pool.progress import follow
from ..results.language import in_language
from ..results.report import Report, write_text
from ..results.statistics import Entry, entry
from .terminal import ERR, OUT, fail, language_of, prepare, read_attention, read_class, read_written


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

    out, language, lines = out or written / "html", language_of(lang), read_class(written)
    if handout and not handout.startswith(("https://", "http://")):
        fail(f"--handout {handout}: not a web address. Give the one that en/ and zh/ lie below, with https://.")
    prepare(students := out / "students")
    pages = Pages(ASSIGNMENT.rubric, language, handout)
    entries: list[Entry] = []  # rather than whole reports, which would fill the memory for a large class
    try:
        for line in follow(lines, "pages", len(lines), ERR):
            one = in_language(read_written(written / line.id / "report.json", Report), ASSIGNMENT, language)
            write_text(students / f"{line.id}.html", pages.student(one, line.practice))
            entries.append(entry(one, line.practice))
        here = {line.id for line in lines}
        for page in students.glob("*.html"):
            if page.stem not in here:  # a page of an earlier run, whose student is no longer in the class
                page.unlink()
        write_text(out / "index.html", pages.classroom(entries, read_attention(written)))
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}.", 3)
    OUT.print(f"{len(entries)} students: {out / 'index.html'}", markup=False, highlight=False, soft_wrap=True)
