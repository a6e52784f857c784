"""Task 1: inputs that show one mistake and hide the others, and the comparison with a law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.axes import BF16, F16, F32, Layout, plain, strided, transposed
from grader.assignment.hidden.conditions import succeeds
from grader.assignment.model.normalising import (
    BY_CONTRACT,
    CONTRACT,
    LARGE,
    LAW,
    SIGNS,
    Normalising,
    filled,
    fits,
    normalising,
)
from grader.assignment.model.outputs import numbers
from grader.testing import (
    DTYPES,
    Crashed,
    Message,
    Student,
    StudentModule,
    WrongAnswer,
    check_close,
    check_like,
    kept,
    name,
    normal,
    quoted,
    say,
    signs,
    stated,
)

OF_SIZES = "{dtype} output for hidden_size={hidden_size}, group_size={group_size}"
OF_GROUPS = "{dtype} output for group_size={group_size}"
BESIDE_FLOAT32 = "{dtype} output for group_size={group_size}, eps={eps}, flattened, compared with float32"
NO_EPS = say("as if no eps were added")
SHARE = "as if {share} * eps were added"
OTHER_FORMULA = "too large for a rounding error: {dtype} inputs go through a different formula"
OTHER_EPS = "as if {seen} were added in place of eps"
OVERFLOW = say("the output for these numbers in float32 is not finite")
BESIDE_LARGER = say("with groups of about the same size, it is right")
CLAMPED = "as if the input were clamped at {bound}"
IN_MEMORY = say("these are the right tokens, in the order in which they lie in memory")
UNCHANGED = say("it is the input, unchanged")
OF_ZEROS = say("it is wrong only for groups whose features are all zero in this input")
Shape = tuple[int, int, int, int]
# (b, s, h, gz); the smallest first, since a student reads about the first that fails. Several groups, a size that is no
# power of two, one group, large groups; never as many groups as a group has features. Neither 134 tokens nor 258
# features are a multiple of a chunk of 4 or more. No dimensions of size one: norm_dtype_and_shape has these. Not many
# thousand features: right code may sum with a matrix of hidden_size x hidden_size, and memory is limited.
GROUPINGS = ((2, 2, 6, 2), (2, 3, 30, 6), (2, 67, 16, 16), (2, 2, 774, 258))
# Eps and group sizes, of 24 features: several groups, one group, groups of one feature. Each meets small eps, large eps
# and none, since code may have a way of its own for any of these.
ROOTS = {"one": (0.75, 4, [0.5]), "four_eight": (15.0, 24, [1.0, 7.0]), "small": (0.75, 1, [0.5, 0.125])}
NEAR_THE_ROOT = {"1e-5": (1e-5, [4, 24]), "zero": (0.0, [4, 24, 1]), "3e-2": (3e-2, [4, 1])}
SHARES, NEARLY = 65, 0.02  # multiples and shares of eps that a message names
NO_ROUNDING = 2.0**-21  # relative: a few steps of float32
ONE_ROUNDING = 0.55  # ulp: 0.5 for the rounding of the output, and a little for float32's rounding
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


def build(
    student: Student,
    group_size: int,
    device: str,
    *,
    hidden: int = 24,
    gamma: Tensor | float | None = None,
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
    reading = reading or normalising(student)
    if reading.made_late or reading.drawn_late:
        module(LARGE * torch.ones(2, 2, hidden, device=device))
    module.train(reading.training)  # before gamma is filled in, since a mode may change it
    return filled(module, reading.neutral if gamma is None else gamma, hidden, group_size)


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

    In large groups, the last two features are larger, so that a sum which leaves them out, or counts them twice, shows.
    The sum of a group's squares still fits float16: another property charges for computing in float16.
    """
    batch, seq, hidden, group_size = shape
    scales = torch.exp2(1 + torch.arange(hidden // group_size) % 3).repeat_interleave(group_size)  # [h]
    scales.unflatten(0, (-1, group_size))[:, 64:][:, -2:] *= 4
    return (normal(seed, "groups", shape=(batch, seq, hidden)) + 0.5) * scales


def check_contract(
    student: Student,
    x: Tensor,
    group_size: int,
    device: str,
    *,
    limit: float | None = None,
    training: bool = True,
    **arguments: Any,
) -> None:
    """Require the output that the contract asks for, in the input's shape and dtype.

    Args:
        student: The submission.
        x: The input.
        group_size: That of the module.
        device: Where module and input are.
        limit: In ulp of the input's dtype; None for the tolerance of a law.
        training: The mode of the module.
        arguments: The module's ``gamma``, ``gamma_dtype`` and ``eps``; see :func:`build`.
    """
    module = build(student, group_size, device, hidden=x.shape[-1], reading=BY_CONTRACT, **arguments)
    output = module.train(training)(x.to(device))
    check_like(output, x.to(device))
    gamma = arguments.get("gamma")
    gamma = torch.ones(x.shape[-1]) if gamma is None else gamma
    law = partial(oracle.rms_norm, gamma=gamma, group_size=group_size, eps=arguments.get("eps", 1e-5))
    what, expected = say(OF_GROUPS, dtype=name(x.dtype), group_size=group_size), law(x.detach().cpu())
    if limit is None:
        check_law(numbers(output, x.shape), expected, what)
        return
    try:
        check_close(output, expected, expected.abs(), x.dtype, limit, what)
    except WrongAnswer as fault:
        raise fault.with_more(partial(told_sizes, output, expected, x, group_size, law)) from None


def told_sizes(
    output: Tensor, expected: Tensor, x: Tensor, group_size: int, law: Callable[[Tensor], Tensor]
) -> Message | None:
    """Says if an output is the law's for a clamped input, or if groups far larger or smaller than all others are wrong.

    Of a group, the smallest number is clamped last; against its quotient, those of the others show the bound.
    """
    quotients, groups = (y.cpu().double().unflatten(-1, (-1, group_size)) for y in (output.cpu() / expected, x))
    largest, least = groups.abs().amax(-1), groups.abs().argmin(-1, keepdim=True)  # [b, s, h/gz], [b, s, h/gz, 1]
    right = ((quotients - 1).abs() <= NEARLY).all(-1)
    if bool(right.all()):
        return None
    bound = float((quotients / quotients.gather(-1, least) * groups).abs().amax(-1)[~right].min())
    if fits(output.cpu().double(), law(x.cpu().clamp(-bound, bound)), NEARLY):
        return say(CLAMPED, bound=f"{bound:.2g}")
    if bool(right.any()) and largest[~right].min() > 2 * largest[right].max():
        return say("only the groups with the largest numbers of this input are wrong")
    if bool(right.any()) and 2 * largest[~right].max() < largest[right].min():
        return say("only the groups with the smallest numbers of this input are wrong")
    return None


def flat_tokens(seed: int, magnitudes: list[float], hidden: int, dtype: torch.dtype) -> Tensor:
    """Tokens whose features have one magnitude and balanced signs, so every group has the same root mean square."""
    pattern = torch.tensor([1.0, -1.0]).repeat(hidden // 2)  # [h], mean zero over every consecutive group
    flip = signs(seed, "flat", shape=(len(magnitudes), 1))
    tokens = (torch.tensor(magnitudes).unsqueeze(-1) * pattern * flip).to(dtype)  # [s, h]
    return torch.stack((tokens, -tokens))  # [2, s, h]


def sizes(shape: Shape) -> Message:
    """The beginning of a message."""
    return say(OF_SIZES, dtype="float32", hidden_size=shape[2], group_size=shape[3])


class Forward(NamedTuple):
    """A call of a module: a value of each axis. Every two values of two axes meet in some row of ``FORWARDS``."""

    dtype: torch.dtype
    gamma_dtype: torch.dtype
    group_size: int  # several groups, one group, or groups of one feature
    layout: Layout  # of the input: plain or not
    training: bool
    needs_gradient: bool  # whether the input does

    @property
    def told(self) -> Message:
        """The values of all axes, for messages."""
        return stated(
            input=name(self.dtype),
            gamma=name(self.gamma_dtype),
            group_size=self.group_size,
            layout=LAID_OUT[self.layout],
            mode="train" if self.training else "eval",
            requires_grad=str(self.needs_gradient),
        )

    def input(self, seed: int) -> Tensor:
        """Of groups of different sizes."""
        return self.layout(grouped_input(seed, (2, 3, 24, self.group_size)).to(self.dtype))


LAID_OUT: dict[Layout, str] = {plain: "contiguous", transposed: "transposed", strided: "strided"}
FORWARDS = (
    Forward(F32, F32, 1, plain, training=True, needs_gradient=False),
    Forward(F32, F16, 4, plain, training=False, needs_gradient=True),
    Forward(F32, BF16, 24, strided, training=True, needs_gradient=True),
    Forward(F16, F32, 24, plain, training=False, needs_gradient=True),
    Forward(F16, F16, 1, transposed, training=False, needs_gradient=True),
    Forward(F16, BF16, 4, strided, training=True, needs_gradient=False),
    Forward(BF16, F32, 4, transposed, training=True, needs_gradient=True),
    Forward(BF16, F16, 24, plain, training=True, needs_gradient=False),
    Forward(BF16, BF16, 1, plain, training=False, needs_gradient=False),
)


def accepted(student: Student, shapes: Sequence[Shape], this: str = "norm_groups") -> list[Shape]:
    """Those shapes that constructor and call take, as far as another property than this charges for the others."""
    shown = [shape for shape in shapes if normalising(student).one_group or shape[2] != shape[3]]
    return [shape for shape in shown if this == "norm_groups" or answers(student, shape)] or shown


def answers(student: Student, shape: Shape) -> bool:
    """Whether a module of that shape is built, and answers."""
    try:
        build(student, shape[3], "cpu", hidden=shape[2])(grouped_input(student.seed, shape))
    except Crashed as crash:
        student.excuse(crash, ("norm_groups",))
        return False
    return True


def judged(student: Student, group_size: int, device: str, hidden: int = 24) -> int:
    """The size, if such groups are divided by the contract's law; else that of several groups, which a reading knows.

    Other properties charge for another law.
    """
    x = LARGE * torch.tensor(SIGNS[:hidden]).repeat(2, 2, 1)

    def check() -> None:
        check_law(quotients(student, x, group_size, device), x.double().sign(), sizes((2, 2, hidden, group_size)))

    return group_size if group_size == 4 or (normalising(student).law == CONTRACT and succeeds(check)) else 4


def told_added(added: Tensor, eps: float) -> Message | None:
    """What is added to the mean square in place of eps, a share of it or another number, if one explains an output."""
    shares = {share_of(one) for one in (added / eps).tolist()} if eps else {""}
    if len(shares) == 1 and not shares & {"", "1"}:  # something else is wrong where eps is right
        share = shares.pop()
        return NO_EPS if share == "0" else say(SHARE, share=share)
    middle = float(added.median())
    if not middle > 2 * eps or not bool(((added - middle).abs() <= NEARLY * middle).all()):
        return None
    return say(OTHER_EPS, seen=f"{middle:.0e}")


def share_of(times: float) -> str:
    """A multiple or a share of eps, such as ``4`` or ``1/24``; empty for other numbers, which may hold an input."""
    whole = (n for n in range(SHARES) if abs(times - n) < NEARLY * max(n, 1))
    parts = (n for n in range(2, SHARES) if abs(times * n - 1) < NEARLY)
    return next((str(n) for n in whole), "") or next((f"1/{n}" for n in parts), "")
