"""The review page without a browser: who is in the queue, what a form writes, and what happens to what was typed."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from socket import create_server, socket
from threading import Thread

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from grader.core.grades.graded import FILE
from grader.core.intake.origin import Origin, Student
from grader.core.messages import as_data, say
from grader.core.results.files import write_json
from grader.core.results.outcome import Outcome
from grader.core.results.report import Attention, Report
from grader.core.results.statistics import entry
from grader.core.rubric import LANGUAGES
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.file import LOCK, append, read
from grader.extras.decisions.model import Decision
from grader.extras.decisions.review.classroom import Classroom, noticed, unusual
from grader.extras.decisions.review.server import LOOPBACK, opened
from grader.selftest.class_reports import graded
from grader.selftest.html_page import parse
from grader.selftest.review_class import (
    ATTENTION,
    HOST,
    LATE,
    PROPERTIES,
    TOKEN,
    Desk,
    add_attention,
    person,
    write_review_class,
)
from grader.selftest.term import refused, run

SIMILAR = (
    "rank,first,second,file,strongest,distinctive,first_shared,second_shared,first_length,second_length,"
    "first_share,second_share,remark\n"
    "1,ada,cy,attention.py,yes,300,310,300,320,700,0.969,0.429,\n"
    "1,ada,cy,everything,,300,310,300,320,700,0.969,0.429,\n"
    "2,bo,cy,attention.py,yes,200,200,200,700,700,0.286,0.286,\n"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A review of four students, of whom three need a person."""
    return Desk(write_review_class(tmp_path / "out"))


def only(desk: Desk) -> Decision:
    (decision,) = desk.decisions()
    return decision


def test_the_queue_is_in_order_of_need_with_every_reason(desk: Desk) -> None:
    assert desk.queue() == ["di", "bo", "cy"]
    page = desk.page("student/bo")
    assert [one.text for one in page.all("ul")[0].all("li")] == [
        "a task without any result Nothing of it gave an answer.",
        "a file was skipped A file was left out.",
    ]
    assert "2 of 3 in the queue" in page.one("header").text
    assert "Not in the queue" in desk.page("student/ada").one("header").text


def test_the_queue_has_the_score_in_force_and_the_queue_by_mistake_has_the_words_for_all_with(tmp_path: Path) -> None:
    mistake = ASSIGNMENT.rubric.misconceptions[0]
    name = mistake.properties[0]
    lost = [graded(who, {name: Outcome.FAILED}, {name: mistake.id}) for who in ("ada", "bo")]
    desk = Desk(write_review_class(tmp_path / "out", lost))
    add_attention(desk.out, [Attention(id="ada", code="left_out", text="A file was left out.")])

    def score() -> float:
        tables = [one for one in desk.page().all("div") if one.attributes.get("aria-label") == "The queue"]
        (row,) = tables[0].one("tbody").all("tr")
        return float(row.all("td")[-1].text)

    before = score()
    assert f"{name}:{mistake.id}" in [one.text for one in desk.page().all("code")]
    assert f"{name}:{mistake.id}" in [one.text for one in desk.page("student/bo").all("code")]
    desk.post("ada", "override", what=name, points="0.5", why="Nearly.")
    assert score() == before + 0.5


def test_a_reason_is_told_in_the_language_of_the_page() -> None:
    """One without parts, as summaries of earlier graders have them, stays English."""
    text = say("Timed out: {names}.", names=LATE)
    attention = [
        Attention(id="bo", code="timed_out", text=str(text), parts=as_data(text)),
        Attention(id="cy", code="timed_out", text=str(text)),
    ]
    said = [reason.text for _, reason in noticed(attention, ASSIGNMENT, "zh")]
    assert said == [f"没有按时给出结果：{LATE}。", f"Timed out: {LATE}."]


def test_accepting_is_written_down_and_opens_the_next_until_nobody_waits(desk: Desk) -> None:
    assert desk.post("di", "accept") == (303, "student/bo")
    assert (only(desk).seen, only(desk).who) == (("unreadable",), "kim")
    assert desk.queue() == ["bo", "cy"]
    assert desk.post("cy", "accept") == (303, "student/bo")
    assert desk.post("bo", "accept") == (303, "")
    assert desk.queue() == []
    assert "Nothing left to review" in desk.page().text
    assert "Reviewed: 3" in desk.page().text


