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
    from nbformat import NotebookNode

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


def _in_english(script: Path, executed: NotebookNode, language: str) -> list[str]:
    """A line for each text that would be in English in a figure of a page in another language."""
    if language == sources.LANGUAGES[0]:
        return []
    prose = " ".join(cell.source for cell in executed.cells if cell.cell_type == "markdown")
    texts = pictures.in_english(executed, wording.in_figures(script), prose)
    return [f"[{wording.FIGURES}] has no translation of {text!r}, which a figure shows" for text in texts]


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
        executed = _run_all(language, sources.pages(), found)
        typer.echo(f"{language}: nbgrader prepares the release of {len(executed)} pages")
        with ending():
            course.prepare(language, folder / "course")
        released = course.release_folder(folder / "course")
        found += [
            f"release of {language}: {line}"
            for line in release.leaks(released, course.source_folder(folder / "course"))
        ]
        typer.echo(f"{language}: {len(executed)} pages, {time.monotonic() - started:.1f} s. Release: {released}")
    _end(found)


def _run_all(language: str, scripts: Sequence[Path], found: list[str]) -> list[Path]:
    """Execute those notebooks that changed; return the paths of all, and append problems to ``found``.

    Those of another language than the first, which comes before it, get their outputs from that run.
    """
    paths = []
    for number, script in enumerate(scripts, 1):
        notebook, first = sources.read(script, language), language == sources.LANGUAGES[0]
        found += [f"{script.stem} ({language}): {line}" for line in rules.problems(notebook)]
        if first:
            found += [f"{script.stem}: {line}" for line in (*rules.differences(script), *rules.unchecked(notebook))]
        paths.append(BUILD / language / "executed" / f"{script.stem}.ipynb")
        digest = sources.digest(script)
        kept = nbformat.read(paths[-1], as_version=4) if paths[-1].exists() else notebook
        if kept.metadata.get(STALE) == digest:
            found += [f"{script.stem}: {line}" for line in _in_english(script, kept, language)]
            typer.echo(f"[{number}/{len(scripts)}] {language} {script.stem}: unchanged")
            continue
        typer.echo(
            f"[{number}/{len(scripts)}] {language} {script.stem}: changed, {'runs' if first else 'translated'} now"
        )
        if first:  # the code is the same in every language
            blank = execute.blank_passes(sources.read(script, language), sources.SOURCES)
            found += [f"{script.stem}: {line}" for line in blank]
            run = execute.execute(notebook, sources.SOURCES)
        else:
            run = _translated(notebook, script, digest)
        found += [f"{script.stem} ({language}): {line}" for line in run.problems]
        found += [f"{script.stem}: {line}" for line in _in_english(script, run.notebook, language)]
        run.notebook.metadata[STALE] = digest if not run.problems else ""
        execute.save(run, paths[-1])
        typer.echo(f"[{number}/{len(scripts)}] {language} {script.stem}: {run.seconds:.1f} s")
    return paths


def _translated(notebook: NotebookNode, script: Path, digest: str) -> execute.Run:
    """The notebook with the outputs of its run in the first language, translated."""
    started = time.monotonic()
    executed = nbformat.read(BUILD / sources.LANGUAGES[0] / "executed" / f"{script.stem}.ipynb", as_version=4)
    problems = () if executed.metadata.get(STALE) == digest else ("no run without problems to translate",)
    done = pictures.retold(executed, notebook, wording.table(script))
    return execute.Run(done, time.monotonic() - started, problems)


@app.command()
def grade(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="A folder or zip for each student.")],
    out: Annotated[Path, typer.Option(help="Output folder of feedback and CSV files; overwritten.")] = GRADED,
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
    site: Annotated[
        str, typer.Option(help="https address at which the public will read it: also writes the site.")
    ] = "",
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
    if site and not found:
        _write_site(publish.Site(site.rstrip("/")))
    _end(found)


def _write_site(site: publish.Site) -> None:
    """Write the pages for the public, which have solutions, in a folder of their own: never in the students' bundle."""
    pages = handbook.write(BUILD, SITE, sources.LANGUAGES, site)
    released = {one: course.release_folder(BUILD / one / "course") for one in sources.LANGUAGES}
    if missing := [str(folder) for folder in released.values() if not folder.exists()]:
        fail(f"no notebooks to open in {', '.join(missing)}: run make notebooks first")
    names = [page.relative_to(SITE).as_posix() for page in pages]
    publish.write(site, SITE, names, sources.front()["title"][sources.LANGUAGES[0]], released)
    typer.echo(f"{len(pages)} pages for {site.address}, with solutions: {SITE}")


if __name__ == "__main__":
    sys.exit(app())
