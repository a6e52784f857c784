"""From reports to HTML. Templates escape every value, and show a mark in place of invisible characters."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..results.language import repeats
from ..results.policy import days_late, grade
from ..results.report import Attention, Practice, Report
from ..results.statistics import Entry, class_statistics
from ..rubric import Rubric
from .words import SIMULATED, say

HERE = Path(__file__).parent


class Pages:
    """Renders pages in one language. The same input gives the same text."""

    def __init__(self, rubric: Rubric, language: str, handout: str = "") -> None:
        """Read the templates.

        Args:
            rubric: Gives titles, hints and the policy.
            language: ``en`` or ``zh``.
            handout: Web address of the rendered handout, for links; without it, pages name the file instead.
        """
        self._rubric = rubric
        environment = Environment(
            loader=FileSystemLoader(HERE),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
            finalize=_printable,
        )
        environment.filters["number"] = "{:g}".format
        environment.filters["devices"] = partial(_devices, language)
        environment.globals |= {
            "rubric": rubric,
            "language": language,
            "say": partial(say, language),
            "task_numbers": {task.id: number for number, task in enumerate(rubric.tasks, start=1)},
            "hints": {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions},
            "address": handout.rstrip("/"),
        }
        self._student = environment.get_template("student.html.j2")
        self._class = environment.get_template("class.html.j2")

    def student(self, report: Report, practice: Practice | None = None) -> str:
        """The page of one student, which says nothing about any other.

        Args:
            report: What to explain, in the language of the pages.
            practice: Points earned in the notebooks; None where no notebooks were graded.
        """
        origin, policy = report.submission.origin, self._rubric.policy
        graded = report.score is not None and report.bonus is not None
        return self._student.render(
            report=report,
            practice=practice,
            grade=grade(policy, report.score or 0, report.bonus or 0, origin) if graded else None,
            days_late=days_late(policy, origin),
            lost=[prop.id for task in report.tasks for prop in task.properties if prop.points < prop.max_points],
            repeats=repeats(report),
        )

    def classroom(self, entries: Sequence[Entry], attention: Sequence[Attention] = ()) -> str:
        """The page of the class."""
        script = (HERE / "tables.js").read_text(encoding="utf-8")
        return self._class.render(
            entries=entries,
            attention=attention,
            statistics=class_statistics(entries),
            tasks={
                task.id: task.max_score for entry in entries if entry.line.score is not None for task in entry.tasks
            },
            named=any(entry.line.origin and entry.line.origin.students for entry in entries),
            practised=any(entry.line.practice for entry in entries),
            script=Markup(script),  # ours, not a student's
            script_sha256=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )


def _printable(value: Any) -> Any:
    """A value with a mark in place of each invisible character; jinja calls this for every expression."""
    if type(value) is not str:  # text marked as safe comes from templates
        return value
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in value)


def _devices(language: str, names: str) -> str:
    """The devices of an environment, separated by commas, in a language."""
    return names.replace(SIMULATED["en"], SIMULATED[language])
