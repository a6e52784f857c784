"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import TypeVar

from grader.core.rubric import Rubric

from .edits import Edit
from .execution import Outcome
from .near import near
from .quiz import Option, Question
from .study import Edited, Study
from .words import say

T = TypeVar("T")
MOST_CALLS_OF_A_LINE = 2
MOST_WRONG = 4
AFFECTED = {(False, True): "first", (True, False): "second", (False, False): "both", (True, True): "neither"}


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study = study
        self._say = partial(say, language)
        self._rng = random.Random(seed)
        self._hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
        self._titles = {name: prop.title[language] for name, prop in rubric.properties.items()}

    def questions(self) -> list[Question]:
        """All of them, without those that have too few options, or options that read alike."""
        about_edits = (self._what_if, self._find, self._why)
        found = [*self._values(), *self._shapes()]
        found += [question for kind in about_edits for version in self._study.edited for question in kind(version)]
        return [question for question in found if question.is_clear]

    def _values(self) -> Iterator[Question]:
        """Predict, and growth or seed: the value of a call."""
        study = self._study
        versions = [
            (self._say("mistake", mistake=self._hints[name]), version.outcomes)
            for name, version in self._shuffled([*study.mistakes.items()])
        ]
        for version in self._shuffled(study.edited):
            origin = self._say("with_edit", line=version.edit.line, new=version.edit.new.strip() or "pass")
            versions.append((origin, version.outcomes))
        for number, (call, right) in enumerate(zip(study.calls, study.outcomes, strict=True)):
            others = [(outcomes[number], origin) for origin, outcomes in versions if outcomes[number].is_readable]
            options = _apart(right, [*others, *((own, self._say("near")) for own in near(right))])
            kind = "growth" if call.history else "predict"
            last = "{}:{}".format(*right.steps[-1]) if right.steps else "-"
            why = self._say("by_running", steps=len(right.steps), last=last)
            prompt = self._say(f"ask_{kind}")
            yield Question(kind, study.task.id, prompt, (call.code,), options, why, "", len(right.steps))

    def _shapes(self) -> Iterator[Question]:
        """Shape and dtype of what a line holds during a call, among what lines of the submission hold."""
        study = self._study
        texts = sorted({text for outcome in study.outcomes for text in outcome.held.values() if text})
        for place in sorted({place for outcome in study.outcomes for place, text in outcome.held.items() if text}):
            path, line = place
            calls = self._shuffled([*zip(study.calls, study.outcomes, strict=True)])
            by_text = {outcome.held[place]: (call, outcome) for call, outcome in calls if outcome.held.get(place)}
            for text, (call, outcome) in [*by_text.items()][:MOST_CALLS_OF_A_LINE]:
                others = _closest(text, self._shuffled([other for other in texts if other != text]))
                wrong = [Option(other, self._say("other_kind"), True) for other in others[:MOST_WRONG]]
                options = (Option(text, "", True), *wrong)
                prompt = self._say("ask_shape", line=line, function=study.sources[path].name(line))
                blocks, steps = (study.sources[path].alone(line), call.code), outcome.after(path, line)
                why = self._say("by_watching")
                yield Question("shape", study.task.id, prompt, blocks, options, why, f"{path}:{line}", steps)

    def _what_if(self, version: Edited) -> Iterator[Question]:
        """Which of two calls that reach a line changes with its edit."""
        study, edit = self._study, version.edit
        went = [*zip(study.calls, study.outcomes, version.outcomes, strict=True)]
        known = [(call, a, b) for call, a, b in went if a.after(edit.path, edit.line) and a.same(b) is not None]
        pairs = self._shuffled([*permutations(known, 2)])
        by_answer = {AFFECTED[bool(one[1].same(one[2])), bool(two[1].same(two[2]))]: (one, two) for one, two in pairs}
        for right in self._shuffled(sorted(by_answer.keys() - {"neither"}) or sorted(by_answer))[:1]:
            both = [(n, call.code, a.text, b.text) for n, (call, a, b) in enumerate(by_answer[right], 1)]
            ordered = sorted(AFFECTED.values(), key=lambda key: key != right)
            rank, origin = [*AFFECTED.values()].index, self._say("ran_otherwise")
            options = [Option(self._say(f"only_{key}"), origin * (key != right), rank=rank(key)) for key in ordered]
            blocks = (self._alone(edit), *(f"# {n}\n{code}" for n, code, _, _ in both))
            why = " ".join(self._say("call_went", n=n, before=before, after=after) for n, _, before, after in both)
            yield self._about(edit, "what_if", self._supposed("ask_what_if", edit), blocks, options, why)

    def _find(self, version: Edited) -> Iterator[Question]:
        """Which line was altered, so that a law fails."""
        study, edit, source = self._study, version.edit, self._study.sources[version.edit.path]
        if edit.new and version.broken and version.broken != study.holding:
            ran = {line for outcome in study.outcomes for path, line in outcome.steps if path == edit.path}
            wrong = [line for line in self._shuffled(source.near(edit.line)) if line in ran - {edit.line}][:MOST_WRONG]
            options = [Option(self._say("line", line=edit.line), rank=edit.line)]
            options += [Option(self._say("line", line=line), self._say("as_it_was"), rank=line) for line in wrong]
            law = self._titles[self._shuffled(sorted(version.broken))[0]]
            prompt = self._say("ask_find", function=source.name(edit.line), law=law)
            why = self._say("it_was", line=edit.line, old=edit.old.strip(), new=edit.new.strip())
            yield self._about(edit, "find", prompt, (source.altered(edit.line, edit.new),), options, why)

    def _why(self, version: Edited) -> Iterator[Question]:
        """Which law fails without a line, or with another one."""
        study, edit, titles = self._study, version.edit, self._titles
        if version.broken != study.holding:
            kept = sorted(self._shuffled(sorted(study.holding - version.broken)), key=self._rarely_broken_near(edit))
            broken = [titles[law] for law in self._shuffled(sorted(version.broken))]
            nothing = Option(self._say("none"), self._say("breaks", law=broken[0]) if broken else "", rank=1)
            options = [Option(titles[law], self._say("holds_still")) for law in kept[: MOST_WRONG - 1]]
            options = [Option(broken[0]), *options, nothing] if broken else [nothing, *options]
            why = self._say("broken", laws="; ".join(sorted(broken)) or "-")
            yield self._about(edit, "why", self._supposed("ask_why", edit), (self._alone(edit),), options, why)

    def _about(
        self, edit: Edit, kind: str, prompt: str, blocks: tuple[str, ...], options: Sequence[Option], why: str
    ) -> Question:
        steps = max(outcome.after(edit.path, edit.line) for outcome in self._study.outcomes)
        place = f"{edit.path}:{edit.line}"
        return Question(kind, self._study.task.id, prompt, blocks, tuple(options), why, place, steps)

    def _rarely_broken_near(self, edit: Edit) -> Callable[[str], int]:
        """Sorts laws: first those that other edits of the same function break, so that none looks out of place."""
        name = self._function(edit)
        near = [version.broken for version in self._study.edited if self._function(version.edit) == name]
        return lambda law: -sum(law in broken for broken in near)

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))

    def _function(self, edit: Edit) -> str:
        return self._study.sources[edit.path].name(edit.line)

    def _alone(self, edit: Edit) -> str:
        return self._study.sources[edit.path].alone(edit.line, edit.new)

    def _supposed(self, asked: str, edit: Edit) -> str:
        where = {"line": edit.line, "function": self._function(edit)}
        return self._say(asked, edit=self._say("changed" if edit.new else "deleted", **where))


def _apart(right: Outcome, others: Iterable[tuple[Outcome, str]]) -> tuple[Option, ...]:
    """The right value, and the first others that a reader can tell from it and from each other."""
    chosen = [(right, "")]
    for other, origin in others:
        if all(other.text != own.text and other.same(own) is False for own, _ in chosen):
            chosen.append((other, origin))
    return tuple(Option(own.text, origin, True) for own, origin in chosen[: 1 + MOST_WRONG])


def _closest(held: str, others: list[str]) -> list[str]:
    """What lines hold, first that of as many dimensions."""
    return sorted(others, key=lambda other: other.count(",") != held.count(","))