def test_what_was_seen_waits_again_for_a_new_reason_other_files_or_other_points(desk: Desk) -> None:
    desk.post("cy", "accept")
    assert desk.queue() == ["di", "bo"]
    add_attention(desk.out, [*ATTENTION, ATTENTION[0].model_copy(update={"code": "renamed"})])
    assert desk.queue() == ["di", "bo", "cy"]
    desk.post("cy", "accept")
    assert desk.queue() == ["di", "bo"]
    path = desk.out / "cy" / "report.json"
    before = Report.model_validate_json(path.read_bytes())
    other = before.model_copy(update={"submission": before.submission.model_copy(update={"sha256": "1"})})
    write_json(path, other)
    assert desk.queue() == ["di", "bo", "cy"]
    write_json(path, graded("cy", {PROPERTIES[1]: Outcome.FAILED}).model_copy(update={"submission": before.submission}))
    assert desk.queue() == ["di", "bo", "cy"]
    write_json(path, before)
    assert desk.queue() == ["di", "bo"]


def test_an_appeal_waits_until_somebody_has_seen_it_and_is_told_to_nobody(desk: Desk) -> None:
    for text in ("Why did this fail?", "Is it a slow machine?"):
        run("decide", desk.out, "ada", "--appeal", text)
    assert desk.queue() == ["di", "ada", "bo", "cy"]
    assert "Why did this fail?" in (page := desk.page("student/ada").text)
    assert "Is it a slow machine?" in page
    run("export", desk.out, "--to", "csv")
    run("report", desk.out, "--lang", "en")
    assert not any("slow machine" in page.read_text() for page in (desk.out / "html").rglob("*.html"))
    desk.post("ada", "accept")
    assert desk.queue() == ["di", "bo", "cy"]
    run("decide", desk.out, "ada", "--appeal", "And again?")
    assert desk.queue() == ["di", "ada", "bo", "cy"]
    assert "Why did this fail?" not in desk.page("student/ada").text


def test_what_was_seen_can_be_put_back_and_is_told_to_no_student(desk: Desk) -> None:
    desk.post("cy", "accept")
    assert "Reviewed and left unchanged: timed_out. (kim, " in run("decide", desk.out).stdout
    run("report", desk.out, "--lang", "en")
    for page in (desk.out / "html").rglob("*.html"):
        assert "Reviewed" not in page.read_text()
    run("export", desk.out, "--to", "csv")
    assert "ooked at" not in (desk.out / "grades.csv").read_text()
    desk.post("cy", "withdraw", what="seen", why="Needs another look.")
    assert desk.queue() == ["di", "bo", "cy"]


def test_a_stale_decision_is_at_the_top_and_accepting_renews_it(desk: Desk) -> None:
    desk.post("cy", "override", what=LATE, points="1", why="Slow machine.")
    path = desk.out / "cy" / "report.json"
    same_files = {"submission": Report.model_validate_json(path.read_bytes()).submission}
    write_json(path, graded("cy").model_copy(update=same_files))
    assert desk.queue()[0] == "cy"
    assert "Needs another look" in desk.page("student/cy").text
    desk.post("cy", "accept")
    first, renewed, seen = desk.decisions()
    assert (renewed.override, renewed.points, renewed.why) == (first.override, first.points, first.why)
    assert renewed.ground != first.ground
    assert seen.seen == ("stale_decision", "timed_out")
    assert desk.queue() == ["di", "bo"]


def test_similar_pairs_wait_last_and_name_each_other(desk: Desk) -> None:
    (desk.out / "similar.csv").write_text(SIMILAR)
    assert desk.queue() == ["di", "bo", "cy", "ada"]
    (told,) = [one for one in desk.page("student/ada").all("li") if one.attributes.get("class") == "similar"]
    assert told.one("a").text == "cy"
    assert "97% of the student's own code in attention.py is also in cy" in told.text
    desk.post("ada", "accept")
    assert only(desk).seen == ("similar cy",)


