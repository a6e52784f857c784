"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, combinations, product
from typing import TypeVar

from grader.core.rubric import Rubric

from .quiz import LEAST_OPTIONS, Option, Question, say
from .source import Edit
from .study import Outcome, Study, Version

T = TypeVar("T")
PREDICT = {False: "predict", True: "growth"}  # by whether a call is about what earlier ones leave behind
FAMILIES = (("True", "False"), ("float32", "float16", "float64", "bfloat16"))
MOST_CALLS_OF_A_LINE = 2
MOST_WRONG = 4
COMPARED = 3  # calls of a question about what changes
SETS = [*chain.from_iterable(combinations(range(1, COMPARED + 1), size) for size in range(COMPARED + 1))]


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._titles = study, {name: prop.title[language] for name, prop in rubric.properties.items()}
        self._say, self._rng = partial(say, language), random.Random(seed)
        hints = {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions}
        self._versions = [(self._say("mistake", mistake=hints[name]), own) for name, own in study.mistakes.items()]
        for edit, version in study.edited:
            self._versions.append(
                (self._say("with_edit", line=edit.place[1], new=(edit.new or "").strip() or "pass"), version)
            )
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
            why = self._say("by_running", steps=len(right.steps), last=last)
            kind, options = PREDICT[call.history], _in_order(options)
            prompt, steps = self._say(f"ask_{kind}"), len(right.steps)
            yield Question(kind, self._study.task.id, prompt, [call.code], options, why, "", steps)

    def _shapes(self) -> Iterator[Question]:
        """Shape and dtype of what a line holds during a call, among what it and other lines hold at other times."""
        outcomes = self._study.outcomes
        held = dict.fromkeys(item for outcome in self._runs for item in outcome.held.items())
        others = [(Outcome(text), self._say("other_line", line=place[1])) for place, text in held]
        known = {(path, line) for path, source in self._study.sources.items() for line in source.functions}
        for place in sorted(known & {place for outcome in outcomes for place in outcome.held}):
            own = [(Outcome(text), self._say("other_time")) for other, text in held if other == place]
            calls = [pair for pair in zip(self._study.calls, outcomes, strict=True) if place in pair[1].held]
            for call, outcome in self._shuffled(calls)[:MOST_CALLS_OF_A_LINE]:
                options = self._apart(Outcome(outcome.held[place]), own, others)
                yield self._ask("shape", Edit(place), [call.code], options, self._say("by_watching"))

    def _what_if(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which of three calls change with an edit."""
        went = [*zip(self._study.calls, self._study.outcomes, version.outcomes, strict=True)]
        changed, kept = ([one for one in went if one[1].same(one[2]) is same] for same in (False, True))
        counts = [n for n in range(bool(changed), COMPARED + 1) if n <= len(changed) and COMPARED - n <= len(kept)]
        if counts:
            count = self._rng.choice(counts)
            some = [*self._rng.sample(changed, count), *self._rng.sample(kept, COMPARED - count)]
            chosen = [*enumerate(self._shuffled(some), 1)]
            right = tuple(n for n, one in chosen if one in changed)
            sets = [right, *self._shuffled([numbers for numbers in SETS if numbers != right])[:MOST_WRONG]]
            texts = [", ".join(map(str, numbers)) or self._say("no_call") for numbers in sets]
            options = [Option(text, self._say("ran_otherwise") * bool(place)) for place, text in enumerate(texts)]
            why = " ".join(self._say("call_went", n=n, before=a.text, after=b.text) for n, (_, a, b) in chosen)
            calls = [f"# {n}\n{call.code}" for n, (call, _, _) in chosen]
            yield self._ask("what_if", edit, calls, options, why)

    def _find(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which line was altered, so that a law fails."""
        if edit.new and version.broken and version.broken != self._study.holding:
            (path, line), ran = edit.place, {place for outcome in self._study.outcomes for place in outcome.steps}
            near = [number for number in self._study.sources[path].functions[line][1] if (path, number) in ran]
            wrong = [number for number in self._shuffled(near) if number != line][:MOST_WRONG]
            options = [Option(self._say("line", line=line))]
            options += [Option(self._say("line", line=number), self._say("as_it_was")) for number in wrong]
            why = self._say("it_was", line=line, old=edit.old.strip(), new=edit.new.strip())
            law = self._titles[self._rng.choice(sorted(version.broken))]
            yield self._ask("find", edit, [], options, why, law)

    def _why(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which law fails without a line, or with another one; those that other edits break are the likelier ones."""
        if version.broken != self._study.holding:
            often = Counter(law for _, other in self._study.edited for law in other.broken)
            laws = self._shuffled(sorted(self._study.holding - version.broken))
            kept = [self._titles[law] for law in sorted(laws, key=lambda law: -often[law])]
            broken = [self._titles[law] for law in self._shuffled(sorted(version.broken))]
            options = [Option(law, self._say("holds_still")) for law in kept[: MOST_WRONG - bool(broken)]]
            options += [Option(law) for law in broken[:1]]
            options.append(Option(self._say("none"), self._say("breaks", law=broken[0]) if broken else ""))
            why = self._say("broken", laws="; ".join(sorted(broken)) or "-")
            yield self._ask("why", edit, [], options, why)

    def _ask(self, kind: str, edit: Edit, calls: list[str], options: list[Option], why: str, law: str = "") -> Question:
        """A question about a line, or about an edit of it."""
        path, line = edit.place
        source, steps = self._study.sources[path], max(outcome.after(edit.place) for outcome in self._study.outcomes)
        where = {"line": line, "function": source.functions[line][0]}
        supposed = self._say("changed" if edit.new else "deleted", **where)
        prompt = self._say(f"ask_{kind}", edit=supposed, law=law, **where)
        shown = source.altered(line, edit.new or "") if law else source.alone(line, edit.new)
        place, ordered = f"{path}:{line}", _in_order(options)
        return Question(kind, self._study.task.id, prompt, [shown, *calls], ordered, why, place, steps)

    def _apart(self, right: Outcome, *others: Sequence[tuple[Outcome, str]]) -> list[Option]:
        """The right value, and others of its form that a reader can tell from it and from each other.

        Where running gave too few, other truth values and dtypes complete them.
        """
        parts = re.split(r"(\w+)", right.value)
        ways = [next((family for family in FAMILIES if part in family), (part,)) for part in parts]
        flipped = [(Outcome("".join(texts)), self._say("near")) for texts in product(*ways)]
        chosen = [(right, "")]
        for other, origin in (found for some in (*others, flipped) for found in self._shuffled(some)):
            fits = other.form == right.form and other.is_readable
            if fits and all(other.text != own.text and other.same(own) is False for own, _ in chosen):
                chosen.append((other, origin))
        return [Option(own.text, origin) for own, origin in chosen[: 1 + MOST_WRONG]]

    def _shuffled(self, items: Sequence[T]) -> list[T]:
        return self._rng.sample(items, len(items))


def _in_order(options: Sequence[Option]) -> list[Option]:
    """Options by their texts and numbers, so that no order gives the right one away."""
    return sorted(options, key=lambda option: re.sub(r"\d+", lambda number: number[0].zfill(9), option.text))
