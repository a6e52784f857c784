"""A blind test of the feedback: its reader names each mistake from the feedback alone.

Some wrong variants are drawn with a seed. One file has what students read about each, under a number; the other one has
the answers. At least nine of ten should be found.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from grader.core.results.outcome import Outcome
from grader.core.results.report import CaseReport, Report, message_of
from grader.core.specimens.variants import Variant


def drawn(variants: Mapping[str, Variant], count: int, seed: int) -> dict[str, Variant]:
    """So many variants, the same ones for the same seed."""
    names = random.Random(seed).sample(sorted(variants), min(count, len(variants)))
    return {name: variants[name] for name in names}


def write(folder: Path, variants: Mapping[str, Variant], reports: Mapping[str, Report]) -> tuple[Path, Path]:
    """Write the questions and the answers; gives both files."""
    questions, answers = folder / "questions.txt", folder / "answers.txt"
    folder.mkdir(parents=True, exist_ok=True)
    asked = [f"## {number}\n{told(reports[name])}\n" for number, name in enumerate(variants, 1)]
    questions.write_text("\n".join(asked), encoding="utf-8")
    known = [f"{number}. {name}: {variant.description}\n" for number, (name, variant) in enumerate(variants.items(), 1)]
    answers.write_text("".join(known), encoding="utf-8")
    return questions, answers


def told(report: Report) -> str:
    """What a report says about each property that lost its points, without the names of functions."""
    lines = []
    for prop in (prop for task in report.tasks for prop in task.properties):
        if prop.outcome in (Outcome.PASSED, Outcome.NOT_ASSESSED):
            continue
        failing = [case for case in prop.cases if case.outcome is prop.outcome]
        lines.append(f"✗ {prop.title} ({prop.outcome}, {len(failing)} of {len(prop.cases)} cases)\n  {prop.hint}")
        if prop.evidence:
            lines.append("  " + _unnamed(prop.evidence).replace("\n", "\n  "))
    return "\n".join(lines)


def _unnamed(case: CaseReport) -> str:
    """A case's message without the names of functions: variants' functions are called by their mistakes."""
    return str(message_of([part.model_copy(update={"fields": part.fields | {"function": "…"}}) for part in case.parts]))
