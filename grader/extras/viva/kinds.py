"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one.

A question gives the number of a line and shows neither its code nor what an edit makes of it; the author knows both.
Who does not know the code learns nothing from the options: they are made so that each of them is right equally often.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, combinations, starmap

from grader.core.rubric import Rubric

from .quiz import OPTIONS, Question, say
from .source import CALL, NEXT, PASS, Edit, Place
from .study import Call, Study, Version

Texts = Sequence[str]
Edits = Sequence[Edit]
Numbers = tuple[int, ...]
Slips = Set[str]
Hits = Sequence[Mapping[str, str]]  # for each edit, what becomes of a call or law that it hits; empty if arguable
CAST = r"(?:\.(?:to|float|double|half|long|type|type_as|clone|detach|contiguous)\((?:[^()]|\([^()]*\))*\))*"
COPY = re.compile(rf"(?!shape.*= self\.\w+$)\w+ (?:[\w.]+(?:: [^=]+)? = |return )(float\()?(?:[\w.\]]|\[-?)+{CAST}\)?")
COMPARED = 3  # calls or laws of a question about an edit
SETS = [*chain.from_iterable(combinations(range(1, COMPARED + 1), size) for size in range(COMPARED + 1))]
HELD = {False: ("predict", "shape"), True: ("shape", "growth")}  # kinds about calls without and with a history


def _threes(texts: Texts, hits: Hits) -> Iterator[tuple[int, Texts, dict[Numbers, int], Sequence[Numbers]]]:
    """Three calls or laws that edits hit in several ways, and wrong answers, where there are fewer ways than options.

    An edit counts only where nobody could argue about any of the three.

    First of all, how much these look unlike the ways: by how often each of the three is hit, and how many at once. If
    they do, this is better than no such question about the task, but not than a second one.
    """
    for three in combinations(texts, COMPARED):
        clear = [(edit, hit) for edit, hit in enumerate(hits) if all(hit.get(one, "-") for one in three)]
        ways = {tuple(n for n, one in enumerate(three, 1) if one in hit): edit for edit, hit in clear}
        if len(ways) < OPTIONS:  # then none of them would be the answer too often
            ways.pop((), None)
        for made in combinations(sorted({*SETS} - {*ways}), max(0, OPTIONS - len(ways))) if len(ways) > 1 else ():
            right, wrong = (Counter([*chain(*some), *(-len(one) for one in some)]) for some in (ways, made))
            yield ((right - wrong) + (wrong - right)).total() if made else 0, three, ways, made


