"""``grader viva`` from reports to what platforms import, with no answer in it, and from what comes back to points."""

from __future__ import annotations

import csv
import html
import io
import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from grader.core.export.rows import ExportError
from grader.core.results.report import Practice
from grader.core.results.statistics import entry
from grader.core.results.written import read_written
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.viva.extension import ANSWERS, Understood, graded, picture, read_answers, understood
from grader.extras.viva.files import written
from grader.extras.viva.quiz import KEY, Key, Quiz
from grader.extras.viva.selftest.made import HOSTILE, NAME, key, question, quiz
from grader.selftest import long_only
from grader.selftest.browser import Tab
from grader.selftest.reports import report, unreadable, write_class
from grader.selftest.term import command, refused, run
from grader.specimens.students import write_class as write_submissions

QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"
PACKAGING = "{http://www.imsglobal.org/xsd/imscp_v1p1}"


@pytest.fixture(scope="module")
def own() -> Quiz:
    return quiz()


@pytest.fixture(scope="module")
def files(own: Quiz) -> dict[str, bytes]:
    return dict(written([own], ASSIGNMENT.rubric, "en"))


def test_moodle_xml_holds_each_question_with_one_right_answer(files: dict[str, bytes], own: Quiz) -> None:
    root = fromstring(files["moodle.xml"])
    category, *asked = root.findall("question")
    assert category.findtext("category/text") == f"$course$/top/viva/{NAME}"
    for (code, one), element in zip(own.numbered, asked, strict=True):
        assert element.get("type") == "multichoice"
        assert element.findtext("name/text") == code
        shown = fromstring(f"<div>{element.findtext('questiontext/text')}</div>")
        assert _texts(shown, "p") == [f"[{code}] {one.prompt}"]
        assert _texts(shown, "pre") == one.blocks
        answers = [fromstring(answer.findtext("text") or "") for answer in element.findall("answer")]
        assert ["".join(answer.itertext()) for answer in answers] == one.options
        fractions = [answer.get("fraction") for answer in element.findall("answer")]
        assert fractions == ["100" if n == one.options.index(one.answer) else "0" for n in range(len(one.options))]


def test_gift_gives_back_what_was_written_once_its_signs_are_read(files: dict[str, bytes], own: Quiz) -> None:
    text = files["questions.gift"].decode()
    assert text.startswith(f"$CATEGORY: $course$/top/viva/{NAME}\n\n")
    found = re.findall(r"^::(.*?)::\[html\]((?:\\.|[^\\{])*)\{\n((?:[=~].*\n)+)\}\n$", text, re.MULTILINE)
    assert [code for code, _, _ in found] == [code for code, _ in own.numbered]
    for (_, one), (_, asked, options) in zip(own.numbered, found, strict=True):
        assert _plain(asked).endswith(one.blocks[0])
        assert [_plain(line[1:]) for line in options.splitlines()] == one.options
        assert [line[0] for line in options.splitlines()].index("=") == one.options.index(one.answer)


def test_a_qti_package_lists_its_items_and_each_has_the_right_response(files: dict[str, bytes], own: Quiz) -> None:
    package = zipfile.ZipFile(io.BytesIO(files[f"qti/{NAME}.zip"]))
    manifest = fromstring(package.read("imsmanifest.xml"))
    listed = [element.get("href", "") for element in manifest.iter(f"{PACKAGING}file")]
    assert sorted([*listed, "imsmanifest.xml"]) == sorted(package.namelist())
    test = fromstring(package.read("test.xml"))
    assert [one.get("href") for one in test.iter(f"{QTI}assessmentItemRef")] == [
        f"{code}.xml" for code, _ in own.numbered
    ]
    for code, one in own.numbered:
        item = fromstring(package.read(f"{code}.xml"))
        choices = {one.get("identifier"): "".join(one.itertext()) for one in item.iter(f"{QTI}simpleChoice")}
        assert choices[item.findtext(f".//{QTI}value")] == one.answer
        assert list(choices.values()) == one.options
        assert not (item.find(f"{QTI}itemBody").text or "").strip()  # type: ignore[union-attr] # no text outside a block


