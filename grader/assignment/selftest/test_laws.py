"""Tests to copy: each holds for right solutions, fails where the property is lost, and gives nothing away."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.variants import all_variants
from grader.core.laws import read_laws
from grader.core.rubric import Task
from grader.core.specimens.variants import Variant
from grader.lab.charges import Subject, charge
from grader.lab.copied import failure, submitted
from grader.lab.release.leaks import leaks
from grader.selftest.submissions import write_folder

LAWS = ASSIGNMENT.laws
TASK_OF = {name: task.id for task in ASSIGNMENT.rubric.tasks for name in task.names}
# Those about a second device are judged with one: not by the charges, which know the CPU alone.
VARIANTS = [variant for variant in all_variants() if ".devices" not in variant.name]
MIXED = [name for name in ASSIGNMENT.rubric.properties if name.endswith("_mixed_devices")]
SMALL = '''"""Laws."""

import json
from math import pi, tau

SIZE = 4
EPS = 1e-5  # small
HALF = pi / 2


def build():
    return HALF


@pytest.mark.rubric("one")
def test_one():
    """In
    English.

    第一行，
    第二行。
    """
    assert build() * SIZE != EPS


@pytest.mark.rubric("two")
def test_two():
    """More.

    更多。
    """
    assert json
'''


def seen(variant: Variant, properties: Iterable[str]) -> set[str]:
    """The properties whose tests to copy fail on a variant."""
    with submitted(variant.files):
        return {name for name in properties if failure(LAWS[name].test("law"))}


def test_the_tests_of_a_property_are_cut_out_with_what_they_use(tmp_path: Path) -> None:
    laws = read_laws(write_folder(tmp_path, {"laws.py": SMALL}))
    assert laws.keys() == {"one", "two"}
    assert laws["one"].words == {"en": "In English.", "zh": "第一行，第二行。"}
    text = laws["one"].test("Title", {"size": 16, "eps": "0.75", "half": "no number"})
    assert text.startswith(
        '"""Title"""\n\nfrom math import pi\n\nSIZE = 16\nEPS = 0.75  # small\nHALF = pi / 2\n\n\ndef build'
    )
    assert "test_two" not in text
    assert laws["two"].test("Title").startswith('"""Title"""\n\nimport json\n\n\n@pytest')


@pytest.mark.slow
def test_no_law_gives_a_solution_or_a_hidden_test_away() -> None:
    assert [*leaks({f"tests/test_{name}.py": law.test("law").encode() for name, law in LAWS.items()})] == []


@pytest.mark.slow
def test_the_reference_keeps_every_law() -> None:
    with submitted(ASSIGNMENT.solution()):
        assert {name: found for name, law in LAWS.items() if (found := failure(law.test("law")))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("task", ASSIGNMENT.rubric.tasks, ids=lambda task: task.id)
def test_every_valid_variant_keeps_every_law(task: Task) -> None:
    valid = [variant for variant in VARIANTS if variant.valid and TASK_OF[variant.piece] == task.id]
    assert valid
    for variant in valid:
        found = seen(variant, [prop.id for prop in task.properties])
        assert not found, f"{variant.name}: {found}"


@pytest.mark.slow
@pytest.mark.parametrize("task", ASSIGNMENT.rubric.tasks, ids=lambda task: task.id)
def test_every_wrong_variant_breaks_the_laws_of_what_it_loses(task: Task) -> None:
    wrong = [variant for variant in VARIANTS if variant.breaks and TASK_OF[variant.piece] == task.id]
    assert wrong
    for variant in wrong:
        missed = variant.breaks - seen(variant, variant.breaks)
        assert not missed, f"{variant.name}: {missed}"


@pytest.mark.slow
@pytest.mark.parametrize("name", MIXED)
def test_a_law_about_two_devices_is_broken_by_what_loses_it(name: str) -> None:
    about_it = [variant for variant in all_variants() if name in variant.breaks and ".devices" in variant.name]
    assert about_it
    assert [variant.name for variant in about_it if name not in seen(variant, {name})] == []
    for variant in all_variants():
        if variant.valid and TASK_OF[variant.piece] == ASSIGNMENT.rubric.task_of(name).id:
            assert not seen(variant, {name}), variant.name


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ASSIGNMENT.rubric.properties if name not in MIXED])
def test_with_the_sizes_of_the_case_that_failed_too(name: str) -> None:
    variant = next(one for one in VARIANTS if name in one.breaks)
    subject = Subject("variants", variant.name, TASK_OF[variant.piece], variant.breaks, variant.hints, variant.files)
    found = charge(subject, ASSIGNMENT.rubric)
    assert name in found.copies
    assert found.unseen == set()
    with submitted(ASSIGNMENT.solution()):
        assert {prop: failure(test) for prop, test in found.copies.items()} == dict.fromkeys(found.copies, "")