@pytest.mark.parametrize(
    ("good", "odd", "outcome", "waiting"),
    [
        (10, 1, Outcome.FAILED, ["odd0"]),
        (10, 1, Outcome.NOT_IMPLEMENTED, []),
        (10, 3, Outcome.FAILED, []),
        (6, 1, Outcome.FAILED, []),
    ],
    ids=["unusual", "not begun", "common", "few to compare with"],
)
def test_one_bad_task_beside_good_ones_waits_and_is_told_once(
    tmp_path: Path, good: int, odd: int, outcome: Outcome, waiting: list[str]
) -> None:
    first, *_ = ASSIGNMENT.rubric.tasks
    lost = dict.fromkeys((prop.id for prop in first.properties), outcome)
    class_ = [*(graded(f"good{n}") for n in range(good)), *(graded(f"odd{n}", lost) for n in range(odd))]
    assert Desk(write_review_class(tmp_path / "out", class_)).queue() == waiting
    third = {"third": (1.0, 1.0)}  # went well, too
    entries = [replace(one, tasks={**one.tasks, **third}) for one in map(entry, class_)]
    told = [*unusual(entries, ASSIGNMENT.rubric, "en")]
    assert [submission for submission, _ in told] == waiting
    assert all(reason.text.startswith(f"{first.id}: 0/") for _, reason in told)


def test_lines_that_failing_cases_name_are_marked_and_linked(desk: Desk) -> None:
    page = desk.page("student/bo")
    (named,) = [one for one in page.all("span") if one.attributes.get("class") == "line named"]
    assert named.attributes["data-n"] == "54"
    assert named.text.startswith(ASSIGNMENT.solution()["src/attention.py"].splitlines()[53].strip())
    anchors = [link.attributes["href"] for link in page.all("a") if link.text == "src/attention.py:54"]
    assert anchors == [f"#{named.attributes['id']}"] * len(anchors)
    assert anchors
    assert "AttributeError: no attribute 'sofmax'" in page.text
    begins = [one for one in desk.page("student/cy").all("span") if one.attributes.get("class") == "line begins"]
    assert begins
    assert all(one.text.startswith(("class ", "def ")) for one in begins)


def test_files_that_changed_or_are_gone_are_said(desk: Desk) -> None:
    assert "have changed since grading" not in desk.page("student/bo").text
    desk.files["bo"] = {"src/attention.py": "x = 1\n"}
    assert "have changed since grading" in desk.page("student/bo").text


def test_long_files_are_cut_and_say_so(desk: Desk) -> None:
    desk.files["bo"] = {"src/attention.py": "x" * 10_000 + "\n" * 100_000}
    page = desk.page("student/bo")
    assert len([one for one in page.all("span") if "data-n" in one.attributes]) == 3000
    assert "97000 more lines not shown" in page.text
    assert len(page.text) < 20_000


def test_forms_write_what_grader_decide_would(desk: Desk, tmp_path: Path) -> None:
    by_command = write_review_class(tmp_path / "other" / "out")
    common = ("decide", by_command, "cy", "--who", "kim")
    run(*common, "--override", LATE, "--points", "0.5", "--why", "Slow.")
    run(*common, "--comment", "Come and see me.")
    run(*common, "--excuse", "--why", "ill")
    for what in (LATE, "excuse"):
        run(*common, "--withdraw", what, "--why", "No.")
    assert desk.post("cy", "override", what=LATE, points="0,5", why="Slow.") == (303, "student/cy")
    assert "Slow. (kim, " in desk.page("student/cy").text
    desk.post("cy", "comment", comment="Come and see me.")
    desk.post("cy", "excuse", student="0", why="ill")
    assert "Excused" in desk.page("student/cy").text
    for what in (LATE, "excuse"):
        desk.post("cy", "withdraw", what=what, why="No.")
    timeless = [
        [one.decision.model_copy(update={"when": None}) for one in read(folder)] for folder in (desk.out, by_command)
    ]
    assert timeless[0] == timeless[1]
    assert len(timeless[0]) == 5
    assert "Excused" not in desk.page("student/cy").text


