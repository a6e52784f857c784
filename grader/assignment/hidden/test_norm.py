"""Task 1. Each property has inputs on which the other properties' mistakes do not show.

Whether an output follows the right law is judged in float32, with a wide tolerance. ``norm_float32_inside`` charges for
inexact computation: it compares 16-bit outputs with the student's own float32 outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.checks import RIGHT_FOR, SHARE, UNCHANGED, check_digits, largest, stating, succeeds
from grader.assignment.hidden.norm_inputs import (
    BESIDE_FLOAT32,
    BESIDE_LARGER,
    CLAMPED,
    FORWARD,
    GROUPINGS,
    IN_MEMORY,
    LAW_LIMIT,
    NARROW,
    NEAR_THE_ROOT,
    OF_GROUPS,
    OTHER_EPS,
    OVERFLOW,
    ROOTS,
    Shape,
    build,
    check_law,
    followed,
    gamma_dtypes,
    grouped_input,
    quotients,
)
from grader.assignment.model.normalising import (
    BY_CONTRACT,
    CONTRACT,
    LARGE,
    NOTHING,
    SIGNS,
    UNEVEN,
    fits,
    normalising,
    numbers,
    only_digits_differ,
)
from grader.assignment.model.row_words import LEFT_OUT, LEFT_OUT_OF_ROWS
from grader.testing import (
    DTYPES,
    FORWARD_LIMIT,
    Message,
    Student,
    WrongAnswer,
    check_close,
    check_equal,
    check_errors,
    check_like,
    coarser,
    contract_first,
    dtypes,
    error_in_ulp,
    in_two_decimals,
    kept,
    name,
    normal,
    places,
    require,
    say,
    signs,
    stated,
    uniform,
)

NO_EPS = say("as if no eps were added")
SHARES, NEARLY = 65, 0.02  # multiples and shares of eps that a message names
MOST_LISTED = 8  # features whose gammas a message lists

OF_SIZES = "{dtype} output for hidden_size={hidden_size}, group_size={group_size}"
OF_GAMMA = "output for a {dtype} gamma, hidden_size={hidden_size}, group_size={group_size}"
OF_LAYOUT = "{dtype} output for {layout} memory, group_size={group_size}"
DIVISOR = "the divisor for features of magnitude {names}, {sizes}, [magnitude, feature]"

ALL_NARROW = "every element is a {dtype} number"
ONE_ROUNDING = 0.55  # ulp: 0.5 for the rounding of the output, and a little for float32's rounding


def check_contract(
    student: Student, x: Tensor, group_size: int, device: str, *, limit: float | None = None, **arguments: Any
) -> None:
    """Require the output that the contract asks for, in the input's shape and dtype.

    Args:
        student: The submission.
        x: The input.
        group_size: That of the module.
        device: Where module and input are.
        limit: In ulp of the input's dtype; None for the tolerance of a law.
        arguments: The module's ``gamma``, ``gamma_dtype`` and ``eps``; see :func:`build`.
    """
    module = build(student, group_size, device, hidden=x.shape[-1], reading=BY_CONTRACT, **arguments)
    output = module(x.to(device))
    check_like(output, x.to(device))
    gamma = arguments.get("gamma")
    gamma = torch.ones(x.shape[-1]) if gamma is None else gamma
    law = partial(oracle.rms_norm, gamma=gamma, group_size=group_size, eps=arguments.get("eps", 1e-5))
    what, expected = say(OF_GROUPS, dtype=name(x.dtype), group_size=group_size), law(x.cpu())
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


def groups_by_contract(student: Student, seed: int, device: str) -> None:
    for shape in GROUPINGS:
        check_contract(student, grouped_input(seed, shape), shape[3], device)


@pytest.mark.rubric("norm_groups")
@contract_first(groups_by_contract, *FORWARD)
def test_each_group_is_divided_by_its_own_root_mean_square(student: Student, seed: int, device: str) -> None:
    right: list[Message] = []
    for shape in accepted(student, GROUPINGS):
        x = grouped_input(seed, shape)
        try:
            check_tokens(student, x, shape, device)
        except WrongAnswer as fault:
            raise fault.with_more(*(say(RIGHT_FOR, sizes=one) for one in right)) from None
        right.append(stated(hidden_size=shape[2], group_size=shape[3]))


def accepted(student: Student, shapes: Sequence[Shape]) -> list[Shape]:
    """Those shapes whose sizes the constructor takes, as far as another property charges for the others."""
    return [shape for shape in shapes if normalising(student).one_group or shape[2] != shape[3]]


def sizes(shape: Shape) -> Message:
    """The beginning of a message."""
    return say(OF_SIZES, dtype="float32", hidden_size=shape[2], group_size=shape[3])


def tokens(seed: int) -> Tensor:
    """``[3, 4, 24]``: tokens of clearly different sizes."""
    return grouped_input(seed, (3, 4, 24, 4)) * torch.exp2(torch.arange(12) % 4).reshape(3, 4, 1)


def tokens_by_contract(student: Student, seed: int, device: str) -> None:
    check_contract(student, tokens(seed), 4, device)


@pytest.mark.rubric("norm_groups")
@contract_first(tokens_by_contract, *FORWARD)
def test_tokens_do_not_influence_each_other(student: Student, seed: int, device: str) -> None:
    check_tokens(student, tokens(seed), (3, 4, 24, 4), device)


def check_tokens(student: Student, x: Tensor, shape: Shape, device: str) -> None:
    """Require the contract's law of an output; a fault says if nothing was computed for the last tokens."""
    output, expected = quotients(student, x, shape[3], device), oracle.rms_norm(x, torch.ones(shape[2]), shape[3], 1e-5)
    try:
        check_law(output, expected, sizes(shape))
    except WrongAnswer as fault:
        raise fault.with_more(told_left_out(followed(output, expected), output, x.double())) from None


