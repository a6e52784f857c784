"""GroupRMSNorm, recognised by its outputs: what it divides by, over which features, and what it does with gamma.

A law combines a way to group features with a way to divide a group; both are tables below, the contract's way first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, product, starmap
from typing import ClassVar, Final

import torch
from torch import Tensor

from grader.assignment.model.outputs import numbers, refused
from grader.testing import (
    Crashed,
    Reading,
    Student,
    StudentFault,
    StudentModule,
    WrongAnswer,
    kept,
    normal,
    require,
    say,
)

LAW: Final = 2.0**-5  # relative: wide enough for arithmetic in bfloat16; two laws differ by several times as much
HIDDEN, GROUP_SIZE = 24, 4  # six groups of four, so that the number of groups is not their size
# Features of one magnitude have that root mean square in any group; these signs add up to zero in each group.
SIGNS: Final = (1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0) * 2
UNEVEN: Final = (1.0, 1.0, 1.0, -1.0) * 6  # while these have a mean in each group
LARGE: Final = 128.0  # so large that no usual eps matters, while its square is still a float16 number
UNLIKE: Final = -(1 + torch.arange(HIDDEN) % 5)  # factors of features: the output of any law changes, also its absolute
NOTHING: Final = say(
    "the output is not finite, zero, random, constant or a multiple of the input, so this property cannot be checked"
)

# From features in order, [h], and the group size, to groups [number, size].
GROUPINGS: Final[Mapping[str, Callable[[Tensor, int], Tensor]]] = {
    "own": lambda features, size: features.unflatten(0, (-1, size)),
    "whole": lambda features, _: features.unsqueeze(0),
    "count": lambda features, size: features.unflatten(0, (size, -1)),
    "strided": lambda features, size: features.unflatten(0, (size, -1)).T,
    "across": lambda features, size: features.unflatten(0, (-1, size)).T,
}


def _centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


# From groups [..., number, size], eps and h to the groups, divided.
QUOTIENTS: Final[Mapping[str, Callable[[Tensor, float, int], Tensor]]] = {
    "mean_square": lambda x, eps, _: x / (x.square().mean(-1, keepdim=True) + eps).sqrt(),
    "sum": lambda x, eps, _: x / (x.square().sum(-1, keepdim=True) + eps).sqrt(),
    "unbiased": lambda x, eps, _: x / (x.square().sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1) + eps).sqrt(),
    "over_hidden": lambda x, eps, hidden: x / (x.square().sum(-1, keepdim=True) / hidden + eps).sqrt(),
    "variance": lambda x, eps, _: x / (_centred(x).square().mean(-1, keepdim=True) + eps).sqrt(),
    "unbiased_variance": lambda x, eps, _: x / (x.var(-1, keepdim=True) + eps).sqrt(),
    "centred": lambda x, eps, _: _centred(x) / (_centred(x).square().mean(-1, keepdim=True) + eps).sqrt(),
    "centred_mean_square": lambda x, eps, _: _centred(x) / (x.square().mean(-1, keepdim=True) + eps).sqrt(),
    "mean_magnitude": lambda x, eps, _: x / (x.abs().mean(-1, keepdim=True).square() + eps).sqrt(),
    "mean": lambda x, eps, _: x / (x.mean(-1, keepdim=True).square() + eps).sqrt(),
    "largest": lambda x, eps, _: x / (x.abs().amax(-1, keepdim=True).square() + eps).sqrt(),
}


@dataclass(frozen=True)
class Law:
    """One way to group features, and one way to divide a group."""

    grouping: str = "own"
    quotient: str = "mean_square"

    @property
    def mistakes(self) -> int:
        """How many of the two ways differ from the contract's."""
        return (self.grouping != "own") + (self.quotient != "mean_square")

    @kept
    def __call__(self, x: Tensor, group_size: int, eps: float = 1e-5) -> Tensor:
        """The normalised ``x: [b, s, h]``, float64 and differentiable."""
        hidden = x.shape[-1]
        indices = GROUPINGS[self.grouping](torch.arange(hidden), group_size)  # [number, size]
        quotients = QUOTIENTS[self.quotient](x.double()[..., indices], eps, hidden)
        return quotients.flatten(-2)[..., indices.flatten().argsort()]


CONTRACT: Final = Law()
LAWS: Final = tuple(sorted(starmap(Law, product(GROUPINGS, QUOTIENTS)), key=lambda law: law.mistakes))


def fits(actual: Tensor, expected: Tensor, tolerance: float = LAW) -> bool:
    """Whether every element is within ``tolerance`` of the expected one, relative to its size; never if not finite."""
    size = expected.abs().clamp(min=float(expected.abs().max()) * 2.0**-10)
    return bool(((actual - expected).abs() <= tolerance * size).all() and expected.isfinite().all())


def only_digits_differ(output: Tensor, of_twice: Tensor, expected: Tensor) -> bool:
    """Whether an output is a law's but for lost digits, which large inputs and half of them lose alike."""
    return fits(output, expected) and fits(of_twice, output, 2.0**-18)


