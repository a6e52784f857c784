"""``grader release``: the bundle for students."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import ASSIGNMENT
from ..rubric import LANGUAGES
from .terminal import fail, needing, prepare, say, warn

NOTEBOOKS = Path(__file__).parents[2] / "notebooks" / "source"
RELEASED = "course/release/position"  # where nbgrader writes the notebooks for students
EXECUTED = "executed"  # where they lie with solutions, and with the figures that students get


def release(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the bundle goes: a zip, and a git repository.")],
    handout: Annotated[Path, typer.Option(help="What `make handout` made.")] = Path("build/handout"),
    notebooks: Annotated[Path, typer.Option(help="What `make notebooks` made.")] = Path("build/notebooks"),
    handbook: Annotated[Path, typer.Option(help="What `make handbook` made.")] = Path("build/handbook"),
    signatures: Annotated[Path, typer.Option(help="What `make signatures` made.")] = Path("build/signatures"),
) -> None:
    """Write what students receive; refused, with the place, if anything is in it that would give a solution away."""
    with needing("grader,handout", "release"):
        from ..tools.release.bundle import ReleaseRefused, bundle
        from ..tools.release.write import write_repository, write_zip

    prepare(out)
    name = ASSIGNMENT.rubric.id
    built = {"handout": handout}
    if NOTEBOOKS.is_dir():  # an assignment may do without
        built |= {"handbook": handbook, **{f"notebooks/{lang}": notebooks / lang / RELEASED for lang in LANGUAGES}}
    executed = {lang: notebooks / lang / EXECUTED for lang in LANGUAGES}
    try:
        files = bundle(built, signatures, executed)
    except ReleaseRefused as refusal:
        for line in str(refusal).splitlines():
            warn(line)
        fail("nothing was released.")
    write_zip(files, out / f"{name}.zip", name)
    try:
        commit = write_repository(files, out / name)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{out / name}: git failed ({getattr(error, 'stderr', '') or error}). The zip beside it is whole.", 3)
    say(f"{len(files)} files: {out / name}.zip, and the repository {out / name} (commit {commit[:10]}).")
