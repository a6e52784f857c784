"""What changed between two gradings: who, in which property, and why."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.core.messages import as_data, say
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report
from grader.core.rubric import Policy
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.diff.commands import tallies
from grader.extras.diff.extension import policy_of
from grader.followup.difference import Cause, Difference, Kind, difference, in_order
from grader.followup.terminal import title
from grader.selftest.reports import FAILED, PASSED, USUAL, report, unreadable, write_class
from grader.selftest.term import command, refused, run

LOST = USUAL | {"eps": (FAILED, 6.0)}
NEW_TESTS = {"hidden_tests_sha256": "c" * 64}
NEW_RUBRIC = {"rubric_sha256": "d" * 64}
ends = st.fixed_dictionaries(
    {name: st.tuples(st.sampled_from(Outcome), st.sampled_from([1.0, 2.5, 6.0])) for name in ("eps", "mean", "bonus")}
)
graded = st.builds(
    report,
    st.just("ada"),
    ends,
    files=st.sampled_from("01"),
    seed=st.integers(0, 1),
    rubric_sha256=st.sampled_from(["a" * 64, "d" * 64]),
)
reports = st.one_of(graded, st.builds(unreadable, st.just("ada"), st.sampled_from(["empty", "broken"])))


def changed(old: Report | None, new: Report | None) -> Difference:
    found = difference(old, new)
    assert found is not None
    return found


@given(reports, reports)
def test_backwards_drops_are_rises_and_sides_change_places(one: Report, other: Report) -> None:
    forth, back = difference(one, other), difference(other, one)
    assert (forth is None) == (back is None)
    if forth is None or back is None:
        return
    opposite = {Kind.DROP: Kind.RISE, Kind.RISE: Kind.DROP}
    assert back.kind is opposite.get(forth.kind, forth.kind)
    assert (back.old, back.new, back.change) == (forth.new, forth.old, -forth.change)
    assert {one.id: (one.old, one.new) for one in back.changes} == {one.id: (one.new, one.old) for one in forth.changes}


@given(reports, reports)
def test_every_difference_has_a_reason(one: Report, other: Report) -> None:
    if found := difference(one, other):
        assert found.reasons
        assert all(change.reasons for change in found.changes)
        assert {reason for change in found.changes for reason in change.reasons} <= {*found.reasons}


def test_a_reason_in_another_language_is_the_same_reason() -> None:
    parts = as_data(say("The zip cannot be read."))
    english, chinese = (unreadable("ada", reason, reason_parts=parts) for reason in ("The zip …", "zip 无法读取"))
    assert difference(english, chinese) is None


@given(graded, graded)
def test_properties_account_for_all_points(one: Report, other: Report) -> None:
    if found := difference(one, other):
        sides = ((change.old, change.new) for change in found.changes)
        gained = sum((new.points if new else 0) - (old.points if old else 0) for old, new in sides)
        assert found.change == pytest.approx(gained)


@pytest.mark.parametrize(
    ("fields", "causes", "detail"),
    [
        ({"files": "9"}, [Cause.FILES], "src/a.py"),
        (NEW_TESTS, [Cause.TESTS], "bbbbbbbb → cccccccc"),
        ({"files": "1", **NEW_TESTS}, [Cause.FILES, Cause.TESTS], ""),
        (NEW_RUBRIC, [Cause.RUBRIC], ""),  # which may name other files
        ({"seed": 7}, [Cause.SEED], "0 → 7"),
        ({"devices": ["cpu", "cuda:0"]}, [Cause.DEVICES], "cpu → cpu+cuda:0"),
        ({"torch": "2.14"}, [Cause.ENVIRONMENT], "torch 2.13.0+cpu, landlock"),
        ({"grader_version": "1.1.0"}, [Cause.GRADER], "1.0.0 → 1.1.0"),
        ({"command": "grader grade --request-s 1"}, [Cause.COMMAND], "→ grader grade --request-s 1"),
        ({"started_at": "2027-01-01T00:00:00+00:00"}, [Cause.UNKNOWN], ""),
    ],
    ids=str,
)
def test_all_that_differs_is_why(fields: dict[str, Any], causes: list[Cause], detail: str) -> None:
    found = changed(report("ada"), report("ada", LOST, **fields))
    (change,) = found.changes
    assert (found.kind, found.change, change.id) == (Kind.DROP, -6.0, "eps")
    assert change.reasons == found.reasons
    assert [reason.cause for reason in change.reasons] == causes
    assert detail in change.reasons[0].detail


def test_another_worth_is_the_rubrics_doing_and_another_outcome_is_not() -> None:
    both = {"eps": (PASSED, 8.0), "mean": (PASSED, 4.0)}
    found = changed(report("ada"), report("ada", USUAL | both, **NEW_RUBRIC, **NEW_TESTS))
    causes = {change.id: [reason.cause for reason in change.reasons] for change in found.changes}
    assert causes == {"eps": [Cause.POINTS], "mean": [Cause.TESTS]}
    assert found.changes[0].reasons[0].detail == "6 → 8"
    assert (found.kind, found.change) == (Kind.RISE, 6.0)


def test_a_property_that_only_one_rubric_has_is_named() -> None:
    more = USUAL | {"new": (FAILED, 3.0)}
    found = changed(report("ada"), report("ada", more, **NEW_RUBRIC))
    assert [(change.id, change.old) for change in found.changes] == [("new", None)]
    assert found.kind is Kind.MOVED
    without = {name: end for name, end in USUAL.items() if name != "eps"}
    found = changed(report("ada"), report("ada", without, command="grader grade --only task2"))
    assert [(change.id, change.new) for change in found.changes] == [("eps", None)]
    assert [reason.cause for reason in found.reasons] == [Cause.COMMAND]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (report("ada"), report("ada", LOST), Kind.DROP),
        (report("ada"), unreadable("ada"), Kind.DROP),
        (report("ada"), None, Kind.GONE),
        (unreadable("ada", "empty"), unreadable("ada", "broken"), Kind.STATUS),
        (unreadable("ada"), unreadable("ada", "died", status="grader_error"), Kind.STATUS),
        (unreadable("ada"), report("ada"), Kind.RISE),
        (report("ada", USUAL | {"mean": (Outcome.CRASHED, 4.0)}), report("ada"), Kind.MOVED),
        (None, report("ada"), Kind.ADDED),
    ],
    ids=["lower", "lost", "gone", "other_reason", "other_status", "found", "moved", "added"],
)
def test_each_kind_of_difference_has_its_name(old: Report | None, new: Report | None, kind: Kind) -> None:
    assert changed(old, new).kind is kind


def test_drops_come_first_and_the_largest_before_all() -> None:
    sides = {
        "came": (None, report("came")),
        "rise": (report("rise", LOST), report("rise")),
        "slight": (report("slight"), report("slight", USUAL | {"bonus": (FAILED, 5.0)})),
        "gone": (report("gone"), None),
        "deep": (report("deep"), report("deep", LOST)),
    }
    for order in itertools.islice(itertools.permutations(sides), 10):
        found = in_order(changed(*sides[name]) for name in order)
        assert [one.id for one in found] == ["deep", "slight", "gone", "rise", "came"]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Two gradings, with names that a page must not take for its own."""
    evil = "<script>alert('&')</script>"
    before = (report("ada"), report("bo", LOST, name=evil), report("cy"), unreadable("di"), report("gone"))
    changed = (report("ada", LOST, **NEW_TESTS), report("bo", USUAL, name=evil, **NEW_TESTS))
    after = (*changed, report("cy"), unreadable("di"))
    return write_class(tmp_path / "old", *before), write_class(tmp_path / "new", *after, report("new"))


