"""Parameters of the student's modules: found whatever they are called, written to, and compared with random draws."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from .compare import MismatchError, assert_close
from .terminal import Words


def parameter_of(module: nn.Module, elements: int) -> nn.Parameter:
    """Find the parameter with that many elements, whatever its name and shape."""
    for parameter in module.parameters():
        if parameter.numel() == elements:
            return parameter
    raise MismatchError(("no_parameter_of", {"elements": elements, "found": listing(module.named_parameters())}))


def only_parameter(module: nn.Module) -> nn.Parameter:
    """Return the module's one trainable parameter, or raise if there is not exactly one."""
    (parameter,) = weights(module, 1)
    if not parameter.requires_grad:
        raise MismatchError(("frozen", {}))
    return parameter


def weights(module: nn.Module, number: int) -> list[nn.Parameter]:
    """List the module's parameters in the order of registration, or raise if there are not exactly ``number``."""
    found = list(module.parameters())
    if len(found) != number:
        raise MismatchError(("parameters", {"found": listing(module.named_parameters()), "expected": str(number)}))
    return found


def set_weights(module: nn.Module, *values: Tensor) -> nn.Module:
    """Write ``values`` into the module's parameters, one after the other, and return the module."""
    for parameter, value in zip(weights(module, len(values)), values, strict=True):
        if parameter.shape != value.shape:
            raise MismatchError(("shape", {"received": list(parameter.shape), "expected": list(value.shape)}))
        set_values(parameter, value)
    return module


def gradient_of(tensor: Tensor, name: str | Words) -> Tensor:
    """Return the gradient of ``tensor``, made dense if it is sparse; messages call the tensor ``name``."""
    if tensor.grad is None:
        raise MismatchError(("no_gradient", {"name": name}))
    return tensor.grad.to_dense() if tensor.grad.is_sparse else tensor.grad


def set_values(parameter: nn.Parameter, values: Tensor) -> None:
    """Write ``values`` into ``parameter`` in place, in the order of its elements."""
    with torch.no_grad():
        parameter.copy_(values.to(parameter).view_as(parameter))


def listing(named: Iterable[tuple[str, Tensor]]) -> str:
    """Names and shapes of parameters or buffers as a text; ``none`` if there are none."""
    return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in named) or "none"


def assert_drawn(module: nn.Module, draws: Sequence[Tensor], limit: Tensor) -> None:
    """Check that the parameter of a new module is one of ``draws``, up to ``limit``.

    Raises:
        MismatchError: If it is not. The last part of its message is the kind of draw, where that can be told.
    """
    __tracebackhide__ = True
    received = _values(module, draws[0])
    if failure := _mismatch(received, draws, limit):
        if kind := _after_reset(module, draws, limit) or _kind(received.double(), draws[0].double()):
            failure.parts = (*failure.parts, (kind, {}))
        raise failure


def _mismatch(received: Tensor, draws: Sequence[Tensor], limit: Tensor) -> MismatchError | None:
    """The difference of the values from the first of ``draws``; None if they are one of them."""
    failures = []
    for drawn in draws:
        try:
            return assert_close(received, drawn, limit)
        except MismatchError as failure:
            failures.append(failure)
    return failures[0]


def _values(module: nn.Module, like: Tensor) -> Tensor:
    return parameter_of(module, like.numel()).detach().reshape(like.shape).clone()


def _kind(received: Tensor, drawn: Tensor) -> str:
    """What the values look like: ``constant``, or ``same_stream`` if they are ``drawn``, scaled and shifted."""
    if not received.isfinite().all():
        return ""
    if received.min() == received.max():
        return "constant"
    centred = drawn - drawn.mean()
    scale = (received * centred).mean() / centred.square().mean()
    off = (received - received.mean() - scale * centred).abs().max()
    return "same_stream" if off <= 2.0**-6 * received.std() else ""  # 16-bit numbers have that many digits


def _after_reset(module: nn.Module, draws: Sequence[Tensor], limit: Tensor) -> str:
    """``not_reset`` if the values are right after a call of ``reset_parameters``."""
    try:
        module.reset_parameters()
        return "" if _mismatch(_values(module, draws[0]), draws, limit) else "not_reset"
    except Exception:  # whatever is wrong there, another test is about it
        return ""
