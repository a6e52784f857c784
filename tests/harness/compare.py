"""Comparisons with messages that help: shape and place of the first wrong value, and the values that were received.

Values are compared in float64, whatever their dtype is. Only tests about dtypes check the dtype, so a forgotten
conversion fails no other test. ``__tracebackhide__`` lets pytest and its debugger stop in the test, not in this file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor

from .terminal import Language, Words, say

SHOWN_VALUES = 6
SHOWN_IDS = 6
ALIKE = 2.0**-6  # relative: factors of 16-bit numbers spread that far when they are the same
ENOUGH = 4  # values that must agree before that is more than chance
REFINED = frozenset(
    {"not_finite", "all_zero", "opposite", "too_large", "too_small", "elsewhere", "one_id"}
    | {"constant", "same_stream", "not_reset"}  # of random draws
)


class MismatchError(AssertionError):
    """A wrong answer, kept as message keys and fields so that the message can be in the student's language."""

    def __init__(
        self,
        *parts: tuple[str, dict[str, object]],
        received: Tensor | None = None,
        where: Iterable[tuple[str, dict[str, object]]] = (),
    ) -> None:
        """Keep the ``parts``: for every line of the message, its key and fields; ``where`` has more, for those who ask.

        ``received`` is the tensor whose values are wrong, if they are what is wrong.
        """
        super().__init__()
        self.parts = parts
        self.received = received
        self.where = tuple(where)

    @property
    def kind(self) -> str:
        """The key of the first part; where that is about values, of a later one that says more about them."""
        keys = [key for key, _ in self.parts if key != "about"]
        return next((key for key in reversed(keys) if key in REFINED and keys[0] == "values"), keys[0])

    def tell(self, language: Language) -> str:
        """Return the whole message, one line for each part."""
        return "\n".join(say(language, key, **fields) for key, fields in self.parts)

    def __str__(self) -> str:
        """Return the message in English, which is what plain pytest shows."""
        return self.tell("en")


def assert_equal(received: object, expected: Tensor) -> None:
    """Check that ``received`` has the shape and exactly the values of ``expected``."""
    __tracebackhide__ = True
    assert_close(received, expected, torch.zeros(()))


def assert_close(received: object, expected: Tensor, limit: Tensor) -> None:
    """Check shape and values of ``received``, whatever the device and dtype of ``expected``.

    ``limit`` says how far each value may be off, broadcastable to ``expected``; see below.

    Raises:
        MismatchError: If ``received`` is no tensor, has another shape, or a value that is wrong or not finite.
    """
    __tracebackhide__ = True
    tensor = shaped(received, expected.shape)
    actual, exact = tensor.detach().double().cpu(), expected.detach().double().cpu()
    wrong = ~(((actual - exact).abs() <= limit.cpu()) & actual.isfinite())
    if wrong.any():
        look = _look(actual, exact, wrong, tensor.dtype)
        parts = [*_first_difference(tensor, actual, wrong), *look]
        where = [*_places(wrong), *(("factor", fields) for _, fields in look if fields)]
        raise MismatchError(*parts, received=tensor.detach().cpu(), where=where)


@contextmanager
def telling(key: str, **fields: object) -> Iterator[None]:
    """Have the message of a mismatch inside begin with the sentence ``key``, which may be the kind of the failure."""
    __tracebackhide__ = True
    try:
        yield
    except MismatchError as failure:
        if key == "about" or failure.kind != "not_finite":  # two outputs of NaN alone differ for no other reason
            failure.parts = ((key, fields), *failure.parts)
        raise


def about(what: Words) -> AbstractContextManager[None]:
    """Have the message of a mismatch inside begin with what is compared, and for which arguments and input."""
    return telling("about", what=what)


def gradient(of: Words) -> AbstractContextManager[None]:
    """Have the message of a mismatch inside say that it is about the gradient of something."""
    return about({"en": f"the gradient of {of['en']}", "zh": f"{of['zh']}的梯度"})


