"""Checks that several tasks share: seeded draws, registration, refused sizes, and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judge.compare import INIT_LIMIT, check_errors, error_in_ulp, name, require
from grader.judge.faults import Crashed, WrongAnswer
from grader.judge.student import StudentModule
from grader.judge.wording import own_look, places

MAX_ELEMENTS = 1 << 16  # far more than any case needs; limits the expected numbers, which are drawn in this process


@dataclass(frozen=True)
class Draw:
    """How a parameter is filled with random numbers.

    Attributes:
        kind: The distribution's name, for messages.
        offset: The largest number that is added to draws around zero; the rounding of that sum is tolerated.
        fill: Fills a tensor in place, from a generator.
    """

    kind: str
    offset: float
    fill: Callable[[Tensor, torch.Generator], Tensor]


def uniform_draw(low: float, high: float) -> Draw:
    """Uniform over ``[low, high)``."""
    return Draw("uniform", max(abs(low), abs(high)), lambda out, source: out.uniform_(low, high, generator=source))


def normal_draw(mean: float, std: float) -> Draw:
    """Normal with this mean and standard deviation."""
    return Draw("normal", abs(mean), lambda out, source: out.normal_(mean, std, generator=source))


def check_drawn(
    drawn: StudentModule | Tensor, draw: Draw, seed: int, dtype: torch.dtype, device: str, when: str = ""
) -> None:
    """Require a value, or a module's only parameter, to be the draw with ``seed``, up to rounding.

    It may have been drawn in ``dtype``, or in float32 and then converted.
    """
    value = drawn if isinstance(drawn, Tensor) else only_parameter(drawn)
    require(0 < value.numel() <= MAX_ELEMENTS, f"the parameter has {value.numel()} elements")
    candidates = []
    for first in (dtype, torch.float32):
        source = torch.Generator(device).manual_seed(seed)
        expected = draw.fill(torch.empty(value.shape, dtype=first, device=device), source).to(dtype).cpu().double()
        scale = expected.abs() + draw.offset
        candidates.append((error_in_ulp(value, expected, scale, dtype), expected, scale))
    errors, expected, scale = min(candidates, key=lambda candidate: float(candidate[0].max()))
    what = f"{name(dtype)} {draw.kind} draw with seed {seed}{when}"
    try:
        check_errors(errors, INIT_LIMIT, what, value, expected, scale)
    except WrongAnswer as fault:  # how far random numbers are off says nothing
        wrong = errors > INIT_LIMIT
        look = own_look(value.detach().cpu().double()[wrong]) or "other numbers than this draw gives"
        fault.args = (f"{what}: {places(wrong)}; {look}",)
        raise


def only_parameter(module: StudentModule) -> Tensor:
    """The value of the module's only parameter."""
    parameters = module.parameters()
    require(len(parameters) == 1, f"{len(parameters)} parameters are registered, not 1")
    elements = parameters[0].value.numel()
    require(0 < elements <= MAX_ELEMENTS, f"the parameter has {elements} elements")
    return parameters[0].value


def check_only_parameter(
    module: StudentModule, elements: int, dtype: torch.dtype, device: str, when: str = ""
) -> Tensor:
    """Require one trainable parameter of that many elements, dtype and device; gives its value."""
    parameters = module.parameters()
    require(len(parameters) == 1, f"{len(parameters)} parameters are registered, not 1")
    require(parameters[0].requires_grad, "the parameter does not require gradients")
    value = parameters[0].value
    require(value.numel() == elements, f"the parameter has {value.numel()} elements; {elements} are asked for")
    require(value.dtype == dtype, f"the parameter is {name(value.dtype)}{_where(when)}; {name(dtype)} was asked for")
    require(value.device.type == torch.device(device).type, f"the parameter is on {value.device}, not on {device}")
    return value


def _where(when: str) -> str:
    return f" {when}" if when else ""


def check_refusal(constructor: Callable[..., StudentModule], **sizes: int) -> None:
    """Require an AssertionError or ValueError whose message names the sizes."""
    stated = ", ".join(f"{key}={value}" for key, value in sizes.items())
    try:
        constructor(**sizes).parameters()  # a value has to be asked for, since constructing alone sends no request
    except Crashed as crash:
        if not {"AssertionError", "ValueError"} & set(crash.types):
            kind = crash.types[0] if crash.types else "an exception"
            raise WrongAnswer(f"{stated} raises {kind}; a ValueError or an AssertionError is asked for") from None
        for key, value in sizes.items():
            require(str(value) in crash.raw_message, f"the error raised for {stated} does not name {key}={value}")
    else:
        raise WrongAnswer(f"{stated} is accepted; it must raise an error")


def arrived(gradients: Sequence[Tensor | None], where: str) -> Tensor:
    """The first gradient; it is required to be there."""
    if not gradients or gradients[0] is None:
        raise WrongAnswer(f"no gradient reaches {where}")
    return gradients[0]
