"""Task 1: inputs that show one mistake and hide the others, and the comparison with a law."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.checks import Layout, across, plain, succeeds
from grader.assignment.model.normalising import BY_CONTRACT, LARGE, LAW, Normalising, filled, normalising, numbers
from grader.testing import (
    DTYPES,
    Message,
    Student,
    StudentModule,
    check_close,
    kept,
    name,
    normal,
    quoted,
    say,
    stated,
    uniform,
)

OF_GROUPS = "{dtype} output for group_size={group_size}"
BESIDE_FLOAT32 = "{dtype} output for group_size={group_size}, eps={eps}, compared with float32"
OTHER_EPS = "as if {seen} were added in place of eps"
OVERFLOW = say("the output for these numbers in float32 is not finite")
BESIDE_LARGER = say("where all groups are of about the same size, it is right")
CLAMPED = "as if the input were clamped at {bound}"
IN_MEMORY = say("these are the right tokens, in the order in which they lie in memory")
OF_ZEROS = say("it is wrong only for groups whose features are all zero in this input")
Shape = tuple[int, int, int, int]
# (b, s, h, gz); the smallest first, since a student reads about the first that fails. Several groups, one group, large
# groups; never as many groups as a group has features. 134 tokens are no multiple of a chunk of 4 or more. No
# dimensions of size one: norm_dtype_and_shape has these.
GROUPINGS = ((2, 2, 6, 2), (2, 3, 24, 4), (2, 67, 16, 16), (2, 2, 1024, 256))
# Eps and group sizes, of 24 features: several groups, one group, groups of one feature. Each meets small eps, large eps
# and none, since code may have a way of its own for any of these.
ROOTS = {"one": (0.75, 4, [0.5]), "four_eight": (15.0, 24, [1.0, 7.0]), "small": (0.75, 1, [0.5, 0.125])}
NEAR_THE_ROOT = {"1e-5": (1e-5, [4, 24]), "zero": (0.0, [4, 24, 1]), "3e-2": (3e-2, [4, 1])}
LAW_LIMIT = LAW * 2.0**23  # in ulp of float32
gamma_dtypes = pytest.mark.parametrize("gamma_dtype", DTYPES, ids=lambda dtype: f"gamma_{name(dtype)}")
# One of these charges for whatever is wrong with an output, if no reading says which.
FORWARD = (
    "norm_groups",
    "norm_eps_inside_sqrt",
    "norm_gamma",
    "norm_dtype_and_shape",
    "norm_float32_inside",
    "norm_purity",
)
NARROW = pytest.mark.parametrize("dtype", DTYPES[1:], ids=name)


def build(
    student: Student,
    group_size: int,
    device: str,
    *,
    hidden: int = 24,
    gamma: Tensor | None = None,
    gamma_dtype: torch.dtype = torch.float32,
    eps: float | None = None,
    reading: Normalising | None = None,
) -> StudentModule:
    """The student's module with a gamma; by default the neutral one, which leaves quotients unchanged.

    Which one that is, and in which mode the module is called, says the reading: ``BY_CONTRACT``, or the submission's.
    """
    arguments = {"hidden_size": hidden, "group_size": group_size, "dtype": gamma_dtype, "device": device}
    if eps is not None:
        arguments["eps"] = eps
    module = student.GroupRMSNorm(**arguments)
    if reading is BY_CONTRACT:
        return filled(module, 1.0 if gamma is None else gamma, hidden, group_size).train(True)
    reading = reading or normalising(student)
    if reading.made_late:
        module(LARGE * torch.ones(2, 2, hidden, device=device))
    return filled(module, reading.neutral if gamma is None else gamma, hidden, group_size).train(reading.training)


def quotients(student: Student, x: Tensor, group_size: int, device: str, eps: float | None = None) -> Tensor:
    """The output for ``x``, float64, with the neutral gamma, which leaves quotients unchanged.

    If there is no neutral gamma, its effect is measured on features of one large size, and divided out.
    """
    hidden = x.shape[-1]

    def output(x: Tensor) -> Tensor:
        return numbers(build(student, group_size, device, hidden=hidden, eps=eps)(x.to(device)), x.shape)

    if not normalising(student).factored:
        return output(x)
    tokens = LARGE * torch.tensor([1.0, -1.0]).repeat(hidden // 2).repeat(2, 2, 1)
    return output(x) * tokens[0, 0].sign() / output(tokens)[0, 0]


def check_law(actual: Tensor, expected: Tensor, what: Message) -> None:
    """Require an output to follow a law, with a tolerance for 16-bit arithmetic, which another property charges for."""
    size = expected.abs().clamp(min=float(expected.abs().max()) * 2.0**-6)
    check_close(actual, expected, size, torch.float32, LAW_LIMIT, what)


def followed(output: Tensor, expected: Tensor) -> Tensor:
    """``[b, s, 1]``: whether each token's output, ``[b, s, h]``, is the expected one."""

    def follows(token: Tensor, wanted: Tensor) -> bool:
        return succeeds(lambda: check_law(token, wanted, quoted("output")))

    pairs = zip(output.flatten(0, -2), expected.flatten(0, -2), strict=True)
    return torch.tensor([follows(*pair) for pair in pairs]).reshape(*output.shape[:-1], 1)


