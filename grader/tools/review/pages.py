"""Renders the review pages, from the same templates as the static ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ...decisions.folder import about
from ...decisions.grades import decided
from ...decisions.model import Ruling
from ...decisions.people import key, students
from ...decisions.words import for_staff
from ...definition import Assignment
from ...intake.submission import Submission
from ...pages.render import HERE as SHARED
from ...pages.render import class_content, prepared, templates
from ...results.language import in_language, repeats
from ...results.report import Report, SummaryLine
from .classroom import Now, Place
from .decide import Form, rulings, state
from .what_if import Moved
from .words import say
from .work import File, lost, shown

HERE = Path(__file__).parent
MOST_MOVED: Final = 100  # students that are named
STATIC: Final = {
    "pages.css": SHARED / "pages.css",
    "tables.js": SHARED / "tables.js",
    "review.css": HERE / "review.css",
    "review.js": HERE / "review.js",
}
_EMPTY: Final[Form] = {}


@dataclass(frozen=True)
class Shown:
    """What the page of one submission shows beside the class.

    Attributes:
        report: As the grader wrote it.
        submission: Its files as they lie there now; None if they are gone, and ``why`` says why.
    """

    report: Report
    submission: Submission | None
    why: str = ""


class ReviewPages:
    """Renders pages in one language."""

    def __init__(self, assignment: Assignment, language: str, root: str) -> None:
        """Read the templates.

        Args:
            assignment: Its rubric gives titles, hints and points.
            language: ``en`` or ``zh``.
            root: What every address of the page begins with.
        """
        self._assignment, self.language, self.root = assignment, language, root
        environment = prepared(templates(HERE), assignment.rubric, language)
        environment.globals |= {
            "say": partial(say, language),
            "root": root,
            "page_of": self.page_of,
        }
        self._template = environment.get_template

    def page_of(self, submission: str) -> str:
        """The address of a submission's page."""
        return f"{self.root}/student/{quote(submission, safe='')}"

    def classroom(self, now: Now) -> str:
        """The page of the class, with the queue first and the hardest properties on top of theirs."""
        content = class_content(now.entries)
        statistics = content["statistics"]
        hardest = sorted(statistics.properties, key=lambda own: 2.0 if own.rate is None else own.rate)
        return self._template("review_class.html.j2").render(
            **content | {"statistics": replace(statistics, properties=tuple(hardest))},
            queue=now.queue,
            waiting=now.waiting,
            void=[str(ruling) for ruling in now.known.book.unsettled if ruling.void],
            decisions=self._told(now),
        )

    def _told(self, now: Now) -> list[tuple[str, str]]:
        known = now.known
        return [(line.id, self._staff(own)) for line in known.lines for own in about(line, known.book)]

    def _staff(self, ruling: Ruling) -> str:
        return for_staff(ruling, self._assignment.rubric, self.language)

    def student(self, now: Now, line: SummaryLine, work: Shown, problem: str = "", form: Form = _EMPTY) -> str:
        """The page of one submission.

        Args:
            now: The class.
            line: Of the submission.
            work: Its report and its files.
            problem: Why nothing was written, in words; empty if nothing was refused.
            form: What somebody sent with a form that was refused, to be shown again.
        """
        rubric, book = self._assignment.rubric, now.known.book
        report = in_language(work.report, self._assignment, self.language)
        final = decided(report, book, rubric)
        files = shown(work.submission, report, rubric) if work.submission else []
        failing, alike = lost(final), repeats(final)
        following = [prop for others in alike.values() for prop in others]
        place = next((n for n, own in enumerate(now.queue, 1) if own.line.id == line.id), 0)
        return self._template("review_student.html.j2").render(
            line=line,
            report=report,
            final=final,
            people=[(now.known.book.people.name(key(own)), str(own)) for own in students(line.id, line.origin)],
            grades=now.known.grades.get(line.id, ()),
            own=now.queue[place - 1] if place else Place(line, ()),
            place=place,
            all=len(now.queue),
            state=state(now, line),
            rulings=[(own.decision.slot, self._staff(own), bool(own.stale)) for own in rulings(now, line)],
            files=files,
            anchors=_anchors(files),
            work=work,
            changed=bool(work.submission and work.submission.sha256 != work.report.submission.sha256),
            lost=failing,
            first=[prop for prop in failing if prop not in following],
            alike=alike,
            held=sum(len(task.properties) for task in final.tasks) - len(failing),
            overridable=_overridable(final),
            next=now.beside(line.id, 1),
            previous=now.beside(line.id, -1),
            problem=problem,
            form=form,
        )

    def moved(self, moved: Sequence[Moved]) -> str:
        """Whose grade would change, as a part of a page."""
        crossing = sum(bool(own.move.crossed) for own in moved)
        rest = max(0, len(moved) - MOST_MOVED)
        template = self._template("moved.html.j2")
        return template.render(moved=moved[:MOST_MOVED], all=len(moved), crossing=crossing, rest=rest)

    def broken(self, problem: str, form: Form = _EMPTY) -> str:
        """What is shown where files cannot be read or written: why, and what somebody sent, to be sent again."""
        return self._template("broken.html.j2").render(problem=problem, form=form)


def _overridable(report: Report) -> list[tuple[str, str, float, float]]:
    """Everything that can be overridden: id, words, points, and the most; what was lost first."""
    totals = [(name, "", getattr(report, name) or 0.0, getattr(report, f"max_{name}")) for name in ("score", "bonus")]
    properties = [(own.id, own.title, own.points, own.max_points) for task in report.tasks for own in task.properties]
    return [*sorted(properties, key=lambda own: own[2] >= own[3]), *(own for own in totals if own[3])]


def _anchors(files: Sequence[File]) -> Mapping[str, Sequence[tuple[str, str, bool]]]:
    """For each property its places in the files: the anchor, the words, and whether a case names the line."""
    found: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for file in files:
        for line in file.lines:
            place = (f"f{file.number}-{line.number}", f"{file.path}:{line.number}")
            for prop in line.by:
                found[prop].append((*place, True))
            for prop in line.begins:
                found[prop].append((*place, False))
    return {prop: sorted(places, key=lambda own: not own[2]) for prop, places in found.items()}
