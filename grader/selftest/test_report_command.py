"""Reports in a published schema, and commands that show them: whatever is wrong or damaged is one line.

``GRADER_FUZZ=20000`` asks for more examples of damage of each kind than those that every run tries.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import Result

from grader import REPOSITORY
from grader import __main__ as cli
from grader.core.cli.terminal import LINE_EVERY
from grader.core.judge.judge import Judge
from grader.core.results.files import write_json
from grader.core.results.outcome import Outcome
from grader.core.results.report import SCHEMA_VERSION, Report, Summary
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import drawn, graded, ungraded, write
from grader.selftest.reports import report
from grader.selftest.submissions import SEES_LATER_TOKENS, edited, submission
from grader.selftest.term import command, refused


@pytest.fixture
def out(tmp_path: Path) -> Path:
    lost = dict.fromkeys(("swiglu_gate", "swiglu_weights"), Outcome.CRASHED) | {"attention_causal": Outcome.FAILED}
    held = {"attention_causal": "attention_sees_later_tokens"}
    return write(tmp_path / "out", [graded("ada"), graded("bo", lost, held), ungraded("chen", "unreadable", "no zip")])


@pytest.mark.parametrize("command", ["report", "show"])
def test_a_folder_without_reports_is_named(tmp_path: Path, command: str) -> None:
    line = refused(command, tmp_path)
    assert line == f"grader: {tmp_path}: no report in it. Give the folder that grade --out wrote to."
    assert [*tmp_path.iterdir()] == []


def test_a_report_that_the_summary_names_and_is_gone_is_named(out: Path) -> None:
    (out / "bo" / "report.json").unlink()
    assert f"{out / 'bo' / 'report.json'}: No such file or directory." in refused("report", out)


def test_a_place_that_cannot_be_written_to_is_named(out: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused("report", out, "--out", tmp_path / "file")
    assert f"{tmp_path / 'file' / 'students'}: Not a directory. Choose a writable folder" in line


def test_an_option_with_a_wrong_value_is_named(out: Path) -> None:
    line = refused("report", out, "--lang", "fr")
    assert "--lang fr: not a language of the rubric. Choose one of en, zh." in line
    line = refused("report", out, "--handout", "javascript:alert(1)")
    assert "--handout javascript:alert(1): not a URL. Give the parent of en/ and zh/" in line
    assert not (out / "html").exists()


def test_pages_go_beside_the_reports_and_progress_is_shown(tmp_path: Path) -> None:
    out = write(tmp_path / "out", drawn(LINE_EVERY + 1))
    result = command("report", out)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [f"[{LINE_EVERY}/{LINE_EVERY + 1}] pages", "[51/51] pages"]
    assert result.stdout == f"51 students: {out / 'html' / 'index.html'}\n"
    assert len([*(out / "html" / "students").iterdir()]) == 51


def test_only_the_last_run_counts(out: Path, tmp_path: Path) -> None:
    """Of an earlier one, another report lies in the same folder."""
    write(tmp_path / "earlier", [graded("zoe")])
    (tmp_path / "earlier" / "zoe").rename(out / "zoe")
    assert command("report", out).exit_code == 0
    assert not (out / "html" / "students" / "zoe.html").exists()
    assert "zoe" not in command("show", out).stdout


def test_a_student_who_is_gone_leaves_no_page(out: Path) -> None:
    pages = out / "html" / "students"
    pages.mkdir(parents=True)
    for name in ("dora.html", "notes.txt"):
        (pages / name).write_text("of an earlier run")
    assert command("report", out).exit_code == 0
    assert {path.name for path in pages.iterdir()} == {"ada.html", "bo.html", "chen.html", "notes.txt"}


def test_a_run_that_was_stopped_is_shown_as_far_as_it_went(out: Path) -> None:
    (out / "summary.json").unlink()
    assert [line.split()[0] for line in command("show", out).stdout.splitlines()[1:4]] == ["ada", "bo", "chen"]
    assert command("report", out).exit_code == 0
    assert (out / "html" / "students" / "chen.html").exists()


def test_one_submission_is_explained_in_the_terminal(out: Path) -> None:
    result = command("show", out, "bo", "--lang", "zh")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    hint = ASSIGNMENT.rubric.misconception("attention_sees_later_tokens").hint["zh"]
    assert f"{hint}（识别出的错误：attention_sees_later_tokens）" in lines
    place = ASSIGNMENT.rubric.handout_place("attention_causal", "zh")
    assert f"阅读：handout/{place}；公开测试：python -m tests -k attention_causal" in lines
    assert any(line.endswith("（抛出异常，与 swiglu_gate 相同）") for line in lines)
    assert lines[-1].startswith("bo: ")  # the total, after everything that it is made of
    assert lines.count("src/attention.py:54，forward 中：x.sofmax()") == 1


@pytest.mark.parametrize("who", [(), ("bo",), ("chen",)], ids=["class", "graded", "unreadable"])
def test_what_is_around_titles_and_hints_is_chinese_too(out: Path, who: tuple[str, ...]) -> None:
    frame = {"submission", "score", "bonus", "property", "mistake", "mean", "lateness", "outcome", "isolated"}
    frame |= {"exception", "crashed", "failed", "result", "recognised", "read", "try", "unreadable", "properties"}
    told = {lang: command("show", out, *who, "--lang", lang).stdout.lower() for lang in ("en", "zh")}
    assert frame & {*re.findall(r"\w+", told["en"])}
    assert frame & {*re.findall(r"[a-z_]+", told["zh"])} == set()


def test_what_the_terminal_cannot_write_is_replaced(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.TextIOWrapper(written := io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(cli, "choose", lambda _: None)  # the small assignment is chosen
    monkeypatch.setattr(sys, "argv", ["grader", "show", str(out), "ada", "--lang", "zh"])
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    screen.flush()
    assert b"?" in written.getvalue()  # for a title's characters


@pytest.mark.process
def test_whoever_stops_reading_ends_the_command_well(out: Path) -> None:
    """``grader show … | head``."""
    read, write = os.pipe()
    os.close(read)
    show = [sys.executable, "-W", "ignore", "-m", "grader.selftest.command", "show", str(out)]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(show, stdout=closed, stderr=subprocess.PIPE, cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (0, b"")


SCHEMAS = REPOSITORY / "grader" / "docs" / "schema"
models = pytest.mark.parametrize("model", [Report, Summary], ids=["report", "summary"])


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"score": math.nan}, "finite number"),
        ({"score": "87"}, "valid number"),
        ({"bonus": True}, "valid number"),
        ({"max_score": -1.0}, "greater than or equal to 0"),
        ({"grade": "A"}, "Extra inputs are not permitted"),
        ({"status": "fine"}, "Input should be 'graded', 'unreadable' or 'grader_error'"),
        ({"schema_version": "2.0"}, "Input should be '1.0' or '1.1'"),
        ({"submission": {"id": 7, "sha256": "", "files": []}}, "valid string"),
    ],
    ids=["nan", "text", "bool", "negative", "unknown_field", "status", "version", "number_for_text"],
)
def test_a_report_refuses_what_it_does_not_mean(fields: Mapping[str, Any], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        report("someone", **fields)


def json_schema(model: type[Report] | type[Summary], assignment: str) -> dict[str, Any]:
    """The JSON Schema of a report or a summary, as published in ``grader/docs/schema``."""
    name = model.__name__.lower()
    header = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{assignment}:{name}:{SCHEMA_VERSION}",
    }
    return header | model.model_json_schema(mode="serialization")


@models
def test_the_published_schema_is_that_of_the_model(model: type[Report] | type[Summary]) -> None:
    """But for its name, the assignment's. To publish it: ``write_json(path, json_schema(model, rubric.id))``."""
    path = SCHEMAS / f"{model.__name__.lower()}-1.1.json"
    published = json.loads(path.read_text(encoding="utf-8"))
    assert published == json_schema(model, ASSIGNMENT.rubric.id) | {"$id": published["$id"]}


