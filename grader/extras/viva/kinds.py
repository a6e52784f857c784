"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import TypeVar

from grader.core.rubric import Rubric

from .edits import Edit
from .near import near, near_kinds
from .quiz import Option, Question
from .study import Study, Version
from .words import say

T = TypeVar("T")
MOST_CALLS_OF_A_LINE = 2
MOST_WRONG = 4
AFFECTED = {(False, True): "first", (True, False): "second", (False, False): "both", (True, True): "neither"}


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._language = study, language
        self._say = partial(say, language)
        self._rng = random.Random(seed)
        self._hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
        self._titles = {name: prop.title[language] for name, prop in rubric.properties.items()}

    def questions(self) -> list[Question]:
        """All of them, without those that have too few options, or options that read alike."""
        about_edits = (self._what_if, self._find, self._why)
        found = [*self._values(), *self._shapes()]
        found += [question for kind in about_edits for one in self._study.edited for question in kind(*one)]
        return [question for question in found if question.is_clear]

    def _values(self) -> Iterator[Question]:
        """Predict, and growth or seed: the value of a call."""
        study = self._study
        versions = [*self._shuffled(study.mistakes), *self._shuffled([version for version, _ in study.edited])]
        for number, (call, right) in enumerate(zip(study.calls, study.outcomes, strict=True)):
            others = [(version.outcomes[number], self._origin(version)) for version in versions]
            others = [one for one in others if one[0].is_readable] + [(own, self._say("near")) for own in near(right)]
            wrong = _apart((right, ""), others, lambda a, b: a[0].text != b[0].text and a[0].same(b[0]) is False)
            kind = "growth" if call.history else "predict"
            last = "{}:{}".format(*right.steps[-1]) if right.steps else "-"
            options = (Option(own.text, origin, True) for own, origin in ((right, ""), *wrong))
            why = self._say("by_running", steps=len(right.steps), last=last)
            yield self._question(kind, self._say(f"ask_{kind}"), (call.code,), options, why, "", len(right.steps))

    def _shapes(self) -> Iterator[Question]:
        """Shape and dtype of what a line holds during a call."""
        study = self._study
        places = sorted({place for outcome in study.outcomes for place, text in outcome.held.items() if text})
        for path, line in ((path, int(line)) for path, _, line in (place.rpartition(":") for place in places)):
            place, source = f"{path}:{line}", study.sources[path]
            calls = self._shuffled([*zip(study.calls, study.outcomes, strict=True)])
            by_text = {outcome.held[place]: (call, outcome) for call, outcome in calls if outcome.held.get(place)}
            for text, (call, outcome) in [*by_text.items()][:MOST_CALLS_OF_A_LINE] if source.function(line) else []:
                beside = sorted({own for own in outcome.held.values() if own})
                wrong = _apart(text, [*self._shuffled([*near_kinds(text)][:6]), *self._shuffled(beside)], str.__ne__)
                options = (Option(text, "", True), *(Option(one, self._say("other_kind"), True) for one in wrong))
                prompt = self._say("ask_shape", line=line, function=self._function(path, line))
                blocks, steps = (source.alone(line), call.code), outcome.after(path, line)
                yield self._question("shape", prompt, blocks, options, self._say("by_watching"), place, steps)

    def _what_if(self, version: Version, edit: Edit) -> Iterator[Question]:
        """Which of two calls that reach a line changes with it."""
        study = self._study
        went = [*zip(study.calls, study.outcomes, version.outcomes, strict=True)]
        known = [(call, a, b) for call, a, b in went if a.after(edit.path, edit.line) and a.same(b) is not None]
        pairs = self._shuffled([*permutations(known, 2)])
        by_answer = {AFFECTED[bool(one[1].same(one[2])), bool(two[1].same(two[2]))]: (one, two) for one, two in pairs}
        for right in self._shuffled(sorted(by_answer.keys() - {"neither"}) or sorted(by_answer))[:1]:
            listing = study.sources[edit.path].alone(edit.line, edit.new)
            calls = [f"# {n}\n{call.code}" for n, (call, _, _) in enumerate(by_answer[right], 1)]
            told = [
                self._say("call_went", n=n, before=before.text, after=after.text)
                for n, (_, before, after) in enumerate(by_answer[right], 1)
            ]
            ordered = sorted(AFFECTED.values(), key=lambda key: key != right)
            rank, origin = [*AFFECTED.values()].index, self._say("ran_otherwise")
            options = (Option(self._say(f"only_{key}"), origin * (key != right), rank=rank(key)) for key in ordered)
            yield self._about(edit, "what_if", self._supposed(edit), (listing, *calls), options, " ".join(told))

    def _find(self, version: Version, edit: Edit) -> Iterator[Question]:
        """Which line was altered, so that a law fails."""
        study, source = self._study, self._study.sources[edit.path]
        if edit.new and version.broken and version.broken != study.holding:
            ran = {line for outcome in study.outcomes for path, line in outcome.steps if path == edit.path}
            wrong = [line for line in self._shuffled(source.near(edit.line)) if line in ran - {edit.line}][:MOST_WRONG]
            options = [Option(self._say("line", line=edit.line), rank=edit.line)]
            options += [Option(self._say("line", line=line), self._say("as_it_was"), rank=line) for line in wrong]
            law = self._titles[self._shuffled(sorted(version.broken))[0]]
            prompt = self._say("ask_find", function=self._function(edit.path, edit.line), law=law)
            why = self._say("it_was", line=edit.line, old=edit.old.strip(), new=edit.new.strip())
            yield self._about(edit, "find", prompt, (source.altered(edit.line, edit.new),), options, why)

    def _why(self, version: Version, edit: Edit) -> Iterator[Question]:
        """Which law fails without a line, or with another one."""
        study, titles = self._study, self._titles
        kept = sorted(self._shuffled(sorted(study.holding - version.broken)), key=self._rarely_broken_near(edit))
        if version.broken != study.holding:
            broken = [titles[law] for law in self._shuffled(sorted(version.broken))]
            nothing = Option(self._say("none"), self._say("breaks", law=broken[0]) if broken else "", rank=1)
            options = [Option(titles[law], self._say("holds_still")) for law in kept[: MOST_WRONG - 1]]
            options = [Option(broken[0]), *options, nothing] if broken else [nothing, *options]
            listing = study.sources[edit.path].alone(edit.line, edit.new)
            why = self._say("broken", laws="; ".join(sorted(broken)) or "-")
            yield self._about(edit, "why", self._supposed(edit, "ask_why"), (listing,), options, why)

    def _about(
        self, edit: Edit, kind: str, prompt: str, blocks: tuple[str, ...], options: Iterable[Option], why: str
    ) -> Question:
        steps = max(outcome.after(edit.path, edit.line) for outcome in self._study.outcomes)
        return self._question(kind, prompt, blocks, options, why, f"{edit.path}:{edit.line}", steps)

    def _question(
        self,
        kind: str,
        prompt: str,
        blocks: tuple[str, ...],
        options: Iterable[Option],
        why: str,
        place: str,
        steps: int,
    ) -> Question:
        return Question(kind, self._study.task.id, prompt, blocks, tuple(options), why, place, steps)

    def _rarely_broken_near(self, edit: Edit) -> Callable[[str], int]:
        """Sorts laws: first those that other edits of the same function break, so that none looks out of place."""
        name = self._function(edit.path, edit.line)
        near = [version.broken for version, own in self._study.edited if self._function(own.path, own.line) == name]
        return lambda law: -sum(law in broken for broken in near)

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))

    def _function(self, path: str, line: int) -> str:
        function = self._study.sources[path].function(line)
        return function.name if function else path

    def _supposed(self, edit: Edit, asked: str = "ask_what_if") -> str:
        where = {"line": edit.line, "function": self._function(edit.path, edit.line)}
        return self._say(asked, edit=self._say("changed" if edit.new else "deleted", **where))

    def _origin(self, version: Version) -> str:
        if version.edit is None:
            return self._say("mistake", mistake=self._hints[version.mistake])
        return self._say("with_edit", line=version.edit.line, new=version.edit.new.strip() or "pass")


def _apart(right: T, candidates: Iterable[T], differ: Callable[[T, T], bool]) -> list[T]:
    """The first candidates that differ from the right answer and from each other."""
    chosen: list[T] = []
    for one in candidates:
        if len(chosen) < MOST_WRONG and all(differ(one, other) for other in (right, *chosen)):
            chosen.append(one)
    return chosen
