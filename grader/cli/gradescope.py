"""``grader gradescope``: the autograder that Gradescope takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .terminal import prepare, say


def gradescope(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The zip to write; a folder gets autograder.zip.")],
) -> None:
    """Write the autograder that Gradescope takes: its set-up, the grader and the reference, in a zip."""
    from ..tools.gradescope.package import autograder
    from ..tools.release.write import write_zip

    path = out if out.suffix == ".zip" else out / "autograder.zip"
    prepare(path.parent)
    files = autograder()
    write_zip(files, path)
    say(f"{len(files)} files: {path}")