@kept
def grouped_input(seed: int, shape: Shape) -> Tensor:
    """Groups of clearly different scales, so large that eps hardly matters, none with mean zero.

    The sum of a group's squares still fits float16: another property charges for computing in float16.
    """
    batch, seq, hidden, group_size = shape
    scales = torch.exp2(1 + torch.arange(hidden // group_size) % 3).repeat_interleave(group_size)  # [h]
    return (normal(seed, "groups", shape=(batch, seq, hidden)) + 0.5) * scales


EPS = 1e-5


class Asked(NamedTuple):
    """How a gradient is asked for: a value of each axis. Every two values of two axes meet in some row of ``ASKED``."""

    dtype: torch.dtype
    gamma_dtype: torch.dtype
    shape: Shape  # several groups, one group, or groups of one feature
    eps: float  # small or large beside the mean squares of the input
    upstream: Layout
    input: Layout
    training: bool
    between: bool  # whether a call comes between forward and backward
    frozen: bool = False  # whether gamma is frozen in a second call, as where only other layers are trained

    @property
    def group_size(self) -> int:
        """That of the module."""
        return self.shape[-1]

    @property
    def told(self) -> Message:
        """The module's arguments, for messages."""
        return stated(hidden_size=self.shape[2], group_size=self.group_size, eps=f"{self.eps:g}")

    def tensors(self, seed: int) -> tuple[Tensor, Tensor, Tensor]:
        """Input, upstream gradient and gamma."""
        *shape, _ = self.shape
        x = normal(seed, "x", shape=tuple(shape)) * (1 if self.eps > EPS else 16)
        gamma = uniform(seed, "gamma", shape=(shape[2],), low=0.5, high=2.0)
        upstream = normal(seed, "upstream", shape=tuple(shape))
        return self.input(x.to(self.dtype)), upstream.to(self.dtype), gamma.to(self.gamma_dtype)

    def zeros(self, x: Tensor) -> Tensor:
        """Where the input is zero by the contract: groups of zeros have a gradient, too, at its steepest."""
        zeros = torch.zeros_like(x, dtype=torch.bool)
        zeros[:, :1, : self.group_size] = True
        return zeros


F32, F16, BF16 = DTYPES
SEVERAL, ONE, EACH = (2, 3, 24, 4), (2, 3, 24, 24), (2, 3, 24, 1)
MORE = (2, 5, 40, 8)  # no law makes groups of one feature of this, nor of SEVERAL
ASKED = (
    Asked(F32, F32, SEVERAL, EPS, plain, plain, training=False, between=True),
    Asked(F32, F32, MORE, 0.75, across, plain, training=True, between=False),
    Asked(F32, F16, ONE, EPS, across, across, training=True, between=False),
    Asked(F32, F16, EACH, EPS, across, across, training=False, between=True),
    Asked(F32, BF16, EACH, EPS, across, across, training=True, between=False),
    Asked(F32, BF16, ONE, 0.75, plain, across, training=False, between=False, frozen=True),
    Asked(F16, F32, EACH, 0.75, across, across, training=True, between=False, frozen=True),
    Asked(F16, F16, ONE, 0.75, plain, plain, training=True, between=True),
    Asked(F16, BF16, SEVERAL, EPS, plain, across, training=False, between=True),
    Asked(BF16, F32, ONE, EPS, plain, across, training=True, between=False),
    Asked(BF16, F16, SEVERAL, EPS, across, plain, training=True, between=True, frozen=True),
    Asked(BF16, BF16, EACH, 0.75, plain, plain, training=False, between=False),
)


def asked(dtype: torch.dtype, gamma_dtype: torch.dtype) -> list[Asked]:
    """The rows with these dtypes."""
    return [row for row in ASKED if (row.dtype, row.gamma_dtype) == (dtype, gamma_dtype)]