def test_of_a_team_one_student_is_excused(tmp_path: Path) -> None:
    both = Origin(source="canvas", students=(Student(id="1", name="Ada"), Student(id="2", name="Bo")))
    desk = Desk(write_review_class(tmp_path / "out", [graded("team", origin=both)]))
    choice = desk.page("student/team").one("select", id="student")
    assert [(one.attributes["value"], one.text) for one in choice.all("option")] == [("0", "Ada"), ("1", "Bo")]
    desk.post("team", "excuse", student="1", why="ill")
    assert "not an author of this submission" in desk.post("team", "excuse", student="2", why="ill")[1]
    assert only(desk).student == "2"
    assert "In the gradebook, Bo: excused: ill" in desk.page("student/team").text


def test_before_and_after_go_around_the_queue_and_pass_who_was_seen(desk: Desk) -> None:
    def beside(submission: str) -> dict[str, str]:
        links = {one.attributes.get("id"): one for one in desk.page(f"student/{submission}").all("a")}
        here = [name for name in ("previous", "next") if name in links]
        return {name: (links[name].attributes["href"] or "").rpartition("/")[2] for name in here}

    assert beside("bo") == {"previous": "di", "next": "cy"}
    assert beside("cy") == {"previous": "bo", "next": "di"}
    assert beside("ada") == {"previous": "cy", "next": "di"}
    desk.post("di", "accept")
    assert beside("cy") == {"previous": "bo", "next": "bo"}
    desk.post("bo", "accept")
    assert beside("cy") == {}
    assert beside("ada") == {"previous": "cy", "next": "cy"}


@pytest.mark.parametrize(
    ("do", "fields", "said"),
    [
        ("override", {"what": LATE, "points": "many", "why": "Fair."}, "points 'many': not a number."),
        ("override", {"what": LATE, "points": "nan", "why": "Fair."}, "points"),
        ("override", {"what": LATE, "points": "1000", "why": "Fair."}, "1000 points: "),
        ("override", {"what": LATE, "points": "-1", "why": "Fair."}, "points"),
        ("override", {"what": "nothing", "points": "1", "why": "Fair."}, "no property nothing in the report"),
        ("override", {"what": LATE, "points": "1", "why": "  "}, "why: it is empty."),
        ("comment", {"comment": ""}, "comment: it is empty."),
        ("excuse", {"student": "zoe", "why": "kept"}, "student: not an author of this submission."),
        ("withdraw", {"what": "excuse", "why": "kept"}, "no such decision to withdraw"),
        ("dance", {}, "do: no such decision."),
    ],
)
def test_what_makes_no_sense_is_said_and_writes_nothing_and_what_was_typed_stays(
    desk: Desk, do: str, fields: dict[str, str], said: str
) -> None:
    status, text = desk.post("cy", do, **fields)
    assert status == 409
    assert said in text
    assert not (desk.out / FILE).exists()
    if (why := fields.get("why", "").strip()) and do in ("override", "excuse"):
        form = {"do": do, "state": desk.state("cy"), **fields}
        answer = desk.client.post(f"/{TOKEN}/student/cy", data=form, headers={"origin": HOST})
        assert f">{why}</textarea>" in answer.text


def test_of_two_tabs_the_second_sees_what_the_first_decided_before_it_adds_to_it(desk: Desk) -> None:
    state = desk.state("cy")
    assert desk.post("cy", "override", state, what=LATE, points="1", why="One.")[0] == 303
    status, text = desk.post("cy", "override", state, what=LATE, points="2", why="Two.")
    assert (status, len(desk.decisions())) == (409, 1)
    assert "Another decision was made meanwhile" in text
    assert "One. (kim" in text
    assert "Two." in text
    assert desk.post("cy", "override", what=LATE, points="2", why="Two.")[0] == 303
    assert [one.points for one in desk.decisions()] == [1, 2]