class Maker:
    """Makes the questions about one task of a submission, in one language."""

    def __init__(self, study: Study, rubric: Rubric, language: str, seed: str) -> None:
        """Remember what they are made of; the seed decides which wrong answers are offered."""
        self._study, self._titles = study, {name: prop.title[language] for name, prop in rubric.properties.items()}
        self._say, self._rng = partial(say, language), random.Random(seed)
        ends = {path: path.rpartition("/")[2] for path, _ in study.lines}
        self._names = {path: end if [*ends.values()].count(end) == 1 else path for path, end in ends.items()}

    def questions(self) -> list[Question]:
        """All of them."""
        held = [self._held(kind, call) for call in self._study.own.outcomes for kind in HELD[call.history]]
        return [*chain(*held, self._what_if(), *starmap(self._find, self._study.edited), self._why())]

    def _held(self, kind: str, call: Call) -> Iterator[Question]:
        """Predict, shape, growth: what two lines hold; each value is as often wrong, beside a neighbour's, as right."""
        told, lines = self._study.own.outcomes[call].told, self._study.lines
        fits = {
            place: value
            for (one, place), value in sorted(told.items())  # a submission may have anything sent
            if one == kind and value.is_readable and place in lines and not COPY.fullmatch(f"{kind} {lines[place]}")
        }
        shuffled = self._rng.sample([*fits], len(fits))
        left, asked = {fits[place].text(2): place for place in shuffled}.values(), list[Place]()
        for pair in sorted(combinations(left, 2), key=lambda two: (two[0][0] != two[1][0], abs(two[0][1] - two[1][1]))):
            asked += pair if not {*pair} & {*asked} and len({fits[one].count(";") for one in pair}) == 1 else ()
        for number, first in enumerate(asked if len(asked) >= OPTIONS else []):
            other = number + len(asked) // 4 * 2
            other = other % len(asked) ^ (other >= len(asked))  # so that no two lines are asked about twice
            pairs = sorted([(first, asked[number ^ 1]), (asked[other], asked[other ^ 1])])
            places = [pair[n] for n in (0, 1) for pair in pairs]
            heads = [self._say("line", line=line) for _, line in places[:2]] * 2
            texts = [fits[place].text().replace("each ", self._say("each")) for place in places]
            a, b, c, d = (f"{head}: {text}" for head, text in zip(heads, texts, strict=True))
            options = [f"{one}\n{two}" for one in (a, c) for two in (b, d)]
            edits = [Edit(place, lines[place]) for place in places[:2]]
            yield self._ask(kind, edits, {*()}, [call.code.strip()], options, self._say("by_running"))

    def _what_if(self) -> Iterator[Question]:
        """Which of three calls have another value with an edit of a line; rounded, the two must differ, too."""
        own, edited = self._study.own.outcomes, self._study.edited
        pairs = [{call.whole: (own[call].value, run.value) for call, run in one.outcomes.items()} for _, one in edited]
        texts = [{call: (a.text(), b.text()) for call, (a, b) in one.items() if a != b} for one in pairs]
        changes = [{call: f"{a} → {b}" * (a != b) for call, (a, b) in one.items()} for one in texts]
        return self._compared("what_if", [call for one in pairs[:1] for call in one], changes)

    def _why(self) -> Iterator[Question]:
        """Which of three laws fail with an edit of a line."""
        ran = [version for _, version in self._study.edited]
        broken = [{self._titles[law]: "✗" * (law in one.broken) for law in one.broken | one.unclear} for one in ran]
        return self._compared("why", [self._titles[law] for law in sorted(self._study.holding)], broken)

    def _compared(self, kind: str, texts: Texts, hits: Hits) -> Iterator[Question]:
        """Which of three calls or laws each edit hits; each set is the answer once, so as often as other options."""
        left = self._rng.sample(texts, len(texts))
        while found := [one for one in _threes(left, hits) if not one[0] or len(left) == len(texts)]:
            _, three, ways, made = min(found, key=lambda one: (one[0], -len(one[2])))
            code = three if kind == "what_if" else ["\n".join(f"{n}. {law}" for n, law in enumerate(three, 1))]
            slips = {self._study.edited[number][0].slip for number in ways.values()}
            for right, number in ways.items():
                sets = [right, *self._rng.sample(sorted({*ways} - {right}), len(ways) - 1), *made][:OPTIONS]
                options = [", ".join(map(str, numbers)) or self._say("no_call") for numbers in sets]
                why = "; ".join(f"{n}: {hits[number][three[n - 1]]}" for n in right) or "-"
                yield self._ask(kind, [self._study.edited[number][0]], slips, code, options, why)
            left = [one for one in left if one not in three]

    def _find(self, edit: Edit, version: Version) -> Iterator[Question]:
        """Which edit makes a law fail; no other option breaks it, and rather another law than none."""
        laws, edited = sorted(version.broken), self._study.edited
        for law in self._rng.sample(laws, len(laws)):
            others = [one for one in self._rng.sample(edited, len(edited)) if law not in one[1].broken | one[1].unclear]
            edits = [edit, *(one for one, _ in sorted(others, key=lambda one: not one[1].broken))][:OPTIONS]
            if len(edits) == OPTIONS:
                options, title = [self._say("line", line=one.place[1]) for one in edits], self._titles[law]
                slips, why = {one.slip for one in edits}, self._say("broken", laws=title)
                yield self._ask("find", edits, slips, [], options, why, law=title)
                break

    def _ask(self, kind: str, edits: Edits, slips: Slips, code: Texts, texts: Texts, why: str, **law: str) -> Question:
        """A question about lines, or an edit, in words for several slips; of its options, the first is the answer."""
        (path, line), (other_path, other_line) = edits[0].place, edits[-1].place
        where = {"path": self._names[path], "line": line, "other_path": self._names[other_path], "other": other_line}
        lines = self._say("lines" if path == other_path else "places", **where)
        words = ", ".join(sorted(slips, key=lambda slip: (slip == NEXT, slip)))
        slip = self._say(f"slip_{'_'.join(sorted({CALL, PASS} & slips)) or 'words'}", words=words)
        prompt = self._say(f"ask_{kind}", **where, lines=lines, slip=slip, **law)
        blocks = [f"# {n}\n" * (len(code) > 1) + text for n, text in enumerate(code, 1)]
        ordered = sorted(texts, key=lambda option: re.sub(r"\d+", lambda digits: digits[0].zfill(9), option))
        outcomes, places, new = self._study.own.outcomes, {edit.place for edit in edits}, edits[0].new
        runs = [run.steps for call, run in outcomes.items() if {call.code.strip(), call.whole} & {*code}]
        runs = runs or [min((run.steps for run in outcomes.values() if one in run.steps), key=len) for one in places]
        at = [[n for n, one in enumerate(run) if one in places] for run in runs]
        ran = [run[some[0] :] if new else run[: some[-1] + 1] for run, some in zip(runs, at, strict=True) if some]
        return Question(kind, prompt, blocks, ordered, texts[0], why, edits, len(places.union(*ran)))
