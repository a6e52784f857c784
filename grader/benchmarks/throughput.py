"""How long a class takes: through the whole command's own path, start-up told apart from the rest."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.benchmarks.measure import Watch, cpu_s, descendants, memory_mib
from grader.executors.local import LocalExecutor
from grader.intake.candidate import Candidate
from grader.sandbox.limits import Limits
from grader.schedule import grade_all
from grader.settings import Settings


@dataclass(frozen=True)
class ClassRun:
    """One run over many submissions.

    Attributes:
        first_s: Until the first report, start-up included.
        each_s: Per submission after every judge has given its first, start-up left out.
        cpu_each_s: CPU per submission after that, of all processes.
        peak_mib: Of all processes together.
        parent_mib: Of the coordinator at the end.
    """

    submissions: int
    jobs: int
    first_s: float
    each_s: float
    cpu_each_s: float
    peak_mib: float
    parent_mib: float


def run_class(submission: Path, number: int, jobs: int, without: Sequence[str] = ()) -> ClassRun:
    """Grade ``number`` copies of one submission with ``jobs`` judges."""
    submissions = (Candidate(f"student-{index:04}", submission).read() for index in range(number))
    settings = Settings(device="cpu", limits=Limits(), without=tuple(without))
    moments: list[float] = []
    watch, cpu_when_warm, started = Watch(), 0.0, time.perf_counter()
    with LocalExecutor(jobs) as executor:
        for report in grade_all(submissions, settings, executor):
            assert report.score == report.max_score, report.submission.id
            moments.append(time.perf_counter())
            if len(moments) == jobs:
                cpu_when_warm = cpu_s(descendants(os.getpid()))
    watch.stop()
    measured = max(number - jobs, 1)
    each = (moments[-1] - moments[min(jobs, number) - 1]) / measured
    cpu_each = (watch.cpu_s - cpu_when_warm) / measured
    return ClassRun(number, jobs, moments[0] - started, each, cpu_each, watch.peak_mib, memory_mib([os.getpid()]))