def test_the_terminal_shows_who_in_what_and_why(sides: tuple[Path, Path]) -> None:
    result = run("diff", *sides)
    tests = "      the hidden tests, the reference or the grader's code changed: bbbbbbbb → cccccccc"
    assert result.stdout.splitlines() == [
        "eps is right: lost by 1, gained by 1",
        "Fewer points: 1",
        "  ada: 11 → 5 (-6)",
        "    eps is right: passes → wrong result, 6 → 0",
        tests,
        "Only in the earlier grading: 1",
        "  gone: 11 → - (-11)",
        "More points: 1",
        "  bo: 5 → 11 (+6)",
        "    eps is right: wrong result → passes, 0 → 6",
        tests,
        "Only in the later grading: 1",
        "  new: - → 11 (+11)",
        "Unchanged: 2.",
    ]


def test_a_change_that_many_share_is_explained_once_below_all_of_them(tmp_path: Path) -> None:
    """Other points change the whole class alike."""
    write_class(tmp_path / "old", report("ada"), report("bo"), report("cy"))
    now = (report("ada", LOST, **NEW_TESTS), report("bo", LOST, **NEW_TESTS), report("cy"))
    write_class(tmp_path / "new", *now)
    shown = run("diff", str(tmp_path / "old"), str(tmp_path / "new")).stdout.splitlines()
    ada, bo = (next(n for n, line in enumerate(shown) if line.startswith(f"  {who}: ")) for who in ("ada", "bo"))
    assert bo == ada + 1
    assert sum("the hidden tests" in line for line in shown) == 1