def filled(
    module: StudentModule, gamma: Tensor | float, hidden: int = HIDDEN, group_size: int = GROUP_SIZE
) -> StudentModule:
    """The module with that gamma, in whatever layout; if it holds gamma for one group only, with the first elements.

    One number fills whatever parameters there are, where gamma has another size.
    """
    if isinstance(gamma, Tensor):
        return module.assign(gamma, gamma[:group_size])
    whole = torch.full((hidden,), gamma)
    return module.assign(whole, whole[:group_size], gamma)


@dataclass(frozen=True)
class Normalising(Reading):
    """What a submission's GroupRMSNorm does.

    Attributes:
        law: How it groups and divides; None if no law fits, or several do.
        neutral: The gamma that leaves the quotient unchanged: one, or zero if the module adds one to gamma.
        training: The mode, training or evaluation, in which the law was seen; the property about what calls leave
            charges if that is evaluation.
        gamma_right: Whether every feature is scaled by its own gamma.
        fills: Whether a gamma of h numbers, or of one group's, can be filled in.
        factored: Whether no gamma leaves the quotient unchanged, but its factor can be measured, with features of one
            large size, and divided out.
        works: Whether the output follows the input and is no multiple of it; if not, nothing else can be judged.
        exact: Whether float32 outputs follow the law to float32's accuracy; if none fits, are no bfloat16 numbers.
        changes_input: Whether a call changes its input.
        refused: The pairs of dtypes, of input and gamma, for which a call crashes.
        one_group: Whether the constructor takes a group as large as the hidden dimension.
        made_late: Whether the first call makes gamma.
        drawn_late: Whether the first call draws it, whatever it held.
        read: Whether anything could be read; if not, the rest is as in the contract.
    """

    CHARGED_TO: ClassVar = {
        "law": ("norm_groups",),
        "neutral": ("norm_gamma",),
        "training": ("norm_purity",),
        "gamma_right": ("norm_gamma",),
        "fills": ("norm_gamma",),
        "factored": ("norm_gamma",),
        "exact": ("norm_float32_inside",),
        "changes_input": ("norm_purity",),
        "refused": ("norm_dtype_and_shape",),
        "one_group": ("norm_registration_and_arguments",),
        "made_late": ("norm_registration_and_arguments",),
        "drawn_late": ("norm_purity",),
    }

    law: Law | None = CONTRACT
    neutral: float = 1.0
    training: bool = True
    gamma_right: bool = True
    fills: bool = True
    factored: bool = False
    works: bool = True
    exact: bool = True
    changes_input: bool = False
    refused: frozenset[tuple[torch.dtype, torch.dtype]] = frozenset()
    one_group: bool = True
    made_late: bool = False
    drawn_late: bool = False
    read: bool = True

    @property
    def signs(self) -> Tensor:
        """``[h]``: those of features of one magnitude, where the divisor follows the magnitude."""
        return torch.tensor(UNEVEN if self.law is not None and self.law.quotient == "mean" else SIGNS)

    def takes(self, dtype: torch.dtype, gamma_dtype: torch.dtype) -> bool:
        """Whether a call with these dtypes returns an output; if not, the property about dtypes charges for it."""
        return (dtype, gamma_dtype) not in self.refused


