"""Task 1: inputs that show one mistake and hide the others, and the comparison with a law."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from grader.assignment.hidden.checks import succeeds
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
)

OF_GROUPS = "{dtype} output for group_size={group_size}"
BESIDE_FLOAT32 = "{dtype} output for group_size={group_size}, eps={eps}, compared with float32"
OTHER_EPS = "as if {seen} were added in place of eps"
OVERFLOW = say("the output for these numbers in float32 is not finite")
BESIDE_LARGER = say("where all groups are of about the same size, it is right")
CLAMPED = "as if the input were clamped at {bound}"
IN_MEMORY = say("these are the right tokens, in the order in which they lie in memory")
OF_ZEROS = say("it is wrong only for the first group, whose features are all zero in this input")
Shape = tuple[int, int, int, int]
# (b, s, h, gz); the smallest first, since a student reads about the first that fails. Several groups, one group, large
# groups; never as many groups as a group has features. 134 tokens are no multiple of a chunk of 4 or more. No
# dimensions of size one: norm_dtype_and_shape has these.
GROUPINGS = ((2, 2, 6, 2), (2, 3, 24, 4), (2, 67, 16, 16), (2, 2, 1024, 256))
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
