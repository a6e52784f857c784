"""``make bench``: measures, and writes ``grader/docs/performance.md`` with its plot.

Baselines and subjects are interleaved, so that a machine that slows down slows all of them; the page gives medians and
ratios.
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
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from grader.assignment import REFERENCE, load_rubric
from grader.benchmarks import coordinator, workers
from grader.benchmarks.measure import cost, cpu_s, descendants
from grader.benchmarks.page import Figures, write_page
from grader.benchmarks.throughput import run_class
from grader.grading import reference_files
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.sandbox.in_process import InProcessWorker
from grader.sandbox.launch import Operation, Zygote
from grader.sandbox.limits import Limits

ROUNDS = 3
REPOSITORY = REFERENCE.parent


class TimedWorker(InProcessWorker):
    """Adds up the time that student code takes (c)."""

    spent_s = 0.0

    def request(self, operations: Sequence[Operation], timeout_s: float) -> dict[str, object]:
        """Perform, and note how long it took."""
        started = time.perf_counter()
        try:
            return super().request(operations, timeout_s)
        finally:
            TimedWorker.spent_s += time.perf_counter() - started


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


def command_s(*command: str, cwd: Path = REPOSITORY) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    spent = cost(lambda: subprocess.run(command, cwd=cwd, capture_output=True, check=False))
    return spent.wall_s, spent.cpu_s


def solved_copy(folder: Path) -> Path:
    """A student's repository with everything solved, for ``make test``."""
    for name in ("src", "tests", "grader/rubric.toml", "pyproject.toml"):
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
    for path, text in reference_files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def empty_workers(zygote: Zygote, number: int) -> tuple[float, float]:
    """Wall and CPU seconds of workers that are started, asked for nothing, and ended (d)."""
    cpu, wall = cpu_s(descendants(os.getpid())), time.perf_counter()
    for _ in range(number):
        worker = zygote.start({})
        worker.request([], 5.0)
        worker.close()
    return time.perf_counter() - wall, cpu_s(descendants(os.getpid())) - cpu


def measure(sizes: Sequence[int]) -> Figures:
    """Run everything; takes some minutes."""
    torch.set_num_threads(1)
    rubric, files, limits = load_rubric(), reference_files(), Limits()
    tests = HiddenTests(("cpu",), 0, rubric.properties)
    tests.run(Student(files, InProcessWorker, rubric, limits))
    zygote = Zygote(limits)
    isolation = str(zygote.isolation)
    rows: dict[str, list[tuple[float, float]]] = {}

    def note(name: str, work: Callable[[], tuple[float, float]]) -> None:
        rows.setdefault(name, []).append(work())

    def warm(worker: type[InProcessWorker]) -> tuple[float, float]:
        spent = cost(lambda: tests.run(Student(files, worker, rubric, limits)))
        return spent.wall_s, spent.cpu_s

    def arithmetic() -> tuple[float, float]:
        TimedWorker.spent_s = 0.0
        warm(TimedWorker)
        return TimedWorker.spent_s, TimedWorker.spent_s

    with tempfile.TemporaryDirectory() as scratch:
        solved = solved_copy(Path(scratch) / "solved")
        runs = []
        for number in range(ROUNDS):
            say(f"round {number + 1} of {ROUNDS}")
            note("import torch", lambda: command_s(sys.executable, "-W", "ignore", "-c", "import torch"))
            note("make test", lambda: command_s(sys.executable, "-m", "tests", cwd=solved))
            note("(a) plain pytest", lambda: command_s(sys.executable, "-m", "grader.benchmarks.plain_pytest"))
            note("(b) warm, unsafe", lambda: warm(InProcessWorker))
            note("(c) arithmetic", arithmetic)
            note("(d) empty workers, one a property", lambda: empty_workers(zygote, len(rubric.properties)))
            runs += [run_class(solved, 24, jobs) for jobs in (1, 2)]
        zygote.close()
        say("layers")
        layers = {
            "process": run_class(solved, 16, 1, ("namespaces", "user", "landlock", "seccomp")),
            "seccomp": run_class(solved, 16, 1, ("namespaces", "landlock")),
            "landlock+seccomp": run_class(solved, 16, 1, ("namespaces",)),
            "namespaces+landlock+seccomp": run_class(solved, 16, 1),
        }
        growth = []
        for size in sizes:
            say(f"growth: {size} submissions")
            growth.append(run_class(solved, size, 2))
    say("the coordinator alone")
    alone = coordinator.costs([40, 400, 4000])
    say("dask workers")
    shares = workers.run_workers()
    medians = {name: tuple(statistics.median(v) for v in zip(*values, strict=True)) for name, values in rows.items()}
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, isolation {isolation}"
    baselines = {name: (wall_s, cpu_s) for name, (wall_s, cpu_s) in medians.items()}
    return Figures(machine, versions, baselines, runs, layers, growth, alone, shares)


if __name__ == "__main__":
    figures = measure([int(size) for size in sys.argv[1:]] or [1, 10, 40, 100, 400])
    write_page(figures, REPOSITORY / "grader" / "docs")
    say("wrote grader/docs/performance.md")
