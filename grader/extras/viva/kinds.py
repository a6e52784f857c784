"""The six kinds of questions. Every answer was found by running the submission, and so was every wrong one.

A question gives the number of a line and shows neither its code nor what an edit makes of it; the author knows both.
Who does not know the code learns nothing from the options: they are made so that each of them is right equally often.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations, product, starmap

from grader.core.rubric import Rubric

from .quiz import OPTIONS, Question, say
from .source import CALL, PASS, Edit, Place
from .study import Call, Study, Version

Texts = Sequence[str]
Edits = Sequence[Edit]
Numbers = tuple[int, ...]
Hits = Sequence[Mapping[str, str]]  # for each edit, what becomes of a call or law that it hits; empty if arguable
CAST = r"(?:\.(?:to|float|double|half|long|type|type_as|clone|detach|contiguous)\((?:[^()]|\([^()]*\))*\))*"
COPY = re.compile(rf"(?!shape.*= self\.\w+$)\w+ (?:[\w.]+(?:: [^=]+)? = |return )(float\()?(?:[\w.\]]|\[-?)+{CAST}\)?")
COMPARED = 3  # calls or laws of a question about an edit
SETS = [*chain.from_iterable(combinations(range(1, COMPARED + 1), size) for size in range(COMPARED + 1))]
HELD = {False: ("predict", "shape"), True: ("shape", "growth")}  # kinds about calls without and with a history


def _threes(texts: Texts, hits: Hits) -> Iterator[tuple[int, Texts, dict[Numbers, int], Sequence[Numbers]]]:
    """Three calls or laws that edits hit in several plain ways, and wrong answers, where they are fewer than options.

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
        calls = [call.whole for _, version in self._study.edited[:1] for call in version.outcomes]
        laws = [self._titles[law] for law in sorted(self._study.holding)]
        what_if, why = self._compared("what_if", calls), self._compared("why", laws)
        return [*chain(*held, what_if, *starmap(self._find, self._study.edited), why)]

    def _held(self, kind: str, call: Call) -> Iterator[Question]:
        """Predict, shape, growth: what two lines hold; each value is as often wrong, beside a neighbour's, as right."""
        told, lines = self._study.own.outcomes[call].told, self._study.lines
        fits = {
            place: value
            for (one, place), value in sorted(told.items())  # a submission may have anything sent
            if one == kind and value.is_readable and place in lines and not COPY.fullmatch(f"{kind} {lines[place]}")
        }
        shuffled = self._rng.sample([*fits], len(fits))
        left, asked = {fits[place].text(2): place for place in shuffled}.values(), list[tuple[Place, Place]]()
        for pair in sorted(combinations(left, 2), key=lambda two: (two[0][0] != two[1][0], abs(two[0][1] - two[1][1]))):
            sorts = {(fits[one].count(";"), re.match(r"[-\d]", fits[one]) is None) for one in pair}
            asked += [pair] * (not {*pair} & {*chain(*asked)} and len(sorts) == 1)  # a number stands out among tensors
        asked += [(b, a) for a, b in asked]  # each value is right once, and no two lines are asked about twice
        for number, pair in enumerate(asked if len(asked) >= OPTIONS else []):
            pairs = sorted([pair, asked[number - len(asked) // 4]])
            columns = [[f"{self._say('line', line=two[0][1])}: {fits[one].text()}" for one in two] for two in pairs]
            edits = [Edit(place, lines[place]) for place, _ in pairs]
            options = [*map("\n".join, product(*columns))]
            yield self._ask(kind, edits, [], [call.code.strip()], options, self._say("by_running"))

    def _hits(self, version: Version) -> Mapping[str, str]:
        """What becomes of each call that it changes and each law that it breaks; empty where one could argue."""
        runs = [(call.whole, self._study.own.outcomes[call].value, run.value) for call, run in version.outcomes.items()]
        calls = {call: f"{a.text()} → {b.text()}" * (a.text() != b.text()) for call, a, b in runs if a != b}
        return calls | {self._titles[law]: "✗" * (law in version.broken) for law in version.broken | version.unclear}

    def _compared(self, kind: str, texts: Texts) -> Iterator[Question]:
        """Which of three calls or laws each edit hits; each set is the answer once, so as often as other options."""
        left, hits = self._rng.sample(texts, len(texts)), [self._hits(version) for _, version in self._study.edited]
        while found := [one for one in _threes(left, hits) if not one[0] or len(left) == len(texts)]:
            _, three, ways, made = min(found, key=lambda one: (one[0], -len(one[2])))
            code = three if kind == "what_if" else ["\n".join(f"{n}. {law}" for n, law in enumerate(three, 1))]
            slips = sorted({self._study.edited[number][0].slip for number in ways.values()})
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
                slips, why = sorted({one.slip for one in edits}), self._say("broken", laws=title)
                yield self._ask("find", edits, slips, [], options, why, law=title)
                break

    def _ask(self, kind: str, edits: Edits, slips: Texts, code: Texts, texts: Texts, why: str, **law: str) -> Question:
        """A question about lines, or an edit, in words for several slips; of its options, the first is the answer."""
        (path, line), (other_path, other_line) = edits[0].place, edits[-1].place
        where = {"path": self._names[path], "line": line, "other_path": self._names[other_path], "other": other_line}
        lines = self._say("lines" if path == other_path else "places", **where)
        slip = self._say(f"slip_{'_'.join(sorted({CALL, PASS} & {*slips})) or 'words'}", words=", ".join(slips))
        prompt = self._say(f"ask_{kind}", **where, lines=lines, slip=slip, **law)
        blocks = [f"# {n}\n" * (len(code) > 1) + text for n, text in enumerate(code, 1)]
        ordered = sorted(texts, key=lambda option: re.sub(r"\d+", lambda digits: digits[0].zfill(9), option))
        outcomes, places, new = self._study.own.outcomes, {edit.place for edit in edits}, edits[0].new
        runs = [run.steps for call, run in outcomes.items() if {call.code.strip(), call.whole} & {*code}]
        runs = runs or [min((run.steps for run in outcomes.values() if one in run.steps), key=len) for one in places]
        at = [[n for n, one in enumerate(run) if one in places] for run in runs]
        ran = [run[some[0] :] if new else run[: some[-1] + 1] for run, some in zip(runs, at, strict=True) if some]
        return Question(kind, prompt, blocks, ordered, texts[0], why, edits, len(places.union(*ran)))