def test_one_that_was_graded_again_alone_is_compared_alone(sides: tuple[Path, Path], tmp_path: Path) -> None:
    """As for an appeal; nobody else is missing."""
    alone = write_class(tmp_path / "appeal", report("ada", LOST, **NEW_TESTS))
    lines = [line for line in command("diff", sides[0], alone).stdout.splitlines() if not line.startswith("   ")]
    assert lines[1:] == ["Fewer points: 1", "  ada: 11 → 5 (-6)", "Unchanged: 0."]
    other = write_class(tmp_path / "other", report("eve"))
    assert "Only in the earlier grading: 5" in command("diff", sides[0], other).stdout


def test_the_same_twice_is_nothing(sides: tuple[Path, Path]) -> None:
    result = command("diff", sides[0], sides[0], "--lang", "zh")
    assert result.stdout.splitlines() == ["没有变化。", "没有变化的提交：5 份。"]


def test_the_tally_begins_with_what_most_have_lost() -> None:
    better = USUAL | {"mean": (PASSED, 4.0)}
    pairs = [(report(who), report(who, now)) for who, now in (("ada", LOST), ("bo", LOST), ("cy", better))]
    told = ["eps is right: lost by 2, gained by 0", "mean is right: lost by 0, gained by 1"]
    assert [*tallies([changed(*pair) for pair in pairs], ASSIGNMENT.rubric, "en")] == told


def test_what_the_rubric_calls_a_property_goes_before_what_a_report_does() -> None:
    identifier, known = next(iter(ASSIGNMENT.rubric.properties.items()))
    (change,) = changed(report("ada", {identifier: (PASSED, 1.0)}), report("ada", {identifier: (FAILED, 1.0)})).changes
    assert title(change, ASSIGNMENT.rubric, "zh") == known.title["zh"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("gone",), "gone/summary.json: No such file or directory. Run grade first"),
        (("--lang", "fr"), "--lang fr: not a language of the rubric. Choose one of en, zh."),
    ],
    ids=["folder", "lang"],
)
def test_a_comparison_that_cannot_be_made_is_one_line(
    sides: tuple[Path, Path], arguments: tuple[str, ...], line: str
) -> None:
    folders = sides if arguments[0].startswith("--") else sides[:1]
    assert line in refused("diff", *folders, *arguments)


def test_a_policy_of_a_ledger_is_known_where_all_reports_have_it() -> None:
    policies = [Policy(grace_minutes=15, bonus_cap=cap) for cap in (20, 10)]
    one, other = ({"policy": policy.model_dump_json()} for policy in policies)
    assert policy_of([one, one]) == policies[0]
    assert policy_of([one, other]) is None
    assert policy_of([{}]) is None