def test_a_student_cannot_read_the_answers_in_the_page(own: Quiz) -> None:
    moved = [
        question(one.kind, right=(one.options.index(one.answer) + 1) % 4, text=one.options[1]) for one in own.questions
    ]
    pages = []
    for one in (own, own.model_copy(update={"questions": moved})):
        pages.append(dict(written([one], ASSIGNMENT.rubric, "en"))[f"pages/{NAME}.html"].decode())
    digests = [re.findall(r"[0-9a-f]{64}", page) for page in pages]
    assert len(digests[0]) == 7
    assert digests[0] != digests[1]
    shown = [
        html.unescape("".join(re.findall(r">([^<]*)", text)))
        for text in re.findall(r"<span>.*?</span>", pages[0], re.S)
    ]
    assert shown == [option for one in own.questions for option in one.options], "what the script makes a digest of"
    without = [re.sub(r"[0-9a-f]{64}", "", page) for page in pages]
    assert without[0] == without[1], "another right option changes nothing but the digests"
    assert "+ pass" not in pages[0], "the line is for the examiner"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_sheet_marks_the_answer_and_shows_the_line(own: Quiz, language: str) -> None:
    sheet = dict(written([own], ASSIGNMENT.rubric, language))[f"oral/{NAME}.html"].decode()
    marked = re.findall(r'<li class="right">(?:<code>)?(.*?)(?:</code>)? ✓', sheet)
    assert marked == [one.answer for one in own.questions]
    shown = re.findall(r"<pre>- (.*)\n\+ pass</pre>", sheet)
    assert [html.unescape(line) for line in shown] == [HOSTILE] * len(own.questions)


def test_hostile_text_is_text_everywhere(files: dict[str, bytes]) -> None:
    for name in ("moodle.xml", "questions.gift", f"pages/{NAME}.html", f"oral/{NAME}.html"):
        assert b"<script>" not in files[name].replace(b"<script>// Grades", b"").replace(b'<script>"use', b""), name
    assert "<script>" in HOSTILE


def _texts(root: Element, name: str) -> list[str]:
    return ["".join(element.itertext()) for element in root.iter(name)]


def _plain(text: str) -> str:
    """What GIFT and HTML give back."""
    read = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)
    return html.unescape(re.sub(r"</?(?:p|code|pre|br)/?>", "", read))


OWN = quiz()
WRONG = "line 7: [[1, 2]]\nline 9: 2"


def table(path: Path, *rows: Sequence[str], delimiter: str = ",") -> Path:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    path.write_text(buffer.getvalue(), encoding="utf-8-sig")
    return path


def answers(right: int) -> list[tuple[str, str, str]]:
    """The code, text and answer of each question, so many of them right."""
    return [
        (code, f"[{code}] {one.prompt}", one.answer if number < right else WRONG)
        for number, (code, one) in enumerate(OWN.numbered)
    ]


def moodle(path: Path, right: int) -> Path:
    pairs = answers(right)
    header = ["Last name", "First name", "Status"]
    header += [f"{word} {number}" for number in range(1, 7) for word in ("Question", "Response", "Right answer")]
    row = ["Lovelace", "Ada", "Finished"]
    row += [cell for _, text, answer in pairs for cell in (f"{text}: {WRONG}; 0.6", f"{answer}\n", "0.6")]
    return table(path, header, row, ["Babbage", "Charles", "Never submitted", *["-"] * 18])


def canvas(path: Path, right: int) -> Path:
    pairs = answers(right)
    header = ["name", "id", "section", "submitted", "attempt"]
    header += [cell for number, (_, text, _) in enumerate(pairs) for cell in (f"{800 + number}: {text}", "1.0")]
    row = ["Ada Lovelace", "77", "A", "2026-10-02", "1", *[cell for _, _, answer in pairs for cell in (answer, "1.0")]]
    return table(path, header, row)


def saved(path: Path, right: int) -> Path:
    return table(path, ("question", "answer"), *[(f"[{code}]", answer) for code, _, answer in answers(right)])


def in_a_spreadsheet(path: Path, right: int) -> Path:
    rows = [(f"[{code}]", f"<p><code>{answer}</code></p>") for code, _, answer in answers(right)]
    return table(path, ("question", "answer"), *rows, delimiter=";")


