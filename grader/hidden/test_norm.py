"""Task 1. Each property has inputs on which the other properties' mistakes do not show."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import Tensor

from grader.hidden.checks import arrived, check_only_parameter, check_refusal, check_uniform
from grader.judge import oracle
from grader.judge.cases import dtypes, normal, signs, uniform
from grader.judge.compare import (
    DTYPES,
    INPUT_GRADIENT_LIMIT,
    PARAMETER_GRADIENT_LIMIT,
    check_close,
    check_equal,
    check_like,
    check_shape,
    coarser,
    error_in_ulp,
    forward_limit,
    name,
    require,
)
from grader.judge.conventions import grouping_followed
from grader.judge.faults import WrongAnswer
from grader.judge.student import Student, StudentModule
from ref.modeling import GroupRMSNorm

# (b, s, h, gz): several groups, one, single features, large ones; never gz^2 = h, where size and number agree.
GROUPINGS = ((2, 3, 24, 4), (2, 5, 16, 16), (2, 2, 6, 1), (2, 2, 1024, 256))
gamma_dtypes = pytest.mark.parametrize("gamma_dtype", DTYPES, ids=lambda dtype: f"gamma_{name(dtype)}")


def construct(student: Student, group_size: int, gamma: Tensor, device: str, eps: float | None = None) -> StudentModule:
    """The student's module with the given gamma; ``eps`` only where a case is about it.

    Ones are assigned as a number, which fits a gamma of any shape: its shape is judged elsewhere.
    """
    arguments = {"hidden_size": len(gamma), "group_size": group_size, "dtype": gamma.dtype, "device": device}
    if eps is not None:
        arguments["eps"] = eps
    return student.GroupRMSNorm(**arguments).assign(1.0 if bool((gamma == 1).all()) else gamma)


def check_output(output: Tensor, x: Tensor, gamma: Tensor, group_size: int, eps: float, device: str) -> None:
    """Compare with the oracle, allowing what the reference needs on the same device."""
    expected = oracle.rms_norm(x, gamma, group_size, eps)
    reference = GroupRMSNorm(len(gamma), group_size, eps, dtype=gamma.dtype, device=device)
    with torch.no_grad():
        reference.gamma.copy_(gamma)
        limit = forward_limit(reference(x.to(device)), expected, expected.abs())
    what = f"{name(x.dtype)} output for group_size={group_size}, eps={eps:g}"
    check_close(output, expected, expected.abs(), x.dtype, limit, what)


def grouped_input(seed: int, shape: tuple[int, int, int, int], dtype: torch.dtype) -> Tensor:
    """Groups of clearly different scale, so large that eps does not matter.

    In 16 bits every feature of a group has the same power-of-two magnitude, which any arithmetic handles exactly.
    """
    batch, seq, hidden, group_size = shape
    scales = torch.exp2(torch.arange(hidden // group_size) % 5).repeat_interleave(group_size)  # [h]
    if dtype is torch.float32:
        return normal(seed, "groups", shape=(batch, seq, hidden)) * scales * 1024
    return (signs(seed, "groups", shape=(batch, seq, hidden)) * scales).to(dtype)


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


def flat_tokens(seed: int, magnitudes: list[float], hidden: int, dtype: torch.dtype) -> Tensor:
    """Tokens whose features share one magnitude, with balanced signs: their root mean square is that of any group."""
    pattern = torch.tensor([1.0, -1.0]).repeat(hidden // 2)  # [h], mean zero over every consecutive group
    flip = signs(seed, "flat", shape=(len(magnitudes), 1))
    tokens = (torch.tensor(magnitudes).unsqueeze(-1) * pattern * flip).to(dtype)  # [s, h]
    return torch.stack((tokens, -tokens))  # [2, s, h]


@pytest.mark.rubric("norm_eps_inside_sqrt")
@dtypes
def test_eps_is_added_to_the_mean_square(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """The roots are exactly 4, 8 and 1, so every dtype gives the quotient exactly."""
    for eps, magnitudes in ((15.0, [1.0, 7.0]), (0.75, [0.5, 0.5])):
        x, gamma = flat_tokens(seed, magnitudes, 24, dtype), torch.ones(24)
        output = construct(student, 4, gamma, device, eps)(x.to(device))
        check_output(output, x, gamma, 4, eps, device)


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
    for hidden, group_size in ((24, 4), (16, 16), (40, 8)):
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


def group_agnostic(values: Tensor) -> Tensor:
    """Lay ``[b, s, 4]`` out over 16 features like a Latin square: groups of 4 in a row, 4 apart, or all 16 agree."""
    order = (torch.arange(4).unsqueeze(0) + torch.arange(4).unsqueeze(1)) % 4  # [4, 4]
    return values[..., order.flatten()]  # [b, s, 16]


@cache
def _safe_rounding_case(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Input, power-of-two gamma, correctly rounded output, and where float32 arithmetic cannot round otherwise."""
    x = group_agnostic(normal(seed, "rounding", shape=(8, 16, 4)) * 64).to(dtype)  # so large that eps does not matter
    gamma = torch.exp2(torch.arange(16) % 3)
    exact = oracle.rms_norm(x, gamma, 4, 1e-5)
    margin = 2.0**-19 * exact.abs()  # a few float32 roundings
    rounded = exact.to(dtype)
    safe = ((exact - margin).to(dtype) == rounded) & ((exact + margin).to(dtype) == rounded)
    return x, gamma, rounded, safe


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize("dtype", DTYPES[1:], ids=name)
def test_only_the_output_is_rounded_to_16_bits(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """With power-of-two gamma the one rounding is at the end; any further one shows."""
    x, gamma, rounded, safe = _safe_rounding_case(seed, dtype)
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


@pytest.mark.rubric("norm_init_and_reset")
@pytest.mark.parametrize("bounds", [None, (-0.5, 2.0)], ids=["default", "lopsided"])
@dtypes
def test_gamma_is_drawn_uniformly_with_the_seed(
    student: Student, seed: int, bounds: tuple[float, float] | None, dtype: torch.dtype, device: str
) -> None:
    init_seed = 42 if bounds is None else 1000 + seed
    more = {} if bounds is None else {"init_range": bounds, "init_seed": init_seed}
    module = student.GroupRMSNorm(hidden_size=64, group_size=8, dtype=dtype, device=device, **more)
    low, high = bounds or (-1.0, 1.0)
    check_uniform(module, low, high, init_seed, dtype, device)
    module.assign(7.0).reset_parameters()
    check_uniform(module, low, high, init_seed, dtype, device, "after reset_parameters()")


@pytest.mark.rubric("norm_registration_and_arguments")
@dtypes
def test_gamma_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    for hidden, group_size in ((24, 4), (16, 16)):
        module = student.GroupRMSNorm(hidden_size=hidden, group_size=group_size, dtype=dtype, device=device)
        check_only_parameter(module, hidden, dtype, device)
        require(not module.buffers(), "a buffer is registered; this module has none")


@pytest.mark.rubric("norm_registration_and_arguments")
@pytest.mark.parametrize(("hidden", "group_size"), [(26, 4), (100, 7), (8, 16)], ids=["26_by_4", "100_by_7", "8_by_16"])
def test_a_group_size_that_does_not_divide_is_refused(student: Student, hidden: int, group_size: int) -> None:
    check_refusal(student.GroupRMSNorm, hidden_size=hidden, group_size=group_size)


@pytest.mark.rubric("norm_backward")
@gamma_dtypes
@dtypes
def test_gradients_flow_to_input_and_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str
) -> None:
    """Judged on the grouping that the output shows; which one that should be is judged elsewhere."""
    unit = coarser(dtype, gamma_dtype)
    for *shape, group_size in GROUPINGS[:2]:
        x = (normal(seed, "x", shape=tuple(shape)) * 16).to(dtype)
        upstream = normal(seed, "upstream", shape=tuple(shape)).to(dtype)
        gamma = uniform(seed, "gamma", shape=(shape[2],), low=0.5, high=2.0).to(gamma_dtype)
        module = construct(student, group_size, gamma, device)
        order, size = grouping_followed(module(x.to(device)), x, gamma, group_size)
        gradients = module.gradients(x.to(device), upstream=upstream.to(device))
        of_input, of_gamma = arrived(gradients.of_arguments, "the input"), arrived(gradients.of_parameters, "gamma")
        check_shape(of_input, x.shape)
        require(of_gamma.numel() == gamma.numel(), f"the first parameter's gradient has {of_gamma.numel()} elements")
        of_input, of_gamma = of_input[..., order], of_gamma.flatten()[order]
        expected = oracle.rms_norm_gradients(x[..., order], gamma[order], size, 1e-5, upstream[..., order])
        what, limit = f"{name(dtype)} gradient of the input", INPUT_GRADIENT_LIMIT[unit]
        check_close(of_input, expected.input, expected.input_scale, unit, limit, what)
        what, limit = f"{name(gamma_dtype)} gradient of gamma", PARAMETER_GRADIENT_LIMIT[unit]
        check_close(of_gamma, expected.gamma, expected.gamma_scale, unit, limit, what)


@pytest.mark.rubric("norm_purity")
@dtypes
def test_the_input_stays_as_it_was(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x = normal(seed, "purity", shape=(2, 3, 24)).to(dtype).to(device)
    module = construct(student, 4, torch.ones(24), device)
    output, (after,) = module.observe(x)
    check_equal(after, x, "the input after the call")
    check_equal(module.train(False)(x), output, "the output in evaluation mode, beside that in training mode,")
