"""``python -m grader.tools.benchmarks.second_device``: CPU time per submission with the simulated device and without.

Two judges grade the same submissions in turn, so that a machine that slows down affects both.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping

from grader.assignment import ASSIGNMENT
from grader.assignment.variants import all_variants
from grader.intake.submission import Submission
from grader.judge.judge import Judge
from grader.settings import Settings
from grader.tools.benchmarks.measure import cpu_s, descendants

EVERY = 90  # every 90th variant is graded, and the reference
AT_ONCE = 4  # gradings of a submission that are measured together, since the system counts CPU time in steps of 10 ms


def subjects() -> Mapping[str, Mapping[str, str]]:
    """The reference, and a few submissions with mistakes."""
    return {"reference": ASSIGNMENT.solution()} | {variant.name: variant.files for variant in all_variants()[::EVERY]}


def ratios(rounds: int) -> list[float]:
    """For each submission, CPU time with the device divided by CPU time without; each the median of ``rounds``."""
    judges = {device: Judge(Settings(ASSIGNMENT, device=device)) for device in ("auto", "cpu")}
    found = []
    for name, files in subjects().items():
        spent: dict[str, list[float]] = {device: [] for device in judges}
        for _ in range(rounds):
            for device, judge in judges.items():
                before = cpu_s(descendants(os.getpid()))
                for _ in range(AT_ONCE):
                    judge.grade(Submission(name, files))
                spent[device].append((cpu_s(descendants(os.getpid())) - before) / AT_ONCE)
        with_it, without = (statistics.median(spent[device]) for device in judges)
        found.append(with_it / without)
        print(f"{name}: {with_it:.3f} s with the second device, {without:.3f} s without", flush=True)
    for judge in judges.values():
        judge.close()
    return found


if __name__ == "__main__":
    print(f"median ratio: {statistics.median(ratios(int(sys.argv[1]) if len(sys.argv) > 1 else 5)):.3f}")
