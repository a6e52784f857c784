"""``python -m grader.lab.site.handout``, behind ``make handout``: render the handout in every language."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import in_one_line
from grader.core.rubric import LANGUAGES
from grader.lab.site import clear

from . import book, web
from .agreement import problems
from .pages import HandoutError, read


def main(
    out: Annotated[Path, typer.Option(help="Output folder; earlier output is replaced.")] = Path("build/handout"),
    source: Annotated[Path, typer.Option(help="Folder of the Markdown.")] = ASSIGNMENT.root / "handout",
) -> None:
    """Write ``OUT/<language>/*.html`` and ``OUT/<language>/handout.pdf``; there is no PDF without a browser."""
    rubric = ASSIGNMENT.rubric
    handouts = {language: read(language, rubric, source) for language in LANGUAGES}
    if found := list(problems(handouts, rubric)):
        told = ["handout: nothing was written; the languages and the rubric disagree.", *found]
        raise HandoutError("\n".join(told))
    for language in LANGUAGES:
        clear(out / language, f"{web.WHOLE}.html")
    for language, pages in handouts.items():
        folder = out / language
        *written, whole = web.write(pages, folder, rubric.title[language])
        print(f"{len(written)} pages: {folder / 'index.html'}. All as one: {whole}")
        try:
            print(f"one PDF: {book.write(whole, language)}")
        except book.NotPrinted as problem:
            print(f"handout: {folder / 'handout.pdf'} was not written: {problem}.", file=sys.stderr)


if __name__ == "__main__":
    typer.run(in_one_line(main))
