"""Collects the files that students receive, as paths and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from grader import REPOSITORY
from grader.core.rubric import LANGUAGES
from grader.lab.site.notebooks.pictures import translator
from grader.lab.site.notebooks.wording import in_figures

from .figures import with_figures
from .leaks import CLUTTER, SHARED, SIGNATURES, leaks

STUDENT = Path(__file__).with_name("student")  # files at the top of every bundle: Makefile, pyproject.toml, …
PARTS = {"src": "src", "tests": "tests", SHARED: "tests/second_device"}  # folders, and their names in the bundle
README = "handout/README.md"
NONE: Mapping[str, Path] = MappingProxyType({})
SCRIPTS = "notebooks/source"
RUBRIC = "grader/assignment/rubric.toml"
_OF_HANDBOOK = re.compile(r"^(?:## [^\n]+\n\n)?\[[^\]]+\]\(handbook/[^\n]*\n(?:[^\n]+\n)*\n?", re.MULTILINE)
_MISCONCEPTIONS = re.compile(r"\n(?:#[^\n]*\n)*\n?\[\[misconceptions\]\].*", re.DOTALL)


class ReleaseRefused(Exception):
    """The bundle must not be given to students; the text gives the reason, one line per place."""


def bundle(
    built: Mapping[str, Path], signatures: Path, executed: Mapping[str, Path] = NONE, root: Path = REPOSITORY
) -> dict[str, bytes]:
    """Every file of the bundle, by its path.

    Args:
        built: From a folder's name in the bundle to the folder that another command has made: the rendered handout,
            the handbook, the released notebooks.
        signatures: The folder that `make signatures` has made.
        executed: By language, the folder of the notebooks with outputs, for their figures.
        root: The repository.

    Raises:
        ReleaseRefused: If something is missing, or the bundle would give away something that students must not see.
    """
    folders = {STUDENT: ""} | {root / source: name for source, name in PARTS.items()}
    folders |= {path: name for name, path in built.items()}
    if absent := [str(folder) for folder in folders if not folder.is_dir()]:
        raise ReleaseRefused(
            f"{', '.join(absent)}: no such folder. Run `make handout`, `make notebooks`, `make handbook` first."
        )
    known = signatures / Path(SIGNATURES).name
    if not known.is_file():
        raise ReleaseRefused(f"{known}: no such file. Run `make signatures` first.")
    if not (root / README).is_file():
        raise ReleaseRefused(f"{root / README}: no such file. Write the student's README there.")
    files = {path: data for folder, name in folders.items() for path, data in _files(folder, name)}
    for language, folder in executed.items():
        for path in sorted(folder.glob("*.ipynb")):
            if (own := f"notebooks/{language}/{path.name}") in files:
                words = {} if language == LANGUAGES[0] else in_figures(root / SCRIPTS / f"{path.stem}.py")
                files[own] = with_figures(files[own], path.read_bytes(), translator(words))
    readme = (root / README).read_text(encoding="utf-8")
    files["README.md"] = (readme if "handbook" in built else _OF_HANDBOOK.sub("", readme)).encode()
    files["tests/rubric.toml"] = _for_students((root / RUBRIC).read_text(encoding="utf-8")).encode()
    files[SIGNATURES] = known.read_bytes()
    if found := list(leaks(files, root)):
        raise ReleaseRefused("\n".join(found))
    return dict(sorted(files.items()))


def _files(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not set(relative.parts) & set(CLUTTER):
            yield (Path(name) / relative).as_posix(), path.read_bytes()


def _for_students(rubric: str) -> str:
    """The rubric without the list of mistakes that the grader recognises."""
    return _MISCONCEPTIONS.sub("\n", rubric)
