"""``decisions.toml``: what people wrote stays as it is, a mistake has its line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.grades.model import EVERYONE, FILE, MAX_TEXT, Decision, DecisionError, Ground, _said
from grader.extras.decisions.file import append, entry, parse, read

WHEN = datetime(2026, 10, 5, 10, tzinfo=UTC)
BY_HAND = """\
# Kim's notes: ask Lee about this one.

[[decision]]   # an appeal
student="ada"
override = 'eps'
points = 6
why = '''
Fair
reading.'''
who = "kim"
when = 2026-10-05T10:00:00+08:00
# the end, without a newline"""


def decision(**fields: object) -> Decision:
    what = {} if {"comment", "withdraw", "due"} & fields.keys() else {"excuse": True}
    whole: dict[str, object] = {"student": "ada", "who": "kim", "when": WHEN, "why": "ill", **what, **fields}
    return Decision.model_validate(whole)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("points = 6", "points = ", "6: Invalid value"),
        ("points = 6", 'points = "6"', "3: points: Input should be a valid number"),
        ("points = 6", "points = -1", "3: points: Input should be greater than or equal to 0"),
        ("points = 6", "points = nan", "3: points: "),
        ("points = 6", "", "3: override and points must be given together"),
        ("points = 6", "points = 6\nexcuse = true", "3: 2 of the fields override, comment"),
        ("[[decision]]", "  [[ decision ]]\nlate = 2", "3: late: Extra inputs are not permitted"),
        ('who = "kim"', "", "3: who: Field required"),
        ('who = "kim"', 'who = " "', "3: who: it is empty"),
        ("+08:00", "", "3: when: Input should have timezone info"),
        ('student="ada"', 'student="*"', "3: only attempt can be decided for everyone"),
        ("[[decision]]", "[[decisions]]", "'decisions' is outside any entry. Each entry begins with [[decision]]"),
        ("[[decision]]", "[decision]", "'decision' is outside any entry."),
        ("why = '''\nFair\nreading.'''", "", "3: why is missing"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, before: str, after: str, line: str) -> None:
    assert before in BY_HAND
    (tmp_path / FILE).write_text(BY_HAND.replace(before, after))
    with pytest.raises(DecisionError) as caught:
        read(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / FILE}:")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes("why = '王'".encode("gb18030"))
    with pytest.raises(DecisionError, match="not UTF-8"):
        read(tmp_path)


texts = st.text(min_size=1, max_size=60).filter(lambda text: any(char.isprintable() and char != " " for char in text))
zones = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=zones).map(
    lambda moment: moment.replace(microsecond=0)
)
kinds = st.one_of(
    st.fixed_dictionaries({"override": texts, "points": st.floats(0, 1000)}),
    st.fixed_dictionaries({"comment": texts}),
    st.fixed_dictionaries({"due": moments}),
    st.fixed_dictionaries({"late_days": st.integers(0, 99)}),
    st.just({"excuse": True}),
    st.fixed_dictionaries({"team": st.lists(texts, min_size=1, max_size=3).map(tuple)}),
)
decisions = st.builds(
    lambda kind, common: Decision.model_validate({**common, **kind}),
    kinds,
    st.fixed_dictionaries(
        {
            "student": texts.filter(lambda text: _said(text) != EVERYONE),
            "who": texts,
            "when": moments,
            "why": texts,
            "ground": st.none() | st.builds(Ground, files=st.text("0123456789abcdef", max_size=64), was=texts),
        }
    ),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(decisions, max_size=4))
def test_whatever_is_written_is_read_again(own: list[Decision]) -> None:
    text = "".join(map(entry, own))
    found = parse(text, FILE)
    assert [each.decision for each in found] == own
    assert [text.split("\n")[each.line - 1] for each in found] == ["[[decision]]"] * len(own)
    assert len({each.line for each in found}) == len(own)


def test_an_addition_leaves_all_before_it_as_it_was(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(BY_HAND)
    append(tmp_path, [decision(why='flu, says 医生 "x" \\ \x7f')], about=["Ada\nLovelace"])
    text = (tmp_path / FILE).read_text()
    assert text.startswith(BY_HAND + "\n\n# Ada Lovelace\n[[decision]]\n")
    assert [entry.decision.why for entry in read(tmp_path)] == ["Fair\nreading.", 'flu, says 医生 "x" \\']


def test_a_file_with_a_mistake_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("oops")
    with pytest.raises(DecisionError):
        append(tmp_path, [decision()])
    assert (tmp_path / FILE).read_text() == "oops"


def test_nothing_is_too_long_to_be_written_and_too_long_to_be_read() -> None:
    with pytest.raises(ValueError, match="at most"):
        decision(why="x" * (MAX_TEXT + 1))
