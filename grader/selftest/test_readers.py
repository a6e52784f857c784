"""Reports that were damaged: `grader show` gives a table or one line, and leaves the folder as it was.

``GRADER_FUZZ=20000`` asks for more examples of each kind than the hundred that every run tries.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import Result

from grader.selftest.reports import report
from grader.selftest.term import command

fuzzed = settings(max_examples=int(os.environ.get("GRADER_FUZZ", "40")))

REPORT: dict[str, Any] = json.loads(report("ada").model_dump_json())
REPORT["tasks"][0]["properties"][0]["cases"][0] |= {"error_ulp": 20.5, "limit_ulp": 16.0, "elements": 6}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with one report, in which nothing else may ever appear."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "ada").mkdir()
    yield folder
    assert [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))] == ["ada", "ada/report.json"]


def show(out: Path, data: bytes) -> tuple[Result, ...]:
    """What the command says about a report of those bytes: alone, and as the class."""
    path = out / "ada" / "report.json"
    path.write_bytes(data)
    results = tuple(command("show", out, *more) for more in (["ada"], []))
    assert path.read_bytes() == data
    return results


def check_manners(results: tuple[Result, ...]) -> None:
    """Either it is shown, or one line says what is wrong; never a traceback."""
    for result in results:
        assert isinstance(result.exception, SystemExit | None), result.exception
        if result.exit_code:
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith("grader: ")
            assert "not a report of this grader (" in result.stderr
            assert result.stderr.count("\n") == 1
            assert result.stderr.rstrip("\n").isprintable()


def test_the_whole_report_is_shown(out: Path) -> None:
    one, everyone = show(out, json.dumps(REPORT).encode())
    assert (one.exit_code, everyone.exit_code) == (0, 0)
    assert "6/10" in one.stdout
    assert "ada" in everyone.stdout


# What stands where something else should: any JSON, and what JSON in Python may hold beyond it.
huge = st.sampled_from([10**400, -(10**400), 1e308, 2**63, -(2**64), 0.1 + 2**52])
texts = st.text(max_size=8) | st.sampled_from(["\ud800", "\x1b[31m", "[bold]", "a\nb", "\0", "￾"])
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | huge | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def places(tree: Any) -> list[tuple[Any, Any]]:
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key, _ in items] + [place for _, value in items for place in places(value)]


@st.composite
def damaged(draw: st.DrawFn, whole: dict[str, Any]) -> dict[str, Any]:
    """A tree with another value in one of its places."""
    tree = copy.deepcopy(whole)
    container, key = draw(st.sampled_from(places(tree)))
    container[key] = draw(junk)
    return tree


@pytest.mark.slow
@fuzzed
@given(tree=damaged(REPORT))
def test_a_report_with_other_values_is_shown_or_refused(out: Path, tree: dict[str, Any]) -> None:
    check_manners(show(out, json.dumps(tree).encode()))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "EOF while parsing"),
        (b"[" * 100_000, "recursion limit exceeded"),
        (b'{"score": ' + b"9" * 100_000 + b"}", "number out of range"),
        (b"\xff\xfe{}", "expected value"),
        (b'"\\ud800"', "hex escape"),
        (b"{}", "assignment: Field required"),
        (json.dumps(REPORT | {"score": None}).encode(), "a submission has a score and a bonus if and only if"),
        (json.dumps(REPORT | {"a\nb\x1b[31m": 1}).encode(), "Extra inputs are not permitted"),
    ],
    ids=["empty", "deep", "huge", "utf16", "surrogate", "fields", "no_score", "control"],
)
def test_what_is_no_report_says_why_in_one_line(out: Path, data: bytes, said: str) -> None:
    results = show(out, data)
    check_manners(results)
    assert all(said in result.stderr for result in results), results[0].stderr
