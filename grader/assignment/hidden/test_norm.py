"""Task 1. Each property has inputs on which the other properties' mistakes do not show.

Whether an output follows the right law is judged in float32, with a wide tolerance. ``test_norm_digits.py`` charges for
inexact computation.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.assignment import oracle
from grader.assignment.hidden.axes import transposed
from grader.assignment.hidden.conditions import RIGHT_FOR, in_mode, right_alone, stating, succeeds, where_none_is_needed
from grader.assignment.hidden.construction import CALLED
from grader.assignment.hidden.norm_inputs import (
    FORWARD,
    FORWARDS,
    GROUPINGS,
    IN_MEMORY,
    LAW_LIMIT,
    NEAR_THE_ROOT,
    NEARLY,
    ROOTS,
    UNCHANGED,
    Shape,
    accepted,
    build,
    check_contract,
    check_law,
    flat_tokens,
    followed,
    gamma_dtypes,
    grouped_input,
    judged,
    quotients,
    sizes,
    told_added,
)
from grader.assignment.model.normalising import (
    BY_CONTRACT,
    CONTRACT,
    HIDDEN,
    LARGE,
    NOTHING,
    SIGNS,
    UNEVEN,
    fits,
    normalising,
    require_division,
)
from grader.assignment.model.outputs import numbers
from grader.assignment.model.row_words import LEFT_OUT, LEFT_OUT_OF_ROWS
from grader.testing import (
    FORWARD_LIMIT,
    Crashed,
    Message,
    Student,
    WrongAnswer,
    check_close,
    check_equal,
    check_like,
    contract_first,
    dtypes,
    in_two_decimals,
    name,
    places,
    require,
    say,
    signs,
    stated,
    uniform,
)

MANY: Shape = (2, 259, 24, 4)
WITH_FLOAT64 = ((torch.float64, torch.float32), (torch.float32, torch.float64))  # input and gamma
NEXT_TO_NO_EPS = 1e-6  # its square shows an eps of 1e-12, but no floor that only prevents divisions by zero
MOST_LISTED = 8  # features whose gammas a message lists
OF_GAMMA = "output for a {dtype} gamma, hidden_size={hidden_size}, group_size={group_size}"
OF_LAYOUT = "{dtype} output for {layout} memory, group_size={group_size}"
DIVISOR = "the divisor (input / output) for features of magnitude {names}, {sizes}, a row for each magnitude"


def groups_by_contract(student: Student, device: str) -> None:
    for shape in GROUPINGS:
        check_contract(student, grouped_input(student.seed, shape), shape[3], device)


@pytest.mark.rubric("norm_groups")
@contract_first(groups_by_contract, *FORWARD)
def test_each_group_is_divided_by_its_own_root_mean_square(student: Student, device: str) -> None:
    right: list[Message] = []
    for shape in accepted(student, GROUPINGS):
        x = grouped_input(student.seed, shape)
        try:
            check_tokens(student, x, shape, device)
        except WrongAnswer as fault:
            raise fault.with_more(*(say(RIGHT_FOR, sizes=one) for one in right)) from None
        except Crashed as crash:
            called = say(CALLED, sizes=stated(hidden_size=shape[2], group_size=shape[3]))
            raise crash.with_more(called if right else None) from None
        right.append(stated(hidden_size=shape[2], group_size=shape[3]))


def tokens(seed: int) -> Tensor:
    """``[2, 259, 24]``: tokens of clearly different sizes, some of them further on than a byte counts.

    The largest is halved: of so many, some are far larger than most, and squares still fit float16. None is so small
    that eps matters.
    """
    x = grouped_input(seed, MANY)
    return (x + x.sign()) * torch.exp2(torch.arange(518) % 4 - 1).reshape(2, 259, 1)


def tokens_by_contract(student: Student, device: str) -> None:
    check_contract(student, tokens(student.seed), 4, device)


@pytest.mark.rubric("norm_groups")
@contract_first(tokens_by_contract, *FORWARD)
def test_tokens_do_not_influence_each_other(student: Student, device: str) -> None:
    check_tokens(student, tokens(student.seed), MANY, device)


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


def check_eps(student: Student, group_size: int, eps: float, magnitudes: list[float], device: str) -> None:
    """Check the roots with a group size; a fault says if those with several groups are right."""
    size = judged(student, group_size, device)
    try:
        check_roots(student, size, eps, magnitudes, device)
    except WrongAnswer as fault:
        if right_alone(student, lambda: check_roots(student, size, eps, magnitudes, device)):
            student.excuse(fault, ("norm_purity",))  # which charges for what modules share
            return
        right = size != 4 and succeeds(lambda: check_roots(student, 4, eps, magnitudes, device))
        raise fault.with_more(say(RIGHT_FOR, sizes=stated(group_size=4)) if right else None) from None
    except Crashed as crash:
        raise crash.with_more(say(CALLED, sizes=stated(group_size=size, eps=f"{eps:g}"))) from None


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
    """Magnitudes near the root of eps; with an eps of zero, near that of its default, and one next to which none is."""
    root = (eps or 1e-5) ** 0.5
    factors = uniform(seed, "near_root", eps, shape=(2,), low=0.3, high=3.0) * root
    return [0.3 * root, *factors.tolist(), *[NEXT_TO_NO_EPS] * (eps == 0)]


def small_roots_by_contract(student: Student, eps: float, group_sizes: list[int], device: str) -> None:
    magnitudes = near_the_root(student.seed, eps)
    for group_size in group_sizes:
        alone = eps == 0 and group_size == HIDDEN  # code may leave out an input in which all numbers are that small
        roots_by_contract(student, eps, group_size, magnitudes[-1:] if alone else magnitudes, device)


@pytest.mark.rubric("norm_eps_inside_sqrt")
@pytest.mark.parametrize(("eps", "group_sizes"), NEAR_THE_ROOT.values(), ids=NEAR_THE_ROOT)
@contract_first(small_roots_by_contract, *FORWARD)
def test_eps_counts_where_inputs_are_as_small_as_its_root(
    student: Student, eps: float, group_sizes: list[int], device: str
) -> None:
    magnitudes = near_the_root(student.seed, eps)
    for group_size in group_sizes:
        least = roots(student, judged(student, group_size, device), eps, magnitudes[-1:], device)
        held = None if least.all() else -1  # float16 does not hold the smallest square
        check_eps(student, group_size, eps, magnitudes[:held], device)


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
    require_division(student)
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


def gamma_by_contract(student: Student, gamma_dtype: torch.dtype, device: str) -> None:
    for group_size, x, gamma in gamma_cases(student.seed, gamma_dtype):
        check_contract(student, x, group_size, device, gamma=gamma, gamma_dtype=gamma_dtype)


@pytest.mark.rubric("norm_gamma")
@gamma_dtypes
@contract_first(gamma_by_contract, *FORWARD)
def test_every_feature_is_scaled_by_its_own_gamma(student: Student, gamma_dtype: torch.dtype, device: str) -> None:
    """Two outputs for one input with two gammas are compared, so that the divisor does not matter."""
    reading = require_division(student)
    if not reading.takes(torch.float32, gamma_dtype):
        return  # charged to the dtypes
    right: Message | None = None
    cases = gamma_cases(student.seed, gamma_dtype)
    shapes = accepted(student, [(2, 2, x.shape[-1], group_size) for group_size, x, _ in cases], "norm_gamma")
    for group_size, x, gamma in cases:
        hidden = x.shape[-1]
        if (2, 2, hidden, group_size) not in shapes:
            continue
        plain = build(student, group_size, device, hidden=hidden, gamma_dtype=gamma_dtype)(x.to(device))
        scaled = build(student, group_size, device, hidden=hidden, gamma_dtype=gamma_dtype, gamma=gamma)(x.to(device))
        expected = numbers(plain, x.shape) * gamma.double()
        require(bool(expected.flatten(0, -2).any(0).all()), NOTHING)  # each feature, in some token
        sizes = {"hidden_size": hidden, "group_size": group_size}
        try:
            check_law(numbers(scaled, x.shape), expected, say(OF_GAMMA, dtype=name(gamma_dtype), **sizes))
        except WrongAnswer as fault:
            same = say("a different gamma was assigned, and the output did not change")

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
    row = next(row for row in FORWARDS if row[:2] == (dtype, gamma_dtype))

    def check(training: bool) -> None:
        x = row.input(student.seed).requires_grad_(row.needs_gradient)
        check_contract(student, x, row.group_size, device, gamma_dtype=gamma_dtype, training=training)

    with stating(row.told):
        in_mode(check, row.training)


@pytest.mark.rubric("norm_dtype_and_shape")
@gamma_dtypes
@dtypes
@contract_first(likeness_by_contract, *FORWARD)
def test_output_is_like_the_input(student: Student, gamma_dtype: torch.dtype, dtype: torch.dtype, device: str) -> None:
    require_division(student)
    x = torch.full((2, 3, 24), 2.0, dtype=dtype, device=device)
    with stating(say("input {dtype}, gamma {gamma}", dtype=name(dtype), gamma=name(gamma_dtype))):
        module = build(student, 4, device, gamma_dtype=gamma_dtype)
        with where_none_is_needed(lambda given: check_like(module(*given), x), x):
            check_like(module(x), x)


def float64_by_contract(student: Student, device: str) -> None:
    for dtype, gamma_dtype in WITH_FLOAT64:
        check_contract(student, torch.full((2, 3, 24), 2.0, dtype=dtype), 4, device, gamma_dtype=gamma_dtype)


@pytest.mark.rubric("norm_dtype_and_shape")
@contract_first(float64_by_contract, *FORWARD)
def test_float64_is_taken(student: Student, device: str) -> None:
    """To the accuracy of float32, which suffices."""
    require_division(student)
    for dtype, gamma_dtype in WITH_FLOAT64:
        x = torch.full((2, 3, 24), 2.0, dtype=dtype, device=device)
        with stating(say("input {dtype}, gamma {gamma}", dtype=name(dtype), gamma=name(gamma_dtype))):
            check_like(build(student, 4, device, gamma_dtype=gamma_dtype)(x), x)


def size_one_by_contract(student: Student, device: str) -> None:
    for shape in ((1, 4, 24), (3, 1, 24)):
        check_contract(student, torch.full(shape, 2.0), 4, device)
    check_contract(student, flat_tokens(student.seed, [64.0, 128.0], 6, torch.float32), 1, device)


@pytest.mark.rubric("norm_dtype_and_shape")
@contract_first(size_one_by_contract, *FORWARD)
def test_dimensions_of_size_one_stay(student: Student, device: str) -> None:
    """Dimensions of the batch, the sequence or a group; a feature that is a group of its own becomes its sign."""
    reading = require_division(student)
    for shape in ((1, 4, 24), (3, 1, 24)):
        x = torch.full(shape, 2.0, device=device)
        check_like(build(student, 4, device)(x), x)
    if reading.law == CONTRACT:
        x = flat_tokens(student.seed, [64.0, 128.0], 6, torch.float32)
        given, alone = quotients(student, x, 1, device), say("with group_size=1, every feature is a group of its own")
        with stating(alone.then(*[UNCHANGED] * torch.equal(given, x.double()))):
            check_law(given, x.double().sign(), sizes((2, 2, 6, 1)))


def views(device: str) -> list[tuple[Tensor, str]]:
    """The same numbers in memory of several layouts; tokens are unlike, so that one in another's place shows."""
    places = [UNEVEN[k:] + UNEVEN[:k] for k in range(4)]  # of the negative feature in each group
    x = (LARGE * torch.tensor([*places, *places[:2]])).to(device).reshape(2, 3, 24)
    x[1, 1:] *= -1
    return [(transposed(x), "transposed"), (x[:1].expand(2, 3, 24), "expanded")]


def layouts_by_contract(student: Student, device: str) -> None:
    for view, _ in views(device):
        check_contract(student, view, 4, device, limit=FORWARD_LIMIT[torch.float32])


@pytest.mark.rubric("norm_dtype_and_shape")
@contract_first(layouts_by_contract, *FORWARD)
def test_any_memory_layout_works(student: Student, device: str) -> None:
    """Compared with the output for the same numbers in contiguous memory."""
    require_division(student)
    for view, layout in views(device):
        if layout == "expanded" and normalising(student).changes_input:
            continue  # writing to such memory fails: norm_purity charges for it
        plain = build(student, 4, device)(view.contiguous())
        output = build(student, 4, device)(view)
        check_like(output, view)
        wanted = numbers(plain, view.shape)
        what = say(OF_LAYOUT, dtype="float32", layout=layout, group_size=4)
        found = numbers(output, view.shape)
        in_memory = wanted.transpose(0, 1).reshape(view.shape)
        if layout == "transposed" and fits(found, in_memory) and not fits(found, wanted):
            raise WrongAnswer(places(what, ~followed(found, wanted).expand(view.shape)).then(IN_MEMORY))
        check_close(output, wanted, wanted.abs(), torch.float32, FORWARD_LIMIT[torch.float32], what)
