"""``make bench`` measures each step of grading beside a baseline of the same run, for ``grader/docs/performance.md``.

Steps and baselines are measured in turn, three times, so that a machine that slows down affects both.
"""

# No import at the top imports torch, since the coordinator does without it.

from __future__ import annotations

import contextlib
import json
import os
import pickle
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat, takewhile
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from jinja2 import Template

from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import follow, in_one_line
from grader.core.intake.discover import discover
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.results.database import LEDGER, opened
from grader.core.run.class_run import Run
from grader.core.settings import Settings
from grader.lab.processes import cpu_s, descendants, memory_mib

SETTINGS = Settings(ASSIGNMENT, device="cpu")
PLAIN = "(a) plain pytest, a new process for each submission"
ROUNDS = 3
PLAIN_S, PLAINLY = 30, 2  # plain pytest: its time limit, and on how many submissions of a kind it is measured
WAYS: dict[str, dict[str, Any]] = {
    "with the memo": {},
    "without the memo": {"remember": False},
    "with `--plain`": {"plain": True},  # each property in a worker of its own
    "with the second device": {"device": "auto"},
}


class Cost(NamedTuple):
    """Seconds of a piece of work: on the clock, and of all its processes together."""

    wall_s: float
    cpu_s: float


def cost(work: Callable[[], object], times: int = 1) -> Cost:
    """The cost of ``work``; short work is repeated, since the system counts CPU time in steps of 10 ms."""
    cpu, wall = cpu_s(descendants(os.getpid())), time.perf_counter()
    for _ in range(times):
        work()
    return Cost((time.perf_counter() - wall) / times, (cpu_s(descendants(os.getpid())) - cpu) / times)


def middle(costs: Iterable[Cost]) -> Cost:
    """The medians of several measurements."""
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def python(*words: str, cwd: Path = ASSIGNMENT.root, timeout_s: float | None = None) -> Cost:
    """The cost of a run of Python, whatever its exit status."""
    whole = [sys.executable, "-W", "ignore", *words]

    def run() -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(whole, cwd=cwd, capture_output=True, check=False, timeout=timeout_s)

    return cost(run)


def students_copy(folder: Path) -> Path:
    """A student's repository with all tasks solved, for ``make test``."""
    for name in ("src", "tests", "grader/assignment"):
        shutil.copytree(ASSIGNMENT.root / name, folder / name)
    shutil.copy(ASSIGNMENT.root / "pyproject.toml", folder)
    for path, text in ASSIGNMENT.solution().items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def run_class(works: Iterable[Mapping[str, str]], jobs: int, **chosen: Any) -> tuple[float, Cost, float]:
    """Seconds until the first report, the cost of each submission after that, and MiB of all processes in the end."""
    from grader.core.run.executors import LocalExecutor
    from grader.core.run.schedule import grade_all

    settings = Settings(ASSIGNMENT, **{"device": "cpu", **chosen})
    submissions = [Submission(f"student-{number:04}", files) for number, files in enumerate(works)]

    def graded(wanted: Iterable[Submission]) -> list[float]:
        return [time.perf_counter() for _ in grade_all(wanted, settings, executor)]

    started = time.perf_counter()
    ready = Submission("ready", ASSIGNMENT.solution())
    with LocalExecutor(jobs) as executor:  # the reference again and again, until every judge is ready
        first = graded(takewhile(lambda _: executor.judges.readied < jobs, repeat(ready)))[0] - started
        whole = cost(lambda: graded(submissions))  # while the judges still run
        used_mib = memory_mib(descendants(os.getpid()))
    return first, Cost(whole.wall_s / len(submissions), whole.cpu_s / len(submissions)), used_mib


def by_kind(size: int) -> tuple[dict[str, tuple[int, Cost, Cost]], Cost]:
    """For each kind in the class: how many, the cost of one, and by plain pytest; then the cost of one in the class."""
    members, kinds = ASSIGNMENT.part("corpus.as_handed_in").a_class(size), {}
    names = sorted({member.kind for member in members})
    for kind in follow(names, "the class, by kind", len(names)):
        works = [member.files for member in members if member.kind == kind]
        plainly = [plain(files) for files in works[:PLAINLY]]
        kinds[kind] = len(works), run_class(works, 1)[1], middle(plainly)
    return kinds, run_class([member.files for member in members], 2)[1]


def plain(files: Mapping[str, str]) -> Cost:
    """The cost of a submission as most graders work: a new process, pytest, a time limit."""
    with tempfile.TemporaryDirectory() as folder:
        handed_in = Path(folder, "files.json")
        handed_in.write_text(json.dumps(dict(files)), encoding="utf-8")
        return python("-m", "grader.lab.plain_pytest", str(handed_in), f"{folder}/report.json", timeout_s=PLAIN_S)


def hidden_tests(files: Mapping[str, str]) -> tuple[Any, Any]:
    """The hidden tests in this process, and the submission that they run on."""
    import torch

    from grader.core.judge.hidden_tests import HiddenTests
    from grader.core.judge.student import Student
    from grader.core.sandbox.handle import InProcessWorker

    torch.set_num_threads(1)
    student = Student(files, InProcessWorker, ASSIGNMENT.rubric, SETTINGS.limits)
    return HiddenTests(ASSIGNMENT, ("cpu",), 0, ASSIGNMENT.rubric.properties), student


