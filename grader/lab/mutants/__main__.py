"""``python -m grader.lab.mutants``: judge the mutants, write the page, fail if a wrong verdict is not explained."""

from __future__ import annotations

import contextlib
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import torch
import typer

from grader.assignment import ASSIGNMENT
from grader.core.cli.terminal import in_one_line
from grader.core.judge.devices import devices
from grader.core.judge.judging import run_tests
from grader.core.judge.student import Student
from grader.core.results.outcome import CaseResult
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.lab.charges import lost
from grader.lab.verify.variants import hidden_tests

from .behaviour import AT_ONCE, Comparison
from .mutants import Mutant, mutants, sources

TABLE = ASSIGNMENT.folder / "mutants.toml"
PAGE = ASSIGNMENT.root / "grader" / "docs" / "mutants.md"
WRONG = 50  # edits of each original


def read_table() -> dict[str, list[str]]:
    """Why some mutants may survive: from each explanation, in one line, to the names of the mutants."""
    return {entry["why"]: entry["mutants"] for entry in tomllib.loads(TABLE.read_text(encoding="utf-8"))["explained"]}


@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant.

    Attributes:
        differing: The names whose answers differ from the original's, up to the first that is charged, and how.
        charged: The properties that lost their points.
        fault: The property and the case of a hidden test that failed by itself.
    """

    mutant: Mutant
    differing: Mapping[str, str]
    charged: frozenset[str]
    fault: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the verdict is right: a mutant loses points if and only if it behaves otherwise."""
        return not self.fault and bool(self.differing) == bool(self.charged)


class MutantJudge:
    """Judges mutants by the hidden tests. A mutant may hang or fill the memory, so each runs in a worker."""

    def __init__(self) -> None:
        """Start the fork server; the hidden tests of a task are collected when its first mutant is judged."""
        torch.set_num_threads(1)
        self._limits = Limits()
        self._devices = devices("auto")
        self._zygote = Zygote(self._limits, self._devices)
        self.start_worker = self._zygote.start

    def verdicts(self, source: str, files: Mapping[str, str], wrong: int) -> Iterator[Verdict]:
        """Judge mutants of a submission until so many of them differ from it; those that fail at once are left out."""
        comparison = Comparison(self.start_worker, files, next(iter(self._devices[1:]), None))
        for mutant in mutants(source, files):
            edited = {**files, mutant.path: mutant.text}
            differing: dict[str, str] = {}
            charged, fault = frozenset[str](), ""
            try:
                for name, how in comparison.differing(mutant.path, mutant.text, mutant.where.partition(".")[0]):
                    differing[name] = how
                    if how == AT_ONCE or (charged := self.charged(edited, [name])):
                        break
                charged = charged if differing else self.charged(edited, comparison.using(mutant.path))
            except RuntimeError as error:
                fault = str(error).partition(":")[0]
            if AT_ONCE in differing.values():
                continue
            yield Verdict(mutant, differing, charged, fault)
            wrong -= bool(differing)
            if not wrong:
                return

    def charged(self, files: Mapping[str, str], names: Iterable[str]) -> frozenset[str]:
        """The properties that lose their points, of the tasks that have these names.

        Raises:
            RuntimeError: If a hidden test itself is faulty.
        """
        results: list[CaseResult] = []
        for task in (task for task in ASSIGNMENT.rubric.tasks if {*task.names} & {*names}):
            student = Student(files, self.start_worker, ASSIGNMENT.rubric, self._limits)
            results += run_tests(hidden_tests(ASSIGNMENT, 0, task.id), student)
        return lost(results)

    def close(self) -> None:
        """End the fork server."""
        self._zygote.close()


def problems(verdicts: Iterable[Verdict], table: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each wrong verdict that is not explained, and for each explanation that explains none."""
    wrong = {verdict.mutant.name: verdict for verdict in verdicts if not verdict.is_right}
    explained = {name for names in table.values() for name in names}
    return [
        *(f"{_fate(wrong[name])}, unexplained: {name}" for name in sorted(wrong.keys() - explained)),
        *(f"is explained, but judged rightly or not made: {name}" for name in sorted(explained - wrong.keys())),
    ]


def _fate(verdict: Verdict) -> str:
    if verdict.fault:
        return f"makes the grader fail in {verdict.fault}"
    return "survives" if verdict.differing else f"is equivalent, but loses {', '.join(sorted(verdict.charged))}"


def page(verdicts: Sequence[Verdict], table: Mapping[str, Sequence[str]]) -> str:
    """The page: counts for each original, then every wrong verdict as a diff below its explanation."""
    template = Path(__file__).with_name("mutants.md.j2").read_text(encoding="utf-8")
    rows = []
    for source in [*dict.fromkeys(verdict.mutant.source for verdict in verdicts), "all"]:
        chosen = [verdict for verdict in verdicts if source in ("all", verdict.mutant.source)]
        wrong = [verdict for verdict in chosen if verdict.differing]
        quiet = sum("value" in verdict.differing.values() for verdict in wrong)
        caught = sum(bool(verdict.charged) for verdict in wrong)
        charged = sum(bool(verdict.charged) for verdict in chosen) - caught
        rows.append((source, len(wrong), quiet, caught, len(wrong) - caught, len(chosen) - len(wrong), charged))
    by_name = {verdict.mutant.name: verdict.mutant for verdict in verdicts if not verdict.is_right}
    explained = {why: [by_name[name] for name in names if name in by_name] for why, names in table.items()}
    page = jinja2.Template(template, trim_blocks=True, keep_trailing_newline=True)
    return str(page.render(rows=rows, explained=explained))


def main() -> None:
    """Judge all mutants; the exit status is 1 if wrong verdicts and explanations do not match."""
    _ = ASSIGNMENT.rubric  # one that contradicts itself ends the command before a judge starts
    verdicts: list[Verdict] = []
    with contextlib.closing(MutantJudge()) as judge:
        for source, files in sources().items():
            verdicts += judge.verdicts(source, files, WRONG)
            print(f"{source}: {len(verdicts)} mutants judged so far", file=sys.stderr, flush=True)
    table = read_table()
    PAGE.write_text(page(verdicts, table), encoding="utf-8")
    found = problems(verdicts, table)
    print(*found, sep="\n", end="\n" if found else "")
    wrong = [verdict for verdict in verdicts if verdict.differing]
    caught = sum(bool(verdict.charged) for verdict in wrong)
    print(f"{len(wrong)} wrong mutants, {caught} caught ({caught / len(wrong):.1%}). Page: {PAGE}")
    raise typer.Exit(bool(found))


if __name__ == "__main__":
    typer.run(in_one_line(main))
