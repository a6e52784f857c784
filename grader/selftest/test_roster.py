"""A roster names students, tells who handed in nothing, and is read whatever a platform calls its columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.core.intake.discover import discover
from grader.core.intake.origin import Origin, Student
from grader.core.intake.roster import match, owner, read_roster
from grader.core.messages import UserError
from grader.extras.moodle.extension import read_lateness
from grader.selftest.submissions import write_folder, zipped

NORM = "src/modeling/norm.py"
ADA = Student(id="ada", name="Ada Lovelace", email="ada@x")
BO = Student(id="bo", name="Bo O'Neil, Jr", email="bo@x")
WANG = Student(id="wang", name="王芳", email="")


@pytest.mark.parametrize(
    ("head", "row", "student"),
    [
        ("username,first_name,last_name,email,github_id", 'bo,Bo,"O\'Neil, Jr",bo@x,8\n,,,,', BO),
        ("username,first_name,last_name,email", "wang,,王芳,", WANG),
        ("学号,姓名,邮箱", "2026001,王芳,w@x", Student(id="2026001", name="王芳", email="w@x")),
        ("标识符,全名,电子邮件地址,状态", "参与人 12,王芳,w@x,-", Student(id="12", name="王芳", email="w@x")),
        ("标识符,全名,学号", "参与人 12,王芳,2026001", Student(id="12", name="王芳")),
        ("用户名,姓,名", "wf,王,芳", Student(id="wf", name="王芳")),
        ("LastName,FirstName,ID", "Lovelace,Ada,4000", Student(id="4000", name="Ada Lovelace")),
        ("First name,Last name,Email Address", "Ada,Lovelace,a@x", Student(name="Ada Lovelace", email="a@x")),
        ('Student,ID,"One; two; three; four (77)"', "Ada,7,", Student(id="7", name="Ada")),
        ("Student,ID", '    Points Possible,\n"Student, Test",9\n"Wang, Fang",1', Student(id="1", name="Wang, Fang")),
    ],
    ids=["classroom", "one_name", "own", "moodle", "number", "two_columns", "canvas", "words", "title", "gradebook"],
)
def test_headings_are_known_in_chinese_and_as_platforms_write_them(
    tmp_path: Path, head: str, row: str, student: Student
) -> None:
    write_folder(tmp_path, {"list.csv": f"\ufeff{head}\n{row}\n"})
    assert read_roster(tmp_path / "list.csv") == [student]


@pytest.mark.parametrize("divided", [";", "\t"], ids=["semicolons", "tabs"])
def test_a_list_is_read_as_spreadsheets_save_it_where_the_comma_is_a_decimal_sign(tmp_path: Path, divided: str) -> None:
    rows = (["username", "name", "email"], ["bo", '"Bo O\'Neil, Jr"', "bo@x"])
    write_folder(tmp_path, {"list.csv": "\n".join(map(divided.join, rows))})
    assert read_roster(tmp_path / "list.csv") == [BO]


@pytest.mark.parametrize(
    ("status", "seconds"),
    [
        ("Submitted for grading - 1 day 3 hours late - Not marked", 27 * 3600),
        ("Submitted for grading - 45 secs late", 45),
        ("已提交请评分 - 迟1 天 3 小时 - 未评分", 27 * 3600),
        ("Submitted for grading - Not marked", 0),
        ("已提交请评分", 0),
        ("No submission - Assignment is overdue by: 3 days", None),
        ("Zur Bewertung abgegeben - 2 Tage später", None),
        ("", None),
    ],
    ids=["late", "seconds", "chinese", "in_time", "chinese_in_time", "nothing", "unknown_words", "empty"],
)
def test_a_worksheet_says_by_how_much_somebody_was_late(tmp_path: Path, status: str, seconds: float | None) -> None:
    write_folder(tmp_path, {"list.csv": f"Identifier,Full name,Status\nParticipant 12,Ada,{status}\n"})
    expected = {} if seconds is None else {Student(id="12", name="Ada"): seconds}
    assert read_lateness(tmp_path / "list.csv") == expected


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "no student found. It needs a header with a column username, name or email."),
        ("colour,size\nred,7\n", "no student found"),
        (b"name\nM\xfcller\n", "not a UTF-8 CSV"),
        ('name\n"' + "x" * 200_000, "not a UTF-8 CSV .field larger than field limit"),
    ],
    ids=["empty", "no_column", "latin_1", "endless_cell"],
)
def test_a_file_that_is_no_roster_is_named(tmp_path: Path, content: str | bytes, problem: str) -> None:
    write_folder(tmp_path, {"list.csv": content})
    with pytest.raises(UserError, match=rf"list\.csv: {problem}"):
        read_roster(tmp_path / "list.csv")


def test_two_students_with_one_id_are_refused_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text('username,name\nada,"Ada\nLovelace"\nbo,Bo\nada,Someone else\n')
    with pytest.raises(UserError, match=r"duplicate id 'ada' in lines 3 and 5\."):
        read_roster(path)


def test_whoever_handed_in_nothing_becomes_a_submission_with_a_reason(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "class", {f"ada/{NORM}": "", "Bo_O_Neil_Jr.zip": zipped({NORM: ""})})
    candidates = {one.id: one for one in discover([folder], roster=[ADA, WANG])}
    absent = candidates["wang"]
    assert absent.origin == Origin(source="roster", students=(WANG,))
    assert absent.read().reason == "No submission: 王芳 is in the roster but did not submit."
    assert candidates["ada"].origin == Origin(source="folders", students=(ADA,))
    assert candidates["ada"].read().reason is None
    assert "No roster entry matches this submission." in candidates["Bo_O_Neil_Jr"].read().notices
    assert candidates["Bo_O_Neil_Jr"].origin is None


def test_a_folder_called_after_its_student_is_theirs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "class", {f"ada lovelace/{NORM}": "", f"Bo_X/{NORM}": ""})
    people = [Student(id="7", name="Lovelace, Ada"), Student(id="8", name="Bo X")]
    assert {one.id: one.origin and one.origin.students[0].name for one in discover([folder], roster=people)} == {
        "Bo_X": "Bo X",
        "ada_lovelace": "Lovelace, Ada",
    }


def test_folders_and_zips_in_a_zip_are_called_after_their_students_too(tmp_path: Path) -> None:
    write_folder(tmp_path, {"class.zip": zipped({f"ada/{NORM}": "", "bo.zip": zipped({NORM: ""})})})
    found = discover([tmp_path / "class.zip"], "folders", [ADA, BO])
    assert [(one.id, one.origin and one.origin.students) for one in found] == [("ada", (ADA,)), ("bo", (BO,))]


def test_a_clone_belongs_to_the_longest_user_name_that_it_ends_in(tmp_path: Path) -> None:
    files = {f"{repo}/{path}": "" for repo in ("a2-ada", "a2-von-ada", "a2-zoe") for path in (NORM, ".git/config")}
    people = [ADA, Student(id="von-ada"), Student(id="e")]
    found = discover([write_folder(tmp_path / "clones", files)], roster=people)
    assert {one.id: one.origin and one.origin.students[0].id for one in found if one.id != "e"} == {
        "a2-ada": "ada",
        "a2-von-ada": "von-ada",
        "a2-zoe": "a2-zoe",
    }
    assert [one.reason is None for one in found] == [True, True, True, False]
    assert owner("a2-von-ada", people) == Student(id="von-ada")
    assert owner("a2-adam", people) is None


def test_students_are_matched_by_id_then_address_then_a_name_that_one_has() -> None:
    people = [ADA, BO, WANG, Student(id="w2", name="王芳")]
    assert match(Student(id="ADA", name="Somebody"), people) == ADA
    assert match(Student(id="4711", email="Bo@x"), people) == BO
    assert match(Student(name="lovelace,  ada"), people) == ADA
    assert match(Student(name="王芳"), people) is None
    assert match(Student(), people) is None


def test_any_id_of_a_canvas_gradebook_names_its_student_and_its_own_comes_first(tmp_path: Path) -> None:
    rows = ("Student,ID,SIS User ID,SIS Login ID", "Ada,1,s7,ada@x", "Bo,2,s8,bo", "Cy,s7,,cy", "Di,4,s9,di")
    files = {f"clones/{name}/{path}": "" for name in ("a2-ADA@x", "a2-s8", "s7") for path in (NORM, ".git/config")}
    write_folder(tmp_path, {"gradebook.csv": "\n".join(rows)} | files)
    found = discover([tmp_path / "clones"], roster=read_roster(tmp_path / "gradebook.csv"))
    whose = {one.id: one.origin and one.origin.students for one in found}
    people = {"a2-ADA@x": ("1", "Ada"), "a2-s8": ("2", "Bo"), "s7": ("s7", "Cy"), "4": ("4", "Di")}
    assert whose == {work: (Student(id=known, name=name),) for work, (known, name) in people.items()}
