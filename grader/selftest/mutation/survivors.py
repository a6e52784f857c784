"""Mutants that no hidden test kills, and why each is no gap; a page shows them all."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from grader.assignment import Rubric
from grader.grading import reference_files
from grader.judge.hidden_tests import HiddenTests
from grader.judge.student import Student
from grader.results.outcome import Outcome
from grader.sandbox.launch import Zygote
from grader.sandbox.limits import Limits
from grader.selftest.variants.catalog import HOME

from .mutants import Mutant

TABLE = Path(__file__).with_name("explained.toml")
HEADER = """# Mutants of the reference

Written by `make mutants`: every change that mutmut makes to a file of `ref/`, judged by the hidden tests of its task.
A mutant is killed when it costs a point. What survives is explained in `grader/selftest/mutation/explained.toml`; a
survivor without an explanation, or an explanation without a survivor, makes the command fail.
"""

Survives = Callable[[Mutant], bool]


@dataclass(frozen=True)
class Explanation:
    """Why some mutants may survive.

    Attributes:
        mutants: Their names.
        why: One line.
    """

    mutants: tuple[str, ...]
    why: str


def read_table(path: Path = TABLE) -> list[Explanation]:
    """The explanations."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["explained"]
    return [Explanation(tuple(entry["mutants"]), entry["why"]) for entry in entries]


class MutantJudge:
    """The hidden tests on mutants, which may hang or fill memory, so each runs in a worker."""

    def __init__(self, rubric: Rubric) -> None:
        """Start the fork server; tests are collected when a file first needs them."""
        torch.set_num_threads(1)
        self._rubric = rubric
        self._limits = Limits()
        self._zygote = Zygote(self._limits)
        self._tests: dict[str, HiddenTests] = {}

    def survives(self, mutant: Mutant) -> bool:
        """Whether it keeps every point.

        Raises:
            RuntimeError: If a hidden test itself fails on it.
        """
        if mutant.path not in self._tests:
            names = {name for name, path in HOME.items() if path == mutant.path}
            tasks = [task for task in self._rubric.tasks if names & set(task.names)]
            properties = [prop.id for task in tasks for prop in task.properties]
            self._tests[mutant.path] = HiddenTests(("cpu",), 0, properties)
        files = reference_files() | {mutant.path: mutant.text}
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
    """What does not agree between the survivors and the table of explanations."""
    surviving = {mutant.name for mutant in survivors}
    explained = {name for entry in table for name in entry.mutants}
    return [
        *(f"survives unexplained: {name}" for name in sorted(surviving - explained)),
        *(f"is explained, but killed: {name}" for name in sorted((explained - surviving) & set(all_names))),
        *(f"is explained, but there is no such mutant: {name}" for name in sorted(explained - set(all_names))),
    ]


def page(counts: Mapping[str, tuple[int, int]], survivors: Sequence[Mutant], table: Sequence[Explanation]) -> str:
    """Counts for each file, then every survivor as a diff below what explains it.

    Args:
        counts: From a file to its mutants, and how many of them were killed.
        survivors: Those that were not.
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
