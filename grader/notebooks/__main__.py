"""``python -m grader.notebooks``: what ``make notebooks`` and its kin call, and what authors check their work with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import nbformat
import typer

from . import execute, rules, sources

BUILD = Path("build/notebooks")

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)


@app.callback()
def main() -> None:
    """Builds, runs, releases and grades the walk-through's notebooks."""


@app.command()
def check(
    number: Annotated[str, typer.Argument(help="Which notebook: the number that its name starts with.")],
    lang: Annotated[str, typer.Option(help="en or zh.")] = "en",
) -> None:
    """Check one notebook as its author should: rules, languages, a clean run, and exercises that a blank one fails."""
    folder = BUILD / "check" / lang
    paths = sources.build(lang, folder, number)
    if not paths:
        typer.echo(f"notebooks: {number}: no such notebook in {sources.SOURCES / lang}.", err=True)
        raise typer.Exit(2)
    (path,) = paths
    notebook = nbformat.read(path, as_version=4)
    found = [*rules.problems(notebook)]
    twins = {language: sources.SOURCES / language / f"{path.stem}.py" for language in sources.LANGUAGES}
    if all(twin.exists() for twin in twins.values()):
        found += [f"en and zh: {line}" for line in rules.differences(*map(sources.read, twins.values()))]
    run = execute.execute(notebook, folder)
    figures = execute.save(run, path)
    typer.echo(f"{path.stem} ({lang}): {len(notebook.cells)} cells, {run.seconds:.1f} s, {len(figures)} figures")
    for figure in figures:
        typer.echo(f"  {figure}")
    found += run.problems
    found += execute.blank_passes(sources.read(twins[lang]), folder)
    for line in found:
        typer.echo(f"✗ {line}")
    typer.echo("✓ no problem found" if not found else f"{len(found)} problems")
    raise typer.Exit(bool(found))


if __name__ == "__main__":
    app()
