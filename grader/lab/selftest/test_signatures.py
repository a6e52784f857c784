"""Signatures of known mistakes: the mistake is named that fits all that fails; a release refuses a file with more."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import REPOSITORY
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.release.leaks import SIGNATURES, leaks
from grader.lab.signatures.mistakes import Cause, written
from grader.selftest.submissions import write_folder
from grader.selftest.warm import WarmPython

RUBRIC = ASSIGNMENT.rubric
FIRST, SECOND = "attention_unscaled", "attention_sees_later_tokens"
FAILED, OTHER = "attention_heads", "attention_causal"
A, B, C, D, E, F = (digit * 12 for digit in "abcdef")
hints: Any = import_module("tests.harness.hints")  # untyped, as students are to read it
compare: Any = import_module("tests.harness.compare")


def cause(*names: str, also: tuple[str, ...] = ()) -> Cause:
    return Cause(frozenset(names), frozenset(also))


KNOWN = {
    FAILED: {
        (A, B): {cause(FIRST), cause(SECOND, also=(OTHER,))},
        (C,): {cause(FIRST, SECOND)},
        (D,): {cause(FIRST, also=(OTHER,))},
        (E,): {cause(FIRST), cause(SECOND)},
        (F,): {cause(FIRST), cause(FIRST, SECOND)},
    }
}
TEXT = written(KNOWN, RUBRIC)


def told(*keys: str, failing: tuple[str, ...] = (FAILED,)) -> list[str]:
    """The names of the mistakes that somebody with these signatures is told."""
    return sorted(one["name"] for cause in hints.explanations(json.loads(TEXT), keys, failing) for one in cause)


def test_a_signature_has_an_explanation_in_both_languages() -> None:
    ((one,),) = hints.explanations(json.loads(TEXT), [A], [FAILED])
    hint = RUBRIC.misconception(FIRST).hint
    assert (one["name"], one["en"], one["zh"]) == (FIRST, hint.en, hint.zh)


def test_of_two_causes_the_one_is_named_that_explains_what_fails() -> None:
    assert told(A) == [FIRST]  # the other one would fail another property
    assert told(A, failing=(FAILED, OTHER)) == [SECOND]  # which explains both
    assert told(C) == sorted([FIRST, SECOND])


def test_of_two_causes_that_fit_alike_both_are_named_and_of_one_and_two_mistakes_the_one() -> None:
    either = hints.explanations(json.loads(TEXT), [E], [FAILED])
    assert [[one["name"] for one in cause] for cause in either] == [[name] for name in sorted((FIRST, SECOND))]
    assert told(F) == [FIRST]


def test_a_mistake_is_not_named_where_something_passes_that_it_fails() -> None:
    assert told(D) == []
    assert told(D, failing=(FAILED, OTHER)) == [FIRST]


def test_what_is_not_known_is_not_named() -> None:
    unknown = "0" * 12
    assert told(unknown) == []
    assert told(A, C) == []  # one grid says this, the other that
    assert told(unknown, B) == [FIRST]  # near a border of one grid


def leaked(text: str) -> list[str]:
    return list(leaks({SIGNATURES: text.encode()}, Path(__file__).parent))  # where nothing else is secret


MORE: dict[str, tuple[tuple[str, ...], object]] = {
    "another hint": (("hints", FIRST, "en"), "the answer: is 42"),
    "an unknown name": (("hints", "unknown"), RUBRIC.misconception(FIRST).hint.model_dump()),
    "values for names": (("causes", A), [[[0.5], []]]),
    "values for properties": (("causes", A), [[[FIRST], [0.25]]]),
    "no signature": (("causes", "the answer"), [[[FIRST], []]]),
    "values beside the signatures": (("values",), [0.5, 0.25]),
    "a number for causes": (("causes", A), 42),
}


@pytest.mark.parametrize(("place", "value"), MORE.values(), ids=MORE)
def test_more_than_mistakes_is_a_leak(place: tuple[str, ...], value: object) -> None:
    part = whole = json.loads(TEXT)
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    found = leaked(json.dumps(whole, ensure_ascii=False, separators=(",", ":")))
    assert found
    assert all(line.startswith(f"{SIGNATURES}: ") for line in found)


def test_signatures_of_an_earlier_rubric_are_told_with_the_command_that_renews_them() -> None:
    hint = RUBRIC.misconception(FIRST).hint.en
    (edited,) = leaked(TEXT.replace(hint, "Another hint."))
    assert f"the hints of {FIRST} differ from those of the rubric" in edited
    renamed = leaked(TEXT.replace(f'"{FIRST}"', '"renamed"'))
    assert any("renamed is not in the rubric" in line for line in renamed)
    assert all("run `make signatures`" in line for line in (edited, *renamed))


def test_what_json_passes_over_is_a_leak_and_mistakes_alone_are_none() -> None:
    assert leaked(TEXT) == []
    assert leaked(TEXT.replace("{", '{"causes":{"the answer":42},', 1)) == [
        f"{SIGNATURES}: contains more than signatures and hints"
    ]
    assert leaked("no JSON") == [f"{SIGNATURES}: is not made of signatures and hints"]


INPUTS = [
    *("tests/test_norm.py", "ref/functional.py", "src/functional.py", "pyproject.toml"),
    *("grader/assignment/rubric.toml", "grader/core/judge/compare.py", "grader/lab/signatures/public_tests.py"),
]


@pytest.mark.process
def test_signatures_are_made_again_when_something_has_changed_that_they_depend_on(tmp_path: Path) -> None:
    (tmp_path / "grader").symlink_to(REPOSITORY / "grader")
    for name in ("ref", "src", "tests"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    before = ("pyproject.toml", "requirements.lock", ".venv/.student", ".venv/.everything")
    write_folder(tmp_path, dict.fromkeys([*before, "build/signatures/signatures.json"], ""))
    (tmp_path / "Makefile").write_bytes((REPOSITORY / "Makefile").read_bytes())

    def made(*changed: str) -> bool:
        command = ["make", "--dry-run", *(f"--what-if={path}" for path in changed), "signatures"]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60).stdout
        return "grader.lab.signatures" in said

    assert not made()
    assert not made("grader/assignment/selftest/test_rubric.py")
    assert all(map(made, INPUTS))


def look(values: list[float], test: str = "tests/test_a.py::test_b[float32]") -> Any:
    """How a test looks that received these values."""
    return hints.look_of(test, compare.MismatchError(("values", {}), received=torch.tensor(values)))


def test_rounding_does_not_change_a_signature_and_another_value_does() -> None:
    values, rounded = [1 / 3, -7.03126, 1e5, float("nan")], [1 / 3 + 1e-6, -7.03125, 1e5, float("nan")]
    once, again = (hints.signatures("p", [look(those)]) for those in (values, rounded))
    assert set(once) & set(again)  # on one grid at least
    assert not set(once) & set(hints.signatures("p", [look([0.5, *values[1:]])]))
    assert not set(once) & set(hints.signatures("q", [look(values)]))


def test_of_several_dtypes_the_finest_counts() -> None:
    fine, coarse = look([1.0]), look([2.0], "tests/test_a.py::test_b[bfloat16]")
    assert hints.signatures("p", [coarse, fine]) == hints.signatures("p", [fine])
    assert hints.signatures("p", []) == []


def test_sizes_in_an_error_count_and_addresses_do_not() -> None:
    def of(message: str) -> Any:
        return hints.look_of("t::a", RuntimeError(message))

    assert of("size of tensor a (3) must match 5") != of("size of tensor a (4) must match 2")
    assert of("no rule for <object at 0x7f01>") == of("no rule for <object at 0x7fA2>")


def test_names_of_ones_own_do_not_count() -> None:
    mine, yours = (
        hints.look_of("t::a", compare.MismatchError(("parameters", {"found": f"{name} [24]", "expected": "1"})))
        for name in ("gamma", "weight")
    )
    assert mine == yours


BOTH = f"""
import sys
sys.path.insert(0, {str(REPOSITORY)!r})
import torch
from grader.shared import second_device
from grader.lab.signatures.public_tests import PublicTests

PublicTests()
second_device.install()
try:
    torch.ones(2, device=second_device.DEVICE).to_sparse()
except second_device.NotSimulated:
    print("ours")
"""


def test_the_judges_own_copy_of_the_second_device_serves_beside_public_tests(run: WarmPython, tmp_path: Path) -> None:
    """Students get another copy, and of two in one process the first one serves."""
    write_folder(tmp_path, {"both.py": BOTH})
    done = run(tmp_path, "both")
    assert done.stdout == "ours\n", done.stderr