class _Reader:
    """Finds out what one submission does."""

    def __init__(self, student: Student) -> None:
        self.student = student
        scales = torch.exp2(1 + torch.arange(HIDDEN) // GROUP_SIZE % 3)  # as in the cases about groups
        self.x = (normal(student.seed, "reading", shape=(2, 3, HIDDEN)) + 0.5) * scales * 2
        self.token = LARGE * torch.tensor(SIGNS).repeat(2, 2, 1)  # no size of one: another property has these
        self.training = True
        self.fills = True
        self.factored = self.late = False
        self.eps: dict[str, float] = {}  # by default that of the stub

    def module(self, gamma: Tensor | float, dtype: torch.dtype = torch.float32) -> StudentModule:
        return filled(self.new(dtype), gamma).train(self.training)

    def new(self, dtype: torch.dtype = torch.float32) -> StudentModule:
        module = self.student.GroupRMSNorm(hidden_size=HIDDEN, group_size=GROUP_SIZE, dtype=dtype, **self.eps)
        if self.late:
            module(self.token)
        return module

    def gamma(self) -> Tensor:
        return (0.5 + torch.arange(HIDDEN) * 0.07) * torch.tensor(UNEVEN)  # no 16-bit number among them

    def output(self, gamma: Tensor | float, x: Tensor) -> Tensor:
        return numbers(self.module(gamma)(x), x.shape)

    def laws(self, gamma: float) -> list[Law]:
        output = self.quotients(gamma, self.x)
        for _, laws in groupby(LAWS, lambda law: law.mistakes):  # the fewest mistakes first
            if fitting := [law for law in laws if fits(output, law(self.x, GROUP_SIZE))]:
                return fitting
        return []

    def read(self) -> Normalising:
        made = is_made(self.new())
        with suppress(WrongAnswer):  # gamma has another size
            self.late = self.is_late()
        neutral, laws = self.neutral_and_laws()
        law = laws[0] if len(laws) == 1 else None
        inputs = (self.x, self.x, 2 * self.x, self.x * UNLIKE)
        plain, again, twice, other = (self.output(neutral, x) for x in inputs)
        _, (after,) = self.module(neutral).observe(self.x)
        follows = bool(plain.any()) and fits(again, plain) and not fits(plain, other)
        return Normalising(
            law=law,
            neutral=neutral,
            training=self.training,
            gamma_right=self.scales(neutral) and neutral != 0 and not self.factored,
            fills=self.fills,
            factored=self.factored,
            works=follows and not fits(twice, 2 * plain),
            exact=self.exact(law, neutral) or self.exact_without_eps(law, neutral),
            changes_input=not torch.equal(after, self.x),
            refused=refused(lambda dtype, held: self.module(neutral, held)(self.x.to(dtype))),
            one_group=self.takes_one_group(),
            made_late=self.late and not made,
            drawn_late=self.late and made,
        )

    def takes_one_group(self) -> bool:
        try:
            self.student.GroupRMSNorm(hidden_size=16, group_size=16).parameters()
        except Crashed:
            return False
        return True

    def is_late(self) -> bool:
        """Whether the first call makes gamma, or draws it, and a later one leaves it as it is."""
        module, own, left = self.new(), self.gamma(), []
        for _ in range(2):
            if is_made(module):
                filled(module, own)
            module(self.token)
            value = module.held(HIDDEN)
            left.append(value is not None and torch.equal(value.flatten(), own))
        return left == [False, True]

    def neutral_and_laws(self) -> tuple[float, list[Law]]:
        """The neutral gamma, and the laws that explain the outputs with it; sets ``training`` and ``factored``.

        The neutral gamma is zero if the module adds one to gamma. If gamma is no factor at all, its effect is measured
        and divided out.
        """
        for self.training in (True, False):
            scaled, self.factored = self.scales(1.0), False
            neutral = 0.0 if not scaled and self.scales(0.0) else 1.0
            laws = self.laws(neutral)
            self.factored = not laws and not scaled and neutral != 0
            if laws := laws or self.laws(neutral):
                return neutral, laws
        self.training, self.factored = True, False
        return neutral, []

    def scales(self, neutral: float) -> bool:
        """Whether gamma is a factor; with ``neutral`` zero, whether ``1 + gamma`` is a factor, or gamma is added."""
        gamma = self.gamma()
        try:
            output, plain = self.output(gamma, self.token), self.output(neutral, self.token)
        except WrongAnswer:  # gamma has another size
            self.fills = False
            return False
        return fits(output, plain * (gamma + 1 - neutral)) or (neutral == 0 and fits(output, plain + gamma))

    def quotients(self, gamma: Tensor | float, x: Tensor) -> Tensor:
        """The output for ``x`` with that gamma, of which the effect is divided out if it is no factor."""
        output = self.output(gamma, x)
        return output * (self.token.sign() / self.output(gamma, self.token))[0, 0] if self.factored else output

    def exact_without_eps(self, law: Law | None, neutral: float) -> bool:
        """Whether an eps that shows in large inputs, too, is all that keeps outputs from being exact."""
        self.eps = {"eps": 0.0}
        try:
            return self.exact(law, neutral)
        except StudentFault:
            return False
        finally:
            self.eps = {}

    def exact(self, law: Law | None, neutral: float) -> bool:
        """As ``norm_float32_inside`` judges it: up to a number that is added or multiplied."""
        x = self.x * 1024  # so large that eps does not matter
        if law is None:
            output = self.quotients(neutral, x)
            return not torch.equal(output, output.bfloat16().double())
        expected = law(x, GROUP_SIZE)
        factor = self.gamma() if neutral == 1 and not self.factored and self.scales(1.0) else None
        gamma = neutral if factor is None else factor
        halves = [(self.quotients(gamma, y) - self.quotients(gamma, -y)) / 2 for y in (x, 2 * x)]
        known = expected * (1 if factor is None else factor)
        output, twice = (half / (half / known).median() * expected / known for half in halves)
        off = (output - expected).abs()
        exact = (off <= 2.0**-18 * (expected.abs() + (law != CONTRACT))).all()  # a mean taken off cancels digits
        return bool(exact) or not only_digits_differ(output, twice, expected)


def is_made(module: StudentModule) -> bool:
    """Whether a module holds gamma, registered or not."""
    return bool(module.parameters()) or module.held(HIDDEN) is not None


BY_CONTRACT: Final = Normalising()


def read_normalising(student: Student) -> Normalising:
    """Find out what the GroupRMSNorm of a submission does; the contract's reading, if that fails."""
    try:
        return _Reader(student).read()
    except StudentFault:
        return Normalising(read=False)


def normalising(student: Student) -> Normalising:
    """What the student's GroupRMSNorm does, found out once per submission."""
    return student.reading(read_normalising)


def require_division(student: Student) -> Normalising:
    """What :func:`normalising` finds, of a module that normalises at all.

    Raises:
        WrongAnswer: If it does not.
    """
    reading = normalising(student)
    require(reading.works, NOTHING)
    return reading