def told_left_out(right: Tensor, output: Tensor, x: Tensor) -> Message | None:
    """Says if nothing was computed for the last tokens, of the call or of each batch row; ``right: [b, s, 1]``."""
    for told, rows in ((say(LEFT_OUT), 1), (say(LEFT_OUT_OF_ROWS), len(right))):
        passed, left, given = (each.reshape(rows, -1, each.shape[-1]) for each in (right, output, x))
        size, wrong = passed.shape[1], int((~passed).sum(1).max())
        at_end, before = passed[:, size - wrong :], passed[:, : size - wrong]
        left, given = left[:, size - wrong :], given[:, size - wrong :]
        last = 2 * wrong < size and bool(before.all() and not at_end.any())  # fewer than a chunk, if these are computed
        if last and (not bool(left.any()) or fits(left, given)):
            return told.filled(n=wrong, all=size)
    return None


def judged(student: Student, group_size: int, device: str, hidden: int = 24) -> int:
    """The size, if such groups are divided by the contract's law; else that of several groups, which a reading knows.

    Other properties charge for another law.
    """
    x = LARGE * torch.tensor(SIGNS[:hidden]).repeat(2, 2, 1)

    def check() -> None:
        check_law(quotients(student, x, group_size, device), x.double().sign(), sizes((2, 2, hidden, group_size)))

    return group_size if group_size == 4 or (normalising(student).law == CONTRACT and succeeds(check)) else 4


def roots(student: Student, group_size: int, eps: float | None, magnitudes: list[float], device: str) -> Tensor:
    """``[magnitudes, h]``: the divisors of a token of each magnitude, each in a call of its own."""
    pattern = normalising(student).signs.expand(2, 2, -1)
    outputs = [quotients(student, m * pattern, group_size, device, eps)[0, 0] for m in magnitudes]
    return torch.tensor(magnitudes, dtype=torch.float64).unsqueeze(-1) * pattern[0, 0].double() / torch.stack(outputs)


