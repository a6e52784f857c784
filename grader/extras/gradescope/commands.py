"""``grader gradescope``: writes the autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.terminal import prepare, say
from grader.core.results.files import write_zip

from .package import autograder


def gradescope(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Zip to write, or a folder for autograder.zip.")],
) -> None:
    """Write the Gradescope autograder as a zip: setup script, grader and reference."""
    path = out if out.suffix == ".zip" else out / "autograder.zip"
    prepare(path.parent)
    files = autograder()
    write_zip(files, path)
    say(f"{len(files)} files: {path}")


PANEL = "Before the term"
COMMANDS = {
    "gradescope": gradescope,
}
