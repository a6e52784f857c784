"""Measures the coordinator, which is the command without its judges: every submission gets the same ready report.

``python -m grader.tools.benchmarks.coordinator 40 400 4000`` prints a line for each size of class. Each size is
measured in a process of its own without torch, since the coordinator does not import torch.
"""

from __future__ import annotations

import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from grader.assignment import ASSIGNMENT
from grader.intake.candidate import Candidate
from grader.intake.discover import discover
from grader.intake.reader import Reader
from grader.pool.run import begun
from grader.results.database import LEDGER
from grader.results.report import Report
from grader.settings import Settings

OPTIONS = ("--device", "cpu", "--lang", "en")
SETTINGS = Settings(ASSIGNMENT, device="cpu", language="en")


@dataclass(frozen=True)
class ClassCost:
    """The time and memory that a class of one size costs the coordinator.

    Attributes:
        save_ms: Time to unpickle one report and save it to its file and the ledger; the median of the class.
        last_ms: The same for the last forty reports.
        resume_s: Wall-clock time of the whole command when everything is graded already.
        resume_cpu_s: CPU time of that command.
        peak_mib: Peak memory of the coordinator while it saves.
        resume_mib: Peak memory of the command when everything is graded already.
        ledger_kib: Size of the ledger, divided by the number of submissions.
    """

    submissions: int
    save_ms: float
    last_ms: float
    resume_s: float
    resume_cpu_s: float
    peak_mib: float
    resume_mib: float
    ledger_kib: float


def costs(sizes: Sequence[int]) -> list[ClassCost]:
    """The costs for each size of class."""
    context = get_context("spawn")
    found = []
    with ProcessPoolExecutor(1, context) as judge:  # imports torch, so it needs a process of its own, too
        report, files = judge.submit(_reference).result()
    for size in sizes:
        with ProcessPoolExecutor(1, context) as coordinator:
            found.append(coordinator.submit(_class_cost, size, report, files).result())
    return found


def _reference() -> tuple[bytes, dict[str, str]]:
    """The pickled report of the reference, as a judge would send it through a pipe, and the reference's files."""
    from grader.intake.submission import Submission
    from grader.judge.judge import Judge

    files = ASSIGNMENT.solution()
    return pickle.dumps(Judge(SETTINGS).grade(Submission("reference", files))), files


def _class_cost(size: int, report: bytes, files: Mapping[str, str]) -> ClassCost:
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "class", Path(scratch) / "out"
        _write_class(folder, size, files)
        out.mkdir()
        spent = [*_saved(discover([folder]), out, report)]
        peak = _peak_mib()
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "grader", "grade", str(folder), "--out", str(out), *OPTIONS]
        result = subprocess.run(command, cwd=ASSIGNMENT.root, capture_output=True, text=True, check=True)
        resume_s = time.perf_counter() - started
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        if f"{size} of {size} are graded already" not in result.stderr:
            raise RuntimeError(result.stderr)
        return ClassCost(
            submissions=size,
            save_ms=1000 * statistics.median(spent),
            last_ms=1000 * statistics.median(spent[-40:]),
            resume_s=resume_s,
            resume_cpu_s=usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime,
            peak_mib=peak,
            resume_mib=usage.ru_maxrss / 1024,
            ledger_kib=(out / LEDGER).stat().st_size / 1024 / size,
        )


def _peak_mib() -> float:
    """Peak memory of this process alone; ``ru_maxrss`` would include memory of the process that forked it."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def _write_class(folder: Path, size: int, files: Mapping[str, str]) -> None:
    """Write ``size`` submissions, all different."""
    for number in range(size):
        for name, text in files.items():
            path = folder / f"student-{number:04}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}# {number}\n", encoding="utf-8")


def _saved(candidates: Sequence[Candidate], out: Path, answer: bytes) -> Iterator[float]:
    """Save a report for each candidate; yields the seconds that each took."""
    with Reader() as reader, begun(out, candidates, SETTINGS, fresh=False, reader=reader) as run:
        for submission in run.submissions():
            started = time.perf_counter()
            report: Report = pickle.loads(answer)
            own = {"id": submission.id, "sha256": submission.sha256, "notices": list(submission.notices)}
            own_info = report.submission.model_copy(update=own)
            run.save(report.model_copy(update={"submission": own_info}))
            yield time.perf_counter() - started
        run.finish({})


if __name__ == "__main__":
    for row in costs([int(size) for size in sys.argv[1:]] or [40, 400, 4000]):
        print(row, flush=True)
