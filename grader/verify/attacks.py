"""One hostile submission, graded as any other: what must hold of its report, of this machine, and of who comes next."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..benchmarks.measure import descendants
from ..grading import Grader, reference_files
from ..intake.submission import Submission
from ..results.report import Report
from ..sandbox.levels import Isolation
from ..sandbox.limits import Limits
from ..selftest.attacks import Attack, all_attacks
from ..settings import Settings

# Hanging should not take long here. As with the real limits, a piece that hangs in every property has time for all.
LIMITS = Limits(request_s=5, retry_s=0.5, submission_s=60)
MOST_S = 80.0  # the submission's own time, and what judge and a busy machine add
NEIGHBOUR, NEIGHBOURS_SCORE = "src/modeling/norm.py", 42.0  # honest work on one task, since it is graded often
MOST_BYTES = 300_000  # of one report
NUMBER = re.compile(r"\d\.\d{3}")  # messages of ours round to three digits, so this is one that was echoed
UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@dataclass(frozen=True)
class Attempt:
    """How one attack ended under one isolation.

    Attributes:
        name: Of the attack.
        isolation: What held.
        covered: Whether that is said to stop it; if not, it was not tried.
        problem: What the attack gained or damaged; empty if nothing.
    """

    name: str
    isolation: str
    covered: bool
    problem: str = ""

    @property
    def label(self) -> str:
        """What a person looks for."""
        return f"{self.name}, {self.isolation}"


def judge(name: str, without: tuple[str, ...]) -> Attempt:
    """Try one attack with all layers that this machine offers but some."""
    attack, grader = known()[name], _grader(without)
    isolation = grader.isolation
    if not covers(isolation, attack):
        return Attempt(name, str(isolation), covered=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = "; ".join(problems(attack, grader, Path(folder)))
    except Exception as error:  # of ours, whatever it is; the next attack gets a grader that had no part in it
        found = f"makes the grader fail: {error!r}"
        grader.close()
        _grader.cache_clear()
    return Attempt(name, str(isolation), covered=True, problem=found)


@cache
def known() -> dict[str, Attack]:
    """All attacks by name."""
    return {attack.name: attack for attack in all_attacks()}


def names() -> list[str]:
    """All attacks."""
    return list(known())


def covers(isolation: Isolation, attack: Attack) -> bool:
    """Whether what holds is said to stop the attack; where seccomp holds alone, it lets no file be opened either."""
    return attack.needs in ("", *isolation.held) or "seccomp" in isolation.held


def grader_without(layers: Collection[str]) -> Grader:
    """A grader for attacks, with its limits."""
    return Grader(Settings(device="cpu", limits=LIMITS, without=tuple(layers)))


def problems(attack: Attack, grader: Grader, folder: Path) -> Iterator[str]:
    """Grade the attack, and after it an honest submission; tell all that is not as it should be.

    Processes are counted below this one, so whoever wants to see those that were cut loose adopts orphans first.
    """
    running, started = set(descendants(os.getpid())), time.monotonic()
    report = grader.grade(attack.build(folder))
    if (took_s := time.monotonic() - started) > MOST_S:
        yield f"took {took_s:.0f} s"
    after = set(descendants(os.getpid()))
    if left := after - running:
        yield f"left {len(left)} processes behind"
    if ended := running - after:
        yield f"ended {len(ended)} processes of the grader"
    yield from misjudged(report, attack.score, attack.bonus)
    yield from exposed(report)
    neighbour = grader.grade(Submission("neighbour", {NEIGHBOUR: reference_files()[NEIGHBOUR]}))
    yield from (f"the next submission {problem}" for problem in misjudged(neighbour, NEIGHBOURS_SCORE, 0.0))


def misjudged(report: Report, score: float | None, bonus: float | None) -> Iterator[str]:
    """Where a report differs from the points that were earned; None where nothing could be read."""
    status = "unreadable" if score is None else "graded"
    if report.status != status:
        yield f"is {report.status}, not {status}: {report.reason}"
    elif (report.score, report.bonus) != (score, bonus):
        properties = [prop for task in report.tasks for prop in task.properties if prop.points < prop.max_points]
        lost = ", ".join(f"{prop.id} {prop.outcome}" for prop in properties)
        yield f"gets {report.score} and {report.bonus}, not {score} and {bonus}; without points: {lost or 'nothing'}"


def exposed(report: Report) -> Iterator[str]:
    """What makes a report unfit to be shown to anyone: control characters, echoed inputs, our sources, its size."""
    texts = [case.message for task in report.tasks for prop in task.properties for case in prop.cases]
    texts += [report.reason or "", *report.submission.notices, *(file.path for file in report.submission.files)]
    for what, found in (("control characters", UNSAFE.search), ("a number of the input", NUMBER.search)):
        if text := next(filter(found, texts), ""):
            yield f"shows {what}: {text[:200]!r}"
    if any("def test_" in text for text in texts):
        yield "shows a hidden test"
    if (size := len(report.model_dump_json().encode())) > MOST_BYTES:
        yield f"has a report of {size} bytes"


@cache
def _grader(without: tuple[str, ...]) -> Grader:
    return grader_without(without)