def check_roots(student: Student, group_size: int, eps: float, magnitudes: list[float], device: str) -> None:
    """Require the square of each divisor to be that of a large token, scaled to the token's size, plus eps.

    So it does not matter by which statistic the code divides, nor by which power of the root: two large tokens show
    the power. Features that are not divided are left out.
    """
    found = roots(student, group_size, eps, [*magnitudes, LARGE / 2, LARGE], device).abs()  # [magnitudes + 2, h]
    power = (2 * (found[-1] / found[-2]).log2()).round() / 2  # [h]: 1 if nothing else is wrong
    shown = power.isfinite() & (power != 0)
    require(2 * int(shown.sum()) >= len(shown), NOTHING)
    squares = found[:, shown] ** (2 / power[shown])  # [magnitudes + 2, shown]
    slope = (squares[-1] - eps) / LARGE**2  # [shown]
    sizes = torch.tensor(magnitudes, dtype=torch.float64).unsqueeze(-1)  # [magnitudes, 1]
    names = ", ".join(f"{m:.1e}" if m < 0.1 else f"{m:.2g}" for m in magnitudes)
    what = say(DIVISOR, names=names, sizes=stated(hidden_size=24, group_size=group_size, eps=f"{eps:g}"))

    def check(slope: Tensor) -> None:
        expected = (slope * sizes.square() + eps).sqrt()
        check_close(squares[:-2].sqrt(), expected, expected, torch.float32, LAW_LIMIT, what)

    try:
        check(slope)
    except WrongAnswer as fault:
        if fits(squares[:-2], slope * (sizes.square() + eps)):
            student.excuse(fault, ("norm_groups",))  # which charges for a factor of the root, and of eps with it
            return
        reading, by_law = normalising(student), slope
        if reading.law is not None:
            pattern = reading.signs.expand(2, 2, -1)
            by_law = (pattern / reading.law(LARGE * pattern, group_size))[0, 0, shown].square()
        if not fits(slope, by_law):  # what is added grows with the token: no number to be told
            check(by_law)
            raise
        added = (squares[:-2] - by_law * sizes.square()).median(-1).values
        raise fault.with_more(told_added(added, eps)) from None


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


def check_eps(student: Student, group_size: int, eps: float, magnitudes: list[float], device: str) -> None:
    """Check the roots with a group size; a fault says if those with several groups are right."""
    size = judged(student, group_size, device)
    try:
        check_roots(student, size, eps, magnitudes, device)
    except WrongAnswer as fault:
        right = size != 4 and succeeds(lambda: check_roots(student, 4, eps, magnitudes, device))
        raise fault.with_more(say(RIGHT_FOR, sizes=stated(group_size=4)) if right else None) from None


def roots_by_contract(student: Student, eps: float, group_size: int, magnitudes: list[float], device: str) -> None:
    sizes = torch.tensor(magnitudes).reshape(1, -1, 1)
    check_contract(student, (sizes * torch.tensor(SIGNS)).repeat(2, 1, 1), group_size, device, eps=eps)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@pytest.mark.parametrize(("eps", "group_size", "magnitudes"), ROOTS.values(), ids=ROOTS)
@contract_first(roots_by_contract, *FORWARD)
def test_eps_is_added_to_the_mean_square(
    student: Student, eps: float, group_size: int, magnitudes: list[float], device: str
) -> None:
    """If nothing else is wrong, the roots are exactly 1, 4 and 8, but for the smallest magnitude."""
    check_eps(student, group_size, eps, magnitudes, device)


def near_the_root(seed: int, eps: float) -> list[float]:
    """Magnitudes near the root of eps; with an eps of zero, near that of its default."""
    root = (eps or 1e-5) ** 0.5
    factors = uniform(seed, "near_root", eps, shape=(2,), low=0.3, high=3.0) * root
    return [0.3 * root, *factors.tolist()]


def small_roots_by_contract(student: Student, seed: int, eps: float, group_sizes: list[int], device: str) -> None:
    for group_size in group_sizes:
        roots_by_contract(student, eps, group_size, near_the_root(seed, eps), device)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@pytest.mark.parametrize(("eps", "group_sizes"), NEAR_THE_ROOT.values(), ids=NEAR_THE_ROOT)
@contract_first(small_roots_by_contract, *FORWARD)
def test_eps_counts_where_inputs_are_as_small_as_its_root(
    student: Student, seed: int, eps: float, group_sizes: list[int], device: str
) -> None:
    for group_size in group_sizes:
        check_eps(student, group_size, eps, near_the_root(seed, eps), device)


def zeros_by_contract(student: Student, device: str) -> None:
    """Whether anything is normalised at all, the other cases of the property show."""
    x = torch.zeros(2, 2, 24)
    check_equal(
        build(student, 4, device, eps=0.5, reading=BY_CONTRACT)(x.to(device)), x, say("output for an input of zeros")
    )


@pytest.mark.rubric("norm_eps_inside_sqrt")
@contract_first(zeros_by_contract, *FORWARD)
def test_zeros_stay_zeros(student: Student, device: str) -> None:
    x = torch.zeros(2, 2, 24)
    normalising(student).require_division()
    output = build(student, 4, device, eps=0.5)(x.to(device))
    output = output.reshape(x.shape) if output.numel() == x.numel() else output
    check_equal(output, x, say("output for an input of zeros"))


