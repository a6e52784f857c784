"""The review page answers nobody without its token or from another page; ``--anonymous`` says who nobody is."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.grades.graded import FILE
from grader.core.grades.people import People
from grader.core.intake.origin import Origin, Student
from grader.core.intake.submission import Submission
from grader.core.messages import quoted, say
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.report import Report, Summary, summary_line
from grader.core.results.statistics import entry
from grader.core.rubric import LANGUAGES
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.anonymous.selftest.test_anonymous import HEADER, folder
from grader.extras.decisions.decided import Book, DecidedClass
from grader.extras.decisions.file import read
from grader.extras.decisions.model import Ruling
from grader.extras.decisions.placing import book, drafted, placed
from grader.extras.decisions.review.classroom import Classroom, Now, Reason, queue, without_cases
from grader.extras.decisions.review.pages import ReviewPages
from grader.extras.decisions.review.server import FORM, HEADERS, MAX_BODY
from grader.followup.anonymous import pseudonyms
from grader.selftest.class_reports import case as case_of
from grader.selftest.class_reports import graded
from grader.selftest.html_page import Element, parse
from grader.selftest.review_class import HOST, PORT, PROPERTIES, TOKEN, Desk, write_review_class

PATHS = ["", "student/bo", "group/0123456789ab", "static/review.js", "static/pages.css", "nothing"]
FIELDS = {"do": "comment", "comment": "Hello."}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """One for all tests here, none of which may write anything."""
    return Desk(write_review_class(tmp_path_factory.mktemp("review") / "out"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", "t0ke", "t0kenn", "T0KEN", "t0k\u00e9n", "%2e%2e/t0ken"])
def test_without_the_token_nothing_is_answered_whatever_the_path(desk: Desk, token: str, path: str) -> None:
    answer = desk.client.get(f"/{token}/{path}" if token else f"/{path}")
    assert (answer.status_code, answer.text) == (404, "not found")
    sent = desk.client.post(f"/{token}/{path}", data=FIELDS, headers={"origin": HOST})
    assert (sent.status_code, sent.text) == (404, "not found")
    assert not (desk.out / FILE).exists()


OTHERS = (
    "evil.example",
    f"evil.example:{PORT}",
    "127.0.0.1",
    f"127.0.0.1:{PORT + 1}",
    f"127.0.0.1.evil:{PORT}",
    "",
)


@pytest.mark.parametrize("hosts", [*((one,) for one in OTHERS), (f"127.0.0.1:{PORT}", "evil.example")])
def test_another_name_for_this_address_is_refused_also_beside_the_right_one(desk: Desk, hosts: tuple[str, ...]) -> None:
    answer = desk.client.get(f"/{TOKEN}/", headers=[("host", host) for host in hosts])
    assert (answer.status_code, answer.text) == (421, "another host")


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}"])
def test_both_names_of_this_machine_are_served(desk: Desk, host: str) -> None:
    assert desk.client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", f"https://127.0.0.1:{PORT}", "http://127.0.0.1", f"{HOST}/", "*"]
)
def test_a_form_of_another_page_writes_nothing(desk: Desk, origin: str | None) -> None:
    fields = {**FIELDS, "state": desk.state("bo")}
    headers = {} if origin is None else {"origin": origin}
    answer = desk.client.post(f"/{TOKEN}/student/bo", data=fields, headers=headers)
    assert (answer.status_code, answer.text) == (403, "from another page")
    assert not (desk.out / FILE).exists()


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_get_and_post_are_answered(desk: Desk, method: str) -> None:
    assert desk.client.request(method, f"/{TOKEN}/", headers={"origin": HOST}).status_code == 405


def test_only_forms_of_a_fair_size_are_read(desk: Desk) -> None:
    path, origin = f"/{TOKEN}/student/bo", {"origin": HOST}
    assert desk.client.post(path, json=FIELDS, headers=origin).status_code == 415
    large = {"content-type": FORM, **origin}
    assert desk.client.post(path, content=b"x" * (MAX_BODY + 1), headers=large).status_code == 413
    assert desk.client.post(path, content=iter([b"do=comment"]), headers=large).status_code == 413  # without a length


def test_a_post_elsewhere_and_a_page_that_is_not_there_are_refused(desk: Desk) -> None:
    origin = {"origin": HOST}
    assert desk.client.post(f"/{TOKEN}/", data=FIELDS, headers=origin).status_code == 405
    for path in ("student/nobody", "student/../summary", "student/", "static/app.py", "static/..%2fapp.py", "x"):
        assert desk.client.get(f"/{TOKEN}/{path}").status_code == 404


@pytest.mark.parametrize("path", [*PATHS, "student/nobody"])
@pytest.mark.parametrize("token", [TOKEN, "wrong"])
def test_every_answer_forbids_scripts_of_others_frames_and_copies(desk: Desk, token: str, path: str) -> None:
    headers = desk.client.get(f"/{token}/{path}").headers
    assert {name: headers.get(name) for name in HEADERS} == HEADERS
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers


def test_pages_run_no_script_of_their_own_and_load_only_ours(desk: Desk) -> None:
    for path in ("", "student/bo"):
        page = desk.page(path)
        assert all(one.text == "" for one in page.all("script"))
        assert page.all("style") == []
        loaded = [one.attributes.get("src") or "" for one in page.all("script", "img")]
        loaded += [one.attributes.get("href") or "" for one in page.all("link")]
        assert all(one.startswith((f"/{TOKEN}/static/", "data:,")) for one in loaded)
        handlers = [name for one in page.all() for name in one.attributes if name.startswith("on") or name == "style"]
        assert handlers == []


def identities(reports: list[Report]) -> list[str]:
    """Everything by which somebody may be known."""
    people = [one for report in reports for one in report.submission.origin.students]  # type: ignore[union-attr]
    parts = [part for one in people for part in (one.id, one.email, one.email.split("@")[0], *one.name.split())]
    return [*parts, *(report.submission.id for report in reports)]


@pytest.mark.parametrize(("seed", "language"), [(2, "en"), pytest.param(3, "zh", marks=pytest.mark.slow)])
def test_no_answer_says_who_anybody_is(tmp_path: Path, seed: int, language: str) -> None:
    out, _ = folder(tmp_path / "out", random.Random(seed), 12)
    lines = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions
    reports = [Report.model_validate_json((out / line.id / "report.json").read_bytes()) for line in lines]
    names = pseudonyms(out, [line.id for line in lines])
    desk = Desk(out, language, anonymous=True)
    for report in reports:
        (student, *_) = report.submission.origin.students  # type: ignore[union-attr]
        signed = HEADER.format(name=student.name, id=student.id, email=student.email)
        first = student.name.split()[0].lower()
        text = f"{signed}\n" + ASSIGNMENT.solution()["src/attention.py"]
        desk.files[report.submission.id] = {"src/attention.py": text, f"src/{first}_helpers.py": f"# {signed.upper()}"}
    answers = [desk.client.get(f"/{TOKEN}/")]
    (group,) = Classroom(out, ASSIGNMENT, language, out).now().groups
    answers.append(desk.client.get(f"/{TOKEN}/group/{group.key}"))
    assert answers[-1].text.count("anon-") >= 2 * len(group.members)  # a label and a link for each
    answers += [desk.client.get(f"/{TOKEN}/student/{name}") for name in names.values()]
    assert {answer.status_code for answer in answers} == {200}
    for report in reports:
        name = names[report.submission.id]
        assert desk.post(name, "comment", comment="Well done.") == (303, f"student/{name}")
        status, told = desk.post(name, "override", what=PROPERTIES[0], points="1000", why="Because.")
        assert status == 409
        answers.append(desk.client.get(f"/{TOKEN}/student/{name}"))
        assert not any(text.casefold() in told.casefold() for text in identities(reports))
    for answer in answers:
        shown = f"{answer.headers}\n{answer.text}".casefold()
        assert [text for text in identities(reports) if text.casefold() in shown] == []
    assert desk.client.get(f"/{TOKEN}/student/{lines[0].id}").status_code == 404
    written = [entry.decision for entry in read(out) if entry.decision.comment == "Well done."]
    assert len(written) == len(reports)


def test_an_excuse_reaches_the_student_behind_the_pseudonym(tmp_path: Path) -> None:
    out, _ = folder(tmp_path / "out", random.Random(0), 4)
    lines = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions
    names = pseudonyms(out, [line.id for line in lines])
    line = lines[-1]
    Desk(out, anonymous=True).post(names[line.id], "excuse", student="0", why="ill")
    assert line.origin is not None
    assert read(out)[-1].decision.student == line.origin.students[0].id


def test_a_short_name_stays_where_it_is_a_word_of_the_program(tmp_path: Path) -> None:
    out, _ = folder(tmp_path / "out", random.Random(1), 3)
    line = Summary.model_validate_json((out / "summary.json").read_bytes()).submissions[0]
    desk = Desk(out, anonymous=True)
    desk.files[line.id] = {"src/attention.py": "largest = max(1, 2)\n"}
    name = pseudonyms(out, [line.id])[line.id]
    assert "largest = max(1, 2)" in desk.page(f"student/{name}").text


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
    known = DecidedClass(Path(text), lines, rubric, lambda _: without_cases(report), held)
    reasons = [(identifier, Reason("near_zero", text)), (identifier, Reason("similar", text, text))]
    now = Now(known, [entry(report)], queue(lines, held, reasons))
    made = rendering(language)
    files = Submission(identifier, {"src/attention.py": f"{text}\n{text}", f"src/{text}.py": text})
    form = {"do": "override", "what": text, "points": text, "why": text}
    return [
        parse(page)
        for page in (
            made.classroom(now),
            made.student(now, lines[0], report, files, "", {}),
            made.student(now, lines[0], report, text, text, form),
            made.student(now, lines[0], report, files, text, {"do": "comment", "comment": text}),
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
