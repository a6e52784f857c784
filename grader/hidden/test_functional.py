"""Task 4, apply_rotary_pos_emb. Pairing and sign are charged once; the other properties follow what a student does."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.hidden.checks import arrived
from grader.judge import oracle
from grader.judge.cases import dtypes, normal, uniform
from grader.judge.compare import (
    DTYPES,
    INPUT_GRADIENT_LIMIT,
    check_close,
    check_equal,
    check_like,
    coarser,
    forward_limit,
    name,
)
from grader.judge.conventions import convention_followed, turning_scale
from grader.judge.student import Student
from ref.functional import apply_rotary_pos_emb

table_dtypes = pytest.mark.parametrize("table_dtype", DTYPES, ids=lambda dtype: f"tables_{name(dtype)}")


def tables(seed: int, positions: int, dim: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Cosines and sines ``[s, hd]`` of random angles, both halves alike."""
    angles = uniform(seed, "angles", dim, shape=(positions, dim // 2), low=-3.0, high=3.0).repeat(1, 2)
    return angles.cos().to(dtype), angles.sin().to(dtype)


@pytest.mark.rubric("rotary_pairing_and_sign")
@dtypes
def test_a_quarter_turn_moves_each_pair(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    for shape in ((1, 1, 1, 4), (2, 3, 2, 8)):
        x = normal(seed, "quarter", shape=shape).to(dtype)
        cos, sin = torch.zeros(shape[1], shape[3], dtype=dtype), torch.ones(shape[1], shape[3], dtype=dtype)
        output = student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))
        check_equal(output, oracle.rotate(x, cos, sin), f"{name(dtype)} input turned by a quarter")


@pytest.mark.rubric("rotary_pairing_and_sign")
@dtypes
def test_ones_then_zeros_show_the_tables(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x = torch.cat((torch.ones(1, 4, 1, 8), torch.zeros(1, 4, 1, 8)), dim=-1).to(dtype)
    cos, sin = tables(seed, 4, 16, dtype)
    output = student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))
    check_equal(output, oracle.rotate(x, cos, sin), f"{name(dtype)} input of ones then zeros")


@pytest.mark.rubric("rotary_pairing_and_sign")
@dtypes
def test_pairs_turn_by_their_angles(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    for dim in (2, 8, 64, 128):
        check_turning(student, seed, dim, dtype, device)


def check_turning(student: Student, seed: int, dim: int, dtype: torch.dtype, device: str) -> None:
    """Compare with the oracle for random input and angles."""
    x = normal(seed, "x", dim, shape=(2, 5, 3, dim)).to(dtype)
    cos, sin = tables(seed, 5, dim, dtype)
    expected, scale = oracle.rotate(x, cos, sin), oracle.pair_norm(x)
    limit = forward_limit(apply_rotary_pos_emb(x.to(device), cos, sin), expected, scale)
    output = student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))
    check_close(output, expected, scale, dtype, limit, f"{name(dtype)} output")


@pytest.mark.rubric("rotary_broadcast")
@dtypes
def test_every_batch_row_and_head_turns_alike(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """Some dimensions agree, where a table that is broadcast along the wrong one raises no error."""
    convention = convention_followed(student)
    for shape in ((2, 3, 4, 8), (3, 3, 3, 8), (4, 2, 2, 8), (2, 2, 5, 8)):
        x = normal(seed, "x", shape, shape=shape).to(dtype)
        cos, sin = tables(seed, shape[1], shape[3], dtype)
        output = student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))
        expected, scale = convention.rotate(x, cos, sin), turning_scale(x)
        limit = forward_limit(apply_rotary_pos_emb(x.to(device), cos, sin), oracle.rotate(x, cos, sin), scale)
        check_close(output, expected, scale, dtype, limit, f"{name(dtype)} output")


@pytest.mark.rubric("rotary_dtype")
@table_dtypes
@dtypes
def test_output_is_like_the_input(
    student: Student, seed: int, table_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    x = normal(seed, "x", shape=(2, 3, 2, 8)).to(dtype)
    cos, sin = tables(seed, 3, 8, table_dtype)
    output = student.apply_rotary_pos_emb(x.to(device), cos.to(device), sin.to(device))
    check_like(output, x.to(device))
    expected, scale = convention_followed(student).rotate(x, cos, sin), turning_scale(x)
    unit = coarser(dtype, table_dtype)  # tables may be cast to the input's dtype first
    limit = forward_limit(
        apply_rotary_pos_emb(x.to(unit), cos.to(unit), sin.to(unit)), oracle.rotate(x, cos, sin), scale
    )
    check_close(output, expected, scale, unit, limit, f"{name(dtype)} output from {name(table_dtype)} tables")


@pytest.mark.rubric("rotary_backward")
@dtypes
def test_gradients_turn_back(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """A rotation's gradient is the rotation by the opposite angle."""
    x = normal(seed, "x", shape=(2, 4, 3, 8)).to(dtype)
    upstream = normal(seed, "upstream", shape=(2, 4, 3, 8)).to(dtype)
    cos, sin = tables(seed, 4, 8, dtype)
    gradients = student.apply_rotary_pos_emb.gradients(
        x.to(device), cos.to(device), sin.to(device), upstream=upstream.to(device)
    )
    leaf = x.double().requires_grad_()
    convention_followed(student).rotate(leaf, cos, sin).backward(upstream.double())
    assert leaf.grad is not None
    what, limit = f"{name(dtype)} gradient of the input", INPUT_GRADIENT_LIMIT[dtype]
    check_close(arrived(gradients.of_arguments, "the input"), leaf.grad, turning_scale(upstream), dtype, limit, what)


@pytest.mark.rubric("rotary_purity")
@dtypes
def test_input_and_tables_stay_as_they_were(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x = normal(seed, "x", shape=(2, 3, 2, 8)).to(dtype)
    cos, sin = tables(seed, 3, 8, dtype)
    _, after = student.apply_rotary_pos_emb.observe(x.to(device), cos.to(device), sin.to(device))
    for was, now, what in zip((x, cos, sin), after, ("the input", "cos", "sin"), strict=True):
        check_equal(now, was, f"{what} after the call")
