"""Checks that several tasks share: seeded draws, registration, refused sizes, gradients that arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.judge.compare import INIT_LIMIT, check_errors, error_in_ulp, name, require
from grader.judge.faults import Crashed, WrongAnswer
from grader.judge.student import StudentModule

MAX_ELEMENTS = 1 << 16  # far more than any case asks for: what is compared here is drawn here first


def check_uniform(
    module: StudentModule, low: float, high: float, seed: int, dtype: torch.dtype, device: str, when: str = ""
) -> None:
    """Require the module's only parameter to be the uniform draw over ``[low, high)`` with ``seed``."""
    value = only_parameter(module)
    draws = [
        torch.empty(value.shape, dtype=drawn, device=device).uniform_(low, high, generator=_seeded(device, seed))
        for drawn in (dtype, torch.float32)
    ]
    _check_draw(value, draws, max(abs(low), abs(high)), dtype, f"uniform draw with seed {seed} {when}")


def check_normal(
    module: StudentModule, mean: float, std: float, seed: int, dtype: torch.dtype, device: str, when: str = ""
) -> None:
    """Require the module's only parameter to be the normal draw (``mean``, ``std``) with ``seed``."""
    value = only_parameter(module)
    draws = [
        torch.empty(value.shape, dtype=drawn, device=device).normal_(mean, std, generator=_seeded(device, seed))
        for drawn in (dtype, torch.float32)
    ]
    _check_draw(value, draws, abs(mean), dtype, f"normal draw with seed {seed} {when}")


def only_parameter(module: StudentModule) -> Tensor:
    """The value of the module's only parameter."""
    parameters = module.parameters()
    require(len(parameters) == 1, f"{len(parameters)} parameters are registered, not 1")
    elements = parameters[0].value.numel()
    require(0 < elements <= MAX_ELEMENTS, f"the parameter has {elements} elements")
    return parameters[0].value


def check_only_parameter(module: StudentModule, elements: int, dtype: torch.dtype, device: str) -> None:
    """Require one trainable parameter of that many elements, dtype and device."""
    parameters = module.parameters()
    require(len(parameters) == 1, f"{len(parameters)} parameters are registered, not 1")
    require(parameters[0].requires_grad, "the parameter does not require gradients")
    value = parameters[0].value
    require(value.numel() == elements, f"the parameter has {value.numel()} elements; {elements} are asked for")
    require(value.dtype == dtype, f"the parameter is {name(value.dtype)}; {name(dtype)} was asked for")
    require(value.device.type == torch.device(device).type, f"the parameter is on {value.device}, not on {device}")


def check_refusal(constructor: Callable[..., StudentModule], **sizes: int) -> None:
    """Require an AssertionError or ValueError whose message names the sizes."""
    stated = ", ".join(f"{key}={value}" for key, value in sizes.items())
    try:
        constructor(**sizes).parameters()  # the first value that is asked for
    except Crashed as crash:
        if not {"AssertionError", "ValueError"} & set(crash.types):
            raise
        for key, value in sizes.items():
            require(str(value) in crash.raw_message, f"the error raised for {stated} does not name {key}={value}")
    else:
        raise WrongAnswer(f"{stated} is accepted; it must raise an error")


def arrived(gradients: Sequence[Tensor | None], where: str) -> Tensor:
    """The first gradient, which must be there."""
    if not gradients or gradients[0] is None:
        raise WrongAnswer(f"no gradient reaches {where}")
    return gradients[0]


def _seeded(device: str, seed: int) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def _check_draw(value: Tensor, draws: list[Tensor], offset: float, dtype: torch.dtype, what: str) -> None:
    """Require one of the accepted draws, up to the rounding of shift and scale."""
    errors = []
    for draw in draws:
        accepted = draw.to(dtype).cpu().double()
        errors.append(error_in_ulp(value, accepted, accepted.abs() + offset, dtype))
    nearest = min(errors, key=lambda error: float(error.max()))
    check_errors(nearest, INIT_LIMIT, f"{name(dtype)} {what.strip()},")
