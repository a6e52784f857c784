"""What sets failing cases apart from passing ones, and every sentence in both languages, with the same fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import Mock

import pytest

from grader import PACKAGE
from grader.core.judge.compare import OTHER_DTYPE
from grader.core.judge.conditions import with_conditions
from grader.core.judge.judge import Judge
from grader.core.messages import Sentences, as_data, from_data, quoted, say, stated, translated
from grader.core.results.outcome import ALONE, CaseResult, Outcome
from grader.core.results.report import CaseReport
from grader.core.rubric import LANGUAGES


def told(**outcomes: str) -> list[str]:
    """The conditions told of cases, by the ids of those that pass and those that fail."""
    by_outcome = {"passed": Outcome.PASSED, "failed": Outcome.FAILED}
    cases = [CaseResult("p", id, by_outcome[key]) for key, ids in outcomes.items() for id in ids.split()]
    return list(dict.fromkeys(case.message.strip() for case in with_conditions(cases) if case.message))


@pytest.mark.parametrize(
    ("passed", "failed", "said"),
    [
        ("t-cpu-1-train t-cpu-3-train", "t-cpu-2-eval", []),
        ("t-cpu-1-train t-cpu-2-train", "t-cpu-2-eval", ["Cases with eval fail; those with train pass."]),
        ("t-cpu-float32", "t-cpu-float16 u-float16", ["Cases with float16 fail; those with float32 pass."]),
        ("t-cached-float32", "t-grown-float16", []),
        ("t-cached-float32", "t-grown-float32 t-grown-float16", ["Cases with grown fail; those with cached pass."]),
        ("t-cpu-float32 t-simulated-float16", "t-cpu-float16", ["Cases with float16 fail; those with float32 pass."]),
        ("t-cached u-grown", "t-grown", ["Cases with grown fail; those with cached pass."]),
        ("t-cached-1 t-grown-1", "t-cached-2 t-grown-2", []),
        ("t-s=7 t-s=12", "t-s=25", ["Cases with s=25 fail; those with s=7, s=12 pass."]),
        ("t-float64", "t-float16-again u-float32-again", ["Cases with float32 fail as well."]),
        ("t-float32", "t-float16-again u-float32-again", []),
        (
            "",
            "t-cached t-grown",
            ["Each of the 2 cases of this kind fails: the dtype, sizes or mode shown is only an example."],
        ),
        ("t-float32", "t-float16-again t-float32-again", ["Cases with float32 fail as well."]),
    ],
)
def test_a_condition_is_told_where_it_decides_every_case(passed: str, failed: str, said: list[str]) -> None:
    assert told(passed=passed, failed=failed) == said


def test_a_message_about_dtypes_needs_no_other_dtype() -> None:
    """The other case may be one of float32 tables that were converted."""
    wrong = say(OTHER_DTYPE, actual="float32", wanted="float16")
    cases = [CaseResult("p", id, Outcome.FAILED, wrong) for id in ("t-float16", "u-float32")]
    assert [case.message for case in with_conditions(cases)] == [wrong, wrong]


def test_a_dtype_is_told_only_in_cases_that_name_one() -> None:
    """A case without a dtype in its id is one of float32, which a line about 16 bits would contradict."""
    ends = {"t-cpu-float16": Outcome.PASSED, "t-cpu-bfloat16": Outcome.FAILED, "exact-cpu": Outcome.FAILED}
    cases = with_conditions([CaseResult("p", id, end) for id, end in ends.items()])
    assert [case.message.strip() for case in cases] == ["", "Cases with bfloat16 fail; those with float16 pass.", ""]


@pytest.mark.parametrize(("passing", "failing"), [("cached", "grown"), ("bfloat16", "float16")])
def test_a_condition_is_told_in_cases_of_its_test_only(passing: str, failing: str) -> None:
    ends = {f"t-{passing}": Outcome.PASSED, f"t-{failing}": Outcome.FAILED, "u-float16": Outcome.FAILED}
    cases = with_conditions([CaseResult("p", id, end) for id, end in ends.items()])
    assert [case.message.strip() for case in cases] == [
        "",
        f"Cases with {failing} fail; those with {passing} pass.",
        "",
    ]


@pytest.mark.parametrize(
    ("place", "alone", "said"), [(1, Outcome.PASSED, True), (1, Outcome.FAILED, False), (0, Outcome.PASSED, False)]
)
def test_the_first_failing_case_says_if_it_passes_alone(place: int, alone: Outcome, said: bool) -> None:
    """A first case has nothing before it. What is named already is not run again."""
    ends = [Outcome.PASSED] * place + [Outcome.FAILED] * 2
    cases = [CaseResult("p", f"t-{n}", end) for n, end in enumerate(ends)]
    student = Mock(passes_alone=lambda *_: alone is Outcome.PASSED)
    judge = Mock()
    diagnose = judge._assignment.part.return_value.diagnose
    diagnose.return_value = "a_mistake"
    assert Judge._diagnosed(judge, student, "p", cases) == (cases, "a_mistake")
    diagnose.return_value = None
    told, _ = Judge._diagnosed(judge, student, "p", cases)
    assert [case.message.fields(str(ALONE)) is not None for case in told] == [
        said and n == place for n in range(len(cases))
    ]


@pytest.mark.parametrize(
    ("field", "chinese"),
    [("cpu", "在 cpu 上的 cpu"), (say("a device"), "在设备上的设备"), ("（模拟）", "在（模拟）上的（模拟）")],
)
def test_a_space_stands_beside_latin_letters_only(field: str, chinese: str) -> None:
    words = {"on {here}": "在 {here} 上的{here}", "a device": "设备"}
    assert translated(say("on {here}", here=field), words) == chinese
    assert translated(say("on {here}", here=field), {}) == f"on {field}"


@pytest.mark.parametrize(
    ("field", "chinese"),
    [
        ("0, 2, 3–5 …", "在 0、2、3–5 … 上"),
        (stated(b=2, s=3), "在 b=2，s=3 上"),
        ("[0, 2]", "在 [0, 2] 上"),
        ("a text, with a comma", "在 a text, with a comma 上"),
        (quoted("first, second"), "在 first, second 上"),
    ],
)
def test_lists_have_chinese_commas_and_code_has_its_own(field: str, chinese: str) -> None:
    assert translated(say("on {here}", here=field), {"on {here}": "在 {here} 上"}) == chinese


def test_a_report_holds_a_field_that_is_true_or_false() -> None:
    """Reports take no truth value for a number, so a message has to hold it as text, however deep it is."""
    message = say("called with {sizes}", sizes=stated(dim=4, dynamic=False))
    report = CaseReport(id="p", outcome=Outcome.FAILED, message=str(message), parts=as_data(message))
    assert from_data(report.parts) == "called with dim=4, dynamic=False"


FILES = sorted(PACKAGE.rglob("words.toml"))


def faulty(texts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The keys of sentences that a language lacks, or has with other fields."""
    return [
        key
        for key, both in texts.items()
        if both.keys() != {*LANGUAGES} or len({frozenset(re.findall(r"{(\w+)", text)) for text in both.values()}) > 1
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_everything_is_said_in_every_language(path: Path) -> None:
    assert Sentences(path).texts
    assert faulty(Sentences(path).texts) == []


def test_another_field_in_one_language_is_found() -> None:
    right, wrong = ({"en": "{n} late", "zh": f"{{{name}}} 份迟交"} for name in "nm")
    assert faulty({"right": right, "wrong": wrong, "half": {"en": "late"}}) == ["wrong", "half"]


def test_a_sentence_is_filled_in_and_a_later_file_overrides_an_earlier_one(tmp_path: Path) -> None:
    paths = [tmp_path / "core.toml", tmp_path / "extra.toml"]
    for path, word in zip(paths, ("late", "overdue"), strict=True):
        path.write_text(f"[late]\nen = '{{n}} {word}'\nzh = '{{n}} 份迟交'\n", encoding="utf-8")
    assert len(FILES) >= 9
    assert Sentences(*paths)("en", "late", n=2) == "2 overdue"
