"""Checks that several tasks share: seeded draws, registration, refused sizes, and gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import pytest
import torch
from torch import Tensor

from grader.assignment.model.draw_words import UNKNOWN, Draw, told_draw
from grader.assignment.model.parameters import rows_held
from grader.testing import (
    ALONE,
    DTYPES,
    INIT_LIMIT,
    Crashed,
    Message,
    Student,
    StudentFault,
    StudentFunction,
    StudentModule,
    WrongAnswer,
    check_dtype,
    check_equal,
    check_errors,
    elsewhere,
    error_in_ulp,
    integers,
    kept,
    name,
    places,
    quoted,
    require,
    say,
    stated,
    without_gradients,
)

DRAWS: Final = {"uniform": "{dtype} uniform draw with seed {seed}", "normal": "{dtype} normal draw with seed {seed}"}
REGISTERED = "{n} parameters are registered, not {wanted}"
DTYPE = "the parameter has dtype {actual}; {wanted} was requested"
DTYPE_WHEN = "the parameter has dtype {actual} {when}; {wanted} was requested"
AFTER = say("{what} after the call")
EXPANDED = say(
    "\nThese ids are expanded, as by ids.expand(b, s): their rows share memory, so no operation may write into them."
)
MOMENTS = "{what}, mean {mean} and standard deviation {std}"
OTHER_DEFAULT = "the default of {argument} differs from the stub: omitting it gives a different module"
SHARE = "as if {share} times eps were added"
REDRAWN = (
    "after module.to({dtype}), eval() and reset_parameters(), which has to draw into the existing parameter "
    "and leave its dtype and requires_grad as they are"
)
FILLING = 7.0
LEFT_FILLED = say("that 7 is still there, so resetting changes nothing")
RESET = say("{what} after the parameter was filled with 7 and reset_parameters() was called")
BUILT_BEFORE = "what changes them is another module, with {sizes}"
UNSEEDED = say("two new modules with this seed hold different numbers")
SEEDED = say("two new modules with this seed hold the same numbers, but not the first of this seed or of one near it")
RIGHT_AGAIN = say("after reset_parameters() it is right; the draw by the constructor is not")
WRONG_FOR = "for {sizes} it is wrong, too"
RIGHT_FOR = "for {sizes} it is right"
WIDE_RIGHT = say(
    "\nThis table is bfloat16, with ids from 257 on; with a float32 table, the same ids give their own rows."
)
FIRST_TOO = say("the first draw, by the constructor, is wrong as well")
UNCHANGED = say("it is the input, unchanged")
IN_EVALUATION = say("the output in evaluation mode, compared with training mode")
ONE_MODE = say("\nThis fails in {mode} mode only; in {other} mode it passes: look for self.training.")
NO_GRAD = say(
    "\nThis fails under torch.no_grad(), whatever the mode; where gradients are recorded it passes: "
    "look for is_grad_enabled() and requires_grad."
)
RECORDED = say(
    "\nThis fails where gradients are recorded, whatever the mode; under torch.no_grad() it passes: "
    "look for is_grad_enabled() and requires_grad."
)
NEEDED = say("\nThis fails only for an input that needs no gradient; with requires_grad=True it passes.")
HELD = "it is right for {what} made of numbers that 16 bits hold"
UNFROZEN = say("\nThis fails where the parameter requires no gradient; where it does, it passes.")
OF_INPUT = "{dtype} gradient of the input, {sizes}"
CALLED_BETWEEN = say("without a call of the same module between forward and backward it is right")
ARRIVING = say("\nThe gradient that arrives is not contiguous in memory; with one that is, this passes.")
T = TypeVar("T")
Layout = Callable[[Tensor], Tensor]  # gives the same numbers, in another order in memory
MOST_ROUNDED = 16.0  # ulp: several roundings in a row are off by less, an overflow by more
MAX_ELEMENTS = 1 << 16  # far more than any case needs; limits the expected numbers, which are drawn in this process


@kept
def _expected(
    draw: Draw, shape: torch.Size, seed: int, drawn_in: torch.dtype, dtype: torch.dtype, device: str
) -> tuple[Tensor, Tensor]:
    """The draw in one dtype, converted to another, as float64 on the CPU; and the scale of each number's rounding."""
    numbers = draw.numbers(shape, seed, drawn_in, device).to(dtype).cpu().double()
    return numbers, numbers.abs() + draw.offset


