"""``python -m grader.lab.gallery``, behind ``make gallery``: the feedback on each known mistake, on one page.

``--blind`` makes the page a test of the feedback: a reader should name at least nine of ten mistakes from it alone.
"""

from __future__ import annotations

import argparse
import difflib
import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from rich.console import Console

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.cli.terminal import follow
from grader.core.intake.submission import Submission
from grader.core.results.outcome import Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.results.views import in_language
from grader.core.run.executors import LocalExecutor
from grader.core.run.schedule import grade_all
from grader.core.settings import Settings
from grader.lab import one_line
from grader.specimens.variants import Variant


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; the exit status is 1 if a variant could not be graded."""
    parser = argparse.ArgumentParser(prog="python -m grader.lab.gallery", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/gallery.html"), help="the page to write")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="judges to run in parallel")
    parser.add_argument("--blind", type=int, metavar="N", help="show N without their names; answers in a second file")
    parser.add_argument("--seed", type=int, default=1, help="seed of that choice (default: %(default)s)")
    parser.add_argument("names", nargs="*", help="show variants whose names start like this; default: all")
    chosen = parser.parse_args(arguments)
    _ = ASSIGNMENT.rubric  # one that contradicts itself ends the command before a judge starts
    wanted = tuple(chosen.names) or ("",)
    variants = {v.name: v for v in all_variants() if not v.valid and v.name.startswith(wanted)}
    if not variants:
        parser.error(f"no wrong variant's name starts with {' or '.join(wanted)}")
    if chosen.blind:
        drawn = random.Random(chosen.seed).sample(sorted(variants), min(chosen.blind, len(variants)))
        variants = {name: variants[name] for name in drawn}
    reports = graded(variants, chosen.jobs)
    shown = [(variant, code(variant), list(feedback(reports[name]))) for name, variant in variants.items()]
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    page = templates.get_template("gallery.html.j2").render(shown=shown, blind=bool(chosen.blind))
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    if chosen.blind:
        for name in variants:  # a variant's function is named after its mistake
            page = page.replace(name.rpartition(".")[2], "…")
        answers = [f"{number}. {name}: {v.description}\n" for number, (name, v) in enumerate(variants.items(), 1)]
        chosen.out.with_suffix(".answers.txt").write_text("".join(answers), encoding="utf-8")
    chosen.out.write_text(page, encoding="utf-8")
    print(f"{len(shown)} wrong variants: {chosen.out}")
    lost = [
        f"{name}: {report.status}: {report.reason}" for name, report in reports.items() if report.status != "graded"
    ]
    print("\n".join(lost), end="\n" * bool(lost))
    return bool(lost)


def graded(variants: Mapping[str, Variant], jobs: int) -> dict[str, Report]:
    """The report of each variant, by name."""
    submissions = (Submission(name, dict(variant.files)) for name, variant in variants.items())
    with LocalExecutor(jobs) as executor:
        results = grade_all(submissions, Settings(ASSIGNMENT, language="en"), executor)
        followed = follow(results, "wrong variants", len(variants), Console(stderr=True))
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
    with one_line():
        sys.exit(main())
