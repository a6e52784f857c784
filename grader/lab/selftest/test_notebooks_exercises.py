"""Checks of the exercises refuse slips by their laws, and pass an answer whichever of its formulas a student writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache, partial, wraps
from itertools import takewhile
from typing import Any
from unittest import mock

import pytest
import torch

from grader.lab.site.notebooks import execute, rules, sources
from grader.lab.site.notebooks.submissions import unneeded

pytestmark = pytest.mark.slow  # each check runs the given cells that it needs

EXERCISES = {  # by their numbers: the stem of the notebook's file, and the ``grade_id`` of the cell for the answer
    f"{script.stem[0]}.{number}": (script.stem, name)
    for script in sources.scripts()
    for number, name in enumerate(re.findall(r'"grade_id": "(\w+)", "solution": true', script.read_text("utf-8")), 1)
}


@cache
def cells(notebook: str) -> dict[str, str]:
    """The code cells of a notebook, by id."""
    parts = execute.code_cells(sources.read(sources.SOURCES / f"{notebook}.py", "en"))
    return {part.metadata.get("nbgrader", {}).get("grade_id", part.id): part.source for part in parts}


def check(
    notebook: str, exercise: str, answer: str, *, hidden: bool = False, handed: Callable[[Any], Any] = lambda text: text
) -> None:
    """Run the checks of an exercise on an answer, after those given cells that they need.

    Args:
        notebook: The stem of its file.
        exercise: The ``grade_id`` of its cell.
        answer: The text of that cell.
        hidden: Whether the hidden tests run after the ones that a student sees.
        handed: What becomes of the answer's function before the checks see it.
    """
    texts = cells(notebook)
    laws = texts[f"{exercise}_laws"]
    laws = laws if hidden else laws.partition(f"    {rules.MARKERS[2]}")[0]
    before = [text for _, text in takewhile(lambda part: part[0] != exercise, texts.items())]
    run = dict(enumerate([*before, answer, laws]))
    names: dict[str, Any] = {}
    with (
        mock.patch.object(sys, "path", [str(sources.SOURCES), *sys.path]),
        mock.patch.dict("os.environ", MPLBACKEND="agg"),  # figures open no window
    ):
        for number in sorted(run.keys() - unneeded(run, range(len(before)))):
            exec(compile(run[number], exercise, "exec"), names)
            if run[number] is answer:
                names[exercise] = handed(names[exercise])


OFF = {torch.float64: 1e-13, torch.complex128: 1e-13, torch.float32: 2e-7, torch.complex64: 2e-7}  # relative
EXPONENTIAL = "torch.exp(-torch.arange(0, dim, 2).double() / dim * math.log(base))"
BETA = "(factor ** (2 / (dim - 2)) * base ** (2 / dim)) ** (dim / 2)"  # the assignment's (c_kappa * beta) ** (d / 2)
FORMULAS = {  # answers that exact comparisons refused: the solution's own formula, and another that says the same
    "2.2": ("base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)", EXPONENTIAL),
    "5.3": ("base * factor ** (dim / (dim - 2))", BETA),
    "5.4": ("base * factor ** (dim / (dim - 2))", BETA),
    "8.4": ('frequencies(dim, rope["rope_theta"])', EXPONENTIAL.replace("base", 'rope["rope_theta"]')),
}


def off(value: Any, sign: float) -> Any:
    """What a function returned, with every float off by as much as two right formulas may differ."""
    if isinstance(value, tuple):
        return tuple(off(part, sign) for part in value)
    if isinstance(value, dict):
        return {name: off(part, sign) for name, part in value.items()}
    if isinstance(value, float):
        return value * (1 + sign * OFF[torch.float64])
    if isinstance(value, torch.Tensor) and value.dtype in OFF:
        signs = sign * (1.0 - 2.0 * (torch.arange(value.numel()) % 2)).view(value.shape).to(value.dtype)
        return torch.where(value.isfinite(), value * (1 + signs * OFF[value.dtype]), value)
    return value


def rounded(function: Callable[..., Any], sign: float) -> Callable[..., Any]:
    return wraps(function)(lambda *given, **named: off(function(*given, **named), sign))


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["more", "less"])
@pytest.mark.parametrize(("notebook", "exercise"), EXERCISES.values(), ids=EXERCISES)
def test_a_check_leaves_room_for_rounding(notebook: str, exercise: str, sign: float) -> None:
    """A law says what the answer is; in which order a student multiplies is no part of it."""
    right = cells(notebook)[exercise]
    sign *= exercise != "convert"  # which moves numbers and computes none
    check(notebook, exercise, right, hidden=True, handed=partial(rounded, sign=sign))


@pytest.mark.parametrize("number", FORMULAS)
def test_a_second_right_formula_passes(number: str) -> None:
    (formula, other), (notebook, exercise) = FORMULAS[number], EXERCISES[number]
    right = cells(notebook)[exercise]
    assert formula in right
    check(notebook, exercise, right.replace(formula, other), hidden=True)


def test_what_the_rounding_does_not_touch() -> None:
    """Whole numbers, zeros and infinities have no last digit."""
    kept = (torch.tensor([0.0, -torch.inf]), torch.tensor([1, 2]), True, 3)
    assert str(off(kept, 1.0)) == str(kept)
    assert off(torch.tensor([1.0, 1.0]).double(), 1.0).sub(1).sign().tolist() == [1, -1]


# By the number of the exercise: what the right answer has, what a wrong one has in its place, and what the check says.
SLIPS = {
    "0.1 signed": (".abs()", "", "so the gap is 3"),
    "0.2 nan": ("scores.masked_fill(future, -torch.inf)", "scores + future.float() * -torch.inf",
        "zero times infinity"),
    "0.2 a finite mask": ("-torch.inf", "-1e4", "however high or low the scores"),
    "0.3 cut off": (".round()", "", "round"),
    "0.3 no whole numbers": (".long()", "", "convert them to long"),
    "1.1 driver": ('driver="gelsd"', 'driver="gels"', "twice"),
    "1.1 float32": ("before, after = before.double(), after.double()", "before, after = before.float(), after.float()",
        "float64 sees it"),
    "1.1 a sum over features": (".square().mean().sqrt()", ".square().sum(-1).mean().sqrt()", "all entries"),
    "1.2 positions in a row": ("positions[:, None]", "torch.arange(len(positions))[:, None]", "At position 0"),
    "1.2 precision": ("-torch.arange(0, dim, 2) ", "-torch.arange(0.0, dim, 2).double() ", "dtype float32"),
    "1.3 one frequency": (" * base ** (-2 * pair / dim)", "", "pair 1 by 3/10"),
    "1.3 base ignored": (" * base **", " * 10000.0 **", "pair 1 by 3/10"),
    "2.1 stacked in front": ("dim=-1", "dim=0", "one pair"),
    "2.2 base ignored": ("return base", "return 10000.0", "base 16"),
    "2.3 precision": ("(*blocks)", "(*blocks).float()", "dtype of the angles"),
    "2.4 signed": ("abs(change.item())", "change.item()", "a fall of 15/16"),
    "2.4 last": ("range(1, longest + 1)", "[longest]", "not the last one"),
    "2.4 one too few": ("longest + 1", "longest", "from 1 * 2 to 4 * 5"),
    "2.4 from lowest to highest": ("max(abs(change.item()) for change in changes)",
        "float(max(0, *changes)) - float(min(0, *changes))", "counted from the start"),
    "3.1 heads": (".unsqueeze(-2)", "", "angles belong to positions"),
    "3.2 heads": (".unsqueeze(-2)", "", "factors belong to positions"),
    "3.3 heads": (".unsqueeze(-2)", "", "angles belong to positions"),
    "3.4 no indices": (".T.flatten()", ".T.flatten().float()", "dtype long"),
    "3.5 in place": ("dict(layer)", "layer", "belongs to the caller"),
    "3.5 heads as one": ("unflatten(0, (number,", "unflatten(0, (1,", "Each head by itself"),
    "4.1 conjugate": ("key.conj()", "key", "With the conjugate"),
    "4.2 no content": ("query * ", "", "score is highest"),
    "4.2 conjugate": ("query * ", "query.conj() * ", "score is highest"),
    "4.3 cosines only": (", rounded.sin() - exact.sin()", "", "265"),
    "4.3 angles": (".to(angles_in)", "", "265"),
    "4.3 cosines in 16 bits": (".to(angles_in).double()", ".to(angles_in)", "265"),
    "4.3 products in 16 bits": ("p.to(positions_in).double() * theta.to(frequencies_in).double()",
        "p.to(positions_in).to(frequencies_in) * theta.to(frequencies_in)", "only what is asked for"),
    "5.1 the last": (".min()", ".max()", "the smaller sets the limit"),
    "5.1 the first slow pair": ("[partial].min().item()", "[partial][0].item()", "the smaller sets the limit"),
    "5.1 radians": ("turns(theta, trained)", "trained * theta", "less than a turn"),
    "6.1 mean first": (".squeeze(-1).mean(dim=0)", ".squeeze(-1).exp().mean(dim=0).log()", "(ln 2 + ln 8) / 2"),
    "5.4 growth": ("growth * max(length, trained) / trained - (growth - 1)", "max(length, trained) / trained",
        "kappa = 2 * 3.5 - 1"),
    "5.5 one base": ("base_at(step + 1)", "base_at(len(keys))", "The fifth row"),
    "6.1 logarithm of nothing": ("log_softmax(logits, dim=-1)", "softmax(logits, dim=-1).log()", "-500"),
    "6.2 angle": ("torch.where(clamped, far.clamp(max=limit), far) * theta",
        "torch.where(clamped, (far * theta).clamp(max=limit), far * theta)", "pair 1 by 2 times 1/2"),
    "6.2 wrong pairs": ("where(clamped", "where(~clamped", "pair 0 turns by 7"),
    "6.3 ahead": ("diagonal(-distance", "diagonal(distance", "one back"),
    "6.3 all queries": ("[..., first - distance :]", "", "Queries 1 and 2"),
    "6.3 total": (".mean(-1)", ".sum(-1)", "Queries 1 and 2"),
    "7.1 precision": ("neat, between", "neat.double(), between", "float32"),
    "7.2 nan": ("bias.masked_fill(distance < 0, -torch.inf)", "bias + (distance < 0) * -torch.inf", "0 times infinity"),
    "8.1 scale": ("] + rotated.shape[-1]", "]", "6 / sqrt(4)"),
    "8.2 one axis": ("positions[axes].T", "positions[0][:, None]", "Pair 0 turns"),
    "8.3 one too many": (">= window", "> window", "Token 3 sees two"),
    "8.3 a column": ("[:, :-1]", "", "none for the sink"),
    "8.3 no sink": ("(with_sink, dim=-1)[:, :-1]", "(seen, dim=-1)", "Token 0 sees"),
    "8.5 scale": (" / keys.shape[-1] ** 0.5", "", "A quarter turn"),
    "8.5 queries alone": ("rotate(keys, angles).T", "keys.T", "A quarter turn"),
    "8.5 a strict mask": (".triu(1)", ".triu()", "Equal scores"),
    "8.4 PI spares": ("share = torch.zeros_like(theta)", "pass", "pair 0 too"),
    "8.4 heat for all": ('rope["rope_theta"]), 1.0', 'rope["rope_theta"]), 0.1 * math.log(stretch) + 1', "Only yarn"),
    "8.4 the other share": ("share = kept", "share = 1 - kept", "pair 0 has 1"),
    "8.4 features for pairs": ("* dim / 2)", "* dim)", "the share counts pairs"),
    "8.4 llama3 unread": ('("llama3", "yarn")', '("yarn",)', "llama3 blends in the same way"),
    "8.4 no heat": ("0.1 * math.log(stretch) + 1", "1.0", "0.1 ln 16 + 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_the_shown_checks_refuse_a_slip_by_its_law(name: str) -> None:
    (right, wrong, law), (notebook, exercise) = SLIPS[name], EXERCISES[name.split()[0]]
    answer = cells(notebook)[exercise]
    assert right in answer  # which passes, as shown above
    with pytest.raises((AssertionError, RuntimeError)) as refused:
        check(notebook, exercise, answer.replace(right, wrong))
    if refused.type is AssertionError:  # some builds of LAPACK refuse a matrix that lacks rank, in words of their own
        assert law in str(refused.value)