def in_rounds(solved: Path, rows: dict[str, list[Cost]]) -> tuple[list[tuple[float, Cost, float]], str]:
    """All steps for one submission, and their baselines; returns the runs with two jobs, and the isolation."""
    from grader.core.judge.judging import rehearse, run_tests
    from grader.core.sandbox.launch import Zygote
    from grader.core.sandbox.operations import Operations
    from grader.core.sandbox.protocol import pack, unpack

    zygote, files = Zygote(SETTINGS.limits), ASSIGNMENT.solution()
    tests, reference = hidden_tests(files)
    rehearse(tests, reference)

    def empty_worker() -> None:
        worker = zygote.start({})
        worker.request([], 5.0)
        worker.close()

    def arithmetic() -> None:
        for requests in unpacked:
            module = Operations(files)
            for operations in requests:
                module.perform(operations)

    recorded = [recording.packed for recording in tests.recordings.values()]
    unpacked = list(map(unpack, recorded))
    runs = []
    for _ in follow(range(ROUNDS), "rounds of all steps", ROUNDS):
        rows["import torch"].append(python("-c", "import torch"))
        rows["make test"].append(python("-m", "tests", cwd=solved))
        rows[PLAIN].append(plain(files))
        rows["(b) warm and unsafe, in one process"].append(cost(lambda: run_tests(tests, reference)))
        rows["(c) the submission's own arithmetic"].append(cost(arithmetic, 5))
        rows["(d) one empty worker"].append(cost(empty_worker, 10))
        rows["(e) unpacking and packing"].append(cost(lambda: [pack(unpack(packed)) for packed in recorded], 5))
        rows["reference, one job, with the memo"].append(run_class(repeat(files, 16), 1)[1])
        for way, chosen in WAYS.items():
            runs.append(run_class(repeat(files, 16), 2, **chosen))
            rows[f"reference, two jobs, {way}"].append(runs[-1][1])
    zygote.close()
    return runs, str(zygote.isolation)


def saved(size: int, answer: bytes) -> tuple[Cost, Cost, float, float]:
    """The coordinator with ready reports: costs of saving one (of the last 40) and of resuming one; MiB, ledger KiB."""
    spent = []
    with tempfile.TemporaryDirectory() as handed_in, tempfile.TemporaryDirectory() as reports:
        folder, out = Path(handed_in), Path(reports)
        for number in range(size):
            for name, text in ASSIGNMENT.solution().items():
                path = folder / f"student-{number:04}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{text}# {number}\n", encoding="utf-8")
        with Reader() as reader, opened(out) as connection:
            run = Run(out, connection, discover([folder]), SETTINGS, reader)
            for submission in run.submissions():
                wall, cpu, report = time.perf_counter(), time.process_time(), pickle.loads(answer)
                facts = {"id": submission.id, "sha256": submission.sha256, "notices": list(submission.notices)}
                run.save(report.model_copy(update={"submission": report.submission.model_copy(update=facts)}))
                spent.append(Cost(time.perf_counter() - wall, time.process_time() - cpu))
            run.finish({})
        used_mib, one = memory_mib([os.getpid()]), middle(spent[-40:])
        whole = python("-m", "grader", "grade", str(folder), "--out", str(out), "--device", "cpu", "--lang", "en")
        return one, Cost(whole.wall_s / size, whole.cpu_s / size), used_mib, (out / LEDGER).stat().st_size / 1024 / size


def page(size: int) -> str:
    """Take all measurements, and write the page about them."""
    from grader.core.judge.judge import Judge

    taken: dict[str, list[Cost]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        runs, isolation = in_rounds(students_copy(Path(scratch)), taken)
    rows = {name: middle(each) for name, each in taken.items()}
    kinds, mixed = by_kind(size)
    plainly = Cost(*(sum(number * one[place] for number, _, one in kinds.values()) / size for place in range(2)))
    name = f"a class of {size} as it is handed in"
    rows |= {f"{name}, two jobs": mixed, f"{name}, plain pytest": plainly}
    answer = pickle.dumps(Judge(SETTINGS).grade(Submission("reference", ASSIGNMENT.solution())))
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as alone:  # without torch
        few, many = (alone.submit(saved, size, answer).result() for size in (40, 4000))
    rows |= {"saving one report of 40": few[0], "saving one report of 4000": many[0]}
    rows["resuming one report of 4000"] = many[1]
    template = Path(__file__).with_name("performance.md.j2").read_text(encoding="utf-8")
    page: str = Template(template, trim_blocks=True, keep_trailing_newline=True).render(
        rows=rows,
        size=size,
        kinds=kinds,
        mixed=mixed,
        plainly=plainly,
        whole_s=sum(number * grader.cpu_s for number, grader, _ in kinds.values()),
        floor_s=few[0].cpu_s + sum(rows[name].cpu_s for name in rows if name[:3] in ("(c)", "(d)", "(e)")),
        first_s=statistics.median(first for first, *_ in runs),
        peak_mib=max(mib for *_, mib in runs),
        coordinator_mib=many[2],
        ledger_kib=many[3],
        plain=PLAIN,
        plain_s=PLAIN_S,
        isolation=isolation,
        machine=platform.machine(),
        cores=os.cpu_count(),
        python=platform.python_version(),
    )
    return page


def main(size: Annotated[int, typer.Argument(help="Submissions in the class, of the same mix.")] = 400) -> None:
    """Measure each step of grading, and write the page."""
    _ = ASSIGNMENT.rubric  # one that contradicts itself ends the command before a judge starts
    (ASSIGNMENT.root / "grader/docs/performance.md").write_text(page(size), encoding="utf-8")


if __name__ == "__main__":
    typer.run(in_one_line(main))
