"""Nothing that a student wrote becomes markup on a review page: not ids, names, paths, code, messages or comments."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.grades.decided import Book, DecidedClass
from grader.core.grades.model import Ruling
from grader.core.grades.people import People
from grader.core.intake.origin import Origin, Student
from grader.core.intake.submission import Submission
from grader.core.messages import quoted, say
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.report import Report, summary_line
from grader.core.results.statistics import entry
from grader.core.rubric import LANGUAGES
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.placing import book, drafted, placed
from grader.extras.decisions.review.classroom import Now, Reason, queue, without_cases
from grader.extras.decisions.review.pages import ReviewPages
from grader.selftest.class_reports import case as case_of
from grader.selftest.class_reports import graded
from grader.selftest.html_page import Element, parse
from grader.selftest.review_class import PROPERTIES

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</pre></textarea></option></select></title><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--",
    "&lt;b&gt;&#x3c;b>",
    "]]><b>",
    "\u2028<b>\u0000\u202e",
)
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")
TEXTS = st.text(LETTERS, min_size=1, max_size=60).filter(
    lambda text: any(char.isprintable() and not char.isspace() for char in text)
)


@cache
def rendering(language: str) -> ReviewPages:
    """The pages in a language, whose templates take a while to read."""
    return ReviewPages(ASSIGNMENT, language, "/root")


def pages(text: str, language: str) -> list[Element]:
    """Every page of a class in which all that a student can write is this text."""
    identifier = f"id {''.join(char for char in text if char.isprintable() and char != '/')}".strip()  # as intake does
    origin = Origin(source="canvas", students=(Student(id=text, name=text, email=text),), late=True)
    report = _with_messages(graded(identifier, dict.fromkeys(PROPERTIES[:2], Outcome.CRASHED), origin=origin), text)
    lines, rubric = [summary_line(report)], ASSIGNMENT.rubric
    people = People(lines)
    said = {"student": identifier, "comment": f"_{text}", "who": f"_{text}", "when": datetime(2026, 10, 5, tzinfo=UTC)}
    draft = drafted(said, Book(people=people), lambda _: report, rubric.policy)
    held = book(placed([Ruling(draft.decision, 1)], people, lambda _: report, rubric.policy), people)
    known = DecidedClass(Path(text), lines, held, rubric, lambda _: without_cases(report))
    reasons = [(identifier, Reason("near_zero", text)), (identifier, Reason("similar", text, text))]
    now = Now(known, [entry(report)], queue(lines, held, reasons))
    made = rendering(language)
    files = Submission(identifier, {"src/attention.py": f"{text}\n{text}", f"src/{text}.py": text})
    form = {"do": "override", "what": text, "points": text, "why": text}
    return [
        parse(page)
        for page in (
            made.classroom(now),
            made.student(now, lines[0], report, files),
            made.student(now, lines[0], report, text, problem=text, form=form),
            made.student(now, lines[0], report, files, problem=text, form={"do": "comment", "comment": text}),
            made.broken(text, [*form.items()]),
        )
    ]


def _with_messages(report: Report, text: str) -> Report:
    """The report with a text for every message, and a frame in the student's file."""
    frame = say(FRAME, path="src/attention.py", line=2, function="f", code=text)
    case = case_of("case", Outcome.CRASHED, quoted(text).then(frame))
    info = report.submission.model_copy(update={"notices": [text]})
    told = report.with_properties(
        lambda prop: prop if prop.outcome is Outcome.PASSED else prop.model_copy(update={"cases": [case, case]})
    )
    return told.model_copy(update={"submission": info})


def outline(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Every element, with the names of its attributes."""
    return [(one.tag, tuple(sorted(one.attributes))) for one in page.all()]


@cache
def plain(language: str) -> list[list[tuple[str, tuple[str, ...]]]]:
    """What the pages consist of where students wrote nothing but a letter."""
    return [outline(page) for page in pages("x", language)]


def assert_no_markup(text: str, language: str) -> None:
    for page, shown in zip(pages(text, language), plain(language), strict=True):
        assert outline(page) == shown
        for one in page.all():
            for name in ("href", "src", "action"):
                address = one.attributes.get(name)
                assert address is None or address.startswith(("/root/", "#", "data:,"))


@pytest.mark.slow
@settings(max_examples=40)
@given(text=TEXTS, language=st.sampled_from(LANGUAGES))
def test_no_text_of_a_student_becomes_markup(text: str, language: str) -> None:
    assert_no_markup(text, language)


@pytest.mark.parametrize("text", HOSTILE)
def test_known_ways_to_become_markup_do_not(text: str) -> None:
    assert_no_markup(text, "en")


def test_the_outline_would_show_markup() -> None:
    assert outline(parse("<p>a</p>")) != outline(parse("<p><b>a</b></p>"))
    assert outline(parse("<p>a</p>")) != outline(parse("<p onclick=''>a</p>"))
