"""Measures how long a class takes, through the same functions as the command; start-up is measured separately."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any

from grader.assignment import ASSIGNMENT
from grader.intake.candidate import Candidate
from grader.intake.submission import Submission
from grader.pool.executors.local import LocalExecutor
from grader.pool.schedule import grade_all
from grader.sandbox.limits import Limits
from grader.settings import Settings
from grader.tools.benchmarks.measure import Watch, cpu_s, descendants, memory_mib


@dataclass(frozen=True)
class ClassRun:
    """One run over many submissions.

    Attributes:
        first_s: Wall-clock time until the first report, start-up included.
        each_s: Wall-clock time per submission once all judges are ready, so without start-up.
        cpu_each_s: CPU time of all processes per submission, without start-up.
        peak_mib: Peak memory of all processes together.
        parent_mib: Memory of the coordinator at the end.
    """

    submissions: int
    jobs: int
    first_s: float
    each_s: float
    cpu_each_s: float
    peak_mib: float
    parent_mib: float


def copies(submission: Path, number: int) -> Iterator[Submission]:
    """The same submission for ``number`` students, read from disk for each."""
    return (Candidate(f"student-{index:04}", submission).read() for index in range(number))


def run_class(submissions: Iterable[Submission], jobs: int, **chosen: Any) -> ClassRun:
    """Grade submissions with ``jobs`` judges; ``chosen`` are settings that differ from the defaults."""
    settings = Settings(ASSIGNMENT, device="cpu", limits=Limits(), **chosen)
    one_by_one = iter(submissions)
    first = next(one_by_one)
    watch, started = Watch(), time.perf_counter()
    with LocalExecutor(jobs) as executor:
        # The first again and again, until every judge is ready.
        starting = grade_all(takewhile(lambda _: executor.judges.readied < jobs, repeat(first)), settings, executor)
        next(starting)
        first_s = time.perf_counter() - started
        for _ in starting:
            pass
        warm, cpu_when_warm, number = time.perf_counter(), cpu_s(descendants(os.getpid())), 0
        for report in grade_all(chain([first], one_by_one), settings, executor):
            assert report.status == "graded", report.submission.id
            number += 1
        each = (time.perf_counter() - warm) / number
        cpu_each = (cpu_s(descendants(os.getpid())) - cpu_when_warm) / number  # while the judges still run
    watch.stop()
    return ClassRun(number, jobs, first_s, each, cpu_each, watch.peak_mib, memory_mib([os.getpid()]))


def a_class(number: int) -> Iterator[Submission]:
    """A class: nine in ten submissions are variants, all with different text, and one in ten is the reference."""
    variants = [variant.files for variant in ASSIGNMENT.part("variants").all_variants()]
    for index in range(number):
        files = dict(variants[index % len(variants)] if index % 10 else ASSIGNMENT.solution())
        own = f"# student {index}\n" if index % 10 else ""
        yield Submission(f"student-{index:04}", {path: text + own for path, text in files.items()})
