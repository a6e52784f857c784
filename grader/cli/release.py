"""``grader release``: the bundle for students."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Annotated

import typer

from ..assignment import LANGUAGES, load_rubric
from .terminal import ERR, OUT, fail, prepare

RELEASED = "course/release/position"  # where nbgrader puts the notebooks that students get


def release(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where the bundle goes: a zip, and a git repository.")],
    handout: Annotated[Path, typer.Option(help="What `make handout` made.")] = Path("build/handout"),
    notebooks: Annotated[Path, typer.Option(help="What `make notebooks` made.")] = Path("build/notebooks"),
) -> None:
    """Write what students receive; refused, with the place, if anything is in it that would give a solution away."""
    from ..release.bundle import ReleaseRefused, bundle
    from ..release.write import write_repository, write_zip

    prepare(out)
    name = load_rubric().id
    try:
        files = bundle({"handout": handout, **{f"notebooks/{lang}": notebooks / lang / RELEASED for lang in LANGUAGES}})
    except ReleaseRefused as refusal:
        for line in str(refusal).splitlines():
            ERR.print(line, markup=False, highlight=False, soft_wrap=True)
        fail("nothing was released.")
    write_zip(files, out / f"{name}.zip", name)
    try:
        commit = write_repository(files, out / name)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{out / name}: git failed ({getattr(error, 'stderr', '') or error}). The zip beside it is whole.", 3)
    OUT.print(
        f"{len(files)} files: {out / name}.zip, and the repository {out / name} (commit {commit[:10]}).",
        highlight=False,
        soft_wrap=True,
    )
