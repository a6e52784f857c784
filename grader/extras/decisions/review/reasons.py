"""Reasons for manual review: findings of grading, unusual results, similar pairs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Final, get_args

from grader.core.assignment import Assignment
from grader.core.grades.model import ASKED
from grader.core.messages import Sentences
from grader.core.pages import render
from grader.core.results.language import told
from grader.core.results.outcome import NOT_BEGUN
from grader.core.results.report import Attention, ReasonCode
from grader.core.results.statistics import Entry
from grader.core.rubric import Rubric

say = Sentences(render.WORDS, Path(__file__).with_name("words.toml"))  # of the review, beside those of other pages
UNUSUAL, SIMILAR = "unusual", "similar"
ORDER: Final = [*get_args(ReasonCode), UNUSUAL, SIMILAR]
ORDER.insert(ORDER.index("unreadable") + 1, ASKED)  # an appeal: after what has no grade or rests on changed ground
HIGH, LOW = 0.8, 0.2  # of a task's points
MOST_ALIKE = 0.05  # of those who did as well in one task, the part that may do as badly in the other
FEWEST = 8  # who did well in a task: of fewer, nothing is unusual
TELLING = 0.8  # of one's own code, the part that the other has too
PAIRS = "similar.csv"


@dataclass(frozen=True)
class Reason:
    """One reason for manual review.

    Attributes:
        code: One of ``ORDER``.
        text: In plain words.
        other: The other submission of a similar pair.
    """

    code: str
    text: str
    other: str = ""

    @property
    def key(self) -> str:
        """The reason's key in a decision that marks it as seen."""
        return f"{self.code} {self.other}".rstrip()

    @property
    def rank(self) -> int:
        """Its position in ``ORDER``; unknown reasons come last."""
        return ORDER.index(self.code) if self.code in ORDER else len(ORDER)


def noticed(attention: Iterable[Attention], assignment: Assignment, language: str) -> Iterator[tuple[str, Reason]]:
    """What grading and decisions have noticed: the submission, and the reason, in Chinese where there are words."""
    for one in attention:
        way = " " + say(language, "rename", id=one.id) if one.code == "renamed" else ""
        yield one.id, Reason(one.code, told(one.text, one.parts, assignment, language) + way)


def unusual(entries: Sequence[Entry], rubric: Rubric, language: str) -> Iterator[tuple[str, Reason]]:
    """Submissions that did well in one task and badly in another, as hardly anybody does who did as well in the first.

    A task that was not begun is not unusual. Of several tasks in which somebody did well, one is named.
    """
    graded = [own for own in entries if own.line.status == "graded"]
    shares = {own.line.id: {task: score / most for task, (score, most) in own.tasks.items() if most} for own in graded}
    named = set()
    for high, low in permutations(dict.fromkeys(task for own in shares.values() for task in own), 2):
        good = [own for own in graded if shares[own.line.id].get(high, 0) >= HIGH and low in shares[own.line.id]]
        bad = [own for own in good if shares[own.line.id][low] <= LOW]
        if len(good) < FEWEST or len(bad) > max(1, MOST_ALIKE * len(good)):
            continue
        for own in bad:
            if (own.line.id, low) not in named and _begun(own, low, rubric):
                named.add((own.line.id, low))
                points = {task: f"{score:g}/{most:g}" for task, (score, most) in own.tasks.items()}
                text = say(language, "unusual", low=low, few=points[low], high=high, many=points[high], all=len(good))
                yield own.line.id, Reason(UNUSUAL, text)


def _begun(own: Entry, task: str, rubric: Rubric) -> bool:
    names = [name for name in own.properties if name in rubric.properties and rubric.task_of(name).id == task]
    lost = [own.properties[name] for name in names if own.properties[name].points < own.properties[name].max_points]
    return any(result.outcome not in NOT_BEGUN for result in lost)


def similar(folder: Path, language: str) -> Iterator[tuple[str, Reason]]:
    """Both submissions of each pair in ``similar.csv``, as `grader similar` wrote it, that shares most of a file."""
    path = folder / PAIRS
    if not path.exists():
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            shares = {"first": _share(row, "first_share"), "second": _share(row, "second_share")}
            if row.get("strongest") != "yes" or max(shares.values()) < TELLING:
                continue
            for own, other in (("first", "second"), ("second", "first")):
                here, there = (row[side].removeprefix("'") for side in (own, other))  # a mark against spreadsheets
                text = say(language, "similar", other=there, share=f"{shares[own]:.0%}", file=row["file"])
                yield here, Reason(SIMILAR, text, there)


def _share(row: Mapping[str, str], name: str) -> float:
    try:
        return float(row.get(name) or 0)
    except ValueError:
        return 0.0
