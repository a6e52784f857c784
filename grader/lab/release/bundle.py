"""Collects the files that students receive, as paths and bytes, and writes them as a git repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from grader import REPOSITORY
from grader.core.messages import UserError
from grader.core.rubric import LANGUAGES
from grader.lab.site import clear
from grader.lab.site.notebooks.pictures import SVG, reworded, translator
from grader.lab.site.notebooks.wording import in_figures
from grader.specimens.students import write_files

from .leaks import CLUTTER, SHARED, SIGNATURES, leaks

STUDENT = Path(__file__).with_name("student")  # files at the top of every bundle: Makefile, pyproject.toml, …
PARTS = {
    "src": "src",
    "tests": "tests",
    SHARED: "tests/harness/shared",
}  # folders, and their names in the bundle
README = "handout/README.md"
SCRIPTS = "notebooks/source"
RUBRIC, STUDENTS_RUBRIC = "grader/assignment/rubric.toml", "tests/harness/rubric.toml"
SHOWN_OF_A_TASK = ("id", "title", "file", "files", "names", "bonus")
SHOWN_OF_A_PROPERTY = ("id", "points", "title", "question")
_OF_HANDBOOK = re.compile(r"^(?:## [^\n]+\n\n)?\[[^\]]+\]\(handbook/[^\n]*\n(?:[^\n]+\n)*\n?", re.MULTILINE)


class ReleaseRefused(UserError):
    """The bundle must not be given to students; the text gives the reason, one line per place."""


def bundle(built: Mapping[str, Path], signatures: Path, executed: Mapping[str, Path] | None = None) -> dict[str, bytes]:
    """Every file of the bundle, by its path.

    ``built`` maps the name of a folder in the bundle to the folder that another command has made: the rendered handout,
    the handbook, the released notebooks. ``executed`` has, by language, the notebooks with outputs, for their figures.

    Raises:
        ReleaseRefused: If something is missing, or the bundle would give away something that students must not see.
    """
    folders = {STUDENT: ""} | {REPOSITORY / source: name for source, name in PARTS.items()}
    folders |= {path: name for name, path in built.items()}
    if absent := [str(folder) for folder in folders if not folder.is_dir()]:
        raise ReleaseRefused(f"{', '.join(absent)}: no such folder. Run `make release`, which builds all of them.")
    known = signatures / Path(SIGNATURES).name
    if not known.is_file():
        raise ReleaseRefused(f"{known}: no such file. Run `make signatures` first.")
    files = {path: data for folder, name in folders.items() for path, data in _files(folder, name)}
    files.pop(f"{PARTS[SHARED]}/__init__.py", None)  # the grader's import rules need it; tests/harness has none either
    for language, folder in (executed or {}).items():
        for path in sorted(folder.glob("*.ipynb")):
            if (inside := f"notebooks/{language}/{path.name}") in files:
                words = {} if language == LANGUAGES[0] else in_figures(REPOSITORY / SCRIPTS / f"{path.stem}.py")
                files[inside] = with_figures(files[inside], path.read_bytes(), translator(words))
    readme = (REPOSITORY / README).read_text(encoding="utf-8")
    files["README.md"] = (readme if "handbook" in built else _OF_HANDBOOK.sub("", readme)).encode()
    files[STUDENTS_RUBRIC] = _for_students((REPOSITORY / RUBRIC).read_text(encoding="utf-8-sig")).encode()
    files[SIGNATURES] = known.read_bytes()
    if found := list(leaks(files)):
        raise ReleaseRefused("\n".join(["nothing was released; remove these from the bundle:", *found]))
    return dict(sorted(files.items()))


def _files(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not set(relative.parts) & set(CLUTTER):
            yield (Path(name) / relative).as_posix(), path.read_bytes()


def _for_students(rubric: str) -> str:
    """What the tests show of the rubric, as TOML: ids, points, titles and questions, but no hint and no policy."""
    data = tomllib.loads(rubric)
    lines = [f"title = {_toml(data['title'])}"]
    for task in data["tasks"]:
        lines += ["", "[[tasks]]", *_entries(task, SHOWN_OF_A_TASK)]
        for prop in task["properties"]:
            lines += ["", "[[tasks.properties]]", *_entries(prop, SHOWN_OF_A_PROPERTY)]
    return "\n".join([*lines, ""])


def _entries(table: Mapping[str, object], keys: Iterable[str]) -> list[str]:
    return [f"{key} = {_toml(table[key])}" for key in keys if key in table]


def _toml(value: object) -> str:
    """A value as TOML; texts and numbers are written as in JSON."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(item)}' for key, item in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def with_figures(released: bytes, executed: bytes, translate: Callable[[str], str]) -> bytes:
    """A released notebook whose cells show what they draw when the exercises are solved, as they do in ``executed``."""
    drawn = {cell["id"]: _figures(cell, translate) for cell in json.loads(executed)["cells"] if "outputs" in cell}
    notebook = json.loads(released)
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = drawn.get(cell["id"], [])
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def _figures(cell: Mapping[str, Any], translate: Callable[[str], str]) -> list[dict[str, Any]]:
    """The figures among the outputs of a cell."""
    found = ["".join(output["data"][SVG]) for output in cell["outputs"] if SVG in output.get("data", {})]
    return [{"data": {SVG: reworded(svg, translate)}, "metadata": {}, "output_type": "display_data"} for svg in found]


AUTHOR = {"NAME": "Course staff", "EMAIL": "staff@example.org", "DATE": "2000-01-01T00:00:00Z"}


def write_repository(files: Mapping[str, bytes], folder: Path) -> str:
    """Replace ``folder`` by a git repository with one commit; return the id of the commit.

    Raises:
        UserError: If the folder holds anything but an earlier bundle.
        OSError: If git is not installed.
        subprocess.CalledProcessError: If git fails.
    """
    clear(folder, STUDENTS_RUBRIC)
    write_files(files, folder)
    identity = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in AUTHOR.items()}
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> str:
        command = ["git", "-c", "core.autocrlf=false", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environment | identity, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "The assignment as handed out")
    return git("rev-parse", "HEAD")
