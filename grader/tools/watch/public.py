"""Runs the public tests on a submission, in a container: what a student would see of ``make test``, and nothing more.

The public tests import the submission, so what they print may be made up by it. That is no grade, and nobody's is.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...definition import Assignment
from ...intake.submission import Submission
from ...sandbox.bubblewrap import container
from ...settings import CannotGrade
from ..release.bundle import public_tests

WALL_S, CPU_S = 300.0, 120
MEMORY_BYTES = 16 << 30  # of address space: torch alone reserves some
MOST_PRINTED = 1 << 20
ENDED = {"en": "It was ended after {seconds:g} s.", "zh": "它在 {seconds:g} 秒之后被终止。"}
_ROW = re.compile(r"^  (✓|✗|TODO|-)\s", re.MULTILINE)


@dataclass(frozen=True)
class PublicResult:
    """What the public tests say of a submission.

    Attributes:
        id: Of the submission.
        text: As printed for the student.
        passed: How many properties hold.
        count: How many there are.
    """

    id: str
    text: str
    passed: int
    count: int


class PublicTests:
    """The public tests of an assignment, ready to be run.

    Args:
        assignment: Whose tests.
        language: ``en`` or ``zh``.
    """

    def __init__(self, assignment: Assignment, language: str) -> None:
        """Find out whether a container can be made.

        Raises:
            CannotGrade: If it cannot.
        """
        self._language = language
        self._files = public_tests(assignment)
        _contained([sys.executable, "-c", ""], Path("/usr"))

    def run(self, submission: Submission) -> PublicResult:
        """Run them on one submission. Whatever it does, this ends, and leaves nothing behind.

        Raises:
            CannotGrade: If no container can be made any more; nothing is run without.
        """
        if submission.reason is not None:
            return PublicResult(submission.id, submission.reason, 0, 0)
        with tempfile.TemporaryDirectory(prefix="public-") as folder:
            files = {path: text.encode() for path, text in submission.files.items()}
            _write(Path(folder), {**self._files, **files})
            text = self._printed(Path(folder))
        rows = _ROW.findall(text)
        notices = "".join(f"{notice}\n" for notice in submission.notices)
        return PublicResult(submission.id, notices + text, rows.count("✓"), len(rows))

    def _printed(self, folder: Path) -> str:
        """What the tests print in that folder."""
        command = [sys.executable, "-B", "-W", "ignore", "-m", "tests", "--lang", self._language, "--all"]
        contained = _contained(command, folder)
        with tempfile.TemporaryFile() as printed:
            process = subprocess.Popen(
                contained,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent", "OMP_NUM_THREADS": "1"},
                preexec_fn=_limit,
                start_new_session=True,  # a Ctrl-C at the terminal is for the command
            )
            with _ended(process):
                late = ""
                try:
                    process.wait(WALL_S)
                except subprocess.TimeoutExpired:
                    late = "\n" + ENDED[self._language].format(seconds=WALL_S)
            printed.seek(0)
            return printed.read(MOST_PRINTED).decode(errors="replace") + late


def _contained(command: Sequence[str], folder: Path) -> list[str]:
    """The command in a container that can read ``folder``."""
    wrapped, why = container(command, readable=[str(folder)], start=str(folder))
    if why:
        raise CannotGrade(
            f"--public runs students' code beside the tests, and no container can be made for that ({why}). "
            "`grader doctor` says what is missing."
        )
    return wrapped


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """See that the process, and with it all in its container, has ended."""
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _limit() -> None:
    """In the new process: bound what it may use, as its parent cannot."""
    for kind, most in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, MOST_PRINTED),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (value, value))


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
