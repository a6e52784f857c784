"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TypeVar

from grader.core.rubric import Rubric

from .quiz import LEAST_OPTIONS, Option, Question, say
from .source import Edit, Place
from .study import Outcome, Study, Version

T = TypeVar("T")
PREDICT = {False: "predict", True: "growth"}  # by whether a call is about what earlier ones leave behind
MOST_CALLS_OF_A_LINE = 2
MOST_WRONG = 4
COMPARED = 3  # calls of a question about what changes
SETS = [*chain.from_iterable(combinations(range(1, COMPARED + 1), size) for size in range(COMPARED + 1))]
KEPT = 0.4  # of the edits that change nothing: otherwise "none" would be the right answer too often


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._titles = study, {name: prop.title[language] for name, prop in rubric.properties.items()}
        self._say, self._rng = partial(say, language), random.Random(seed)
        hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
        self._versions = [(self._say("mistake", mistake=hints[name]), own) for name, own in study.mistakes.items()]
        for edit, version in study.edited:
            self._versions.append((self._say("with_edit", line=edit.place[1], new=edit.new.strip() or "pass"), version))

        self._runs = [*chain(study.outcomes, *(version.outcomes for _, version in study.edited))]

    def questions(self) -> list[Question]:
        """All of them that have enough options."""
        about_edits = (self._what_if, self._find, self._why)
        found = [*self._values(), *self._shapes()]
        found += [question for kind in about_edits for edited in self._study.edited for question in kind(*edited)]
        return [question for question in found if len(question.options) >= LEAST_OPTIONS]

    def _values(self) -> Iterator[Question]:
        """Predict, and growth or seed: the value of a call, among what other versions and other calls give."""
        outcomes = self._study.outcomes
        for number, (call, right) in enumerate(zip(self._study.calls, outcomes, strict=True)):
            others = [(version.outcomes[number], origin) for origin, version in self._versions]
            options = self._apart(right, others, [(outcome, self._say("other_call")) for outcome in self._runs])
            last = "{}:{}".format(*right.steps[-1]) if right.steps else "-"
            why, kind = self._say("by_running", steps=len(right.steps), last=last), PREDICT[call.history]
            prompt, steps = self._say(f"ask_{kind}"), len(right.steps)
            yield Question(kind, self._study.task.id, prompt, [call.code], _in_order(options), why, "", steps)

    def _shapes(self) -> Iterator[Question]:
        """Shape and dtype of what a line holds during a call, among what it and other lines hold at other times."""
        outcomes = self._study.outcomes
        held = dict.fromkeys(item for outcome in self._runs for item in outcome.held.items())
        others = [(Outcome("", text), self._say("other_line", line=place[1])) for place, text in held]
        for place in sorted({place for outcome in outcomes for place in outcome.held}):
            own = [(Outcome("", text), self._say("other_time")) for other, text in held if other == place]
            calls = [pair for pair in zip(self._study.calls, outcomes, strict=True) if place in pair[1].held]
            for call, outcome in self._shuffled(calls)[:MOST_CALLS_OF_A_LINE]:
                options = self._apart(Outcome("", outcome.held[place]), own, others)
                yield self._about("shape", place, [call.code], options, self._say("by_watching"))

    def _what_if(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which of three calls change with an edit."""
        went = [*zip(self._study.calls, self._study.outcomes, version.outcomes, strict=True)]
        changed, kept = ([one for one in went if one[1].same(one[2]) is same] for same in (False, True))
        counts = [n for n in range(bool(changed), COMPARED + 1) if n <= len(changed) and COMPARED - n <= len(kept)]
        if counts and (changed or self._rng.random() < KEPT):
            count = self._rng.choice(counts)
            some = [*self._rng.sample(changed, count), *self._rng.sample(kept, COMPARED - count)]
            chosen = [*enumerate(self._shuffled(some), 1)]
            right = tuple(n for n, one in chosen if one in changed)
            sets = [right, *self._shuffled([numbers for numbers in SETS if numbers != right])[:MOST_WRONG]]
            texts = [", ".join(map(str, numbers)) or self._say("no_call") for numbers in sets]
            options = [Option(text, self._say("ran_otherwise") * bool(place)) for place, text in enumerate(texts)]
            why = " ".join(self._say("call_went", n=n, before=a.text, after=b.text) for n, (_, a, b) in chosen)
            calls = [f"# {n}\n{call.code}" for n, (call, _, _) in chosen]
            yield self._about("what_if", edit.place, calls, options, why, edit.new)

    def _find(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which line was altered, so that a law fails."""
        if edit.new and version.broken and version.broken != self._study.holding:
            path, line = edit.place
            ran = {place for outcome in self._study.outcomes for place in outcome.steps}
            near = [number for number in self._study.sources[path].near(line) if (path, number) in ran]
            wrong = [number for number in self._shuffled(near) if number != line][:MOST_WRONG]
            options = [Option(self._say("line", line=line))]
            options += [Option(self._say("line", line=number), self._say("as_it_was")) for number in wrong]
            why = self._say("it_was", line=line, old=edit.old.strip(), new=edit.new.strip())
            law = self._titles[self._rng.choice(sorted(version.broken))]
            yield self._about("find", edit.place, [], options, why, edit.new, law)

    def _why(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which law fails without a line, or with another one; those that other edits break are the likelier ones."""
        if version.broken != self._study.holding and (version.broken or self._rng.random() < KEPT):
            often = Counter(law for _, other in self._study.edited for law in other.broken)
            laws = self._shuffled(sorted(self._study.holding - version.broken))
            kept = [self._titles[law] for law in sorted(laws, key=lambda law: -often[law])]
            broken = [self._titles[law] for law in self._shuffled(sorted(version.broken))]
            options = [Option(law, self._say("holds_still")) for law in kept[: MOST_WRONG - bool(broken)]]
            options += [Option(law) for law in broken[:1]]
            options.append(Option(self._say("none"), self._say("breaks", law=broken[0]) if broken else ""))
            why = self._say("broken", laws="; ".join(sorted(broken)) or "-")
            yield self._about("why", edit.place, [], options, why, edit.new)

    def _about(
        self,
        kind: str,
        place: Place,
        calls: Sequence[str],
        options: Sequence[Option],
        why: str,
        new: str | None = None,
        law: str = "",
    ) -> Question:
        """A question about a line, or about an edit of it, whose new text is empty where the line is deleted."""
        path, line = place
        source, steps = self._study.sources[path], max(outcome.after(place) for outcome in self._study.outcomes)
        where = {"line": line, "function": source.name(line)}
        prompt = self._say(f"ask_{kind}", edit=self._say("changed" if new else "deleted", **where), law=law, **where)
        shown = source.altered(line, new) if law and new else source.alone(line, new)
        ordered = _in_order(options)
        return Question(kind, self._study.task.id, prompt, [shown, *calls], ordered, why, f"{path}:{line}", steps)

    def _apart(self, right: Outcome, *others: Sequence[tuple[Outcome, str]]) -> list[Option]:
        """The right value, and others of its form that a reader can tell from it and from each other."""
        chosen = [(right, "")]
        for other, origin in (found for some in others for found in self._shuffled(some)):
            fits = other.form == right.form and other.is_readable
            if fits and all(other.text != own.text and other.same(own) is False for own, _ in chosen):
                chosen.append((other, origin))
        return [Option(own.text, origin) for own, origin in chosen[: 1 + MOST_WRONG]]

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))


def _in_order(options: Sequence[Option]) -> list[Option]:
    """Options by their texts and numbers, so that no order gives the right one away."""
    return sorted(options, key=lambda option: re.sub(r"\d+", lambda number: number[0].zfill(9), option.text))
