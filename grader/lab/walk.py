"""``python3 -m grader.lab.walk``: runs the documented commands in fresh environments, made as in README.

``make test`` makes the students' environment, ``make setup`` that of assistants and developers. In each, README's
commands run: the cheap ones on a small class, the others only with ``--help``; tests are only collected. A step fails
on an unexpected exit status, a timeout or a traceback; later steps run all the same.

Requires ``make``, Python's standard library and a package index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

LONGEST_S = 900  # for one step; installing everything takes one or two minutes
SHOWN = 25  # last lines of a failed step's output
COMMANDS = "import typer.main as t; from grader.__main__ import app; print(*t.get_command(app).commands)"
SUITE = ("grader/assignment/selftest", "grader/selftest", "grader/extras", "grader/lab")
# Variables that describe another environment, or the make that started this.
NOT_PASSED_ON = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH", "VENV", "VIRTUAL_ENV")
FASTER = {"PIP_COMPILE": "0"}  # only a small part of the installed files is imported, and compiled then


@dataclass(frozen=True)
class Step:
    """A command and its expected end.

    Attributes:
        status: Its exit status.
        says: A text that its output contains.
    """

    command: tuple[str, ...]
    status: int = 0
    says: str = ""


def problem(step: Step) -> str:
    """Run a step in the current folder; returns its problem with the last lines of output, or an empty text."""
    try:
        ended = _run(step.command)
    except subprocess.TimeoutExpired as stopped:
        return f"no end within {stopped.timeout:g} s"
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    output = ended.stdout
    lines = "".join(f"\n    {line}" for line in output.splitlines()[-SHOWN:])
    if ended.returncode != step.status:
        return f"exit status {ended.returncode}, not {step.status}{lines}"
    if "Traceback (most recent call last)" in output:
        return f"a traceback{lines}"
    return "" if step.says in output else f"its output lacks {step.says!r}{lines}"


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    surroundings = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=surroundings | FASTER,
        timeout=LONGEST_S,
    )


def walk(steps: Iterable[Step], room: Path) -> int:
    """Run the steps, printing a line for each; returns how many failed."""
    failed = 0
    for step in steps:
        began = time.monotonic()
        wrong = problem(step)
        failed += bool(wrong)
        shown = " ".join(step.command).replace(f"{room}{os.sep}", "")
        lasted = f"{time.monotonic() - began:6.1f} s"
        print(f"{'FAIL' if wrong else 'ok':4} {lasted}  {shown}{f': {wrong}' if wrong else ''}", flush=True)
    return failed


def for_students(room: Path) -> Iterator[Step]:
    """A student's first commands; stubs earn nothing, but a TODO is no failure."""
    yield Step(("make", "test", f"VENV={room}/students"), says="0 / 100")  # TODOs alone are no failure
    yield Step((f"{room}/students/bin/python", "-m", "tests"), says="0 / 100")


def for_developers(room: Path) -> Iterator[Step]:
    """Commands of assistants and developers after ``make setup``."""
    programs = room / "setup" / "bin"
    python, grader = str(programs / "python"), str(programs / "grader")
    yield Step(("make", "lint", f"VENV={room}/setup"))
    yield Step((python, "-m", "pytest", "--collect-only", "-q", *SUITE))
    yield Step((grader, "--help"))
    yield from (Step((grader, command, "--help")) for command in _run((python, "-c", COMMANDS)).stdout.split())
    yield Step((grader, "doctor"))
    everyone, some, out = (str(room / name) for name in ("class", "some", "out"))
    yield Step((python, "-m", "grader.lab.sample_class", everyone))
    folders = sorted(path for path in Path(everyone).glob("*") if path.is_dir())[:2]
    for folder in folders:
        Path(some).mkdir(exist_ok=True)
        folder.rename(Path(some, folder.name))
    yield Step((grader, "grade", some, "--out", out))
    yield Step((grader, "show", out))
    yield from (Step((grader, "show", out, folder.name)) for folder in folders)
    yield Step((grader, "report", out))
    yield Step((grader, "export", out, "--to", "csv"))
    yield Step((grader, "decide", out))
    copy = shutil.copytree(out, room / "copy") if Path(out).is_dir() else out
    yield Step((grader, "diff", str(copy), out))
    yield Step((grader, "similar", everyone, "--out", str(room / "similar")))
    yield Step((grader, "gradescope", str(room / "gradescope")))
    yield Step((grader, "release", str(room / "release"), "--handout", str(room / "none")), 2, "Run `make handout`")
    yield Step((python, "-m", "grader.lab.site.handout", "--out", str(room / "handout")))
    yield Step((python, "-m", "grader.lab.site.notebooks", "check", "0"), 2, "pip install -e")


def main() -> int:
    """Walk in all environments, on two cores; the exit status is 1 if a step failed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="walk-") as name, ThreadPoolExecutor(1) as beside:
        room = Path(name)
        students = beside.submit(walk, for_students(room), room)
        failed = walk([Step(("make", "setup", f"VENV={room}/setup"))], room)
        if not failed:
            types = beside.submit(walk, [Step((f"{room}/setup/bin/mypy", f"--cache-dir={room}/types"))], room)
            failed = walk(for_developers(room), room) + types.result()
        failed += students.result()
    print(f"{'✗' if failed else '✓'} {failed} failed; {time.monotonic() - began:.0f} s")
    return bool(failed)


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python3 -m grader.lab.walk", description=__doc__).parse_args()
    sys.exit(main())
