"""``make bench`` takes all measurements, and writes ``grader/docs/performance.md`` with its plot.

The grader and the baselines are measured in turn, so that a machine that slows down affects both. The page gives
medians and ratios.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from grader.assignment import ASSIGNMENT
from grader.definition import rubric_or_exit
from grader.intake.submission import Submission
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.sandbox.handle import Operation
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits
from grader.sandbox.operations import Operations
from grader.sandbox.protocol import Message, unpack
from grader.tools.benchmarks import coordinator, workers
from grader.tools.benchmarks.measure import cost, cpu_s, descendants
from grader.tools.benchmarks.page import Figures, write_page
from grader.tools.benchmarks.throughput import a_class, copies, run_class

ROUNDS = 3
REPOSITORY = ASSIGNMENT.root
WAYS: dict[str, dict[str, Any]] = {
    "with the memo": {},
    "without the memo": {"remember": False},
    "plainly": {"plain": True},
}


class TimedOperations(Operations):
    """Adds up the time that student code takes (c)."""

    spent_s = 0.0

    def perform(self, operations: Sequence[Operation]) -> dict[str, Any]:
        """Perform the operations, and add the time that they took."""
        started = time.perf_counter()
        try:
            return super().perform(operations)
        finally:
            TimedOperations.spent_s += time.perf_counter() - started


class TimedWorker(InProcessWorker):
    """A worker that uses :class:`TimedOperations`."""

    def __init__(self, files: Mapping[str, str]) -> None:
        super().__init__(files)
        self._operations = TimedOperations(files)


def say(text: str) -> None:
    """Print a line about the progress."""
    print(text, file=sys.stderr, flush=True)


def command_s(*command: str, cwd: Path = REPOSITORY) -> tuple[float, float]:
    """Run a command; returns its wall and CPU seconds."""
    spent = cost(lambda: subprocess.run(command, cwd=cwd, capture_output=True, check=False))
    return spent.wall_s, spent.cpu_s


def solved_copy(folder: Path) -> Path:
    """Copy a student's repository into ``folder``, with all tasks solved, for ``make test``."""
    for name in ("src", "tests", "grader/assignment/rubric.toml", "grader/sandbox/second_device", "pyproject.toml"):
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    for path, text in ASSIGNMENT.solution().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def empty_workers(zygote: Zygote, number: int) -> tuple[float, float]:
    """Wall and CPU seconds of workers that are started, get an empty request, and are ended (d)."""
    cpu, wall = cpu_s(descendants(os.getpid())), time.perf_counter()
    for _ in range(number):
        worker = zygote.start({})
        worker.request([], 5.0)
        worker.close()
    return time.perf_counter() - wall, cpu_s(descendants(os.getpid())) - cpu


def three_wrong() -> dict[str, str]:
    """A submission that loses three properties."""
    variants = ASSIGNMENT.part("variants").all_variants()
    return dict(next(variant.files for variant in variants if len(variant.breaks | variant.also) == 3))


def codec_s(tests: HiddenTests) -> tuple[float, float]:
    """Wall and CPU seconds of unpacking and packing the requests of all properties once."""

    def work() -> None:
        for recording in tests.recordings():
            message = Message()
            for request in unpack(recording.packed):
                message.add(request)
            message.packed()

    spent = cost(work)
    return spent.wall_s, spent.cpu_s


def measure(sizes: Sequence[int]) -> Figures:
    """Take all measurements, which takes some minutes."""
    torch.set_num_threads(1)
    rubric, files, limits = ASSIGNMENT.rubric, ASSIGNMENT.solution(), Limits()
    tests = HiddenTests(ASSIGNMENT, ("cpu",), 0, rubric.properties)
    tests.rehearse(Student(files, InProcessWorker, rubric, limits), InProcessWorker)
    zygote = Zygote(limits)
    isolation = str(zygote.isolation)
    rows: dict[str, list[tuple[float, float]]] = {}

    def note(name: str, work: Callable[[], tuple[float, float]]) -> None:
        rows.setdefault(name, []).append(work())

    def warm(worker: type[InProcessWorker]) -> tuple[float, float]:
        spent = cost(lambda: tests.run(Student(files, worker, rubric, limits)))
        return spent.wall_s, spent.cpu_s

    def arithmetic() -> tuple[float, float]:
        TimedOperations.spent_s = 0.0
        warm(TimedWorker)
        return TimedOperations.spent_s, TimedOperations.spent_s

    with tempfile.TemporaryDirectory() as scratch:
        solved = solved_copy(Path(scratch) / "solved")
        runs = []
        kinds = {"reference": files, "three properties wrong": three_wrong(), "stubs": ASSIGNMENT.stubs()}
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            note("import torch", lambda: command_s(sys.executable, "-W", "ignore", "-c", "import torch"))
            note("make test", lambda: command_s(sys.executable, "-m", "tests", cwd=solved))
            note("(a) plain pytest", lambda: command_s(sys.executable, "-m", "grader.tools.benchmarks.plain_pytest"))
            note("(b) warm, unsafe", lambda: warm(InProcessWorker))
            note("(c) arithmetic", arithmetic)
            note("(e) one empty worker", lambda: empty_workers(zygote, 1))
            note("(f) unpacking and packing", lambda: codec_s(tests))
            note("(d) empty workers, one a property", lambda: empty_workers(zygote, len(rubric.properties)))
            runs += [run_class(copies(solved, 24), jobs) for jobs in (1, 2)]
            for kind, work in kinds.items():
                for way, chosen in WAYS.items():
                    graded = run_class((Submission(str(student), dict(work)) for student in range(10)), 2, **chosen)
                    rows.setdefault(f"{kind}, two jobs, {way}", []).append((graded.each_s, graded.cpu_each_s))
        zygote.close()
        say("layers")
        layers = {
            "process": run_class(copies(solved, 16), 1, without=("namespaces", "user", "landlock", "seccomp")),
            "seccomp": run_class(copies(solved, 16), 1, without=("namespaces", "landlock")),
            "landlock+seccomp": run_class(copies(solved, 16), 1, without=("namespaces",)),
            "namespaces+landlock+seccomp": run_class(copies(solved, 16), 1),
        }
        growth = []
        for size in sizes:
            say(f"growth: {size} submissions")
            growth.append(run_class(copies(solved, size), 2))
        say("a class of 400")
        mixed = run_class(a_class(400), 2)
    say("the coordinator alone")
    alone = coordinator.costs([40, 400, 4000])
    say("dask workers")
    shares = workers.run_workers()
    medians = {name: tuple(statistics.median(v) for v in zip(*values, strict=True)) for name, values in rows.items()}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, isolation {isolation}"
    baselines = {name: (wall_s, cpu_s) for name, (wall_s, cpu_s) in medians.items()}
    return Figures(machine, versions, baselines, runs, layers, growth, mixed, alone, shares)


if __name__ == "__main__":
    rubric_or_exit(ASSIGNMENT)
    figures = measure([int(size) for size in sys.argv[1:]] or [1, 10, 40, 100, 400])
    write_page(figures, REPOSITORY / "grader" / "docs")
    say("wrote grader/docs/performance.md")
