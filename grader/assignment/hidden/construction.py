"""What constructors have to do: the parameter that they register and draw, their defaults, the sizes they refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from grader.assignment.hidden.conditions import stating, succeeds
from grader.assignment.model.draw_words import UNKNOWN, Draw, told_draw
from grader.assignment.model.parameters import rows_held
from grader.testing import (
    DTYPES,
    INIT_LIMIT,
    Crashed,
    Message,
    Student,
    StudentModule,
    WrongAnswer,
    check_errors,
    elsewhere,
    error_in_ulp,
    kept,
    name,
    places,
    require,
    say,
    stated,
)

DRAWS: Final = {"uniform": "{dtype} uniform draw with seed {seed}", "normal": "{dtype} normal draw with seed {seed}"}
REGISTERED = "{n} parameters are registered, not {wanted}"
DTYPE = "the parameter has dtype {actual}; {wanted} was requested"
DTYPE_WHEN = "the parameter has dtype {actual} {when}; {wanted} was requested"
MOMENTS = "{what}, mean {mean} and standard deviation {std}"
OTHER_DEFAULT = "the default of {argument} differs from the stub: omitting it gives a different module"
REDRAWN = (
    "after module.to({dtype}), eval() and reset_parameters(), which has to draw into the existing parameter "
    "and leave its dtype and requires_grad as they are"
)
CALLED = "\nThe constructor was called with {sizes}."
FILLING = 7.0
LEFT_FILLED = say("that 7 is still there, so resetting changes nothing")
RESET = say("{what} after the parameter was filled with 7 and reset_parameters() was called")
UNSEEDED = say("two new modules with this seed hold different numbers")
SEEDED = say("two new modules with this seed hold the same numbers, but not the first of this seed or of one near it")
RIGHT_AGAIN = say("after reset_parameters() it is right; the draw by the constructor is not")
FIRST_TOO = say("the first draw, by the constructor, is wrong as well")
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


def unseeded(student: Student, make: Callable[[], Tensor], fault: WrongAnswer) -> Message | None:
    """Says if two new modules, the first of a process, differ; if nobody knows their numbers, also if they do not."""
    with student.aside():
        one, other = make(), make()
    same = one.shape == other.shape and torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)
    return UNSEEDED if not same else SEEDED if fault.message.fields(UNKNOWN) is not None else None


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
    return say("{sizes} is too large and is refused, as required", sizes=stated(**too_large))


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
