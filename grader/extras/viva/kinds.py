"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one.

A question gives the number of a line and does not show its code, because its author knows what it does.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TypeVar

from grader.core.rubric import Rubric

from .quiz import KINDS, LEAST_OPTIONS, Question, say
from .source import Edit, Place
from .study import Call, Study, Value, Version

T = TypeVar("T")
NOT_ASKED = {False: "growth", True: "predict"}  # about calls without and with a history
CAST = r"\.(?:to|float|double|half|long|type|type_as|clone|detach|contiguous)\((?:[^()]|\([^()]*\))*\)"
COPY = re.compile(rf"(?:[\w.]+(?:: [^=]+)? = |return )(?:float\()?[\w.[\]]+(?:{CAST})*\)?")  # is no question
EASY, MEDIUM = 3, 9  # lines that run between the line and the nearer end of a call, at most
MOST_CALLS_OF_A_LINE, MOST_WRONG = 2, 4
NONE_BROKEN = 1 / 3  # of the edits that break nothing, so many are asked about, or "none" would be a good guess
COMPARED, MOST_ALIKE = 3, 2  # calls of a question about what changes; that change, or that do not, where both exist
SETS = [*chain.from_iterable(combinations(range(1, COMPARED + 1), size) for size in range(COMPARED + 1))]


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._titles = study, {name: prop.title[language] for name, prop in rubric.properties.items()}
        self._say, self._rng = partial(say, language), random.Random(seed)
        self._versions = [study.own, *(version for _, version in study.edited), *study.mistakes]

    def questions(self) -> list[Question]:
        """All of them that have enough options."""
        about_edits = (self._what_if, self._find, self._why)
        found = [question for kind in about_edits for edited in self._study.edited for question in kind(*edited)]
        asked = sorted({key for run in self._study.own.outcomes.values() for key in run.told})
        held = [question for kind, place in asked for question in self._held(kind, place)]
        return [question for question in [*held, *found] if len(question.options) >= LEAST_OPTIONS]

    def _held(self, kind: str, place: Place) -> Iterator[Question]:
        """Predict, shape and dtype, growth or seed: what a line holds during a call, among what is held elsewhere."""
        line, own = self._study.lines.get(place), self._study.own.outcomes
        if line is None or kind not in KINDS or COPY.fullmatch(line):  # a submission may have anything sent
            return
        inner = {call: run for call, run in own.items() if run.told.get(("predict", place)) != run.value}
        calls = [call for call in inner if kind != NOT_ASKED[call.history]]
        fits = [(call, own[call].told[kind, place]) for call in calls if (kind, place) in own[call].told]
        for call, right in self._shuffled([one for one in fits if one[1].is_readable])[:MOST_CALLS_OF_A_LINE]:
            yield self._ask(kind, Edit(place, line), [call], self._apart(kind, call, right), self._say("by_running"))

    def _what_if(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which of three calls that run lines of a file change with an edit of it."""
        ran = [call for call, run in self._study.own.outcomes.items() if edit.place[0] in dict(run.steps)]
        went = [(call, self._study.own.outcomes[call].value, version.outcomes[call].value) for call in ran]
        changed = self._shuffled([one for one in went if one[1].text() != one[2].text()])
        kept = self._shuffled([one for one in went if one[1] == one[2]])
        some = self._shuffled([*changed[:MOST_ALIKE], *kept[:MOST_ALIKE]])[:COMPARED]
        if len(some) == COMPARED:
            right = tuple(number for number, one in enumerate(some, 1) if one in changed)
            sets = [right, *self._shuffled([numbers for numbers in SETS if numbers != right])[:MOST_WRONG]]
            options = [", ".join(map(str, numbers)) or self._say("no_call") for numbers in sets]
            why = "; ".join(f"{number}: {a.text()} → {b.text()}" for number, (_, a, b) in enumerate(some, 1))
            yield self._ask("what_if", edit, [call for call, _, _ in some], options, why)

    def _find(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which edit of a file makes a law fail; the others break nothing that it breaks, so that none is arguable."""
        others = [(one, its.broken) for one, its in self._study.edited if one.place[0] == edit.place[0]]
        if version.broken and edit.shown and version.broken != self._study.holding:
            kept = {one.shown for one, broken in others if one.shown and not broken & version.broken}
            law = self._rng.choice(sorted(version.broken))
            options = [edit.shown, *self._shuffled(sorted(kept))[:MOST_WRONG]]
            yield self._ask("find", edit, [], options, self._say("broken", laws=self._titles[law]), self._titles[law])

    def _why(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which law fails without a line, or with another one; those that other edits break are the likelier ones."""
        if version.broken != self._study.holding and (version.broken or self._rng.random() < NONE_BROKEN):
            often = Counter(law for _, other in self._study.edited for law in other.broken)
            laws = self._shuffled(sorted(self._study.holding - version.broken))
            kept = [self._titles[law] for law in sorted(laws, key=lambda law: -often[law])]
            broken = [self._titles[law] for law in self._shuffled(sorted(version.broken))]
            options = [*broken[:1], self._say("none"), *kept][: 1 + MOST_WRONG]
            yield self._ask("why", edit, [], options, self._say("broken", laws="; ".join(sorted(broken)) or "-"))

    def _ask(self, kind: str, edit: Edit, calls: list[Call], options: list[str], why: str, law: str = "") -> Question:
        """A question about a line, or an edit of it; the first option is the answer, and then they are put in order."""
        where = dict(zip(("path", "line"), edit.place, strict=True))
        supposed = self._say("changed" if edit.shown else "deleted", **where)
        prompt = self._say(f"ask_{kind}", edit=supposed, law=law, **where)
        codes = [f"# {n}\n" * (len(calls) > 1) + call.code.strip() for n, call in enumerate(calls, 1)]
        blocks = [edit.shown, *codes] if edit.shown and not law else codes
        ordered = sorted(options, key=lambda option: re.sub(r"\d+", lambda digits: digits[0].zfill(9), option))
        runs = [run.steps for run in self._study.own.outcomes.values() if edit.place in run.steps]
        steps = min(min(run.index(edit.place) + 1, len(run) - run.index(edit.place)) for run in runs)
        difficulty = "easy" if steps <= EASY else "medium" if steps <= MEDIUM else "hard"
        return Question(kind, self._study.task.id, prompt, blocks, ordered, options[0], why, edit, difficulty)

    def _apart(self, kind: str, call: Call, right: Value) -> list[str]:
        """The right value, and others of its form that a reader can tell apart; those of the submission first."""
        chosen = {right.text(2): right.text()}
        for some in (self._versions[:1], self._versions):
            told = [item for one in some for item in one.outcomes[call].told.items()]
            for other in self._shuffled([*dict.fromkeys(value for (one, _), value in told if one == kind)]):
                if len(chosen) <= MOST_WRONG and other.form == right.form and other.is_readable:
                    chosen.setdefault(other.text(2), other.text())
        return [*chosen.values()]

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))
