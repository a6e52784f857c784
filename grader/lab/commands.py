"""Maintainers' commands: ``grader verify`` and ``release``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from grader import REPOSITORY
from grader.core.cli.terminal import EXIT_GRADER_ERROR, chosen, fail, follow, needing, prepare, say, writing
from grader.core.results.files import write_zip
from grader.core.rubric import LANGUAGES


def verify(
    out: Annotated[Path, typer.Option(help="Output file of the kill table.")] = Path("build/kill-table.md"),
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 2,
    all_styles: Annotated[bool, typer.Option("--all-styles", help="Judge all correct styles, not a sample.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Judges to run in parallel.")] = os.cpu_count() or 1,
) -> None:
    """Test the grader on submissions and attacks with known outcomes, and write the kill table."""
    from .verify import judged, rounds  # these import torch
    from .verify.attacks import Attempt
    from .verify.page import Result, page, summary

    prepare(out.parent)
    results: list[Result] = []
    with writing(out):
        for round_ in rounds(chosen(), range(seeds), all_styles):
            for result in follow(judged(round_, jobs), round_.title, len(round_.items)):
                if result.problem:
                    where = result.isolation if isinstance(result, Attempt) else f"seed {result.seed}"
                    say(f"✗ {result.name}, {where}: {result.problem}", "red")
                results.append(result)
    out.write_text(page(chosen(), results), encoding="utf-8")
    for line in summary(results):
        say(line)
    say(f"Kill table: {out}")
    if any(result.problem for result in results):
        raise typer.Exit(EXIT_GRADER_ERROR)


NOTEBOOKS = REPOSITORY / "notebooks" / "source"
RELEASED = "course/release/position"  # where nbgrader writes the notebooks for students
EXECUTED = "executed"  # the notebooks with solutions, and the figures for students


def release(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder for the zip and the git repository.")],
    build: Annotated[
        Path, typer.Option(help="Output of `make handout`, `make notebooks`, `make handbook` and `make signatures`.")
    ] = Path("build"),
    no_notebooks: Annotated[
        bool, typer.Option("--no-notebooks", help="Leave out the walk-through and its handbook.")
    ] = False,
) -> None:
    """Write the student bundle. Refuses, naming the place, if anything in it would reveal a solution."""
    with needing("grader,handout", "release"):
        from .release.bundle import bundle, write_repository

    prepare(out)
    name = chosen().rubric.id
    built, notebooks = {"handout": build / "handout"}, build / "notebooks"
    if not no_notebooks and NOTEBOOKS.is_dir():  # an assignment may have none
        built |= {
            "handbook": build / "handbook",
            **{f"notebooks/{lang}": notebooks / lang / RELEASED for lang in LANGUAGES},
        }
    executed = {lang: notebooks / lang / EXECUTED for lang in LANGUAGES if not no_notebooks}
    files = bundle(built, build / "signatures", executed)
    write_zip(files, out / f"{name}.zip", name)
    try:
        commit = write_repository(files, out / name)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{out / name}: git failed ({getattr(error, 'stderr', '') or error}). The zip beside it is complete.", 3)
    say(f"{len(files)} files: {out / name}.zip, and the repository {out / name} (commit {commit[:10]}).")


PANEL = "Before the term"
COMMANDS = {"verify": verify, "release": release}