def check_drawn(value: Tensor, draw: Draw, seed: int, dtype: torch.dtype, device: str, *when: Message) -> None:
    """Require a parameter's value to be the draw with ``seed``, up to rounding.

    It may have been drawn in ``dtype``, or in float32 and then converted.
    """
    require(0 < value.numel() <= MAX_ELEMENTS, say("the parameter has {n} elements", n=value.numel()))
    candidates = []
    for drawn_in in dict.fromkeys((dtype, torch.float32)):
        expected, scale = _expected(draw, value.shape, seed, drawn_in, dtype, device)
        candidates.append((error_in_ulp(value, expected, scale, dtype), expected, scale))
    errors, expected, scale = min(candidates, key=lambda candidate: float(candidate[0].max()))
    what = say(DRAWS[draw.kind], dtype=name(dtype), seed=seed)
    for more in when:
        what = more.filled(what=what)
    try:
        check_errors(errors, INIT_LIMIT, what, value, expected, scale)
    except WrongAnswer as fault:  # how far random numbers are off says nothing

        def told() -> Message:
            wrong = errors > INIT_LIMIT
            other = replace(draw, kind="uniform" if draw.kind == "normal" else "normal")
            left = [LEFT_FILLED] * bool((value == FILLING).all())
            return places(what, wrong).then(*left, *told_draw(value.detach().cpu(), wrong, draw, other, seed, device))

        raise WrongAnswer(told, fault.error_ulp, fault.limit_ulp, fault.elements) from None


def check_rows_drawn(
    value: Tensor,
    table: tuple[int, int],
    own: slice,
    draw: Draw,
    seed: int,
    dtype: torch.dtype,
    device: str,
    *when: Message,
) -> None:
    """Require what a module holds to be the draw with ``seed``: as it is, or cut down to the module's own rows.

    Args:
        value: The tensor, in whatever layout; see :func:`rows_held`.
        table: ``(v, e)``, the shape of the whole table.
        own: The module's rows of it.
        draw: How they are drawn.
        seed: Of that draw.
        dtype: Of the parameter.
        device: Where it is drawn.
        when: For the message.
    """
    try:
        check_drawn(value, draw, seed, dtype, device, *when)
    except WrongAnswer:
        wanted = len(range(*own.indices(table[0]))) * table[1]
        if value.numel() < wanted or value.numel() % table[1]:
            raise
        rows = rows_held(value, torch.empty(table), own)
        if not succeeds(lambda: check_drawn(rows, draw, seed, dtype, device, *when)):
            raise


