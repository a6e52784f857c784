"""Each export reads back as what was graded, obeys its platform's rules, and names whoever gets no grade."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from grader.core.cli.export import FORMATS
from grader.core.export.rows import Export, ExportError, Request, blanks, refusals, rows
from grader.core.export.table import inert
from grader.core.intake.origin import Origin, Source, Student
from grader.core.results.outcome import Outcome
from grader.core.results.report import CaseReport, PropertyReport, Report, SubmissionInfo, TaskReport
from grader.core.rubric import LatePenalty, Policy, Rubric
from grader.extras.gradescope.run import results
from grader.followup.table import read_template
from grader.selftest import reports as by_hand
from grader.selftest.exports import NAMES, PACKS, Someone, gradebook, worksheet, worksheet_in
from grader.selftest.reports import known_class

PEOPLE = [Someone(number, name, "good") for number, name in enumerate(NAMES)]
LATE = Policy(bonus_cap=20, late_penalty=LatePenalty(per_day=0.1))


def report(identifier: str, score: float | None, origin: Origin | None = None, **fields: object) -> Report:
    """A small report, of one task with a property that passed and one that failed."""
    right = PropertyReport(
        id="right", title="is right", points=score or 0, max_points=100, outcome=Outcome.PASSED, cases=[]
    )
    case = CaseReport(id="case", outcome=Outcome.FAILED, message="wrong \x00\x1b[31m <&> \ud800 at [0]")
    wrong = PropertyReport(
        id="wrong", title="is wrong", points=0, max_points=5, outcome=Outcome.FAILED, hint="Think & try.", cases=[case]
    )
    task = TaskReport(id="task1", title="One", score=score or 0, max_score=100, properties=[right, wrong])
    info = SubmissionInfo(id=identifier, sha256="0", files=[], notices=["A notice."], origin=origin)
    most: dict[str, Any] = {"assignment": "small", "submission": info, "max_score": 100.0, "max_bonus": 50.0}
    if score is None:
        return by_hand.unreadable(identifier, **(most | {"reason": "The zip\ncannot be read."} | fields))
    return by_hand.report(identifier, **(most | {"score": score, "bonus": 30.0, "tasks": [task]} | fields))


def of(people: Sequence[Someone], source: Source, **origin: object) -> list[Report]:
    """A report for each: 60, 61, … points, and none for the last."""
    known = [Student(id=person.user, name=person.name, email=person.email) for person in people]
    origins = [Origin.model_validate({"source": source, "students": (student,)} | origin) for student in known]
    scores = [60.0 + person.number for person in people[:-1]]
    return [
        report(f"r{person.user}", score, origin)
        for person, score, origin in zip(people, [*scores, None], origins, strict=True)
    ]


def sent(
    reports: Sequence[Report],
    to: str,
    rubric: Rubric,
    policy: Policy | None = None,
    template: str | None = None,
    assignment_id: str = "",
    language: str = "en",
) -> Export:
    """An export under a policy; the last remarks name students without a grade."""
    with_policy = rubric.model_copy(update={"policy": policy or Policy()})
    students = rows(known_class(reports, with_policy), language=language)
    request = Request(with_policy, template.encode() if template is not None else None, assignment_id)
    made = FORMATS[to].make(students, request)
    return replace(made, remarks=[*made.remarks, *blanks(students)])


def table(made: Export) -> list[dict[str, str]]:
    (text,) = made.files.values()
    return [*csv.DictReader(io.StringIO(text, newline=""), strict=True)]


GRADES = ["90", "91", "92", "93", "94", ""]  # score and 30 points of bonus
BLANK = ["1 left blank: unreadable: The zip cannot be read.", "  Nguyễn Văn An (r4005)"]
OURS = "Small: Attention and SwiGLU (77)"


def test_a_canvas_table_has_the_title_with_its_number_and_grades_by_user(rubric: Rubric) -> None:
    made = sent(of(PEOPLE, "canvas"), "canvas", rubric, assignment_id="77")
    first, *rows = table(made)
    assert [*first] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", OURS]
    assert (first["Student"], first[OURS]) == ("Points Possible", "100")
    assert [row["ID"] for row in rows] == [person.user for person in PEOPLE[:-1]]
    assert [row[OURS] for row in rows] == GRADES[:-1]
    assert [row["Student"] for row in rows] == [inert(name) for name in NAMES[:-1]]
    assert made.remarks == BLANK


def test_a_name_that_a_spreadsheet_would_run_is_changed_also_in_signs_of_full_width() -> None:
    """Numbers of Apple and Excel in Japanese take these for the usual ones."""
    texts = ["=1", "\uff1d1+1", "\uff20SUM(A1)", "\ufe621", "1=1", "王芳"]
    assert [inert(text) != text for text in texts] == [True, True, True, True, False, False]


def test_of_a_canvas_gradebook_only_who_is_who_and_our_grades_come_back(rubric: Rubric) -> None:
    """Any other cell would replace what Canvas has by now: other assignments, excused and ungraded students."""
    excused = gradebook(PEOPLE).replace(f"{PEOPLE[1].email},1,9,", f"{PEOPLE[1].email},1,9,EX")
    made = sent(of(PEOPLE, "canvas"), "canvas", rubric, template="\ufeff" + excused, assignment_id="77")
    (text,) = made.files.values()
    after = [*csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))]
    assert text.startswith("\ufeffStudent,ID,")
    assert [*after[0]] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Small (77)"]
    assert [row["Small (77)"] for row in after] == ["100", "90", "92", "93", "94"]
    told = [person for person in PEOPLE[:-1] if person is not PEOPLE[1]]
    assert [row["SIS User ID"] for row in after[1:]] == [f"sis{person.number}" for person in told]
    assert [row["Student"] for row in after[1:]] == [inert(person.name) for person in told]
    assert [row.student.id for row in made.rows if row.refused] == []


def test_a_canvas_gradebook_with_names_in_two_columns_is_filled_in(rubric: Rubric) -> None:
    head = "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,A1 (55),Small (77)\n"
    sheet = head + "    Points Possible,,,,,,10,100\nLovelace,Ada,4000,s0,a@x,1,9,\n王,芳,9,s2,w@x,1,9,\n"
    reports = [
        report("ada", 50, Origin(source="canvas", students=(Student(id="4000"),))),
        report("wang", 50, Origin(source="folders", students=(Student(id="1", name="王芳"),))),
    ]
    rows = table(sent(reports, "canvas", rubric, template=sheet, assignment_id="77"))
    assert [(row["LastName"], row["ID"], row["Small (77)"]) for row in rows] == [
        ("    Points Possible", "", "100"),
        ("Lovelace", "4000", "80"),
        ("王", "9", "80"),
    ]


def test_of_folders_canvas_finds_students_by_name_and_never_by_a_number_that_is_not_its_own(rubric: Rubric) -> None:
    ours = [Student(id="4001", name=NAMES[0]), Student(id="4000", name="Nobody Known")]
    reports = [report(student.id, 50, Origin(source="folders", students=(student,))) for student in ours]
    made = sent(reports, "canvas", rubric, template=gradebook(PEOPLE), assignment_id="77")
    assert [(row["ID"], row["Small (77)"]) for row in table(made)] == [("", "100"), ("4000", "80")]
    assert refusals(made.rows) == [
        "1 would be blank: not in the gradebook. Download it again, or add them to the course",
        "  Nobody Known (80)",
    ]


@pytest.mark.parametrize(
    ("template", "identifier", "problem"),
    [
        (None, "", "--assignment-id '': not a number.* Canvas would create a new assignment"),
        (gradebook(PEOPLE), "5", r"'5': no such assignment in --template. Choose the number of one of: .*\(77\)"),
        (gradebook(PEOPLE), "", "--assignment-id '': no such assignment in --template"),
        (gradebook(PEOPLE).replace("SIS Login ID", "Login"), "77", "no column 'SIS Login ID'"),
        ("Name\nAda\n", "77", "no column 'Student'. Pass the gradebook, as downloaded"),
        ("", "77", "not a UTF-8 CSV"),
    ],
    ids=["no_id", "other_id", "template_without_id", "no_login_id", "something_else", "empty"],
)
def test_what_canvas_would_misunderstand_is_refused(
    rubric: Rubric, template: str | None, identifier: str, problem: str
) -> None:
    with pytest.raises(ExportError, match=problem):
        sent(of(PEOPLE, "canvas"), "canvas", rubric, template=template, assignment_id=identifier)


def test_without_a_canvas_id_nobody_is_guessed_at(rubric: Rubric) -> None:
    made = sent([report("ada", 50)], "canvas", rubric, assignment_id="77")
    assert len(table(made)) == 1
    assert refusals(made.rows)[0].startswith("1 would be blank: Canvas user id unknown. Pass the downloaded")


def test_moodle_comments_say_what_the_policy_did(rubric: Rubric) -> None:
    made = sent(of(PEOPLE, "moodle", late=True), "moodle", rubric, LATE, template=worksheet(PEOPLE))
    first = table(made)[0]
    assert first["Grade"] == "72"
    assert first["Feedback comments"] == (
        "Bonus points beyond the cap of 20 do not count. "
        "Late by an unknown time, counted as 1 day: 10%, 8 points, deducted."
    )
    without = "\r\n".join(line.rpartition(",")[0] for line in worksheet(PEOPLE).splitlines())  # no column of comments
    made = sent(of(PEOPLE, "moodle", late=True), "moodle", rubric, LATE, template=without)
    assert made.remarks[0].startswith("1 changed: Bonus points beyond the cap of 20 do not count. Late by an unknown")
    assert made.remarks[1] == f"  {NAMES[0]}: 72 (earned 90)"
    assert made.remarks[-2:] == BLANK


def test_in_the_sheet_of_moodle_reasons_are_text_and_no_cell_is_a_formula(rubric: Rubric) -> None:
    (row, *_) = rows(known_class(of(PEOPLE, "moodle"), rubric))
    row = replace(row, remark="Reason: eps < 1 & gamma<hidden>.")
    sheet = worksheet(PEOPLE).replace(PEOPLE[0].email, "=1@x.org")
    first, *_ = table(FORMATS["moodle"].make([row], Request(rubric, sheet.encode())))
    assert first["Feedback comments"] == "Reason: eps &lt; 1 &amp; gamma&lt;hidden&gt;."
    assert "'=1@x.org" in first.values()


def test_a_student_is_told_of_the_policy_in_the_language_of_the_page(rubric: Rubric) -> None:
    late = of(PEOPLE, "moodle", late=True)
    made = sent(late, "moodle", rubric, LATE, template=worksheet(PEOPLE), language="zh")
    said = "附加分超出上限 20 的部分不计。迟交时间不明，按 1 天计：扣 10%，即 8 分。"
    assert table(made)[0]["Feedback comments"] == said


def test_grades_that_a_policy_changes_alike_are_told_together(rubric: Rubric) -> None:
    """However many bonus points each has beyond the cap; a class whose cap concerns everyone is two lines."""
    people = [report(name, 60, Origin(source="folders", students=(Student(id=name),))) for name in ("ada", "bo")]
    other = people[1].model_copy(update={"bonus": 25.0})
    made = sent([people[0], other], "gradescope", rubric, Policy(bonus_cap=20))
    assert made.remarks[1:] == [
        "2 changed: Bonus points beyond the cap of 20 do not count.",
        "  ada: 80 (earned 90); bo: 80 (earned 85)",
    ]


@pytest.mark.parametrize("mark", [".", ","], ids=["point", "comma"])
@pytest.mark.parametrize("language", PACKS)
def test_participants_are_found_in_worksheets_of_any_language(rubric: Rubric, language: str, mark: str) -> None:
    """Two namesakes, so that only the participant's number tells them apart; most packs have no blank before it.

    The columns of the maximum and of comments are known by their place. The first grade is just the maximum.
    """
    sheet = worksheet_in(language, {"100254": "Li Wei", "100255": "Li Wei"}, f"59{mark}50")
    wanted, grade = Origin(source="moodle", students=(Student(id="100255", name="Li Wei"),)), PACKS[language][3]
    rows = table(sent([report("r1", 39.5, wanted)], "moodle", rubric, Policy(bonus_cap=20), template=sheet))
    assert [row[grade] for row in rows] == ["", f"59{mark}5"]
    assert [row["(comments)"] for row in rows] == ["", "Bonus points beyond the cap of 20 do not count."]
    too_much = sent([report("r1", 60.0, wanted)], "moodle", rubric, template=sheet)
    assert [row[grade] for row in table(too_much)] == ["", ""]
    assert "exceeds the worksheet's maximum 59.5" in refusals(too_much.rows)[0]


def test_a_worksheet_without_a_maximum_takes_every_grade(rubric: Rubric) -> None:
    sheet = worksheet(PEOPLE, "-").replace("Maximum Grade", "Else")
    assert [row["Grade"] for row in table(sent(of(PEOPLE, "moodle"), "moodle", rubric, template=sheet))] == GRADES


@pytest.mark.parametrize("missing", ["Grade", "Last modified (grade)"])
def test_a_worksheet_that_moodle_would_not_take_back_is_refused(rubric: Rubric, missing: str) -> None:
    sheet = worksheet(PEOPLE).replace(f",{missing},", ",Else,")
    with pytest.raises(ExportError, match=r"--template: no column .* Pass the grading worksheet of the assignment"):
        sent(of(PEOPLE, "moodle"), "moodle", rubric, template=sheet)
    with pytest.raises(ExportError, match=r"--template is missing\. Pass the grading worksheet"):
        sent(of(PEOPLE, "moodle"), "moodle", rubric)


def test_gradescope_results_have_the_fields_that_it_knows_also_where_nothing_can_be_read(rubric: Rubric) -> None:
    known = {"score", "execution_time", "output", "visibility", "stdout_visibility", "extra_data", "tests"}
    late = rubric.model_copy(update={"policy": LATE})
    students = rows(known_class(of(PEOPLE, "gradescope", late=True), late))
    made = (results(row.report, row.grade) for row in students)
    first, *_, last = (json.loads(json.dumps(one, allow_nan=False)) for one in made)
    assert first.keys() == known
    assert first["score"] == 72
    assert first["output"] == "A notice."  # nothing of the score before grades are published
    *tests, total = first["tests"]
    assert total["output"].endswith("Late by an unknown time, counted as 1 day: 10%, 8 points, deducted.")
    assert {test["visibility"] for test in first["tests"]} == {"after_published"}
    assert [(test["score"], test["max_score"], test["status"], test["number"]) for test in tests] == [
        (60, 100, "passed", "1.1"),
        (0, 5, "failed", "1.2"),
    ]
    assert first["tests"][1]["output"].startswith("Think & try.\ncase: wrong")
    assert last.keys() == known
    assert last["output"] == "The zip\ncannot be read."
    assert [(test["score"], test["visibility"], test["output"]) for test in last["tests"]] == [
        (0, "visible", "The zip\ncannot be read.")
    ]


def test_for_gradescope_there_is_a_table_like_its_own_and_a_word_on_what_it_takes(rubric: Rubric) -> None:
    made = sent(of(PEOPLE, "gradescope", late=True), "gradescope", rubric, LATE)
    assert [*table(made)[0]][:4] == ["Name", "SID", "Email", "Total Score"]
    assert any("does not import grades" in line and "grader gradescope OUT" in line for line in made.remarks)


def test_a_fault_of_ours_is_no_score_and_its_details_are_for_staff(rubric: Rubric) -> None:
    ours = report("ada", None, status="grader_error", reason="swiglu: Traceback")
    made = sent([ours], "csv", rubric)
    content = results(ours, None)
    assert "score" not in content
    assert "not your fault" in content["output"]
    assert "Traceback" not in content["output"]
    assert made.remarks == ["1 left blank: grader_error: swiglu: Traceback", "  ada (ada)"]


def test_nbgrader_columns_hold_raw_score_penalty_and_grade(rubric: Rubric) -> None:
    made = sent(of(PEOPLE, "gradescope", late=True, submitted_at="2026-10-02T16:00:00+00:00"), "nbgrader", rubric, LATE)
    rows = table(made)
    assert ",".join(rows[0]) == (
        "assignment,duedate,timestamp,student_id,last_name,first_name,email,"
        "raw_score,late_submission_penalty,score,max_score"
    )
    assert rows[0] == {
        **{"assignment": rubric.id, "duedate": "", "timestamp": "2026-10-02T16:00:00+00:00", "student_id": "4000"},
        **{"last_name": "Lovelace", "first_name": "Ada", "email": "s0@example.org"},
        **{"raw_score": "90", "late_submission_penalty": "8", "score": "72", "max_score": "100"},
    }
    names = [(row["last_name"], row["first_name"]) for row in rows]
    assert (names[1], names[2], names[5]) == (("O'Neil", "Jr"), ("王芳", ""), ("An", "Nguyễn Văn"))
    assert [rows[5][name] for name in ("raw_score", "late_submission_penalty", "score")] == [""] * 3


def test_junit_counts_its_cases_and_holds_no_character_that_xml_forbids(rubric: Rubric) -> None:
    made = sent(of(PEOPLE, "canvas"), "junit", rubric)
    root = ElementTree.fromstring(made.files["junit.xml"].encode())
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [f"r{person.user}" for person in PEOPLE]
    assert [suites[0].get(count) for count in ("tests", "failures", "errors", "skipped")] == ["2", "1", "0", "0"]
    assert [suites[5].get(count) for count in ("tests", "failures", "errors", "skipped")] == ["1", "0", "1", "0"]
    failure = suites[0].find("testcase/failure")
    assert failure is not None
    assert (failure.get("message"), failure.text) == ("Think & try.", "case: wrong ??[31m <&> ? at [0]")
    values = {entry.get("name"): entry.get("value") for entry in suites[0].findall("properties/property")}
    assert values == {"status": "graded", "score": "60", "bonus": "30", "grade": "90"}


def test_plain_csv_holds_every_task_and_property_of_every_student(rubric: Rubric) -> None:
    rows = table(sent(of(PEOPLE, "canvas", late=True), "csv", rubric, LATE))
    assert [row["name"] for row in rows] == [inert(name) for name in NAMES]
    assert [row["score"] for row in rows] == ["60", "61", "62", "63", "64", ""]
    first, last = rows[0], rows[-1]
    assert [first[column] for column in ("late", "bonus", "late_penalty", "grade", "task1", "right", "wrong")] == [
        *("true", "30", "8", "72", "60", "60", "0")
    ]
    assert "beyond the cap" in first["remark"]
    assert [last[column] for column in ("grade", "task1", "right", "wrong")] == [""] * 4
    assert last["reason"] == "unreadable: The zip cannot be read."


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_begins_a_formula(rubric: Rubric, start: str) -> None:
    origin = Origin(source="gradescope", students=(Student(id=f"{start}1", name=f"{start}A, B", email=f"{start}x"),))
    for to in ("nbgrader", "csv"):
        (row,) = table(sent([report("r", 60, origin)], to, rubric))
        assert not [cell for cell in row.values() if cell.startswith(start)]
    sheet = worksheet([Someone(0, f"{start}Eve", "good")])
    assert table(sent([], "moodle", rubric, template=sheet))[0]["Full name"] == f"'{start}Eve"


def test_every_format_takes_reports_without_an_origin(rubric: Rubric) -> None:
    for to in FORMATS:
        template = {"canvas": gradebook(PEOPLE), "moodle": worksheet(PEOPLE)}.get(to)
        assert sent([report("ada", 60)], to, rubric, template=template, assignment_id="77").files


def test_a_row_that_is_cut_short_is_filled_up() -> None:
    assert read_template(b"a,b,c\n1\n\n1,2,3,4\n", "a table").rows == (("1", "", ""), ("1", "2", "3"))
