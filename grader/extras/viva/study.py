"""Everything that running a submission says about one of its tasks; questions are made of that alone."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric, Task
from grader.core.specimens.viva import Call, Viva

from .edits import Edit, edits_of
from .execution import Bench, Files, Outcome
from .listing import Source, sources

MOST_EDITS = 9  # of a task's lines; each costs two workers
MOST_OF_A_LINE = 2


@dataclass(frozen=True)
class Version:
    """Other code for the same task: the submission with one edit, or a known mistake.

    Attributes:
        outcomes: Of the task's calls, in their order.
        broken: The properties that hold for the submission as it is, and not for this.
        edit: None for a known mistake.
        mistake: The id of the misconception; empty for an edit.
    """

    outcomes: Sequence[Outcome]
    broken: frozenset[str]
    edit: Edit | None = None
    mistake: str = ""


@dataclass(frozen=True)
class Study:
    """One task of one submission.

    Attributes:
        outcomes: Of the calls, in their order.
        holding: The properties whose law holds.
        edited: The submission with one edit each.
        mistakes: What others get wrong, for wrong answers.
    """

    task: Task
    sources: Mapping[str, Source]
    calls: Sequence[Call]
    outcomes: Sequence[Outcome]
    holding: frozenset[str]
    edited: Sequence[Version]
    mistakes: Sequence[Version]

    def steps(self, path: str, line: int) -> int:
        """The most lines that run from a line on to the end of a call; 0 if none of the calls reaches it."""
        return max((self.after(outcome, path, line) for outcome in self.outcomes), default=0)

    @staticmethod
    def after(outcome: Outcome, path: str, line: int) -> int:
        """How many lines run in a call from a line on to the end; 0 if the line is not reached."""
        ran = list(outcome.steps)
        return len(ran) - ran.index((path, line)) if (path, line) in ran else 0


def studies(
    bench: Bench, files: Files, rubric: Rubric, viva: Viva, known: Mapping[str, Sequence[Version]], seed: str
) -> Iterator[Study]:
    """What there is to ask about each task that can be imported and that answers.

    Args:
        bench: Runs versions.
        files: The submission.
        rubric: Its tasks.
        viva: Calls and laws.
        known: Known mistakes, by task.
        seed: Decides which lines are edited.
    """
    readable = sources(files)
    wanted = {path: _assigned(files[path]) for path in readable}
    for task in rubric.tasks:
        calls, laws = of_task(viva, task)
        outcomes = (
            bench.outcomes(files, task, [*(call.code for call in calls), *laws.values()], wanted) if calls else None
        )
        if outcomes is None or all(outcome.error for outcome in outcomes[: len(calls)]):
            continue  # nothing was written yet, or nothing runs
        own, judged = outcomes[: len(calls)], dict(zip(laws, outcomes[len(calls) :], strict=True))
        holding = frozenset(name for name, outcome in judged.items() if outcome.value == "True")
        ran = {step for outcome in own for step in outcome.steps}
        edited = []
        for edit in _chosen(files, ran, f"{seed}:{task.id}"):
            version = version_of(bench, edit.applied(files), task, viva, holding, edit)
            if version and not _only_crashes(version, own, edit):
                edited.append(version)
        yield Study(task, readable, calls, own, holding, edited, known.get(task.id, ()))


def of_task(viva: Viva, task: Task) -> tuple[list[Call], dict[str, str]]:
    """The calls and laws of a task."""
    ids = [prop.id for prop in task.properties]
    return [call for call in viva.calls if call.task == task.id], {
        name: viva.laws[name] for name in ids if name in viva.laws
    }


def version_of(
    bench: Bench,
    files: Files,
    task: Task,
    viva: Viva,
    holding: frozenset[str],
    edit: Edit | None = None,
    mistake: str = "",
) -> Version | None:
    """Run other code for a task; None if it cannot be imported, does not end, or says different things each time."""
    calls, laws = of_task(viva, task)
    outcomes = bench.outcomes(files, task, [*(call.code for call in calls), *laws.values()])
    if outcomes is None:
        return None
    judged = zip(laws, outcomes[len(calls) :], strict=True)
    broken = frozenset(name for name, outcome in judged if outcome.value != "True") & holding
    return Version(outcomes[: len(calls)], broken, edit, mistake)


def known_mistakes(bench: Bench, assignment: Assignment, viva: Viva) -> dict[str, list[Version]]:
    """By task, one wrong variant of the assignment for each of its misconceptions."""
    found: dict[str, list[Version]] = {}
    seen = set[str]()
    for variant in assignment.part("corpus.variants").all_variants():
        task = next((task for task in assignment.rubric.tasks if variant.piece in task.names), None)
        if task is None or variant.valid or len(variant.hints) != 1 or variant.hints & seen:
            continue
        seen |= variant.hints
        version = version_of(
            bench, variant.files, task, replace(viva, laws={}), frozenset(), mistake=variant.hint or ""
        )
        if version:
            found.setdefault(task.id, []).append(version)
    return found


def _only_crashes(version: Version, before: Sequence[Outcome], edit: Edit) -> bool:
    """Whether every call that reaches the edited line, and raised nothing, raises something now."""
    pairs = zip(before, version.outcomes, strict=True)
    raised = [bool(new.error) for old, new in pairs if (edit.path, edit.line) in old.steps and not old.error]
    return bool(raised) and all(raised)


def _chosen(files: Files, ran: set[tuple[str, int]], seed: str) -> list[Edit]:
    """Edits of the lines that ran, a few of each line, in an order that the seed decides."""
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], list[Edit]] = {}
    for path in sorted({path for path, _ in ran}):
        for edit in edits_of(path, files[path], frozenset(line for own, line in ran if own == path)):
            by_line.setdefault((path, edit.line), []).append(edit)
    for found in by_line.values():
        rng.shuffle(found)
    places = sorted(by_line)
    rng.shuffle(places)
    rounds = [
        by_line[place][number] for number in range(MOST_OF_A_LINE) for place in places if number < len(by_line[place])
    ]
    return rounds[:MOST_EDITS]


def _assigned(text: str) -> dict[str, Any]:
    """By line, the one name that it assigns, or ``return``."""
    names: dict[str, Any] = {}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Return():
                name = "return"
            case _:
                continue
        if node.lineno == node.end_lineno:
            names[str(node.lineno)] = name
    return names
