"""``grader report``: results as pages for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from grader.core.extras import extra
from grader.core.grades.graded import GradedClass
from grader.core.results.files import write_text
from grader.core.results.statistics import Entry, entry
from grader.core.results.views import in_language
from grader.core.results.written import read_attention

from .terminal import (
    EXIT_GRADER_ERROR,
    Partial,
    chosen,
    ending,
    fail,
    follow,
    language_of,
    needed,
    prepare,
    read_graded,
    refuse_partial,
    say,
)

Handout = Annotated[str, typer.Option(metavar="URL", help="URL of the handout, for links. Default: file names only.")]


def report(
    written: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder: OUT/index.html, OUT/students/<id>.html. Default: DIR/html.")
    ] = None,
    anonymous: Annotated[
        bool,
        typer.Option(
            "--anonymous",
            help="Replace all identities with pseudonyms; show looks them up. Default folder: DIR/html/anonymous.",
        ),
    ] = False,
    lang: Annotated[str, typer.Option(help="Language of the pages: en or zh. Default: the locale.")] = "",
    handout: Handout = "",
    partial: Partial = False,
) -> None:
    """Write static HTML: a class page, and a page per student that explains every lost point."""
    out, language = out or written / ("html/anonymous" if anonymous else "html"), language_of(lang)
    known = read_graded(written, quiet=anonymous)
    refuse_partial(written, known.lines, partial)
    hidden = needed("anonymous", "--anonymous").hide(known) if anonymous else None
    number = write_pages(known, out, language, handout, hidden)
    say(f"{number} students: {out / 'index.html'}")


def write_pages(known: GradedClass, out: Path, language: str, handout: str = "", hidden: Any = None) -> int:
    """Write ``index.html`` and a page in ``students`` for each; returns how many, or ends the command with one line.

    Without a URL of the handout, pages name its files. With ``hidden``, what the extra
    ``anonymous`` gives, everyone appears under a pseudonym.
    """
    from grader.core.pages.render import Pages  # templates are slow to import, and every command imports this file

    lines = sorted(known.lines, key=lambda line: hidden.names[line.id]) if hidden else known.lines
    if handout and not handout.startswith(("https://", "http://")):
        fail(f"--handout {handout}: not a URL. Give the parent of en/ and zh/, with https://.")
    prepare(students := out / "students")
    pages = Pages(chosen().rubric, language, handout, chosen().laws)
    viva = extra("viva")
    understood = viva.understood(known.folder) if viva else {}
    entries: list[Entry] = []  # rather than whole reports, which would fill the memory for a large class
    with ending(out, code=EXIT_GRADER_ERROR):
        for line in follow(lines, "pages", len(lines)):
            one, grades = known.report(line.id), known.grades[line.id]
            if hidden:
                one, grades = hidden.report(one), hidden.grades(grades, hidden.names[line.id])
            one = in_language(one, chosen(), language)
            entries.append(entry(one, line.practice, understood.get(line.id)))
            text = pages.student(one, grades, entries[-1].beside)
            write_text(students / f"{one.submission.id}.html", text)
        here = {one.line.id for one in entries}
        for page in students.glob("*.html"):
            if page.stem not in here:  # a page of an earlier run, whose student is no longer in the class
                page.unlink()
        attention, told = known.attention(read_attention(known.folder)), known.told(language)
        if hidden:
            attention, told = hidden.attention(attention), []
        picture = viva.picture(entries, language) if viva else ""
        write_text(out / "index.html", pages.classroom(entries, attention, told, picture))
    return len(entries)
