"""Runs nbgrader's commands in a course folder, as processes with this project's settings and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from grader.core.messages import UserError
from grader.lab.site import clear

from . import UNUSED, sources
from .execute import KERNEL_ENVIRONMENT

HOMEWORK = "position"  # what nbgrader calls the walk-through
# In a course folder after ``prepare``: the notebooks with solutions and hidden tests, and the students' versions.
SOURCE, RELEASE = f"source/{HOMEWORK}", f"release/{HOMEWORK}"
CONFIG = sources.ROOT / "nbgrader_config.py"
LOG = "nbgrader.log"
HOME = ".home"
NBGRADER = (
    *(sys.executable, "-c"),
    f"import sys; sys.modules[{UNUSED!r}] = None; from nbgrader.apps.nbgraderapp import main; main()",
)


class NbgraderFailed(UserError):
    """A command of nbgrader failed; the text ends with the last line that it printed, and names its log."""

    code = 3


def prepare(language: str, course: Path) -> None:
    """Make a course folder with the source notebooks, the students' versions, and hidden tests in ``gradebook.db``.

    Raises:
        NbgraderFailed: If nbgrader refuses the sources.
    """
    clear(course, HOME)
    (course / HOME).mkdir(parents=True)
    sources.build(language, course / SOURCE)
    shutil.copyfile(CONFIG, course / CONFIG.name)
    run(course, "generate_assignment", HOMEWORK, "--force")


def run(course: Path, *arguments: str, contained: bool = False) -> None:
    """Run one nbgrader command in the course folder; its output is appended to ``nbgrader.log`` there.

    One that runs students' code is ``contained`` where this machine can do that.

    Raises:
        NbgraderFailed: If its exit status is not 0.
    """
    home = course.resolve() / HOME  # Jupyter neither reads nor writes the home folder of the person who grades
    home.mkdir(exist_ok=True)
    places = {name: str(home) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR")}
    # nbgrader finds alembic through PATH, also if the environment in which both are installed is not activated.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    places |= {"PATH": path, "TMPDIR": str(home), "JUPYTER_RUNTIME_DIR": str(home)}
    with (course / LOG).open("a", encoding="utf-8") as log:
        start = log.tell()
        ended = subprocess.run(
            [*(container(course) if contained else ()), *NBGRADER, *arguments],
            cwd=course,
            env=os.environ | KERNEL_ENVIRONMENT | places,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if ended.returncode:
        said = (course / LOG).read_text(encoding="utf-8", errors="replace")[start:].strip().splitlines()
        last = said[-1] if said else ""
        raise NbgraderFailed(f"nbgrader {arguments[0]} exited with {ended.returncode}: {last} (more in {course / LOG})")


def container(course: Path) -> list[str]:
    """The start of a command line that keeps a command off the network and lets it write in the course folder only.

    It is empty if no container can be created here.
    """
    program = shutil.which("bwrap")
    folder = str(course.resolve())
    if program is None:
        return []
    wrapper = [program, "--unshare-all", "--die-with-parent", "--new-session"]
    wrapper += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", folder, folder]
    for name in ("source", "release"):  # folders of the course that students' code must not change
        wrapper += ["--ro-bind-try", f"{folder}/{name}", f"{folder}/{name}"]
    trial = subprocess.run([*wrapper, sys.executable, "-c", ""], capture_output=True, check=False)
    return wrapper if trial.returncode == 0 else []