def test_many_tabs_and_commands_at_once_lose_nothing(desk: Desk) -> None:
    template = Decision.model_validate({"student": "c-ada", "comment": "x", "who": "lee", "when": datetime.now(UTC)})

    def by_command(number: int) -> None:
        for each in range(5):
            append(desk.out, [template.model_copy(update={"comment": f"command {number}.{each}"})])

    def by_tab(number: int) -> None:
        other = replace(desk)  # a process of its own would read the same files
        for each in range(3):
            while other.post("bo", "comment", comment=f"tab {number}.{each}")[0] == 409:
                pass  # somebody else was faster: look, and save again

    threads = [Thread(target=target, args=(n,)) for target in (by_command, by_tab) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = {one.comment for one in desk.decisions()}
    assert said == {f"command {n}.{each}" for n in range(2) for each in range(5)} | {
        f"tab {n}.{each}" for n in range(2) for each in range(3)
    }
    assert (desk.out / LOCK).exists()


def test_a_mistake_in_the_file_is_a_line_and_what_was_typed_can_be_sent_again(desk: Desk) -> None:
    state = desk.state("cy")
    (desk.out / FILE).write_text("[[decision]]\nstudent = 1\n")
    for path in ("", "student/cy"):
        assert f"{FILE}:1: student: " in desk.page(path, 503).text
    status, text = desk.post("cy", "comment", state, comment="A long thought.")
    assert status == 503
    assert "A long thought." in text
    (desk.out / FILE).write_text("")
    assert desk.post("cy", "comment", state, comment="A long thought.")[0] == 303


def test_a_full_disk_is_a_line_and_loses_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(desk.out / FILE))

    state = desk.state("cy")
    with monkeypatch.context() as patch:
        patch.setattr("grader.extras.decisions.file.write_text", full)
        status, text = desk.post("cy", "comment", state, comment="A long thought.")
        assert status == 503
        assert "No space left on device" in text
        assert "A long thought." in text
    assert not (desk.out / FILE).exists()


def test_a_page_follows_what_others_change(desk: Desk) -> None:
    assert desk.queue() == ["di", "bo", "cy"]
    run("decide", desk.out, "bo", "--comment", "Seen by lee.", "--who", "lee")
    assert "Seen by lee. (lee, " in desk.page("student/bo").text
    (desk.out / "summary.json").unlink()
    assert "no report in it" not in desk.page().text
    for path in desk.out.glob("*/report.json"):
        path.unlink()
    assert "no report in it" in desk.page(status=503).text


def shared(tmp_path: Path) -> Desk:
    """Four of whom three lost a property by the same mistake, and the last of them another one, too."""
    mistake = ASSIGNMENT.rubric.misconceptions[0]
    name, other = mistake.properties[0], next(prop for prop in PROPERTIES if prop not in mistake.properties)
    lost = {name: Outcome.FAILED}
    reports = [graded(who, lost, {name: mistake.id}, origin=person(who.title())) for who in ("ada", "bo")]
    reports += [graded("cy", lost | {other: Outcome.FAILED}, {name: mistake.id}, origin=person("Cy"))]
    return Desk(
        write_review_class(tmp_path / "out", [*reports, graded("di", {other: Outcome.FAILED}, origin=person("Di"))])
    )


def group_of(desk: Desk) -> str:
    """The address of the largest group, as the page of the class links it."""
    return next(
        (link.attributes["href"] or "").removeprefix(f"/{TOKEN}/")
        for link in desk.page().all("a")
        if link.attributes.get("id") == "to-mistakes"
    )


def apply(desk: Desk, group: str, *members: int, **fields: str) -> tuple[int, str]:
    boxes = {box.attributes.get("name"): box.attributes.get("value") for box in desk.page(group).all("input")}
    form = {"state": boxes["state"], "points": "3", "why": "Fair.", "member": [*map(str, members)], **fields}
    answer = desk.client.post(f"/{TOKEN}/{group}", data=form, headers={"origin": HOST})
    place = answer.headers.get("location", "").removeprefix(f"/{TOKEN}/")
    return answer.status_code, place if answer.status_code == 303 else parse(answer.text).text


def undo(desk: Desk, back: str) -> tuple[int, str]:
    answer = desk.client.post(f"/{TOKEN}/undo", data={"back": f"/{TOKEN}/{back}"}, headers={"origin": HOST})
    return answer.status_code, answer.headers.get("location", "").removeprefix(f"/{TOKEN}/")


