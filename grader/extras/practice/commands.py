"""``grader practice``: judges students' tests on hidden implementations."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.grade import LevelName, Roster, Source, found
from grader.core.cli.terminal import EXIT_GRADER_ERROR, chosen, fail, follow, language_of, prepare, say, writing
from grader.core.export.table import number
from grader.core.intake.reading_process import Reader
from grader.core.results.files import write_json, write_text
from grader.core.sandbox.limits import Level, Limits
from grader.specimens.practice import Practice


def practice(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Submissions, as for grade.")],
    out: Annotated[Path, typer.Option(help="Output folder: OUT/practice.csv and OUT/practice.json.")],
    source: Source = None,
    roster: Roster = None,
    lang: Annotated[str, typer.Option(help="Language in the terminal: en or zh. Default: the locale.")] = "",
    require_isolation: Annotated[LevelName, typer.Option(help="Refuse to run under weaker isolation.")] = "process",
) -> None:
    """Judge students' tests from `make practice` on implementations that they have not seen.

    Practice points are separate from the grade; reports and totals do not change.
    """
    exercise: Practice | None = chosen().practice
    if exercise is None:
        fail("this assignment has no practice.")
    language = language_of(lang)

    from grader.core.sandbox.launch import Zygote  # these import torch

    from .result import document, table
    from .trials import handed_in_as, judged

    with Reader() as reader:
        candidates = found(reader, paths, source, roster, expected={handed_in_as(exercise): ()})
        prepare(out)
        with closing(Zygote(Limits())) as server, writing(out):
            if weak := server.isolation.weaker_than(Level[require_isolation.upper()]):
                fail(weak)
            judging = (judged(one, reader.read(one), exercise, server.start) for one in candidates)
            results = [*follow(judging, "running tests", len(candidates))]
            write_text(out / "practice.csv", table(results))
            write_json(out / "practice.json", document(results, exercise, chosen().rubric.id))
    for result in results:
        say(f"{result.id}: {number(result.points) or '-'}  {result.told(language)}")
    say(f"{len(results)} submissions: {out}/practice.csv")
    if any(result.points is None for result in results):
        fail("the grader failed to judge some tests; run again.", EXIT_GRADER_ERROR)


PANEL = "More"
COMMANDS = {"practice": practice}
