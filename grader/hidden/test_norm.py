"""Task 1. Each property has inputs on which the other properties' mistakes do not show."""

from __future__ import annotations

import pytest
import torch

from grader.hidden.norm_inputs import (
    GROUPINGS,
    check_output,
    construct,
    flat_tokens,
    gamma_dtypes,
    group_agnostic,
    grouped_input,
    safe_rounding_case,
)
from grader.judge.cases import dtypes, normal, signs, uniform
from grader.judge.compare import (
    DTYPES,
    check_equal,
    check_like,
    check_shape,
    error_in_ulp,
    name,
)
from grader.judge.faults import WrongAnswer
from grader.judge.student import Student


@pytest.mark.rubric("norm_groups")
@dtypes
def test_each_group_is_divided_by_its_own_root_mean_square(
    student: Student, seed: int, dtype: torch.dtype, device: str
) -> None:
    for shape in GROUPINGS:
        x, gamma = grouped_input(seed, shape, dtype), torch.ones(shape[2])
        output = construct(student, shape[3], gamma, device)(x.to(device))
        check_output(output, x, gamma, shape[3], 1e-5, device)


@pytest.mark.rubric("norm_groups")
@dtypes
def test_tokens_do_not_influence_each_other(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x = grouped_input(seed, (3, 4, 24, 4), dtype)
    x *= torch.exp2(torch.arange(12) % 4).reshape(3, 4, 1).to(dtype)
    output = construct(student, 4, torch.ones(24), device)(x.to(device))
    check_output(output, x, torch.ones(24), 4, 1e-5, device)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@dtypes
def test_eps_is_added_to_the_mean_square(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """The roots are exactly 4, 8 and 1, so every dtype gives the quotient exactly."""
    for eps, magnitudes, hidden, group_size in (
        (0.75, [0.5], 6, 2),
        (15.0, [1.0, 7.0], 24, 4),
        (0.75, [0.5, 0.5], 24, 4),
    ):
        x, gamma = flat_tokens(seed, magnitudes, hidden, dtype), torch.ones(hidden)
        output = construct(student, group_size, gamma, device, eps)(x.to(device))
        check_output(output, x, gamma, group_size, eps, device)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@pytest.mark.parametrize("eps", [None, 1e-5, 1e-6, 3e-2], ids=["default", "1e-5", "1e-6", "3e-2"])
def test_eps_counts_where_inputs_are_as_small_as_its_root(
    student: Student, seed: int, eps: float | None, device: str
) -> None:
    value = 1e-5 if eps is None else eps
    factors = uniform(seed, "near_root", eps, shape=(6,), low=0.3, high=3.0) * value**0.5
    x, gamma = flat_tokens(seed, factors.tolist(), 24, torch.float32), torch.ones(24)
    output = construct(student, 4, gamma, device, eps)(x.to(device))
    check_output(output, x, gamma, 4, value, device)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@dtypes
def test_zeros_stay_zeros(student: Student, dtype: torch.dtype, device: str) -> None:
    x = torch.zeros(1, 2, 24, dtype=dtype)
    output = construct(student, 4, torch.ones(24), device, eps=0.5)(x.to(device))
    check_equal(output, x, f"{name(dtype)} output for an input of zeros")


@pytest.mark.rubric("norm_gamma")
@gamma_dtypes
@dtypes
def test_every_feature_is_scaled_by_its_own_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Normalised features are exactly +-1 in any grouping, so the output shows gamma itself."""
    for hidden, group_size in ((6, 2), (24, 4), (16, 16), (40, 8)):
        x = flat_tokens(seed, [64.0, 128.0], hidden, dtype)
        size = uniform(seed, "gamma", shape=(hidden,), low=0.5, high=2.0)
        gamma = (size * signs(seed, "gamma", shape=(hidden,))).to(gamma_dtype)
        output = construct(student, group_size, gamma, device)(x.to(device))
        check_output(output, x, gamma, group_size, 1e-5, device)


@pytest.mark.rubric("norm_dtype_and_shape")
@gamma_dtypes
@dtypes
def test_output_is_like_the_input(student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str) -> None:
    module = construct(student, 4, torch.ones(24, dtype=gamma_dtype), device)
    x = torch.full((2, 3, 24), 2.0, dtype=dtype, device=device)
    check_like(module(x), x)


@pytest.mark.rubric("norm_dtype_and_shape")
def test_dimensions_of_size_one_stay(student: Student, device: str) -> None:
    module = construct(student, 4, torch.ones(24), device)
    for shape in ((1, 4, 24), (3, 1, 24), (1, 1, 24)):
        x = torch.full(shape, 2.0, device=device)
        check_like(module(x), x)


@pytest.mark.rubric("norm_dtype_and_shape")
def test_gamma_may_be_on_another_device(student: Student) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device beside the CPU")
    x = torch.full((2, 3, 24), 2.0, device="cuda:0")
    check_like(construct(student, 4, torch.ones(24), "cpu")(x), x)


@pytest.mark.rubric("norm_dtype_and_shape")
@dtypes
def test_any_memory_layout_works(student: Student, dtype: torch.dtype, device: str) -> None:
    x = flat_tokens(0, [64.0], 24, dtype)[:1].to(device)  # [1, 1, 24]
    module = construct(student, 4, torch.ones(24), device)
    transposed = x.expand(3, 2, 24).clone().transpose(0, 1)
    strided = x.expand(2, 3, 24).repeat_interleave(2, dim=-1)[..., ::2]
    for view in (transposed, strided, x.expand(2, 3, 24)):
        output = module(view)
        check_like(output, view)
        check_output(output, view.cpu(), torch.ones(24), 4, 1e-5, device)


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize(("scale", "eps"), [(3000.0, 1e-5), (2e-4, 1e-14)], ids=["overflow", "underflow"])
def test_squares_neither_overflow_nor_vanish(
    student: Student, seed: int, scale: float, eps: float, device: str
) -> None:
    """Squares of these float16 numbers leave float16's range, on either side; tokens are flat, groups do not matter."""
    factors = uniform(seed, "range", scale, shape=(6,), low=0.9, high=1.1) * scale
    x, gamma = flat_tokens(seed, factors.tolist(), 24, torch.float16), torch.ones(24)
    output = construct(student, 4, gamma, device, eps)(x.to(device))
    check_output(output, x, gamma, 4, eps, device)


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=name)
def test_only_the_output_is_rounded_to_16_bits(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """With power-of-two gamma the one rounding is at the end; any further one shows."""
    x, gamma, rounded, safe = safe_rounding_case(seed, dtype)
    output = construct(student, 4, gamma, device)(x.to(device))
    check_shape(output, x.shape)
    errors = error_in_ulp(output, rounded.double(), rounded.double(), dtype)[safe]
    worst = float(errors.max())
    if worst > 0.5:
        raise WrongAnswer(
            f"{name(dtype)} output: {int((errors > 0.5).sum())} of {errors.numel()} elements carry more than one "
            "rounding to 16 bits",
            worst,
            0.5,
        )


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize("gamma_dtype", DTYPES[1:], ids=lambda dtype: f"gamma_{name(dtype)}")
def test_a_float32_input_is_not_rounded_to_a_16_bit_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, device: str
) -> None:
    x = group_agnostic(normal(seed, "wide", shape=(2, 4, 4))) * 64
    gamma = torch.exp2(torch.arange(16) % 3).to(gamma_dtype)
    check_output(construct(student, 4, gamma, device)(x.to(device)), x, gamma, 4, 1e-5, device)