def gamma_cases(seed: int, gamma_dtype: torch.dtype) -> list[tuple[int, Tensor, Tensor]]:
    """Group sizes, inputs and gammas."""
    cases = []
    for hidden, group_size in ((6, 2), (16, 16), (40, 8)) if gamma_dtype is torch.float32 else ((24, 4), (16, 16)):
        size = uniform(seed, "gamma", shape=(hidden,), low=0.5, high=2.0)
        gamma = (size * signs(seed, "gamma", shape=(hidden,))).to(gamma_dtype)
        cases.append((group_size, flat_tokens(seed, [16.0, 32.0], hidden, torch.float32), gamma))
    return cases


def gamma_by_contract(student: Student, seed: int, gamma_dtype: torch.dtype, device: str) -> None:
    for group_size, x, gamma in gamma_cases(seed, gamma_dtype):
        check_contract(student, x, group_size, device, gamma=gamma, gamma_dtype=gamma_dtype)


@pytest.mark.rubric("norm_gamma")
@gamma_dtypes
@contract_first(gamma_by_contract, *FORWARD)
def test_every_feature_is_scaled_by_its_own_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, device: str
) -> None:
    """Two outputs for one input with two gammas are compared, so that the divisor does not matter."""
    reading = normalising(student)
    reading.require_division()
    if not reading.takes(torch.float32, gamma_dtype):
        return  # charged to the dtypes
    right: Message | None = None
    for group_size, x, gamma in gamma_cases(seed, gamma_dtype):
        hidden = x.shape[-1]
        if not accepted(student, [(*x.shape[:2], hidden, group_size)]):
            continue
        plain = build(student, group_size, device, hidden=hidden, gamma_dtype=gamma_dtype)(x.to(device))
        scaled = build(student, group_size, device, hidden=hidden, gamma_dtype=gamma_dtype, gamma=gamma)(x.to(device))
        expected = numbers(plain, x.shape) * gamma.double()
        require(bool(expected.flatten(0, -2).any(0).all()), NOTHING)  # each feature, in some token
        sizes = {"hidden_size": hidden, "group_size": group_size}
        try:
            check_law(numbers(scaled, x.shape), expected, say(OF_GAMMA, dtype=name(gamma_dtype), **sizes))
        except WrongAnswer as fault:
            same = say("another gamma was assigned, and the output did not change")

            def factors(gamma: Tensor) -> Tensor:
                module = build(student, group_size, device, hidden=hidden, gamma_dtype=gamma_dtype, gamma=gamma)  # noqa: B023
                return (numbers(module(x.to(device)), x.shape) / numbers(plain, x.shape)).flatten(0, -2)[0]  # noqa: B023

            told = same if torch.equal(scaled, plain) else told_gammas(factors, gamma)
            raise fault.with_more(told, say(RIGHT_FOR, sizes=right) if right else None) from None
        right = stated(**sizes)


def told_gammas(factors: Callable[[Tensor], Tensor], gamma: Tensor) -> Message | None:
    """Whose gammas scale each feature, if not its own alone, for messages; ``factors`` gives them for a ``[h]``."""
    if len(gamma) > MOST_LISTED:
        return None
    met, gammas = factors(gamma), gamma.double()
    same = (met.unsqueeze(1) - gammas).abs() <= NEARLY * gammas.abs()  # [feature, whose gamma]
    if bool((same.sum(-1) == 1).all()):
        served = same.to(torch.uint8).argmax(-1).tolist()
        return say("features 0 to {n} are scaled by the gammas of features {served}", n=len(gamma) - 1, served=served)
    shares = torch.stack(list(map(factors, torch.eye(len(gamma)).to(gamma.dtype))))  # [whose gamma, feature]
    if not fits(met, gammas @ shares) or bool((shares.abs() > NEARLY).sum(0).max() < 2):
        return None
    seen = " + ".join(f"{in_two_decimals(share)} g{one}" for one, share in enumerate(shares[:, 0].tolist()) if share)
    return say("feature 0 is scaled by {seen}, where g0 to g{n} are the gammas", seen=seen, n=len(gamma) - 1)


def likeness_by_contract(student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str) -> None:
    check_contract(student, torch.full((2, 3, 24), 2.0, dtype=dtype), 4, device, gamma_dtype=gamma_dtype)


