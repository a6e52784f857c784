"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, permutations
from typing import TypeVar

from grader.core.rubric import Rubric

from .edits import Edit
from .execution import Outcome
from .near import near, near_kinds
from .question import Option, Question, apart
from .study import Study, Version
from .words import say

MOST_CALLS_OF_A_LINE = 2
MOST_LAWS = 4
T = TypeVar("T")
AFFECTED = {(False, True): "first", (True, False): "second", (False, False): "both", (True, True): "neither"}


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._rubric, self._language = study, rubric, language
        self._say = partial(say, language)
        self._rng = random.Random(seed)

    def questions(self) -> list[Question]:
        """All of them, without those that have too few options, or options that read alike."""
        found = (*self._values(), *self._shapes(), *self._what_ifs(), *self._lines(), *self._laws())
        return [question for question in found if question.is_clear]

    # ── Predict; growth or seed ─────────────────────────────────────────────────────────────────────────────────────

    def _values(self) -> Iterator[Question]:
        study = self._study
        for number, (call, right) in enumerate(zip(study.calls, study.outcomes, strict=True)):
            others = [(version.outcomes[number], self._origin(version)) for version in self._shuffled(study.mistakes)]
            others += [(version.outcomes[number], self._origin(version)) for version in self._shuffled(study.edited)]
            others = [one for one in others if one[0].is_readable] + [(own, self._say("near")) for own in near(right)]
            wrong = apart((right, ""), others, lambda a, b: _differ(a[0], b[0]))
            kind = "growth" if call.history else "predict"
            yield Question(
                kind,
                study.task.id,
                self._say(f"ask_{kind}"),
                (call.code,),
                (Option(right.text, "", True), *(Option(own.text, origin, True) for own, origin in wrong)),
                self._say("by_running", steps=len(right.steps), last=_last(right)),
                "",
                len(right.steps),
            )

    # ── Shape and dtype ─────────────────────────────────────────────────────────────────────────────────────────────

    def _shapes(self) -> Iterator[Question]:
        study = self._study
        held = [
            (place, text, call, outcome)
            for call, outcome in zip(study.calls, study.outcomes, strict=True)
            for place, text in outcome.held.items()
            if " " in text
        ]
        for place, group in groupby(sorted(held, key=lambda one: one[0]), key=lambda one: one[0]):
            path, line = _parted(place)
            by_text = {text: (call, outcome) for _, text, call, outcome in self._shuffled([*group])}
            for text, (call, outcome) in [*by_text.items()][:MOST_CALLS_OF_A_LINE]:
                beside = [one for one in dict.fromkeys(outcome.held.values()) if " " in one]
                wrong = apart(text, self._shuffled([*near_kinds(text)][:5]) + self._shuffled(beside), str.__ne__)
                yield Question(
                    "shape",
                    study.task.id,
                    self._say("ask_shape", line=line, function=self._function(path, line)),
                    (study.sources[path].listing(line), call.code),
                    (Option(text, "", True), *(Option(one, self._say("other_kind"), True) for one in wrong)),
                    self._say("by_watching"),
                    place,
                    study.after(outcome, path, line),
                )

    # ── What if ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _what_ifs(self) -> Iterator[Question]:
        study = self._study
        for version, edit in self._edits():
            reached = [
                (number, study.outcomes[number].same(version.outcomes[number]))
                for number, outcome in enumerate(study.outcomes)
                if study.after(outcome, edit.path, edit.line)
            ]
            pairs = [*permutations([one for one in reached if one[1] is not None], 2)]
            if not pairs:
                continue
            by_answer = {AFFECTED[bool(a[1]), bool(b[1])]: (a, b) for a, b in self._shuffled(pairs)}
            right = self._shuffled(sorted(by_answer))[0]  # so that no answer is more frequent than another
            first, second = by_answer[right]
            options = [right, *(key for key in AFFECTED.values() if key != right)]
            rank = {key: number for number, key in enumerate(AFFECTED.values())}
            both = [
                (study.calls[number].code, study.outcomes[number], version.outcomes[number])
                for number, _ in (first, second)
            ]
            yield Question(
                "what_if",
                study.task.id,
                self._say("ask_what_if", edit=self._suppose(edit)),
                (
                    study.sources[edit.path].listing(edit.line, edit),
                    *(f"# {n}\n{code}" for n, (code, _, _) in enumerate(both, 1)),
                ),
                tuple(
                    Option(self._say(f"only_{key}"), "" if key == right else self._say("ran_otherwise"), rank=rank[key])
                    for key in options
                ),
                " ".join(
                    self._say("call_went", n=n, before=a.text, after=b.text) for n, (_, a, b) in enumerate(both, 1)
                ),
                f"{edit.path}:{edit.line}",
                study.steps(edit.path, edit.line),
            )

    # ── Find it ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _lines(self) -> Iterator[Question]:
        study = self._study
        for version, edit in self._edits():
            source = study.sources[edit.path]
            function = source.function(edit.line)
            if not edit.new or not version.broken or version.broken == study.holding or function is None:
                continue
            others = [line for line in source.lines_near(edit.line) if line not in (function.lineno, edit.line)]
            ran = {(path, line) for outcome in study.outcomes for path, line in outcome.steps}
            wrong = [line for line in self._shuffled(others) if (edit.path, line) in ran][:4]
            law = self._shuffled(sorted(version.broken))[0]
            listing = source.listing(edit.line, edit).replace(f"{edit.line:>4} +", f"{edit.line:>4}  ")
            shown = "\n".join(line for line in listing.splitlines() if not line.startswith(f"{edit.line:>4} -"))
            yield Question(
                "find",
                study.task.id,
                self._say("ask_find", function=function.name, law=self._law(law)),
                (shown,),
                tuple(
                    Option(self._say("line", line=line), "" if line == edit.line else self._say("as_it_was"), rank=line)
                    for line in (edit.line, *wrong)
                ),
                self._say("it_was", line=edit.line, old=source.code(edit.line), new=edit.shown),
                f"{edit.path}:{edit.line}",
                study.steps(edit.path, edit.line),
            )

    # ── Why ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _laws(self) -> Iterator[Question]:
        study = self._study
        for version, edit in self._edits():
            kept = sorted(self._shuffled(sorted(study.holding - version.broken)), key=self._rarely_broken_near(edit))
            if version.broken == study.holding or len(kept) < MOST_LAWS - 1:
                continue
            right = self._shuffled(sorted(version.broken))[0] if version.broken else None
            nothing = Option(self._say("none"), "" if right is None else self._say("breaks", law=self._law(right)))
            listed = [Option(self._law(law), self._say("holds_still")) for law in kept[: MOST_LAWS - 1]]
            first = [nothing, *listed] if right is None else [Option(self._law(right)), *listed, nothing]
            broken = "; ".join(self._law(law) for law in sorted(version.broken)) or self._say("none")
            yield Question(
                "why",
                study.task.id,
                self._say("ask_why", edit=self._suppose(edit)),
                (study.sources[edit.path].listing(edit.line, edit),),
                tuple(first),
                self._say("broken", laws=broken),
                f"{edit.path}:{edit.line}",
                study.steps(edit.path, edit.line),
            )

    # ── What they share ─────────────────────────────────────────────────────────────────────────────────────────────

    def _rarely_broken_near(self, edit: Edit) -> Callable[[str], int]:
        """Sorts laws: first those that other edits of the same function break, so that none looks out of place."""
        name = self._function(edit.path, edit.line)
        near = [version.broken for version, other in self._edits() if self._function(other.path, other.line) == name]
        return lambda law: -sum(law in broken for broken in near)

    def _edits(self) -> Iterator[tuple[Version, Edit]]:
        yield from ((version, version.edit) for version in self._study.edited if version.edit is not None)

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))

    def _function(self, path: str, line: int) -> str:
        function = self._study.sources[path].function(line)
        return function.name if function else path

    def _suppose(self, edit: Edit) -> str:
        return self._say(
            "changed" if edit.new else "deleted", line=edit.line, function=self._function(edit.path, edit.line)
        )

    def _law(self, name: str) -> str:
        return self._rubric.properties[name].title[self._language]

    def _origin(self, version: Version) -> str:
        if version.edit is None:
            mistake = self._rubric.misconception(version.mistake)
            return self._say("mistake", mistake=mistake.hint[self._language])
        return self._say("with_edit", line=version.edit.line, new=version.edit.shown or "pass")


def _differ(first: Outcome, second: Outcome) -> bool:
    return first.text != second.text and first.same(second) is False


def _last(outcome: Outcome) -> str:
    return "{}:{}".format(*outcome.steps[-1]) if outcome.steps else "-"


def _parted(place: str) -> tuple[str, int]:
    path, _, line = place.rpartition(":")
    return path, int(line)
