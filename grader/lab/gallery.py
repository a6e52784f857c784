"""``python -m grader.lab.gallery``, behind ``make gallery``: the feedback on each known mistake, on one page.

``--blind`` makes the page a test of the feedback: a reader should name at least nine of ten mistakes from it alone.
"""

from __future__ import annotations

import difflib
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.cli.terminal import follow, in_one_line
from grader.core.intake.submission import Submission
from grader.core.pages.render import templates
from grader.core.results.outcome import Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.results.views import in_language
from grader.core.run.executors import LocalExecutor
from grader.core.run.schedule import grade_all
from grader.core.settings import Settings
from grader.specimens.variants import Variant


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Variants whose names start so. Default: all.")] = None,
    out: Annotated[Path, typer.Option(help="Output page.")] = Path("build/gallery.html"),
    jobs: Annotated[int, typer.Option(help="Judges to run in parallel.")] = os.cpu_count() or 1,
    blind: Annotated[int, typer.Option(help="So many, without their names; answers in a second file.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of that choice.")] = 1,
) -> None:
    """Write the page; the exit status is 1 if a variant could not be graded."""
    _ = ASSIGNMENT.rubric  # one that contradicts itself ends the command before a judge starts
    wanted = tuple(names or ("",))
    variants = {v.name: v for v in all_variants() if not v.valid and v.name.startswith(wanted)}
    if not variants:
        raise typer.BadParameter(f"no wrong variant's name starts with {' or '.join(wanted)}")
    if blind:
        drawn = random.Random(seed).sample(sorted(variants), min(blind, len(variants)))
        variants = {name: variants[name] for name in drawn}
    reports = graded(variants, jobs)
    shown = [(variant, code(variant), list(feedback(reports[name]))) for name, variant in variants.items()]
    page = templates(Path(__file__).parent).get_template("gallery.html.j2").render(shown=shown, blind=bool(blind))
    out.parent.mkdir(parents=True, exist_ok=True)
    if blind:
        for name in variants:  # a variant's function is named after its mistake
            page = page.replace(name.rpartition(".")[2], "…")
        answers = [f"{number}. {name}: {v.description}\n" for number, (name, v) in enumerate(variants.items(), 1)]
        out.with_suffix(".answers.txt").write_text("".join(answers), encoding="utf-8")
    out.write_text(page, encoding="utf-8")
    print(f"{len(shown)} wrong variants: {out}")
    lost = {name: report for name, report in reports.items() if report.status != "graded"}
    for name, report in lost.items():
        print(f"{name}: {report.status}: {report.reason}")
    raise typer.Exit(bool(lost))


def graded(variants: Mapping[str, Variant], jobs: int) -> dict[str, Report]:
    """The report of each variant, by name."""
    submissions = (Submission(name, dict(variant.files)) for name, variant in variants.items())
    with LocalExecutor(jobs) as executor:
        results = grade_all(submissions, Settings(ASSIGNMENT), executor)
        followed = follow(results, "wrong variants", len(variants))
        return {report.submission.id: report for report in followed}


def feedback(report: Report) -> Iterator[tuple[PropertyReport, PropertyReport]]:
    """Each property that lost its points, in both languages."""
    chinese = in_language(report, ASSIGNMENT, "zh").properties
    lost = (prop for prop in report.properties.values() if prop.outcome is not Outcome.PASSED)
    return ((prop, chinese[prop.id]) for prop in lost)


def code(variant: Variant) -> str:
    """The difference between a variant and the reference, as a diff without context."""
    lines = []
    for path, text in sorted(variant.files.items()):
        before = ASSIGNMENT.solution().get(path, "").splitlines()
        changes = difflib.unified_diff(before, text.splitlines(), path, path, lineterm="", n=0)
        lines += [line for line in changes if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(in_one_line(main))