@pytest.mark.rubric("norm_dtype_and_shape")
@gamma_dtypes
@dtypes
@contract_first(likeness_by_contract, *FORWARD)
def test_output_is_like_the_input(student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str) -> None:
    normalising(student).require_division()
    x = torch.full((2, 3, 24), 2.0, dtype=dtype, device=device)
    with stating(say("input {dtype}, gamma {gamma}", dtype=name(dtype), gamma=name(gamma_dtype))):
        check_like(build(student, 4, device, gamma_dtype=gamma_dtype)(x), x)


def float64_by_contract(student: Student, device: str) -> None:
    for dtype, gamma_dtype in WITH_FLOAT64:
        check_contract(student, torch.full((2, 3, 24), 2.0, dtype=dtype), 4, device, gamma_dtype=gamma_dtype)


WITH_FLOAT64 = ((torch.float64, torch.float32), (torch.float32, torch.float64))  # input and gamma


@pytest.mark.rubric("norm_dtype_and_shape")
@contract_first(float64_by_contract, *FORWARD)
def test_float64_is_taken(student: Student, device: str) -> None:
    """To the accuracy of float32, which suffices."""
    normalising(student).require_division()
    for dtype, gamma_dtype in WITH_FLOAT64:
        x = torch.full((2, 3, 24), 2.0, dtype=dtype, device=device)
        with stating(say("input {dtype}, gamma {gamma}", dtype=name(dtype), gamma=name(gamma_dtype))):
            check_like(build(student, 4, device, gamma_dtype=gamma_dtype)(x), x)


def size_one_by_contract(student: Student, seed: int, device: str) -> None:
    for shape in ((1, 4, 24), (3, 1, 24), (1, 1, 24)):
        check_contract(student, torch.full(shape, 2.0), 4, device)
    check_contract(student, flat_tokens(seed, [64.0, 128.0], 6, torch.float32), 1, device)


@pytest.mark.rubric("norm_dtype_and_shape")
@contract_first(size_one_by_contract, *FORWARD)
def test_dimensions_of_size_one_stay(student: Student, seed: int, device: str) -> None:
    """Dimensions of the batch, the sequence or a group; a feature that is a group of its own becomes its sign."""
    reading = normalising(student)
    reading.require_division()
    for shape in ((1, 4, 24), (3, 1, 24), (1, 1, 24)):
        x = torch.full(shape, 2.0, device=device)
        check_like(build(student, 4, device)(x), x)
    if reading.law == CONTRACT:
        x = flat_tokens(seed, [64.0, 128.0], 6, torch.float32)
        given, alone = quotients(student, x, 1, device), say("with group_size=1, every feature is a group of its own")
        with stating(alone.then(*[UNCHANGED] * torch.equal(given, x.double()))):
            check_law(given, x.double().sign(), sizes((2, 2, 6, 1)))


def views(dtype: torch.dtype, device: str) -> list[tuple[Tensor, str]]:
    """The same numbers in memory of several layouts; tokens are unlike, so that one in another's place shows."""
    places = [UNEVEN[k:] + UNEVEN[:k] for k in range(4)]  # of the negative feature in each group
    x = (LARGE * torch.tensor([*places, *places[:2]])).to(dtype).to(device).reshape(2, 3, 24)
    x[1, 1:] *= -1
    transposed = x.transpose(0, 1).contiguous().transpose(0, 1)
    strided = x.repeat_interleave(2, dim=-1)[..., ::2]
    all_views = [(transposed, "transposed"), (strided, "strided"), (x[:1].expand(2, 3, 24), "expanded")]
    return all_views if dtype is torch.float32 else all_views[:1]


def layouts_by_contract(student: Student, dtype: torch.dtype, device: str) -> None:
    for view, _ in views(dtype, device):
        check_contract(student, view, 4, device, limit=FORWARD_LIMIT[dtype])


@pytest.mark.rubric("norm_dtype_and_shape")
@dtypes
@contract_first(layouts_by_contract, *FORWARD)
def test_any_memory_layout_works(student: Student, dtype: torch.dtype, device: str) -> None:
    """Compared with the output for the same numbers in contiguous memory."""
    normalising(student).require_division()
    for view, layout in views(dtype, device):
        if layout == "expanded" and normalising(student).changes_input:
            continue  # writing to such memory fails: norm_purity charges for it
        plain = build(student, 4, device)(view.contiguous())
        output = build(student, 4, device)(view)
        check_like(output, view)
        wanted = numbers(plain, view.shape)
        what = say(OF_LAYOUT, dtype=name(dtype), layout=layout, group_size=4)
        found = numbers(output, view.shape)
        if layout == "transposed" and fits(found, wanted.transpose(0, 1).reshape(view.shape)):
            raise WrongAnswer(places(what, ~followed(found, wanted).expand(view.shape)).then(IN_MEMORY))
        check_close(output, wanted, wanted.abs(), dtype, FORWARD_LIMIT[dtype], what)