def assert_rows(received: object, expected: Tensor, ids: Tensor) -> None:
    """Check that every id has exactly its row of ``expected: [*ids.shape, e]``; the message names those that do not."""
    __tracebackhide__ = True
    try:
        assert_equal(received, expected)
    except MismatchError as failure:
        if any(key == "values" for key, _ in failure.parts):
            actual, exact = received.detach().cpu().double(), expected.detach().cpu().double()
            named = ids.cpu()[(actual != exact).any(-1)].unique().tolist()
            received_more = ((actual.abs() > exact.abs()) & (exact != 0)).any()  # so nothing is left out for this id
            key = "one_id" if len(named) == 1 and not received_more else "of_ids"
            failure.parts = (*failure.parts, (key, {"ids": ranges(named)}))
        raise


def assert_kind(received: object, *, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
    """Check shape, dtype and device of ``received``, not its values."""
    __tracebackhide__ = True
    tensor = shaped(received, shape)
    for key, actual, wanted in (("dtype", tensor.dtype, dtype), ("device", tensor.device.type, device.type)):
        if actual != wanted:
            raise MismatchError((key, {"received": str(actual), "expected": str(wanted)}))


def assert_unchanged(tensor: Tensor, before: Tensor, name: str | Words) -> None:
    """Check that ``tensor`` still has the values of ``before``; messages call it ``name``."""
    __tracebackhide__ = True
    wrong = tensor.detach() != before
    if wrong.any():
        parts = _first_difference(tensor, tensor.detach().double().cpu(), wrong.cpu())
        raise MismatchError(("changed", {"name": name}), *parts, received=tensor.detach().cpu(), where=_places(wrong))


def assert_rejects(build: Callable[..., object], *, names: tuple[str, str], **sizes: int) -> None:
    """Check that ``build(**sizes)`` raises a ValueError or AssertionError; ``names`` are the sizes to blame."""
    __tracebackhide__ = True
    try:
        build(**sizes)
    except (ValueError, AssertionError):
        return
    raise _accepted(names, sizes)


def assert_names_sizes(build: Callable[..., object], *, names: tuple[str, str], **sizes: int) -> None:
    """Check that ``build(**sizes)`` raises an error, of any kind, whose message holds the sizes in ``names``."""
    __tracebackhide__ = True
    try:
        build(**sizes)
    except NotImplementedError:
        raise
    except Exception as error:
        for name in names:
            if str(sizes[name]) not in str(error):
                fields = {"number": f"{name}={sizes[name]}", "error": f"{type(error).__name__}: {error}"}
                raise MismatchError(("unnamed_number", fields)) from None
        return
    raise _accepted(names, sizes)


def _accepted(names: tuple[str, str], sizes: Mapping[str, int]) -> MismatchError:
    """Sizes that do not fit are accepted."""
    return MismatchError(("no_error", {"sizes": ", ".join(f"{name}={sizes[name]}" for name in names)}))


def shaped(received: object, shape: Iterable[int]) -> Tensor:
    """Return ``received`` if it is a tensor of that shape."""
    __tracebackhide__ = True
    if received is None:
        raise MismatchError(("nothing_returned", {}))
    if not isinstance(received, Tensor):
        value = f" {shown(received)}".rstrip()
        raise MismatchError(("not_a_tensor", {"received": type(received).__name__, "value": value}))
    if list(received.shape) != list(shape):
        raise MismatchError(("shape", {"received": list(received.shape), "expected": list(shape)}))
    return received


def shown(value: object) -> str:
    """A tensor's dtype and shape, of ids also their range; or a number or a few; empty for anything else."""
    if isinstance(value, Tensor):
        where = "" if value.device.type == "cpu" else f" on {value.device.type}"
        ids = value.dtype == torch.int64 and value.numel() > 0
        span = f" from {value.min().item()} to {value.max().item()}" if ids else ""
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}{where}{span}"
    if isinstance(value, list | tuple) and value and all(isinstance(item, Tensor) for item in value):
        return f"({', '.join(map(shown, value))})"
    numbers = value if isinstance(value, tuple) and len(value) <= SHOWN_VALUES else [value]
    plain = value is None or all(isinstance(number, bool | int | float) for number in numbers)
    return f"= {list(value) if isinstance(value, torch.Size) else value}" if plain else ""