def test_a_real_report_obeys_the_published_schema(grader: Judge, tmp_path: Path) -> None:
    real = grader.grade(submission(edited(SEES_LATER_TOKENS)))
    write_json(tmp_path / "report.json", real)
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    schema = json.loads((SCHEMAS / "report-1.1.json").read_text(encoding="utf-8"))
    jsonschema: Any = importlib.import_module("jsonschema")  # when it is needed: that takes seconds
    jsonschema.validate(data, schema)  # which checks the schema first
    assert Report.model_validate_json((tmp_path / "report.json").read_bytes()) == real
    with pytest.raises(jsonschema.ValidationError, match="'many' is not valid under any"):
        jsonschema.validate(data | {"score": "many"}, schema)
    with pytest.raises(jsonschema.ValidationError, match="Additional properties are not allowed"):
        jsonschema.validate(data | {"grade": "A"}, schema)


def test_a_file_is_written_whole_with_a_mode_that_others_can_read(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", report("someone"))
    written = (tmp_path / "report.json").read_text(encoding="utf-8")
    assert written.endswith("}\n")
    assert json.loads(written)["score"] == 6.0
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_what_is_no_json_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        write_json(tmp_path / "report.json", {"score": math.nan})
    assert list(tmp_path.iterdir()) == []


fuzzed = settings(max_examples=int(os.environ.get("GRADER_FUZZ", "40")))

REPORT: dict[str, Any] = json.loads(report("ada").model_dump_json())
REPORT["tasks"][0]["properties"][0]["cases"][0] |= {"error_ulp": 20.5, "limit_ulp": 16.0, "elements": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with one report, in which nothing else may ever appear."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "ada").mkdir()
    yield folder
    assert [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))] == ["ada", "ada/report.json"]


def show(folder: Path, data: bytes) -> tuple[Result, ...]:
    """What the command says about a report of those bytes: alone, and as the class."""
    path = folder / "ada" / "report.json"
    path.write_bytes(data)
    results = tuple(command("show", folder, *more) for more in (["ada"], []))
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


def test_the_whole_report_is_shown(folder: Path) -> None:
    one, everyone = show(folder, json.dumps(REPORT).encode())
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
def test_a_report_with_other_values_is_shown_or_refused(folder: Path, tree: dict[str, Any]) -> None:
    check_manners(show(folder, json.dumps(tree).encode()))


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
def test_what_is_no_report_says_why_in_one_line(folder: Path, data: bytes, said: str) -> None:
    results = show(folder, data)
    check_manners(results)
    assert all(said in result.stderr for result in results), results[0].stderr