def check_witness(
    student: Student,
    x: Tensor,
    group_size: int,
    eps: float,
    gamma: Tensor | None,
    gamma_dtype: torch.dtype,
    device: str,
) -> None:
    """Compare a 16-bit output with the submission's own output for the same numbers in float32."""
    taken = [dtype for dtype in (gamma_dtype, torch.float32, x.dtype) if normalising(student).takes(x.dtype, dtype)]
    if not taken:
        return  # charged to the dtypes

    def output(x: Tensor, gamma_dtype: torch.dtype) -> Tensor:
        module = build(student, group_size, device, hidden=x.shape[-1], gamma=gamma, gamma_dtype=gamma_dtype, eps=eps)
        return numbers(module(x.to(device)), x.shape)

    wide = output(x.float(), torch.float32)
    require(bool(wide.isfinite().all()), OVERFLOW.then(*filter(None, [largest(x)])))
    require(bool(wide.any()), NOTHING)
    narrow = output(x, taken[0])
    held = wide.abs() <= torch.finfo(x.dtype).max  # numbers that the 16-bit dtype cannot hold are not compared
    narrow = narrow[held]

    def check(wide: Tensor) -> None:
        what = say(BESIDE_FLOAT32, dtype=name(x.dtype), group_size=group_size, eps=f"{eps:g}")
        check_errors(error_in_ulp(narrow, wide, wide, x.dtype), ONE_ROUNDING, what, narrow, wide, wide.abs())

    try:
        check(wide[held])
    except WrongAnswer as fault:

        def check_gamma() -> None:
            second = output(x.float(), taken[0])
            require(is_by_feature(second, wide, x.dtype), NOTHING)
            check(second[held])

        if succeeds(check_gamma):
            student.excuse(fault, ("norm_gamma", "norm_purity"))  # no rounding, but a gamma of another call or time
            return
        added = x[held].double().square() * (narrow.square().reciprocal() - 1)  # of flat tokens

        def check_clamped(bound: float) -> None:
            require(bool((x.abs() > bound).any()), NOTHING)
            check(output(x.float().clamp(-bound, bound), torch.float32)[held])

        most = torch.finfo(torch.float16).max
        bounds = {most, float(torch.tensor(most, dtype=x.dtype))}  # the latter where the input is clamped as it is
        clamped = [say(CLAMPED, bound=f"{one:g}") for one in sorted(bounds) if succeeds(partial(check_clamped, one))]
        told = clamped[0] if clamped else largest(x, fault)
        raise fault.with_more(told_added(added, eps) if gamma is None else None, told) from None


def is_by_feature(output: Tensor, wide: Tensor, dtype: torch.dtype) -> bool:
    """Whether an output is another one whose features are multiplied by factors, as by a gamma, up to a rounding."""
    shown = wide.flatten(0, -2).all(0)  # a gamma may have drawn a zero
    output, wide = output[..., shown], wide[..., shown]
    factors = (output / wide).flatten(0, -2).median(0).values
    expected = wide * factors
    errors = error_in_ulp(output, expected, expected, dtype)
    return bool(factors.any() and (errors <= ONE_ROUNDING).all())


def far_from_one(seed: int, scale: float) -> Tensor:
    """``[2, 6, 24]``, float16: tokens of one magnitude, so that groups do not matter."""
    factors = uniform(seed, "range", scale, shape=(6,), low=0.9, high=1.1) * scale
    return flat_tokens(seed, factors.tolist(), 24, torch.float16)


def range_by_contract(student: Student, seed: int, scale: float, eps: float, device: str) -> None:
    x = far_from_one(seed, scale)
    for group_size in OF_RANGE[scale]:
        check_contract(student, x, group_size, device, limit=ONE_ROUNDING, gamma_dtype=x.dtype, eps=eps)