def test_a_group_is_decided_at_once_but_for_whoever_is_taken_out_and_undone_at_once(tmp_path: Path) -> None:
    desk = shared(tmp_path)
    group = group_of(desk)
    page = desk.page(group)
    shown = next(one for one in page.all("ul") if one.attributes.get("class") == "members").all("li")
    assert [one.text.split()[0] for one in shown] == ["Ada", "Bo", "Cy"]
    assert "some_case-cpu-float32" in page.one("main").text
    assert not any("some_case-cpu-float32" in one.text for one in shown)  # told once, since it is the same for all
    status, following = apply(desk, group, 0, 2)
    assert status == 303
    assert re.fullmatch(r"group/[^?]+\?told=decided&n=2", following)  # the group of the other property
    assert [(one.student, one.points) for one in desk.decisions()] == [("c-ada", 3), ("c-cy", 3)]
    assert desk.client.get(f"/{TOKEN}/{group}").status_code == 303  # one is left, which is no group
    assert undo(desk, group) == (303, f"{group}?told=undone&n=2")
    assert desk.decisions() == []
    assert len(desk.page(group).all("li")) >= 3


def test_a_group_that_has_changed_meanwhile_is_shown_again_and_nobody_is_no_group(tmp_path: Path) -> None:
    desk = shared(tmp_path)
    group = group_of(desk)
    assert "no submission is checked" in apply(desk, group)[1]
    assert "points 'x': not a number" in apply(desk, group, 0, 1, points="x")[1]
    assert "meanwhile" in apply(desk, group, 0, state="old")[1]
    assert desk.decisions() == []
    assert undo(desk, "") == (503, "")  # there is nothing to undo


def test_a_comment_on_a_line_reaches_the_student_beside_the_code_and_others_find_it(tmp_path: Path) -> None:
    desk = shared(tmp_path)
    path, text = "src/attention.py", ASSIGNMENT.solution()["src/attention.py"]
    number, code = next((n, line) for n, line in enumerate(text.split("\n"), 1) if line.startswith("class"))
    assert desk.post("ada", "comment", comment="Look at the mask.", at=f"{path}:{number}")[0] == 303
    assert (only(desk).at, only(desk).code) == (f"{path}:{number}", code)
    run("report", desk.out, "--lang", "en")
    student = parse((desk.out / "html" / "students" / "ada.html").read_text(encoding="utf-8"))
    (told,) = [one for one in student.all("li") if "Look at the mask." in one.text]
    assert told.text.startswith(f"{path}:{number}: Look at the mask.")
    assert told.one("pre").text == code
    bank = {who: [one.text for one in desk.page(f"student/{who}").all("button")] for who in ("bo", "cy", "di")}
    assert [who for who, texts in bank.items() if "Look at the mask." in texts] == ["bo", "cy"]
    assert desk.post("bo", "comment", comment="There is none.", at=f"{path}:99999")[0] == 303
    assert desk.decisions()[-1].code == ""
    status, said = desk.post("bo", "comment", comment="Too far.", at=f"{path}:{'9' * 5000}")
    assert (status, "at: " in said) == (409, True)


def test_a_queue_that_is_dealt_out_leaves_nobody_out(tmp_path: Path) -> None:
    write_review_class(tmp_path / "out")
    rooms = [Classroom(tmp_path / "out", ASSIGNMENT, "en", tmp_path, (part, 3)) for part in (1, 2, 3)]
    shares = [[place.line.id for place in room.now().queue] for room in rooms]
    assert sorted(one for share in shares for one in share) == ["bo", "cy", "di"]
    assert max(map(len, shares)) == 1


