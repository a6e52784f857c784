"""Renders the review pages, from the same templates as the static ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from grader.core.assignment import Assignment
from grader.core.grades.people import students
from grader.core.intake.submission import Submission
from grader.core.pages.render import HERE as SHARED
from grader.core.pages.render import class_content, prepared, templates
from grader.core.results.report import Report, SummaryLine
from grader.core.results.views import in_language, in_words, repeats
from grader.extras.decisions.alike import Group
from grader.extras.decisions.decided import overridden
from grader.extras.decisions.placing import parts
from grader.followup.anonymous import MARK, SAID, Anonymous, called, hide, own_names

from .classroom import Now, Place, say
from .decide import Form, state
from .work import File, anchors, lost, shown

HERE = Path(__file__).parent
STATIC: Final = {
    "pages.css": SHARED / "pages.css",
    "tables.js": SHARED / "tables.js",
    "review.css": HERE / "review.css",
    "review.js": HERE / "review.js",
}


class ReviewPages:
    """Renders pages in one language."""

    def __init__(self, assignment: Assignment, language: str, root: str, anonymous: bool = False) -> None:
        """Read the templates. Every address begins with ``root``."""
        self._assignment, self.language, self.root, self._anonymous = assignment, language, root, anonymous
        # The replacements for names on anonymous pages.
        self._hidden = lru_cache(maxsize=1)(lambda now: hide(now.known) if anonymous else None)
        environment = prepared(templates(HERE), assignment.rubric, language)
        environment.globals |= {"say": partial(say, language), "root": root}
        environment.filters["in_words"] = lambda message: in_words(message, None, language)
        self._template = environment.get_template

    def page_of(self, now: Now, submission: str) -> str:
        """The address of a submission's page."""
        hidden = self._hidden(now)
        name = hidden.names.get(submission, submission) if hidden else submission
        return f"{self.root}/student/{quote(name, safe='')}"

    def meant(self, shown: str, now: Now) -> str:
        """The id of the submission whose page has this address suffix."""
        hidden = self._hidden(now)
        return next((submission for submission, name in hidden.names.items() if name == shown), "") if hidden else shown

    def classroom(self, now: Now) -> str:
        """The page of the class, with the queue first and the hardest properties on top of theirs."""
        hidden = self._hidden(now)
        entries, queue, told = now.entries, now.queue, now.known.told(self.language)
        void = [str(ruling) for ruling in now.known.book.unsettled if ruling.void]
        if hidden:
            entries = sorted((replace(one, line=hidden.line(one.line)) for one in entries), key=lambda one: one.line.id)
            queue, told, void = [_unnamed(place, hidden) for place in queue], [], []
        content = class_content(entries)
        statistics = content["statistics"]
        hardest = sorted(statistics.properties, key=lambda prop: 2.0 if prop.rate is None else prop.rate)
        return self._template("review_class.html.j2").render(
            **content | {"statistics": replace(statistics, properties=tuple(hardest))},
            page_of=partial(self.page_of, now),
            queue=queue,
            waiting=[place for place in queue if place.seen is None],
            void=void,
            decisions=told,
            groups=now.groups,
        )

    def student(
        self, now: Now, line: SummaryLine, graded: Report, found: Submission | str, problem: str, form: Form
    ) -> str:
        """The page of one submission: its report as the grader wrote it, and its files now, or why they are gone.

        ``problem`` says why a form was refused, whose content is shown again; empty if none was.
        """
        rubric, book, hidden = self._assignment.rubric, now.known.book, self._hidden(now)
        report = in_language(graded, self._assignment, self.language)
        final = overridden(report, book.points(report.submission.id), rubric)
        place, entry = next(
            ((n, entry) for n, entry in enumerate(now.queue, 1) if entry.line.id == line.id), (0, Place(line, ()))
        )
        people = list(map(str, students(line.id, line.origin)))
        grades = now.known.grades.get(line.id, ())
        held = book.everything(line)
        told = [(one.decision.slot, one.for_staff(rubric, self.language), bool(one.stale)) for one in held]
        files = self._files(found, report, line, hidden)
        if hidden:
            report, final, entry = hidden.report(report), hidden.report(final), _unnamed(entry, hidden)
            grades, people = hidden.grades(grades, entry.line.id), called(entry.line.id, len(people))
            told = [(slot, hidden.text(text), stale) for slot, text, stale in told]
            problem = hidden.text(problem)
        failing, alike = lost(final), repeats(final)
        following = [prop for others in alike.values() for prop in others]
        return self._template("review_student.html.j2").render(
            page_of=partial(self.page_of, now),
            line=entry.line,
            report=report,
            final=final,
            people=people,
            grades=grades,
            entry=entry,
            place=place,
            all=len(now.queue),
            state=state(now, [line.id]),
            rulings=told,
            files=files,
            anchors=anchors(files),
            gone=isinstance(found, str),
            why=found if isinstance(found, str) and not hidden else "",
            changed=not isinstance(found, str) and found.sha256 != graded.submission.sha256,
            lost=failing,
            first=[prop for prop in failing if prop not in following],
            alike=alike,
            held=len(final.properties) - len(failing),
            overridable=sorted(  # properties come first, and of these what was lost
                (one for one in parts(final).values() if one.most),
                key=lambda one: one.points >= one.most if one.id in rubric.properties else 2,
            ),
            next=now.beside(line.id, 1),
            previous=now.beside(line.id, -1),
            problem=problem,
            form=form,
            groups={one.property: one for one in now.groups if line.id in one.members},
            bank=[] if self._anonymous else _bank(now, line.id),
        )

    def group(
        self, now: Now, group: Group, reports: Sequence[Report], found: Submission | str, problem: str, form: Form
    ) -> str:
        """The page of a group: the files of the first submission beside its failure, and the others.

        The reports are those of the members, in order, as the grader wrote them; the rest is as for :meth:`student`.
        """
        rubric, hidden = self._assignment.rubric, self._hidden(now)
        lines, members = [now.known.line(one) for one in group.members], []
        for line, report in zip(lines, reports, strict=True):
            told = in_language(hidden.report(report) if hidden else report, self._assignment, self.language)
            name = hidden.names[line.id] if hidden else ", ".join(map(str, students(line.id, line.origin)))
            members.append((name, line.id, told.properties[group.property]))
        files = self._files(found, reports[0], lines[0], hidden)
        return self._template("review_group.html.j2").render(
            page_of=partial(self.page_of, now),
            group=group,
            mistake=rubric.misconception(group.mistake).hint[self.language] if group.mistake else "",
            members=members,
            files=files,
            anchors=anchors(files),
            state=state(now, group.members),
            following=[one for one in now.groups if one.key != group.key][:1],
            problem=hidden.text(problem) if hidden else problem,
            form=form,
        )

    def _files(
        self, found: Submission | str, report: Report, line: SummaryLine, hidden: Anonymous | None
    ) -> Sequence[File]:
        files = [] if isinstance(found, str) else shown(found, report, self._assignment.rubric)
        return [file.without(own_names(line), MARK) for file in files] if hidden else files

    def broken(self, problem: str, sent: Sequence[tuple[str, str]]) -> str:
        """What is shown where files cannot be read or written: why, and what somebody sent, to be sent again."""
        if self._anonymous:
            problem = problem.rpartition(": ")[2]  # a path or a place may say who somebody is
        return self._template("broken.html.j2").render(problem=problem, sent=sent)


def _bank(now: Now, submission: str) -> list[str]:
    """The comments so far on submissions with a mistake that this one has, too."""
    mine = now.causes.get(submission, {}).items()
    alike = [other for other, causes in now.causes.items() if other != submission and causes.items() & mine]
    told = (ruling.decision.comment for other in alike for ruling in now.known.book.held.get(other, ()))
    return [*dict.fromkeys(filter(None, told))]


def _unnamed(place: Place, hidden: Anonymous) -> Place:
    """A queue entry under a pseudonym, without reasons that name a file or a person."""
    reasons = [
        replace(one, text=one.text if one.code in SAID else "", other=hidden.names.get(one.other, ""))
        for one in place.reasons
    ]
    return replace(place, line=hidden.line(place.line), reasons=reasons)