OF_RANGE = {3000.0: [4], 2e-4: [4, 1]}  # group sizes


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize(("scale", "eps"), [(3000.0, 1e-5), (2e-4, 1e-8)], ids=["overflow", "underflow"])
@contract_first(range_by_contract, *FORWARD)
def test_squares_neither_overflow_nor_vanish(
    student: Student, seed: int, scale: float, eps: float, device: str
) -> None:
    """Squares of these numbers, or eps, are no float16 numbers; tokens are flat, so groups do not matter.

    Gamma is float16 as well, as in a module after ``half()``: no operand widens the arithmetic.
    """
    normalising(student).require_division()
    x = far_from_one(seed, scale)
    for group_size in dict.fromkeys(judged(student, size, device) for size in OF_RANGE[scale]):
        check_witness(student, x, group_size, eps, None, x.dtype, device)


@kept
def powers_of_two(hidden: int) -> Tensor:
    """A gamma of powers of two, so that multiplying by it rounds nothing."""
    return torch.exp2(torch.arange(hidden) % 3)


def to_be_rounded(seed: int, dtype: torch.dtype) -> Tensor:
    """``[4, 16, 16]``, off zero; in bfloat16 larger than any float16 number."""
    size = 64 if dtype is torch.float16 else 2.0**20
    return ((normal(seed, "rounding", shape=(4, 16, 16)) + 0.25) * size).to(dtype)


BESIDE = {torch.float16: torch.float32, torch.bfloat16: torch.bfloat16}  # input and gamma: unlike, and alike


