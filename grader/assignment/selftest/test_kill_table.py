"""A2's variants and attacks are what the documents say they are."""

from __future__ import annotations

import re

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.rubric import Rubric
from grader.lab.verify import attacks, variants
from grader.selftest.warm_judges import RunHiddenTests

KNOWN = variants.known(ASSIGNMENT)
DOCS = ASSIGNMENT.root / "grader" / "docs"


def test_every_task_is_judged_on_every_dtype(judge: RunHiddenTests, rubric: Rubric) -> None:
    """Not every property: a law is judged in float32, and what 16 bits make of it has a property of its own."""
    tokens: dict[str, set[str]] = {}
    for result in judge(ASSIGNMENT.solution()):
        names = (token.removeprefix("gamma_") for token in result.id.split("-"))
        tokens.setdefault(rubric.task_of(result.property_id).id, set()).update(names)
    assert all(tokens[task.id] >= set(variants.ALL_DTYPES) for task in rubric.tasks), tokens


def test_a_variant_can_only_lose_points_of_its_own_task(rubric: Rubric) -> None:
    for variant in (one for one in KNOWN.values() if one.piece):  # without the two fixed ends
        tasks = {
            task.id for task in rubric.tasks for prop in task.properties if prop.id in variant.breaks | variant.also
        }
        assert len(tasks) <= 1, variant.name


@pytest.mark.slow
def test_a_variant_that_draws_is_judged_the_same_every_time() -> None:
    name = "wrong.norm_eps_and_gamma.gamma_drawn_again_at_every_call"
    first = variants.judge(ASSIGNMENT, name, 0)
    assert first.margin
    assert variants.judge(ASSIGNMENT, name, 0) == first


def test_the_threat_model_names_attacks_that_exist_and_some_of_every_kind() -> None:
    text = (DOCS / "threat-model.md").read_text(encoding="utf-8")
    kinds = {name.partition(".")[0] for name in attacks.known(ASSIGNMENT)}
    named = {name for name in re.findall(r"`([a-z]+\.[a-z_]+)`", text) if name.partition(".")[0] in kinds}
    assert named <= set(attacks.known(ASSIGNMENT))
    assert {name.partition(".")[0] for name in named} == kinds