@pytest.mark.parametrize("form", [moodle, canvas, saved, in_a_spreadsheet])
@pytest.mark.parametrize("right", [0, 4, 6])
def test_points_are_the_right_answers_whatever_the_platform(form, right: int, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = graded(key(OWN, quiz(identifier="bo", name="anon-bbbbbbbb")), read_answers(form(tmp_path / "a.csv", right)))
    assert found == {"ada": Practice(points=right, max_points=6)}


@pytest.mark.parametrize("gap", ["\n", "", " ", "</code><br/>\n<code>", "<br />"])
def test_an_option_of_two_lines_is_found_however_a_platform_joins_them(gap: str, tmp_path: Path) -> None:
    asked = quiz(question(right=0))
    (code, one), *_ = asked.numbered
    rows = [(f"[{code}]", f"<p><code>{one.answer.replace(chr(10), gap)}</code></p>")]
    assert "\n" in one.answer
    assert graded(key(asked), read_answers(table(tmp_path / "a.csv", ("question", "answer"), *rows)))["ada"].points == 1


def test_an_answer_that_is_no_option_is_named_and_an_answer_to_another_quiz_counts_for_nobody(tmp_path: Path) -> None:
    (code, _), *_ = OWN.numbered
    stale = f"{code[:-4]}{'0000' if code[-4:] != '0000' else '1111'}"
    rows = [(f"[{code}]", "something else"), (f"[{stale}]", "0.6")]
    found = graded(key(OWN), read_answers(table(tmp_path / "a.csv", ("question", "answer"), *rows)))
    assert found == {"ada": Practice(points=0, max_points=6, unsettled=[code])}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name,score\nada,3\n", r"no answer to a question of viva\. From Moodle, export the responses"),
        ("\ufeff", "not a UTF-8 CSV"),
    ],
    ids=["other table", "empty"],
)
def test_a_file_that_is_something_else_is_named(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExportError, match=rf"grades\.csv: .*{problem}"):
        read_answers(path)


def test_a_damaged_file_of_points_shows_no_points(tmp_path: Path) -> None:
    assert understood(tmp_path) == {}
    kept = Understood(submissions={"ada": Practice(points=5, max_points=6)})
    (tmp_path / ANSWERS).write_text(kept.model_dump_json(), encoding="utf-8")
    assert understood(tmp_path) == kept.submissions
    (tmp_path / ANSWERS).write_text("{}", encoding="utf-8")
    assert understood(tmp_path) == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_picture_counts_the_submissions_of_each_score_and_number_of_answers(language: str) -> None:
    earned = {name: Practice(points=right, max_points=6) for name, right in (("ada", 5), ("bo", 5), ("cleo", 2))}
    shown = picture([entry(report(name), None, points) for name, points in earned.items()], language)
    assert shown.count("<circle") == 2
    assert ">2</text></g>" in shown
    assert picture([entry(report(name)) for name in earned], language) == ""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, commands_are_about_the_assignment: None) -> Path:
    """A class with quizzes: ada did everything, bo nothing, cleo one task; a fourth handed in nothing to read."""
    del commands_are_about_the_assignment
    folder = tmp_path_factory.mktemp("viva")
    write_submissions(ASSIGNMENT, folder / "class")
    written = write_class(folder / "reports", *map(report, ("ada", "bo", "cleo")), unreadable("dora"))
    run("viva", written, "--out", folder / "quiz", "--submissions", folder / "class", "--lang", "en", "--jobs", 1)
    return written


@pytest.mark.process
def test_everyone_with_code_gets_six_questions_under_a_pseudonym(reports: Path) -> None:
    key = read_written(reports / KEY, Key)
    assert {quiz.id: len(quiz.questions) for quiz in key.quizzes} == {"ada": 6, "bo": 0, "cleo": 6}
    assert (reports / KEY).stat().st_mode & 0o077 == 0, "it holds the answers"
    out = reports.parent / "quiz"
    names = {quiz.name for quiz in key.quizzes if quiz.questions}
    assert {path.stem for kind in ("pages", "oral", "qti") for path in (out / kind).iterdir()} == names
    (empty,) = (quiz.name.encode() for quiz in key.quizzes if not quiz.questions)
    for path in (path for path in out.rglob("*") if path.is_file()):
        assert not re.search(rb"\b(?:ada|cleo|%s)\b" % empty, path.read_bytes()), path