def digits(ids: Tensor) -> Tensor:
    """``[*ids.shape, 3]``: each id in three digits, which even bfloat16 holds exactly."""
    return torch.stack((ids // 4096, ids // 64 % 64, ids % 64), dim=-1)


def in_turns(axis: str, values: str, **named: Any) -> pytest.MarkDecorator:
    """Cases for each of these values in each dtype, in which ``axis`` is false and true by turns.

    So every two values of any two of the three axes meet in some case, in half as many cases.
    """
    chosen = [*itertools.product(named, DTYPES)]
    place = [[*named].index(key) + DTYPES.index(dtype) for key, dtype in chosen]
    cases = [(named[key], dtype, odd % 2 == 1) for (key, dtype), odd in zip(chosen, place, strict=True)]
    ids = [f"{key}-{name(dtype)}" + "-again" * case[2] for (key, dtype), case in zip(chosen, cases, strict=True)]
    return pytest.mark.parametrize((values, "dtype", axis), cases, ids=ids)


def check_only_parameter(
    module: StudentModule, elements: int, dtype: torch.dtype, device: str, when: Message | None = None
) -> Tensor:
    """Require one trainable parameter of that many elements, dtype and device; gives its value."""
    parameters = module.parameters()
    require(len(parameters) == 1, say(REGISTERED, n=len(parameters), wanted=1))
    require(parameters[0].requires_grad, say("the parameter does not require gradients"))
    value = parameters[0].value
    sizes = {"n": value.numel(), "wanted": elements}
    told = say("the parameter has {n} elements; {wanted} are required", **sizes)
    require(value.numel() == elements, told.then(say("its shape is {shape}", shape=list(value.shape))))
    dtypes = {"actual": name(value.dtype), "wanted": name(dtype)}
    require(value.dtype == dtype, say(DTYPE_WHEN, when=when, **dtypes) if when else say(DTYPE, **dtypes))
    require(value.device.type == torch.device(device).type, elsewhere(say("the parameter"), value.device, device))
    return value


def check_redrawn(module: StudentModule, elements: int, device: str) -> None:
    """Require the parameter of a float32 module to stay what it was but for its dtype, where it is drawn again."""
    other = DTYPES[-1]
    converted = module.to(other).train(False)
    converted.reset_parameters()
    with suppress(Crashed), stating(say(REDRAWN, dtype=name(other))):  # the property about the draw charges for a crash
        check_only_parameter(converted, elements, other, device)


def check_beside(student: Student, check: Callable[[bool], None]) -> None:
    """Require what ``check`` requires of a module beside others; a fault says if the module alone fulfils it.

    Args:
        student: The submission; the module alone is built in a new worker.
        check: Called with whether other modules are to be built.
    """
    try:
        check(True)
    except WrongAnswer as fault:  # what code raises, it says itself
        raise fault.with_more(ALONE if right_alone(student, lambda: check(False)) else None) from None


def told_others(
    student: Student, check: Callable[[list[Mapping[str, Any]]], object], others: Sequence[Mapping[str, Any]]
) -> list[Message]:
    """Which of the modules built before it change what ``check`` requires of one, for messages, if not each does."""
    changing = []
    for one in others:
        with student.aside():
            changing += [one] * (not succeeds(partial(check, [one])))
    return [say(BUILT_BEFORE, sizes=stated(**one)) for one in changing] if len(changing) < len(others) else []


def right_alone(student: Student, check: Callable[[], object]) -> bool:
    """Whether a check succeeds where it is the first thing that a new worker is asked for."""
    return student.passes_alone(lambda: succeeds(check))


def unseeded(student: Student, make: Callable[[], Tensor], fault: WrongAnswer) -> Message | None:
    """Says if two new modules, the first of a process, differ; if nobody knows their numbers, also if they do not."""
    with student.aside():
        one, other = make(), make()
    same = one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)
    return UNSEEDED if not same else SEEDED if fault.message.fields(UNKNOWN) is not None else None


def succeeds(ask: Callable[[], object]) -> bool:
    """Whether a request to the submission, or a check of its reply, succeeds."""
    try:
        ask()
    except StudentFault:
        return False
    return True


def in_mode(check: Callable[[bool], T], training: bool) -> T:
    """Check a module in one mode; a fault says if the same passes in the other one, and what decides."""
    try:
        return check(training)
    except (WrongAnswer, Crashed) as fault:
        alone = succeeds(lambda: check(not training)) and not succeeds(lambda: check(training))  # not by chance
        raise fault.with_more(failing_in(training, check) if alone else None) from None


def modes_of(dtype: torch.dtype) -> tuple[bool, ...]:
    """Training and evaluation in float32, one of the two in each dtype of 16 bits."""
    return {torch.float32: (True, False), torch.float16: (True,)}.get(dtype, (False,))


def check_untouched(
    called: StudentFunction,
    *arguments: Tensor,
    check: Callable[[list[Tensor]], None],
    modes: tuple[bool, ...] = (True, False),
) -> list[Tensor]:
    """Call it in training, then in evaluation, which records no gradients, as a function does under ``torch.no_grad``.

    A call with other numbers comes after each, and may not change its output.

    Args:
        called: A module or a function.
        arguments: What it is called with.
        check: Given the arguments after each call, requires them to be as they were.
        modes: In which of the two it is called, training first.

    Returns:
        The outputs.
    """

    def observed(recording: bool, given: Sequence[Tensor] = arguments) -> Tensor:
        if isinstance(called, StudentModule):
            called.train(recording)
        output, after = called.observe(*given, recording=recording, then=mirrored(*given))
        check(after)
        return output

    def as_data(recording: bool) -> Tensor:
        with where_none_is_needed(partial(observed, True), *arguments) if recording else nullcontext():
            return observed(recording)

    return [in_mode(as_data, training) for training in modes]


def mirrored(*arguments: Tensor) -> list[Tensor]:
    """Arguments of the same shapes with other numbers, in new memory, for a call that comes after one with these."""
    return [argument.flip(-1) for argument in arguments]


def check_ids(ids: Tensor, after: Sequence[Tensor]) -> None:
    """Require ids to be the same ``after`` a call."""
    (left,) = after
    require(left.dtype == ids.dtype, say("the ids have a different dtype after the call"))
    check_equal(left, ids, AFTER.filled(what=quoted("input_ids")))


def check_in_16_bits(
    check: Callable[[torch.dtype, Callable[[StudentFault], None]], None],
    excuse: Callable[[StudentFault, torch.dtype], None],
) -> None:
    """Check with a table of 16 bits, and in float32 if it refuses that; ``check`` gets what passes over a fault."""
    for dtype in (torch.bfloat16, torch.float32):
        faults: list[StudentFault] = []
        check(dtype, faults.append)
        for fault in faults:
            excuse(fault, dtype)
        if not any(isinstance(fault, Crashed) for fault in faults):
            return


def check_expanded(student: Student, module: StudentModule, row: Tensor, *charged: str) -> None:
    """Require a call with a row of ids that is expanded; others are ``charged`` for ids that have to be contiguous."""
    try:
        module(row.expand(2, -1))
    except Crashed as crash:
        student.excuse(crash.with_more(EXPANDED), charged)


def upstream_integers(seed: int, shape: tuple[int, ...], dtype: torch.dtype, *, small: bool) -> Tensor:
    """The gradient of an output: integers that have exact sums in any order.

    In float32 they are too large for 16 bits, unless ``small``, where it is known that outputs are rounded.
    """
    most = 2048 if dtype is torch.float32 and not small else 8
    return integers(seed, "upstream", shape=shape, low=-most, high=most + 1).to(dtype)


def only_if(asked: bool, check: Callable[[bool], T], told: Message) -> T:
    """Check under a condition, if that is asked for; a fault tells if without the condition it is right."""
    try:
        return check(asked)
    except (WrongAnswer, Crashed) as fault:
        raise fault.with_more(told if asked and succeeds(lambda: check(False)) else None) from None


def with_a_call_between(check: Callable[[bool], T], between: bool = True) -> T:
    """Check a gradient with another call between forward and backward; a fault says if it is right without one."""
    return only_if(between, check, CALLED_BETWEEN)


def plain(x: Tensor) -> Tensor:
    """The numbers as they are."""
    return x


def across(x: Tensor) -> Tensor:
    """``[b, s, ...]`` numbers with the next dimension outside ``s`` in memory, as before ``x.transpose(1, 2)``."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def laid_out(check: Callable[[Tensor], T], upstream: Tensor, layout: Layout = across) -> T:
    """Check a gradient for an upstream one in some layout; a fault says if it is right for one in contiguous memory."""
    try:
        return check(layout(upstream))
    except (WrongAnswer, Crashed) as fault:
        raise fault.with_more(ARRIVING if layout is not plain and succeeds(lambda: check(upstream)) else None) from None


def failing_in(training: bool, check: Callable[[bool], object]) -> Message:
    """Says in which mode alone a check fails, or that the mode has no part in it, but whether gradients are recorded.

    Evaluation records none, so training that records none either tells these apart.
    """
    with without_gradients():
        passes_unrecorded = succeeds(lambda: check(True))
    if passes_unrecorded is training:
        return RECORDED if training else NO_GRAD
    mode, other = ("train", "eval") if training else ("eval", "train")
    return ONE_MODE.filled(mode=mode, other=other)


@contextmanager
def where_none_is_needed(check: Callable[[list[Tensor]], object], *arguments: Tensor) -> Iterator[None]:
    """Around a check of a call in training: a fault says if the same passes for ``arguments`` that need a gradient."""
    try:
        yield
    except (WrongAnswer, Crashed) as fault:
        needing = [one.clone().requires_grad_(one.is_floating_point()) for one in arguments]
        is_input = any(one.requires_grad for one in needing)
        raise fault.with_more(NEEDED if is_input and succeeds(lambda: check(needing)) else None) from None


def check_output_dtype(build: Callable[[torch.dtype], StudentModule], ids: Tensor, dtype: torch.dtype) -> None:
    """Require a table's dtype of the output: as built, which 16-bit rows show elsewhere, and converted to another one.

    ``ids`` are cut out of longer rows, as ``tokens[:, :-1]`` is.
    """
    ids = ids.repeat(1, 2)[:, : ids.shape[1]]
    if dtype is torch.float32:
        with stating(say("as built")):
            check_dtype(build(dtype)(ids), dtype)
    other = DTYPES[DTYPES.index(dtype) - 1]
    with stating(say("after module.to({dtype}), built as {built}", dtype=name(other), built=name(dtype))):
        converted = build(dtype).to(other)
        check_dtype(converted(ids), other)


def in_columns(ids: Tensor) -> Tensor:
    """The same ids, in memory column by column."""
    return ids.T.contiguous().T


def strided(x: Tensor) -> Tensor:
    """The same numbers, each the first of two in memory."""
    return x.repeat_interleave(2, dim=-1)[..., ::2]


def check_digits(check: Callable[..., None], **given: tuple[Tensor, ...]) -> None:
    """Check an output; a fault says which of the tensors that it is made of may be the one that loses digits.

    ``check`` is called with what is given, by name; then with one of these converted to 16 bits and back, so that to
    convert it again loses nothing.
    """
    try:
        check(**given)
    except WrongAnswer as fault:
        short = {what: tuple(tensor.bfloat16().float() for tensor in tensors) for what, tensors in given.items()}
        held = [what for what in given if succeeds(lambda: check(**given | {what: short[what]}))]  # noqa: B023
        raise fault.with_more(*(say(HELD, what=GIVEN[what]) for what in held)) from None


def largest(x: Tensor, fault: WrongAnswer | None = None) -> Message | None:
    """Says how large the numbers of an input are, where an error is larger than any that rounding makes."""
    if fault is not None and fault.error_ulp is not None and fault.error_ulp < MOST_ROUNDED:
        return None
    return say("the largest number of this input is {largest}", largest=f"{float(x.abs().max()):.0e}")


GIVEN: Final = {"x": say("the input"), "gamma": say("gamma"), "tables": say("cos and sin")}


@contextmanager
def stating(message: Message) -> Iterator[None]:
    """Around a check: a wrong answer inside tells this as well."""
    try:
        yield
    except WrongAnswer as fault:
        raise fault.with_more(message) from None


def check_defaults(make: Callable[..., Tensor], **stated: Any) -> None:
    """Require what ``make`` gives without an argument to equal what it gives with the stub's default of it.

    Whether that is right, other cases judge. Nothing is required of a submission that gives something else each time.
    """
    # Asked again of every submission: what only some are asked is no part of a replay.
    by_default, again = make(), make()
    for argument, value in stated.items():
        same = torch.allclose(by_default, make(**{argument: value}), rtol=1e-6)  # so an eps shows beside ones
        require(same or not torch.equal(by_default, again), say(OTHER_DEFAULT, argument=argument))


def check_refusal(constructor: Callable[..., StudentModule], **sizes: int) -> None:
    """Require an AssertionError or ValueError."""
    crash, told = _refused(constructor, sizes)
    if not {"AssertionError", "ValueError"} & set(crash.types):
        kind = crash.types[0] if crash.types else say("an exception")
        raise WrongAnswer(
            say("{sizes} raises {kind}; expected a ValueError or an AssertionError", sizes=told, kind=kind)
        )


def told_refused(constructor: Callable[..., StudentModule], **too_large: int) -> Message | None:
    """Whether sizes are refused where one is too large, for messages."""
    if succeeds(constructor(**too_large).parameters):
        return None
    return say("{sizes}, which is too large, is refused, as it should be", sizes=stated(**too_large))


def check_sizes_named(constructor: Callable[..., StudentModule], **sizes: int) -> None:
    """Require an error, of any kind, whose message names the sizes."""
    crash, told = _refused(constructor, sizes)
    for key, value in sizes.items():
        named = say("the error raised for {sizes} does not name {size}", sizes=told, size=f"{key}={value}")
        require(str(value) in crash.raw_message, named)


def _refused(constructor: Callable[..., StudentModule], sizes: Mapping[str, int]) -> tuple[Crashed, Message]:
    """The exception that a constructor raises, and its arguments for messages."""
    told = stated(**sizes, **getattr(constructor, "keywords", {}))
    module = constructor(**sizes)
    module.student.turns = False
    try:
        module.parameters()  # a value has to be asked for, since constructing alone sends no request
    except Crashed as crash:
        return crash, told
    finally:
        module.student.turns = True
    raise WrongAnswer(say("{sizes} is accepted; it must raise an error", sizes=told))
