"""Reports say exactly what they mean: strict fields, a published schema, and files that are whole or not there."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from grader import REPOSITORY
from grader.core.judge.judge import Judge
from grader.core.results.report import (
    SCHEMA_VERSION,
    Report,
    Summary,
    SummaryLine,
    summary_line,
    write_json,
)
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.reports import report
from grader.selftest.submissions import SEES_LATER_TOKENS, edited, submission

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


def test_a_summary_with_the_decisions_of_an_earlier_version_is_read_and_written_without_them() -> None:
    line = summary_line(report("someone")).model_dump(mode="json")
    for before in (None, {"score": 9.0, "bonus": 0.0, "decisions": []}):
        assert SummaryLine.model_validate(line | {"decided": before}, strict=False).model_dump(mode="json") == line


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
