"""What platforms import: well formed, one right option each, and no answer in what a student gets."""

from __future__ import annotations

import html
import io
import re
import zipfile
from xml.etree.ElementTree import Element, fromstring

import pytest

from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.viva.files import written
from grader.extras.viva.quiz import Quiz
from grader.extras.viva.selftest.made import HOSTILE, NAME, question, quiz

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