def _first_difference(tensor: Tensor, actual: Tensor, wrong: Tensor) -> list[tuple[str, dict]]:
    """Describe the first place where ``actual`` is ``wrong``, and a few values from there on."""
    index = [int(i) for i in wrong.nonzero()[0]]
    row, first = tuple(index[:-1]), index[-1] if index else 0
    tensor_is = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    count = {"wrong": int(wrong.sum()), "all": wrong.numel()}
    values = actual[row].reshape(-1)[first : first + SHOWN_VALUES]
    columns = " ".join(f"{column:>12}" for column in range(first, first + len(values)))
    where = [("column", {"columns": columns})] if len(values) > 1 else []
    numbers = " ".join(f"{value:>12.7g}" for value in values.tolist())
    return [("values", {"index": index, **tensor_is, **count}), *where, ("received", {"values": numbers})]


def _look(actual: Tensor, exact: Tensor, wrong: Tensor, dtype: torch.dtype) -> list[tuple[str, dict]]:
    """What the wrong values of a tensor of that dtype have in common, if anything."""
    values, expected = actual[wrong], exact[wrong]
    if not values.isfinite().all():
        return [("not_finite", {})]
    if not values.any():
        return [("all_zero", {})]
    if len(values) < ENOUGH:
        return []
    rounding = 4 * torch.finfo(dtype).eps * expected.abs().max() if dtype.is_floating_point else 0.0
    moved = ((values - expected).abs() > 16 * rounding).all()
    if moved and ((values.sort().values - expected.sort().values).abs() <= rounding).all():
        return [("elsewhere", {})]
    factors = values / expected
    factor = float(factors.median())
    alike = bool(((factors - factor).abs() <= ALIKE * abs(factor)).all())
    from_another_row = len(values.unique()) == 1 and values[0] in exact  # so its factor is chance
    if not alike or from_another_row or abs(factor - 1) <= ALIKE:
        return []
    if abs(factor + 1) <= ALIKE:
        return [("opposite", {})]
    return [("too_large" if abs(factor) > 1 else "too_small", {"factor": f"{factor:.3g}"})]


def _places(wrong: Tensor) -> list[tuple[str, dict]]:
    """For each dimension that tells something: at which indices values are wrong; if none does, in which rows."""
    lines = []
    for dim, size in enumerate(wrong.shape):
        hit = wrong.movedim(dim, 0).reshape(size, -1).any(-1).nonzero().flatten().tolist()
        if len(hit) < size:
            lines.append(("along", {"dim": dim, "size": size, "indices": ranges(hit)}))
    if lines or wrong.all():
        return lines
    rows = wrong.any(-1)
    listed = ", ".join(map(str, rows.nonzero().tolist()[:SHOWN_IDS])) + (", …" if rows.sum() > SHOWN_IDS else "")
    return [("rows", {"rows": listed})] if wrong.dim() > 1 and bool((rows == wrong.all(-1)).all()) else [("spread", {})]


def ranges(numbers: list[int]) -> str:
    """Ascending numbers as ``0-3, 8, 10-11``, at most a few ranges."""
    among = {*numbers}
    starts = [n for n in numbers if n - 1 not in among]
    ends = [n for n in numbers if n + 1 not in among]
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    return ", ".join(parts[:SHOWN_IDS]) + (", …" if len(parts) > SHOWN_IDS else "")


# ── Limits: how far a correct answer may be from the exact one, each with its reason ──
#
# All are multiples of a unit in the last place (ulp): the distance between two neighbouring numbers of a dtype.


def ulp(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """Distance between neighbouring ``dtype`` numbers near ``scale``, in float64."""
    scale = scale.double().abs().clamp_min(torch.finfo(dtype).tiny)
    return torch.ldexp(torch.full_like(scale, torch.finfo(dtype).eps), torch.frexp(scale).exponent - 1)


def forward_limit(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """For outputs: every step of a formula may round once, and correct formulas differ in their steps."""
    return (16 if dtype == torch.float32 else 4) * ulp(exact, dtype)


def nearest_limit(exact: Tensor, dtype: torch.dtype) -> Tensor:
    """For a result in float32 that is rounded to 16 bits once: half an ulp, and a hundredth for float32's own error."""
    return 0.51 * ulp(exact, dtype)


def gradient_limit(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """For gradients: their terms may cancel when they are added, so ``scale`` is the sum of absolute values."""
    return (1024 if dtype == torch.float32 else 6) * ulp(scale, dtype)


def draw_limit(scale: Tensor, dtype: torch.dtype) -> Tensor:
    """For random draws: a standard draw that is scaled and shifted differs from a direct draw by 4 ulp at most."""
    return 4 * ulp(scale, dtype)
