"""What platforms import, with no answer in what a student gets, and what comes back from them."""

from __future__ import annotations

import csv
import html
import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

import pytest

from grader.core.export.rows import ExportError
from grader.core.results.report import Practice
from grader.core.results.statistics import entry
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.viva.extension import ANSWERS, Understood, graded, picture, read_answers, understood
from grader.extras.viva.files import written
from grader.extras.viva.quiz import Quiz
from grader.extras.viva.selftest.made import HOSTILE, NAME, key, question, quiz
from grader.selftest.reports import report

QTI = "{http://www.imsglobal.org/xsd/imsqti_v2p1}"
PACKAGING = "{http://www.imsglobal.org/xsd/imscp_v1p1}"


@pytest.fixture(scope="module")
def own() -> Quiz:
    return quiz()


@pytest.fixture(scope="module")
def files(own: Quiz) -> dict[str, bytes]:
    return dict(
        written(
            [own, quiz(identifier="bo", name="anon-zzzzzzzz").model_copy(update={"questions": []})],
            ASSIGNMENT.rubric,
            "en",
        )
    )


def test_a_quiz_without_questions_gives_no_file(files: dict[str, bytes]) -> None:
    assert not [name for name in files if "zzzz" in name]
    assert b"zzzz" not in files["moodle.xml"] + files["questions.gift"]


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
        assert fractions == [
            "100" if place == one.options.index(one.answer) else "0" for place in range(len(one.options))
        ]


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


@pytest.mark.parametrize("form", [moodle, canvas, saved])
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


def test_a_semicolon_table_with_html_in_its_answers_is_read(tmp_path: Path) -> None:
    rows = [(f"[{code}]", f"<p><code>{answer}</code></p>") for code, _, answer in answers(6)]
    path = table(tmp_path / "a.csv", ("question", "answer"), *rows, delimiter=";")
    assert graded(key(OWN), read_answers(path))["ada"].points == 6


def test_hostile_text_is_an_answer_like_any_other(tmp_path: Path) -> None:
    asked = quiz(question(right=2))
    ((code, _),) = asked.numbered
    path = table(tmp_path / "a.csv", ("question", "answer"), (f"[{code}]", HOSTILE))
    assert graded(key(asked), read_answers(path))["ada"].points == 1


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
    entries = [entry(report(name)) for name in ("ada", "bo", "cleo")]
    points = {name: Practice(points=right, max_points=6) for name, right in (("ada", 5), ("bo", 5), ("cleo", 2))}
    shown = picture(entries, points, language)
    assert shown.count("<circle") == 2
    assert ">2</text></g>" in shown
    assert picture(entries, {}, language) == ""
