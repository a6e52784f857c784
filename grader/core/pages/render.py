"""From reports to HTML. Templates escape every value, and show a mark for each invisible character."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from grader.core.assignment import Law
from grader.core.grades.graded import StudentGrade
from grader.core.pages import devices_in, say
from grader.core.results.policy import days_late
from grader.core.results.report import Attention, Practice, Report
from grader.core.results.statistics import Entry, beside, class_statistics
from grader.core.results.views import repeats
from grader.core.rubric import Rubric

HERE = Path(__file__).parent
NO_LAWS: Mapping[str, Law] = MappingProxyType({})
NOTHING: Mapping[str, Practice] = MappingProxyType({})


def templates(*folders: Path) -> Environment:
    """The templates of these folders and of this package; no value becomes markup, or holds invisible characters."""
    return Environment(
        loader=FileSystemLoader([*folders, HERE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_printable,
    )


def prepared(
    environment: Environment, rubric: Rubric, language: str, handout: str = "", laws: Mapping[str, Law] = NO_LAWS
) -> Environment:
    """Templates with all that the pages of a class and of a student use."""
    environment.filters["number"] = "{:g}".format
    environment.filters["devices"] = partial(devices_in, language)
    environment.globals |= {
        "rubric": rubric,
        "language": language,
        "say": partial(say, language),
        "page_of": lambda submission: f"students/{quote(submission)}.html",
        "task_numbers": {task.id: number for number, task in enumerate(rubric.tasks, start=1)},
        "hints": {mistake.id: mistake.hint[language] for mistake in rubric.misconceptions},
        "address": handout.rstrip("/"),
        "laws": laws,
    }
    return environment


class Pages:
    """Renders pages in one language. The same input gives the same text."""

    def __init__(self, rubric: Rubric, language: str, handout: str = "", laws: Mapping[str, Law] = NO_LAWS) -> None:
        """Read the templates. Without the web address of the rendered handout, pages name its files, without links."""
        self._rubric, self._language = rubric, language
        environment = prepared(templates(), rubric, language, handout, laws)
        self._student = environment.get_template("student.html.j2")
        self._class = environment.get_template("class.html.j2")

    def student(
        self,
        report: Report,
        found: Sequence[StudentGrade],
        beside: Mapping[str, Practice] = NOTHING,
    ) -> str:
        """The page of one student, which says nothing about any other; the report is in the language of the pages.

        ``found`` holds the grades of this submission's students; it is empty if another of their submissions counts.
        ``beside`` are the points of :class:`Entry` of that name.
        """
        # Each once, and not who decided: only staff may know that.
        decisions = dict.fromkeys(decision for one in found for decision in one.decisions)
        return self._student.render(
            report=report,
            beside=beside,
            graded=report.score is not None,
            counted=self._counted(found),
            decided=[(one.for_student(self._rubric, self._language), one.code) for one in decisions],
            late_at_all=days_late(self._rubric.policy, report.submission.origin) > 0,
            lost=[name for name, prop in report.properties.items() if prop.points < prop.max_points],
            repeats=repeats(report),
        )

    def _counted(self, found: Sequence[StudentGrade]) -> list[str]:
        """What the gradebook gets, if not the points as they are; with names where that differs within a team."""
        if not found:
            return [say(self._language, "other_counts")]
        told = [(one, self._counts(one)) for one in found]
        alike = len({text for _, text in told}) == 1
        return [text if alike else f"{one.student}: {text}" for one, text in told[: 1 if alike else None] if text]

    def _counts(self, graded: StudentGrade) -> str:
        """What the gradebook gets for one student; empty if it gets the points as they are."""
        speak = partial(say, self._language)
        if graded.excused:
            return speak("excused")
        if graded.grade is None or graded.grade.points == graded.grade.raw:
            return ""
        points, penalty = f"{graded.grade.points:g}", graded.grade.penalty
        if penalty:
            return speak("counts_as", points=points, penalty=f"{penalty:g}", days=graded.grade.days)
        return speak("capped", points=points, counted=f"{graded.grade.points - (graded.line.score or 0):g}")

    def classroom(
        self,
        entries: Sequence[Entry],
        attention: Sequence[Attention] = (),
        decisions: Sequence[tuple[str, str]] = (),
        picture: str = "",
    ) -> str:
        """The page of the class, with what people decided: for each decision the submission, and the words.

        ``picture`` is a section about points beside the score, as markup.
        """
        script = (HERE / "tables.js").read_text(encoding="utf-8")
        return self._class.render(
            **class_content(entries, picture),
            attention=attention,
            decisions=decisions,
            script=Markup(script),  # ours, not a student's
            script_sha256=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )


def class_content(entries: Sequence[Entry], picture: str = "") -> dict[str, Any]:
    """What the page of a class shows of its reports."""
    return {
        "picture": picture,
        "entries": entries,
        "statistics": class_statistics(entries),
        "tasks": {task: one.tasks[task][1] for one in entries if one.line.score is not None for task in one.tasks},
        "named": any(one.line.origin and one.line.origin.students for one in entries),
        "beside": beside(entries),
    }


def _printable(value: Any) -> Any:
    """A value with a mark for each invisible character; jinja calls this for every expression."""
    if type(value) is not str:  # text marked as safe comes from templates
        return value
    return "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in value)
