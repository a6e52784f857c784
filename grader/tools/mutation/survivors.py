"""Mutants that no hidden test kills, why each may survive, and the page that shows them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.assignment import ASSIGNMENT
from grader.judge.devices import devices, on_gpus, simulated
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.results.outcome import Outcome
from grader.rubric import Rubric
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits

from .mutants import Mutant

TABLE = ASSIGNMENT.folder / "mutants.toml"
HEADER = """# Mutants of the reference

Written by `make mutants`: every change that mutmut makes to a file of `ref/`, judged by the hidden tests of its task.
A mutant is killed when it costs a point. What survives is explained in `grader/assignment/mutants.toml`; a
survivor without an explanation, or an explanation without a survivor, makes the command fail.
"""


@dataclass(frozen=True)
class Explanation:
    """Why some mutants may survive.

    Attributes:
        mutants: The names of the mutants.
        why: The explanation, in one line.
    """

    mutants: tuple[str, ...]
    why: str


def read_table(path: Path = TABLE) -> list[Explanation]:
    """Read the explanations."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["explained"]
    return [Explanation(tuple(entry["mutants"]), entry["why"]) for entry in entries]


class MutantJudge:
    """Judges mutants by the hidden tests. A mutant may hang or fill the memory, so each runs in a worker."""

    def __init__(self, rubric: Rubric) -> None:
        """Start the fork server; the hidden tests of a file are collected when its first mutant is judged."""
        torch.set_num_threads(1)
        self._rubric = rubric
        self._limits = Limits()
        self._devices = devices("auto")
        self._zygote = Zygote(self._limits, on_gpus(self._devices), second_device=simulated(self._devices))
        self._tests: dict[str, HiddenTests] = {}

    def survives(self, mutant: Mutant) -> bool:
        """Whether the mutant keeps every point.

        Raises:
            RuntimeError: If a hidden test itself is faulty.
        """
        if mutant.path not in self._tests:
            tasks = [t for t in self._rubric.tasks if mutant.path in {t.file_of(name) for name in t.names}]
            properties = [prop.id for task in tasks for prop in task.properties]
            self._tests[mutant.path] = HiddenTests(ASSIGNMENT, self._devices, 0, properties)
        files = ASSIGNMENT.solution() | {mutant.path: mutant.text}
        student = Student(files, self._zygote.start, self._rubric, self._limits)
        results = self._tests[mutant.path].run(student)
        for result in results:
            if result.outcome is Outcome.GRADER_ERROR:
                raise RuntimeError(f"{mutant.name}: {result.id} failed by itself. {result.detail}")
        return all(result.outcome in (Outcome.PASSED, Outcome.NOT_ASSESSED) for result in results)

    def close(self) -> None:
        """End the fork server."""
        self._zygote.close()


def problems(survivors: Iterable[Mutant], table: Sequence[Explanation], all_names: Iterable[str]) -> list[str]:
    """A line for each disagreement between the survivors and the table of explanations."""
    surviving = {mutant.name for mutant in survivors}
    explained = {name for entry in table for name in entry.mutants}
    return [
        *(f"survives unexplained: {name}" for name in sorted(surviving - explained)),
        *(f"is explained, but killed: {name}" for name in sorted((explained - surviving) & set(all_names))),
        *(f"is explained, but there is no such mutant: {name}" for name in sorted(explained - set(all_names))),
    ]


def page(counts: Mapping[str, tuple[int, int]], survivors: Sequence[Mutant], table: Sequence[Explanation]) -> str:
    """The page: counts for each file, then every survivor as a diff below its explanation.

    Args:
        counts: From a file's path to how many mutants it has, and how many of them were killed.
        survivors: The mutants that were not killed.
        table: The explanations.
    """
    lines = [HEADER, "| file | mutants | killed | surviving |", "|---|--:|--:|--:|"]
    total = [sum(column) for column in zip(*counts.values(), strict=True)]
    for path, (made, killed) in [*counts.items(), ("all", total)]:
        lines.append(f"| {path} | {made} | {killed} | {made - killed} |")
    by_name = {mutant.name: mutant for mutant in survivors}
    for entry in table:
        shown = [by_name[name] for name in entry.mutants if name in by_name]
        if shown:
            lines += ["", f"{entry.why} ({len(shown)})", "", "```diff"]
            for mutant in shown:
                lines += [f"  {mutant.path}, {mutant.where}", f"- {mutant.before}", f"+ {mutant.after}"]
            lines.append("```")
    return "\n".join([*lines, ""])
