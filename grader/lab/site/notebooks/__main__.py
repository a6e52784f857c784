"""``python -m grader.lab.site.notebooks``: the commands behind ``make notebooks``, and one with which authors check."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.terminal import ending, fail

try:
    import nbformat

    from . import course, execute, handbook, pictures, publish, release, rules, sources, wording
    from .grade import grade as grade_folder
except ModuleNotFoundError as error:
    extra = "pip install -e '.[grader,handout,notebooks]'"
    print(f"notebooks: {error.name} is not installed. Install what the notebooks need: {extra}", file=sys.stderr)
    sys.exit(2)

BUILD = Path("build/notebooks")
HANDBOOK = Path("build/handbook")
SITE = Path("build/site")
GRADED = Path("build/notebooks-graded")
NO_NOTEBOOK = f"no notebook in {sources.SOURCES}: this assignment has none"
STALE = "executed_from"  # key in an executed notebook's metadata: the digest of its sources at that time

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Build, run, release and grade the notebooks of the walk-through."""


@app.command()
def check(
    number: Annotated[str, typer.Argument(help="The notebook, by the start of its name, such as 3 or brief.")],
) -> None:
    """Check one notebook: rules, languages, a clean run, and that blank exercises fail."""
    scripts = [script for script in sources.pages() if script.name.startswith(number)]
    if len(scripts) != 1:
        fail(f"{number}: {len(scripts)} matching notebooks in {sources.SOURCES}.")
    found: list[str] = []
    for language in sources.LANGUAGES:
        _run_all(language, scripts, found)
        typer.echo(f"figures: {BUILD / language}/executed/{scripts[0].stem}-*.png")
    _end(found)


def _end(found: list[str]) -> None:
    for line in found:
        typer.echo(f"✗ {line}")
    typer.echo(f"{len(found)} problems" if found else "✓ no problem found")
    raise typer.Exit(bool(found))


@app.command()
def build() -> None:
    """Build, execute and release every notebook in every language. Unchanged notebooks are not re-executed."""
    if not sources.scripts():
        typer.echo(NO_NOTEBOOK)
        return
    found: list[str] = []
    for language in sources.LANGUAGES:
        folder, started = BUILD / language, time.monotonic()
        _run_all(language, sources.pages(), found)
        typer.echo(f"{language}: nbgrader prepares the release")
        with ending():
            course.prepare(language, folder / "course")
        released = folder / "course" / course.RELEASE
        found += [
            f"release of {language}: {line}" for line in release.leaks(released, folder / "course" / course.SOURCE)
        ]
        typer.echo(f"{language}: {len(sources.pages())} pages, {time.monotonic() - started:.1f} s. Release: {released}")
    _end(found)


def _run_all(language: str, scripts: Sequence[Path], found: list[str]) -> None:
    """Execute those notebooks that changed, and append problems to ``found``.

    Those of another language than the first, which comes before it, get their outputs from that run.
    """
    first = language == sources.LANGUAGES[0]
    for number, script in enumerate(scripts, 1):
        notebook, digest, path = sources.read(script, language), sources.digest(script), _executed(script, language)
        problems = [*rules.problems(notebook)]
        if first:
            problems += [*rules.differences(script), *rules.unchecked(notebook)]
        title = f"[{number}/{len(scripts)}] {language} {script.stem}"
        if path.exists() and (kept := nbformat.read(path, as_version=4)).metadata.get(STALE) == digest:
            notebook = kept
            typer.echo(f"{title}: unchanged")
        else:
            typer.echo(f"{title}: changed, {'runs' if first else 'translated'} now")
            started = time.monotonic()
            if first:  # the code is the same in every language
                problems += execute.blank_passes(sources.read(script, language), sources.SOURCES)
                wrong = [*execute.complaints(execute.execute(notebook, sources.SOURCES))]
            else:
                executed = nbformat.read(_executed(script, sources.LANGUAGES[0]), as_version=4)
                wrong = ["no run without problems to translate"] * (executed.metadata.get(STALE) != digest)
                pictures.retold(executed, notebook, wording.table(script))
            problems += wrong
            notebook.metadata[STALE] = "" if wrong else digest
            execute.save(notebook, path)
            typer.echo(f"{title}: {time.monotonic() - started:.1f} s")
        if not first:
            problems += pictures.in_english(notebook, wording.in_figures(script))
        found += [f"{script.stem} ({language}): {line}" for line in problems]


def _executed(script: Path, language: str) -> Path:
    return BUILD / language / "executed" / f"{script.stem}.ipynb"


@app.command()
def grade(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A folder or zip for each student.")],
    out: Annotated[Path, typer.Option(help="Output folder of feedback and CSV files.")] = GRADED,
    lang: Annotated[str, typer.Option(help="Language of the checks' messages: en or zh.")] = "en",
    uncontained: Annotated[bool, typer.Option(help="Allow running students' code without a container.")] = False,
) -> None:
    """Grade students' notebooks: OUT/feedback, OUT/grades.csv, and the result of each check in OUT/checks.csv."""
    with ending():
        checks = grade_folder(folder, out, lang, say=typer.echo, uncontained=uncontained)
    for line in sorted({f"{c.student}, {c.notebook}: {c.message}" for c in checks if c.points is None}):
        typer.echo(f"! {line}; points left blank")
    typer.echo(f"{len({c.student for c in checks})} students. {out}/grades.csv, checks.csv, feedback/")


@app.command(name="handbook")
def write_handbook(
    site: Annotated[str, typer.Option(help="Public https address; also writes the public edition.")] = "",
) -> None:
    """Write the executed notebooks as HTML pages that need no network; with --site, also a public edition."""
    if site and not site.startswith("https://"):
        fail(f"--site {site}: expected an address such as https://OWNER.github.io/REPOSITORY")
    if not sources.scripts():
        typer.echo(NO_NOTEBOOK)
        return
    found: list[str] = []
    for language in sources.LANGUAGES:
        _run_all(language, sources.pages(), found)
    if not found:
        pages = handbook.write(BUILD, HANDBOOK, sources.LANGUAGES)
        typer.echo(f"{len(pages)} pages. Open {pages[0]}")
    if site and not found:  # with solutions, so in a folder of its own: never in the students' bundle
        public = publish.Site(site.rstrip("/"))
        pages = handbook.write(BUILD, SITE, sources.LANGUAGES, public)
        released = {one: BUILD / one / "course" / course.RELEASE for one in sources.LANGUAGES}
        if missing := [str(folder) for folder in released.values() if not folder.exists()]:
            fail(f"no notebooks to open in {', '.join(missing)}: run make notebooks first")
        publish.write(public, SITE, pages, released)
        typer.echo(f"{len(pages)} pages for {public.address}, with solutions: {SITE}")
    _end(found)


if __name__ == "__main__":
    sys.exit(app())
