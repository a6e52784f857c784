"""Task 1: what a module holds at first, and what calls and gradients leave behind."""

from __future__ import annotations

import pytest
import torch

from grader.hidden.checks import arrived, check_drawn, check_only_parameter, check_refusal, uniform_draw
from grader.hidden.norm_inputs import (
    GROUPINGS,
    construct,
    gamma_dtypes,
)
from grader.judge import oracle
from grader.judge.cases import dtypes, normal, uniform
from grader.judge.compare import (
    INPUT_GRADIENT_LIMIT,
    PARAMETER_GRADIENT_LIMIT,
    check_close,
    check_equal,
    check_shape,
    coarser,
    name,
    require,
)
from grader.judge.conventions import grouping_followed
from grader.judge.student import Student


@pytest.mark.rubric("norm_init_and_reset")
@pytest.mark.parametrize("bounds", [None, (-0.5, 2.0)], ids=["default", "lopsided"])
@dtypes
def test_gamma_is_drawn_uniformly_with_the_seed(
    student: Student, seed: int, bounds: tuple[float, float] | None, dtype: torch.dtype, device: str
) -> None:
    init_seed = 42 if bounds is None else 1000 + seed
    more = {} if bounds is None else {"init_range": bounds, "init_seed": init_seed}
    module = student.GroupRMSNorm(hidden_size=64, group_size=8, dtype=dtype, device=device, **more)
    draw = uniform_draw(*(bounds or (-1.0, 1.0)))
    check_drawn(module, draw, init_seed, dtype, device)
    module.assign(7.0).reset_parameters()
    check_drawn(module, draw, init_seed, dtype, device, " after reset_parameters()")


@pytest.mark.rubric("norm_registration_and_arguments")
@dtypes
def test_gamma_is_the_only_parameter(student: Student, dtype: torch.dtype, device: str) -> None:
    for hidden, group_size in ((24, 4), (16, 16)):
        module = student.GroupRMSNorm(hidden_size=hidden, group_size=group_size, dtype=dtype, device=device)
        check_only_parameter(module, hidden, dtype, device)
        require(not module.buffers(), "a buffer is registered; this module has none")


@pytest.mark.rubric("norm_registration_and_arguments")
def test_only_the_sizes_have_no_default(student: Student) -> None:
    check_only_parameter(student.GroupRMSNorm(hidden_size=24, group_size=4), 24, torch.float32, "cpu")


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
    for *shape, group_size in GROUPINGS[2:4]:
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
    check_equal(module.train(False)(x), output, "the output in evaluation mode beside that in training mode")