def test_a_review_under_a_name_writes_that_graders_file(tmp_path: Path) -> None:
    desk = Desk(write_review_class(tmp_path / "out"), grader="lee")
    desk.post("bo", "comment", comment="Hello.")
    assert [entry.file for entry in read(desk.out)] == ["decisions/lee.toml"]
    assert undo(desk, "student/bo") == (303, "student/bo?told=undone&n=1")
    assert read(desk.out) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_whole_in_both_languages(tmp_path: Path, language: str) -> None:
    desk = Desk(write_review_class(tmp_path / "out"), language)
    (desk.out / "similar.csv").write_text(SIMILAR)
    assert desk.queue() == ["di", "bo", "cy", "ada"]
    for submission in ("ada", "bo", "cy", "di"):
        page = desk.page(f"student/{submission}")
        ids = [one.attributes["id"] for one in page.all() if "id" in one.attributes]
        assert len(ids) == len(set(ids))
        labelled = {one.attributes["for"] for one in page.all("label") if "for" in one.attributes}
        boxes = [one for one in page.all("input", "select", "textarea") if one.attributes.get("type") != "hidden"]
        assert {box.attributes["id"] for box in boxes} <= labelled | {"keys-off"}
        assert all(one.attributes["href"] for one in page.all("a"))
        anchors = {one.attributes["href"] or "" for one in page.all("a")}
        assert {anchor[1:] for anchor in anchors if anchor.startswith("#")} <= set(ids)
    assert ("认可" in desk.page("student/bo").text) == (language == "zh")


@pytest.mark.process
def test_the_command_serves_the_class_and_reads_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = write_review_class(tmp_path / "out")
    seen: list[str] = []
    token = "t" * 43

    def serve(app: ASGIApp, listening: socket) -> None:
        port = listening.getsockname()[1]
        client = TestClient(app, base_url=f"http://127.0.0.1:{port}")
        listening.close()
        seen.extend(client.get(f"/{token}/{path}").text for path in ("", "student/bo"))

    monkeypatch.setattr("grader.extras.decisions.review.server.serve", serve)
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: token[: 4 * size // 3 + 1])
    told = run("review", out, "--no-browser", "--lang", "en").stdout
    assert re.match(r"http://127\.0\.0\.1:\d+/[-\w]{43}/\n", told)
    assert "The queue" in seen[0]
    assert "src/attention.py" in seen[1]
    assert "have changed since grading" not in seen[1]


def test_a_browser_is_led_to_the_address_by_a_file_that_nobody_else_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Queue[tuple[str, int]] = Queue()

    def look(address: str) -> bool:
        path = Path(address.removeprefix("file://"))
        found.put((path.read_text(), path.stat().st_mode & 0o777))
        return True

    monkeypatch.setattr("webbrowser.open", look)
    with opened("http://127.0.0.1:1/token/"):
        text, mode = found.get(timeout=60)
        assert mode == 0o600
        assert "url=http://127.0.0.1:1/token/" in text


@pytest.mark.process
def test_a_port_that_is_taken_is_a_line(tmp_path: Path) -> None:
    out = write_review_class(tmp_path / "out")
    with create_server((LOOPBACK, 0)) as listening:
        port = listening.getsockname()[1]
        line = refused("review", out, "--port", port, "--no-browser")
    assert f"--port {port}: Address already in use." in line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "no report in it. Give the folder"),
        (["{out}", "--lang", "fr"], "--lang fr: not a language"),
        (["{out}", "--submissions", "nowhere"], "nowhere: no such file or folder. Pass their current location"),
        (["{out}", "--similar", "nowhere"], "--similar nowhere: no similar.csv there."),
    ],
)
def test_the_command_ends_with_one_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    out = write_review_class(tmp_path / "out")
    assert line in refused("review", *(text.format(out=out) for text in arguments))


@pytest.mark.parametrize("grader", ["", "lee"])
def test_the_page_and_the_command_say_whose_decision_was_replaced(tmp_path: Path, grader: str) -> None:
    out = write_review_class(tmp_path / "out")
    kim, lee = Desk(out), Desk(out, who="lee", grader=grader)
    kim.post("bo", "override", what=LATE, points="1", why="Half of it.")
    (first,) = read(out)
    told = f"Replaces: {first.for_staff(ASSIGNMENT.rubric, 'en')}"
    lee.post("bo", "override", what=LATE, points="0", why="None of it.")
    assert told in lee.page("student/bo").text
    assert told in run("decide", str(out), "bo").stdout
    lee.post("bo", "override", what=LATE, points="1", why="All of it.")
    assert "Replaces:" not in lee.page("student/bo").text, "one's own decision is no surprise"