def rounding_by_contract(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    x, gamma = to_be_rounded(seed, dtype), powers_of_two(16)
    try:
        for group_size in (4, 16):
            options = {"gamma": gamma, "gamma_dtype": BESIDE[dtype]}
            check_contract(student, x, group_size, device, limit=ONE_ROUNDING, **options)
    except WrongAnswer as fault:
        raise fault.with_more(largest(x, fault)) from None


@pytest.mark.rubric("norm_float32_inside")
@NARROW
@contract_first(rounding_by_contract, *FORWARD)
def test_only_the_output_is_rounded_to_16_bits(student: Student, seed: int, dtype: torch.dtype, device: str) -> None:
    """With a gamma of powers of two, the only rounding to 16 bits is that of the output; any other shows."""
    reading = normalising(student)
    reading.require_division()
    x = to_be_rounded(seed, dtype)
    gamma = powers_of_two(16) if reading.gamma_right else None
    for group_size in dict.fromkeys(judged(student, size, device, hidden=16) for size in (4, 16)):
        check_witness(student, x, group_size, 1e-5, gamma, BESIDE[dtype], device)


SOME_EPS = 0.1  # no 16-bit number


def wide(seed: int) -> Tensor:
    """``[2, 4, 16]``, off zero, near the root of ``SOME_EPS``, so that an eps of 16 bits shows as well."""
    return (normal(seed, "wide", shape=(2, 4, 16)) + 0.25) * 0.25


def wide_by_contract(student: Student, seed: int, gamma_dtype: torch.dtype, device: str) -> None:
    limit, gamma = FORWARD_LIMIT[torch.float32], powers_of_two(16)
    check_contract(student, wide(seed), 4, device, limit=limit, gamma=gamma, gamma_dtype=gamma_dtype, eps=SOME_EPS)


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.parametrize("gamma_dtype", DTYPES[1:], ids=lambda dtype: f"gamma_{name(dtype)}")
@contract_first(wide_by_contract, *FORWARD)
def test_a_float32_input_is_not_rounded_to_a_16_bit_gamma(
    student: Student, seed: int, gamma_dtype: torch.dtype, device: str
) -> None:
    """Compared with the output for the same gamma in float32."""
    reading = normalising(student)
    reading.require_division()
    x = wide(seed)
    gamma = powers_of_two(16) if reading.gamma_right else None
    if not reading.takes(torch.float32, gamma_dtype) or reading.factored:
        return  # norm_dtype_and_shape or norm_gamma charges for it
    beside = build(student, 4, device, hidden=16, gamma=gamma, eps=SOME_EPS)(x.to(device))
    module = build(student, 4, device, hidden=16, gamma=gamma, gamma_dtype=gamma_dtype, eps=SOME_EPS)
    output, held = module(x.to(device)), module.held(16)
    if gamma is not None and held is not None and bool((held.cpu().flatten() != gamma).any()):
        return  # norm_purity charges for a call that changes gamma
    told = {"dtype": "float32", "gamma": name(gamma_dtype)}
    what = say("{dtype} output for a {gamma} gamma, compared with a float32 gamma", **told)
    expected = numbers(beside, x.shape)
    unit = coarser(output.dtype, torch.float32)  # norm_dtype_and_shape charges for a wrong dtype
    limit = FORWARD_LIMIT[unit] if unit is torch.float32 else ONE_ROUNDING
    try:
        check_close(numbers(output, x.shape), expected, expected.abs(), unit, limit, what)
    except WrongAnswer as fault:
        found = numbers(output, x.shape)
        if fits(found, expected) or not is_by_feature(found, expected, gamma_dtype):
            raise
        student.excuse(fault, ("norm_gamma", "norm_purity"))  # no rounding, but a gamma of another call or time


def far_apart(seed: int, shape: Shape) -> Tensor:
    """Groups of scales so far apart that a sum over several of them keeps few of the digits of the smallest."""
    x = grouped_input(seed, shape)
    return x * 4.0 ** (5 + torch.arange(shape[2]) // shape[3] % 3)


def exact_by_contract(student: Student, seed: int, device: str) -> None:
    for shape in GROUPINGS[1:]:

        def check(x: tuple[Tensor], gamma: tuple[Tensor], group_size: int = shape[3]) -> None:
            check_contract(student, *x, group_size, device, limit=EXACT, gamma=gamma[0])

        gamma = uniform(seed, "exact", shape=(shape[2],), low=0.5, high=2.0)
        check_digits(check, x=(far_apart(seed, shape),), gamma=(gamma,))


@pytest.mark.rubric("norm_float32_inside")
@contract_first(exact_by_contract, *FORWARD)
def test_float32_outputs_are_exact(student: Student, seed: int, device: str) -> None:
    """Compared with the law that the outputs follow; if none fits, they must at least be no bfloat16 numbers.

    The output is replaced by half its difference to the output for ``-x``, and compared up to a factor: other
    properties charge for what is added to all quotients, or multiplies them, and for another law of large inputs.
    """
    normalising(student).require_division()
    for shape in accepted(student, GROUPINGS[1:]):
        check = partial(check_exact, student, shape, device)
        try:
            check_digits(check, x=(far_apart(seed, shape),))
        except WrongAnswer as fault:
            if succeeds(lambda: check((far_apart(seed, shape),), eps=0.0)):  # noqa: B023
                student.excuse(fault, ("norm_eps_inside_sqrt",))
                return
            alike = succeeds(lambda: check((grouped_input(seed, shape) * 1024,)))  # noqa: B023
            raise fault.with_more(BESIDE_LARGER if alike else None) from None


def check_exact(student: Student, shape: Shape, device: str, x: tuple[Tensor], eps: float | None = None) -> None:
    """Require float32 outputs for an input to have float32's digits."""
    law, group_size = normalising(student).law, shape[3]

    def output(x: Tensor) -> Tensor:
        return quotients(student, x, group_size, device, eps)

    halves, twice = ((output(factor * x[0]) - output(-factor * x[0])) / 2 for factor in (1, 2))
    narrow = [name(dtype) for dtype in DTYPES[:0:-1] if halves.any() and torch.equal(halves, halves.to(dtype).double())]
    in_16_bits = say(ALL_NARROW, dtype="".join(narrow[:1]))
    if law is not None:
        expected = law(x[0], group_size)
        compared, twice = (found / (found / expected).median() for found in (halves, twice))
        if only_digits_differ(compared, twice, expected):
            scale = expected.abs() + (law != CONTRACT)  # a subtracted mean cancels digits
            told = in_16_bits if narrow else told_rounding(compared, expected)
            with stating(told) if told else nullcontext():
                check_close(compared, expected, scale, torch.float32, EXACT, sizes(shape))
            return
    require("bfloat16" not in narrow, sizes(shape).then(in_16_bits))


def told_rounding(output: Tensor, expected: Tensor) -> Message | None:
    """The 16-bit dtype of which one rounding, of whatever is computed, makes errors of this size; for messages."""
    worst = float((output / expected - 1).abs().max())
    found = (name(dtype) for dtype in DTYPES[1:] if 1 / 4 <= worst / torch.finfo(dtype).eps <= ROUNDINGS)
    return next((say("errors of this size come from rounding to {dtype}", dtype=dtype) for dtype in found), None)


ROUNDINGS = 1.5  # steps of the dtype: up to three roundings in a row
EXACT = 4 * FORWARD_LIMIT[torch.float32]  # ulp: sums of up to 1024 features, in any order
