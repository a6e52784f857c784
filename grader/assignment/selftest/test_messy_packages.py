"""However a solution is packed, it is found whole and has full marks, or its student stands on the list; never neither.

A fixed sample of generated packages here; ``GRADER_LONG=1`` makes two thousand. Each text that intake makes of them is
judged once.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.selftest.messy import package, write_class
from grader.core.intake.candidate import Candidate
from grader.core.intake.reader import Reader
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge

pytestmark = pytest.mark.process

PACKAGES = 2000 if os.environ.get("GRADER_LONG") else 80
CLASS = 20


def read(folder: Path, reader: Reader) -> dict[int, Submission]:
    """What intake makes of every package, by its seed."""
    found: dict[int, Submission] = {}
    for start in range(0, PACKAGES, CLASS):
        seeds = range(start, start + CLASS)
        candidates = reader.discover([write_class(folder / f"{start}", seeds)], expected=ASSIGNMENT.rubric.expected)
        by_seed = {_seed(own): own for own in candidates}
        assert len(candidates) == len({own.id for own in candidates})
        assert sorted(by_seed) == [*seeds], "one submission for each"
        found |= {seed: reader.read(own) for seed, own in by_seed.items()}
    return found


def _seed(own: Candidate) -> int:
    name = own.origin.students[0].id if own.origin else own.called
    return int(re.findall(r"\d+", name)[-1])


def test_every_honest_package_has_full_marks_or_is_named(tmp_path: Path, grader: Judge) -> None:
    with Reader() as reader:
        found = read(tmp_path, reader)
    scores: dict[str, float] = {}
    ends: Counter[str] = Counter()
    for seed, submission in sorted(found.items()):
        said = (submission.reason or "", *submission.notices, *(concern.text for concern in submission.concerns))
        assert all(text.isprintable() for text in said)
        if submission.reason is not None:
            ends["unreadable"] += 1
            continue
        if submission.sha256 not in scores:
            report = grader.grade(submission)
            scores[submission.sha256] = (report.score or 0) + (report.bonus or 0)
        full = scores[submission.sha256] == ASSIGNMENT.rubric.max_score + ASSIGNMENT.rubric.max_bonus
        assert full or submission.concerns, (seed, sorted(package(seed))[:20], submission.notices)
        ends["full" if full else submission.concerns[0].code] += 1
    print(f"{PACKAGES} packages, {len(scores)} texts judged: {dict(ends)}")
    assert ends["full"] > PACKAGES / 2
