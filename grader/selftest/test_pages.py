"""Pages: whole, escaped, in one language, usable by everybody, and about one person at a time."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.core.intake.origin import Origin, Student
from grader.core.messages import say
from grader.core.results.outcome import Outcome
from grader.core.results.report import Practice, Report, SubmissionInfo
from grader.core.results.statistics import entry
from grader.core.results.views import in_language
from grader.core.rubric import LANGUAGES, LatePenalty, Policy, Rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import PlainPages, drawn, graded, ungraded, write
from grader.selftest.html_page import parse
from grader.selftest.term import command

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202eevil\ud800 <img src=x onerror=alert(2)>"

Make = Callable[..., str]


@pytest.fixture
def make(rubric: Rubric) -> Make:
    """``make(report)``: the page of one student, in English unless said otherwise."""

    def page(report: Report, practice: Practice | None = None, language: str = "en", handout: str = "") -> str:
        beside = {"practice": practice} if practice else {}
        return PlainPages(rubric, language, handout).student(in_language(report, ASSIGNMENT, language), beside=beside)

    return page


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[Path, str]]:
    out = write(tmp_path_factory.mktemp("class"), drawn(15), {"student00": Practice(points=1, max_points=10)})
    for language in LANGUAGES:
        result = command("report", out, "--out", out / language, "--lang", language)
        assert result.exit_code == 0, result.output
    return {lang: {path: path.read_text() for path in sorted((out / lang).rglob("*.html"))} for lang in LANGUAGES}


def test_a_students_page_knows_nobody_else(everything: dict[str, dict[Path, str]]) -> None:
    for pages in everything.values():
        for path, text in [*pages.items()][1:]:
            assert set(re.findall(r"student\d\d", text)) <= {path.stem}
            assert all((link.attributes["href"] or "").startswith("#") for link in parse(text).all("a"))


def test_pages_need_nothing_but_themselves(everything: dict[str, dict[Path, str]]) -> None:
    """Nothing is fetched, and the policy on each page would not let it be."""
    for text in (text for pages in everything.values() for text in pages.values()):
        page = parse(text)
        assert not re.search(r"https?:|@import|url\(", text)
        assert [element for element in page.all() if {"src", "onclick"} & element.attributes.keys()] == []
        policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"] or ""
        assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
        scripts = [str(script.children[0]) for script in page.all("script")]
        digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
        assert re.findall(r"'sha256-(.+?)'", policy) == digests
        assert len(scripts) == (">Students<" in text or ">学生<" in text)  # the class page alone has one


def test_the_same_reports_make_the_same_bytes(tmp_path: Path) -> None:
    out = write(tmp_path / "out", drawn(9))
    made = []
    for name in ("one", "two"):
        assert command("report", out, "--out", tmp_path / name, "--lang", "zh").exit_code == 0
        made.append({p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.html")})
    assert made[0] == made[1]


def test_every_lost_point_is_explained(make: Make, rubric: Rubric) -> None:
    lost = {"attention_heads": Outcome.FAILED, "attention_causal": Outcome.FAILED, "swiglu_gate": Outcome.CRASHED}
    page = parse(make(graded("ada", lost, {"attention_heads": "attention_unscaled"})))
    explained = {article.attributes["id"]: article.text for article in page.all("article")}
    assert [*explained] == [*lost]
    assert "Recognised mistake " + rubric.misconception("attention_unscaled").hint["en"] in explained["attention_heads"]
    assert "4 of 6 elements wrong" in explained["attention_heads"]
    assert "src/attention.py:54 in forward" in explained["swiglu_gate"]
    assert rubric.properties["attention_causal"].hint["en"] in explained["attention_causal"]
    for name, text in explained.items():
        assert f"handout/{rubric.handout_place(name or '', 'en')}" in text
        assert f"0 / {rubric.properties[name or ''].points:g}" in text
    assert f"3 of {len(rubric.properties)} properties lost points" in page.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_lost_point_has_its_law_and_the_command_that_tries_it(rubric: Rubric, language: str) -> None:
    lost = {"attention_heads": Outcome.FAILED, "attention_causal": Outcome.NOT_IMPLEMENTED}
    report = in_language(graded("ada", lost), ASSIGNMENT, language)
    page = parse(PlainPages(rubric, language, laws=ASSIGNMENT.laws).student(report))
    told, todo = (page.one("article", id=name).text for name in lost)
    law = {"en": "Keys that are 1 apart there get scores", "zh": "这两个特征上相差 1 的 key"}[language]
    assert law in told
    assert "python -m tests -k attention_heads" in told
    assert "python -m tests" not in todo


def test_a_mistake_that_ends_many_properties_is_explained_once(make: Make, rubric: Rubric) -> None:
    lost = dict.fromkeys(("attention_heads", "attention_causal", "swiglu_gate"), Outcome.CRASHED)
    first, other = parse(make(graded("ada", lost))).all("article")
    assert (first.attributes["id"], other.attributes["id"]) == ("attention_heads", "swiglu_gate")  # another task
    (follower,) = first.all("li")
    assert follower.attributes["id"] == "attention_causal"
    prop = rubric.properties["attention_causal"]
    place = f"handout/{rubric.handout_place('attention_causal', 'en')}"
    assert follower.text.startswith(f"0 / {prop.points:g} {prop.title['en']} {place}")
    assert len(first.all("pre")) == len(other.all("pre")) == 1


def test_who_lost_nothing_is_told_so(make: Make) -> None:
    page = parse(make(graded("ada")))
    assert "Every property passes" in page.text
    assert page.all("article") == []


def test_work_that_cannot_be_read_is_met_with_what_to_do(make: Make) -> None:
    text = make(
        ungraded("ada", "unreadable", say("The zip cannot be read: {problem}.", problem=say("File is not a zip file"))),
        language="zh",
    )
    assert "它不是 zip 文件" in text
    assert "没有可以评分的内容" in text
    assert "make submit" in text
    assert "得分</dt>" not in text


def test_practice_counts_for_those_without_a_score_too(make: Make) -> None:
    page = parse(make(ungraded("ada", "unreadable", "no zip"), Practice(points=4, max_points=10)))
    assert page.one("dl").text == "Practice 4 / 10"


def test_a_fault_of_the_grader_is_no_students_business(make: Make, rubric: Rubric) -> None:
    """The reason is for the assistant, so it stands on the class page alone."""
    report = ungraded("ada", "grader_error", "attention_heads: ZeroDivisionError in oracle.py")
    text = make(report)
    assert "The grader failed, not you" in text
    assert "you lose no points" in text
    assert "ZeroDivisionError" not in text
    assert "ZeroDivisionError" in PlainPages(rubric, "en").classroom([entry(report)])


def test_practice_lateness_and_notices_are_told(rubric: Rubric) -> None:
    origin = Origin(
        source="canvas",
        students=(Student(name="Ada L"), Student(name="Bo")),
        late=True,
        submitted_at="2026-10-02T12:00:00+00:00",
    )
    info = SubmissionInfo(id="pair", sha256="0", files=[], notices=["src/swiglu.py is missing."], origin=origin)
    strict = rubric.model_copy(update={"policy": Policy(late_penalty=LatePenalty(per_day=0.1), bonus_cap=10)})
    practice = Practice(points=7.5, max_points=10, unsettled=["0_small: double"])
    report = graded("pair", submission=info)
    text = parse(PlainPages(strict, "en").student(report, beside={"practice": practice})).text
    for part in (
        "Ada L, Bo pair",
        "Practice 7.5 / 10",
        "never ran, for manual review: 0_small: double.",
        "2026-10-02 12:00:00+00:00 (late)",
        "99 points: 11 deducted for lateness (days begun: 1).",
        "src/swiglu.py is missing.",
    ):
        assert part in text
    flagged = graded("ada", origin=Origin(source="canvas", late=True))  # without a time
    assert "Submitted : late" in parse(PlainPages(rubric, "en").student(flagged)).text
    capped = rubric.model_copy(update={"policy": Policy(bonus_cap=10)})
    assert "110 points: at most 10 bonus points count." in parse(PlainPages(capped, "en").student(graded("ada"))).text


def test_hostile_text_stays_text(rubric: Rubric) -> None:
    origin = Origin(source="canvas", students=(Student(id=HOSTILE, name=HOSTILE, email=HOSTILE),))
    info = SubmissionInfo(id=HOSTILE[:-50], sha256="0", files=[], notices=[HOSTILE], origin=origin)
    report = graded("x", {"attention_heads": Outcome.FAILED, "attention_causal": Outcome.CRASHED})
    words = {"title": HOSTILE, "hint": HOSTILE, "misconception": HOSTILE, "id": HOSTILE}
    data = json.loads(report.model_dump_json())
    data["tasks"][0]["properties"][0] |= words
    data["tasks"][0]["properties"][0]["cases"][0] |= {"message": HOSTILE, "id": HOSTILE}
    data["tasks"][0]["title"] = HOSTILE
    data["provenance"]["started_at"] = HOSTILE
    hostile = Report.model_validate_json(json.dumps(data, ensure_ascii=True).replace("\\ud800", ""))
    hostile = hostile.model_copy(update={"submission": info})
    unreadable = graded("y", status="unreadable", score=None, bonus=None, reason=HOSTILE, tasks=[], submission=info)
    for language in LANGUAGES:
        pages = PlainPages(rubric, language)
        for text in (
            pages.student(in_language(hostile, ASSIGNMENT, language)),
            pages.student(
                in_language(unreadable, ASSIGNMENT, language),
                beside={"practice": Practice(points=0, max_points=1, unsettled=[HOSTILE])},
            ),
            pages.classroom([entry(hostile), entry(unreadable)]),
        ):
            text.encode()  # no half of a character is left
            tags = {element.tag for element in parse(text).all()}
            assert "img" not in tags
            assert "<script>alert" not in text
            assert "&lt;script&gt;alert(1)" in text
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)


@pytest.mark.parametrize(("language", "code"), [("en", "en"), ("zh", "zh-CN")])
def test_a_page_is_in_one_language(
    everything: dict[str, dict[Path, str]], rubric: Rubric, language: str, code: str
) -> None:
    other = next(name for name in LANGUAGES if name != language)
    for text in everything[language].values():
        assert parse(text).one("html").attributes["lang"] == code
        foreign = [prop.title[other] for prop in rubric.properties.values() if f"> {prop.title[other]}<" in text]
        assert foreign == []
    if language == "en":
        shown = re.sub("<style>.*?</style>", "", "".join(everything["en"].values()), flags=re.S)
        assert not re.search(r"[\u4e00-\u9fff]", shown)


def test_what_the_rubric_no_longer_knows_keeps_its_words(make: Make, rubric: Rubric) -> None:
    text = graded("ada", {"swiglu_gate": Outcome.FAILED}).model_dump_json().replace('"swiglu_gate"', '"gate_of_old"')
    report = Report.model_validate_json(text)
    assert in_language(report, ASSIGNMENT, "en") == report
    page = parse(make(report))
    assert "Read" not in page.one("article", id="gate_of_old").text
    assert "gate_of_old" in PlainPages(rubric, "en").classroom([entry(report)])


def test_a_handout_on_the_web_is_linked(make: Make) -> None:
    page = parse(make(graded("ada", {"swiglu_gate": Outcome.FAILED}), handout="https://example.org/hand/"))
    assert page.one("article").one("a").attributes["href"] == "https://example.org/hand/en/task2.html#swiglu_gate"
