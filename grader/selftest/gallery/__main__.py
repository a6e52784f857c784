"""``python -m grader.selftest.gallery``, behind ``make gallery``: grade every wrong variant and show it."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from rich.progress import track

from grader.assignment import load_rubric
from grader.executors.local import LocalExecutor
from grader.grading import reference_files
from grader.intake.submission import Submission
from grader.results.chinese import in_chinese
from grader.results.outcome import Outcome
from grader.results.report import PropertyReport, Report
from grader.schedule import grade_all
from grader.selftest.variants import Variant, all_variants
from grader.settings import Settings

JOBS = 2


@dataclass(frozen=True)
class Feedback:
    """What is said about one property, in both languages."""

    title: str
    outcome: str
    points: str
    named: str
    hints: tuple[str, str]
    messages: tuple[str, str]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m grader.selftest.gallery", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/gallery.html"), help="the page to write")
    out: Path = parser.parse_args().out
    variants = {variant.name: variant for variant in all_variants() if not variant.valid}
    exhibits = (Submission(name, dict(variant.files)) for name, variant in variants.items())
    with LocalExecutor(JOBS) as executor:
        graded = grade_all(exhibits, Settings(device="cpu", language="en"), executor)
        tracked = track(graded, "grading the wrong variants", total=len(variants))
        reports = {report.submission.id: report for report in tracked}
    shown = [(variant, code(variant), list(feedback(reports[name]))) for name, variant in variants.items()]
    templates = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(templates.get_template("page.html.j2").render(shown=shown), encoding="utf-8")
    print(f"{len(shown)} wrong variants: {out}")


def feedback(report: Report) -> Iterator[Feedback]:
    """What the report says about each property that lost its points."""
    rubric = load_rubric()
    for prop in (prop for task in report.tasks for prop in task.properties if prop.outcome is not Outcome.PASSED):
        known = rubric.misconception(prop.misconception) if prop.misconception else rubric.properties[prop.id]
        hints = (prop.hint, known.hint["zh"] if prop.outcome is Outcome.FAILED else "")
        message = _message(prop)
        yield Feedback(
            prop.title,
            str(prop.outcome),
            f"{prop.points:g} / {prop.max_points:g}",
            prop.misconception or "",
            hints,
            (message, in_chinese(message)),
        )


def _message(prop: PropertyReport) -> str:
    case = prop.simplest_case
    return f"{case.message} ({case.id})" if case and case.message else ""


def code(variant: Variant) -> str:
    """What differs from the reference, as a diff without context."""
    lines = []
    for path, text in sorted(variant.files.items()):
        before = reference_files().get(path, "").splitlines()
        changes = difflib.unified_diff(before, text.splitlines(), path, path, lineterm="", n=0)
        lines += [line for line in changes if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
