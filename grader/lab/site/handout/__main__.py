"""``python -m grader.lab.site.handout``, behind ``make handout``: render the handout in every language."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from grader.assignment import ASSIGNMENT
from grader.core.rubric import LANGUAGES
from grader.lab import one_line

from . import book, web
from .agreement import problems
from .pages import HandoutError, read


@one_line()
def main() -> None:
    """Write ``OUT/<language>/*.html`` and ``OUT/<language>/handout.pdf``; there is no PDF without a browser."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.site.handout", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/handout"), help="output folder; overwritten")
    parser.add_argument("--source", type=Path, default=ASSIGNMENT.root / "handout", help="folder of the Markdown")
    arguments = parser.parse_args()
    rubric = ASSIGNMENT.rubric
    handouts = {language: read(language, rubric, arguments.source) for language in LANGUAGES}
    if found := list(problems(handouts, rubric)):
        told = ["handout: nothing was written; the languages and the rubric disagree.", *found]
        raise HandoutError("\n".join(told))
    shutil.rmtree(arguments.out, ignore_errors=True)
    for language, pages in handouts.items():
        folder = arguments.out / language
        *written, whole = web.write(pages, folder, rubric.title[language])
        print(f"{len(written)} pages: {folder / 'index.html'}. All as one: {whole}")
        try:
            print(f"one PDF: {book.write(whole, language)}")
        except book.NotPrinted as problem:
            print(f"handout: {folder / 'handout.pdf'} was not written: {problem}.", file=sys.stderr)


if __name__ == "__main__":
    main()