@pytest.mark.process
def test_points_stand_beside_the_grade_and_change_no_score(reports: Path, tmp_path: Path) -> None:
    before = (reports / "summary.json").read_bytes(), (reports / "ada" / "report.json").read_bytes()
    (quiz,) = (quiz for quiz in read_written(reports / KEY, Key).quizzes if quiz.id == "ada")
    answers = tmp_path / "answers.csv"
    with answers.open("w", encoding="utf-8", newline="") as file:
        rows = [[f"[{code}]", one.answer] for code, one in quiz.numbered]
        csv.writer(file).writerows([["question", "answer"], *rows[:5], [rows[5][0], "no idea"]])
    found = run("viva", reports, "--answers", answers)
    assert "ada: 5 of 6 right" in found.output
    assert "none of the options" in found.output
    assert before == ((reports / "summary.json").read_bytes(), (reports / "ada" / "report.json").read_bytes())
    header, *rows_shown = (line.split() for line in command("show", reports).output.splitlines()[:4])
    assert header[-1] == "understood"
    assert [row[-1] for row in rows_shown if row[0] == "ada"] == ["5"]
    for arguments in ((), ("--anonymous",)):
        run("report", reports, "--out", tmp_path / "html", "--lang", "en", *arguments)
        page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
        assert "<title>score " in page
        assert 'answers right: 1</title><circle class="bar"' in page
        name = quiz.name if arguments else "ada"
        student = (tmp_path / "html" / "students" / f"{name}.html").read_text(encoding="utf-8")
        assert "<dt>Understood</dt><dd><b>5</b> / 6</dd>" in student


def test_the_page_grades_itself_and_saves_answers_that_the_command_reads(reports: Path, tab: Tab) -> None:
    (quiz,) = (quiz for quiz in read_written(reports / KEY, Key).quizzes if quiz.id == "ada")
    tab.open(reports.parent / "quiz" / "pages" / f"{quiz.name}.html", width=375)
    for number, asked in enumerate(quiz.questions, 1):
        place = (asked.options.index(asked.answer) + (number == 1)) % len(asked.options)  # the first is wrong
        tab.evaluate(f"document.querySelector('input[name=q{number}][value=\"{place}\"]').click()")
    tab.evaluate("document.querySelector('button').click()")
    tab.wait_for("document.querySelector('output').textContent.includes('of 6 right')")
    assert tab.evaluate("document.querySelector('output').textContent") == "5 of 6 right."
    assert tab.evaluate("document.querySelectorAll('.wrong').length") == 1
    saved = tab.evaluate("decodeURIComponent(document.getElementById('save').href.split(',').slice(1).join(','))")
    path = reports.parent / "saved.csv"
    path.write_text(str(saved), encoding="utf-8")
    assert "ada: 5 of 6 right" in command("viva", reports, "--answers", path).output
    assert tab.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give either --out QUIZ"),
        (("--out", "quiz", "--answers", "a.csv"), "give either --out QUIZ"),
        (("--answers", "a.csv"), r"viva\.json: .*Run viva --out"),
    ],
)
def test_what_cannot_be_done_is_one_line(arguments: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    assert re.search(problem, refused("viva", tmp_path, *arguments))


@long_only
@pytest.mark.process
def test_two_jobs_write_what_one_job_writes(reports: Path, tmp_path: Path) -> None:
    shutil.copytree(reports, tmp_path / "reports")
    arguments = ("--submissions", reports.parent / "class", "--lang", "en", "--jobs", 2)
    run("viva", tmp_path / "reports", "--out", tmp_path / "quiz", *arguments)
    assert (tmp_path / "reports" / KEY).read_bytes() == (reports / KEY).read_bytes()
    for path in (path for path in (tmp_path / "quiz").rglob("*") if path.is_file()):
        assert path.read_bytes() == (reports.parent / "quiz" / path.relative_to(tmp_path / "quiz")).read_bytes()


def test_a_damaged_file_of_points_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / KEY).write_text(key().model_dump_json(), encoding="utf-8")
    (tmp_path / "a.csv").write_text("question,answer\n[anon-abcdefgh-1-0000],1\n", encoding="utf-8")
    (tmp_path / ANSWERS).write_text("{}", encoding="utf-8")
    line = refused("viva", tmp_path, "--answers", tmp_path / "a.csv")
    assert re.search(r"viva-answers\.json: .*Delete it, and read the answers again", line)


@pytest.mark.process
def test_submissions_that_are_gone_are_one_line_and_bad_input(tmp_path: Path) -> None:
    line = refused("viva", write_class(tmp_path / "reports", report("ada")), "--out", tmp_path / "quiz")
    assert re.fullmatch(r"grader: .*: no record of where its submissions are\. .*--submissions\.", line)
