"""``grader gradescope``: packs the grader and the reference, with a script to set them up and one to run them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader import REPOSITORY
from grader.core.cli.terminal import prepare, say
from grader.core.results.files import write_zip

SCRIPTS = ("run_autograder", "setup.sh")
FILES = ("pyproject.toml", "requirements.lock", "README.md", "LICENSE")  # what pip needs to install the grader
NOT_NEEDED = ("corpus", "docs", "examples", "lab", "selftest")


def gradescope(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Zip to write, or a folder for autograder.zip.")],
    seed: Annotated[int, typer.Option(help="Seed of the generated inputs, as for grade.")] = 0,
) -> None:
    """Write the Gradescope autograder as a zip: setup script, grader and reference."""
    path = out if out.suffix == ".zip" else out / "autograder.zip"
    prepare(path.parent)
    files = autograder(seed)
    write_zip(files, path)
    say(f"{len(files)} files: {path}")


def autograder(seed: int = 0) -> dict[str, bytes]:
    """Every file of the autograder, by its path; the same repository and seed give the same bytes."""
    files = {script: Path(__file__).with_name(script).read_bytes() for script in SCRIPTS}
    files[SCRIPTS[0]] = files[SCRIPTS[0]].replace(b"seed=0", b"seed=%d" % seed)
    files |= {name: (REPOSITORY / name).read_bytes() for name in FILES}
    for folder in ("grader", "ref"):
        for path in (REPOSITORY / folder).rglob("*"):
            parts = path.relative_to(REPOSITORY / folder).parts
            left_out = any(part in NOT_NEEDED or part.startswith(".") for part in parts)
            if path.is_file() and path.suffix in (".py", ".toml") and not left_out:
                files[path.relative_to(REPOSITORY).as_posix()] = path.read_bytes()
    return dict(sorted(files.items()))


PANEL = "Before the term"
COMMANDS = {"gradescope": gradescope}
