"""Checks random initial values; where they are wrong, says what kind of draw they look like."""

from collections.abc import Sequence

from torch import Tensor, nn

from .compare import MismatchError, assert_close_to_one_of
from .student import parameter_of


def assert_drawn(module: nn.Module, draws: Sequence[Tensor], limit: Tensor) -> None:
    """Check that the parameter of a new module is one of ``draws``, up to ``limit``.

    Raises:
        MismatchError: If it is not. The last part of its message is the kind of draw, where that can be told.
    """
    __tracebackhide__ = True
    received = _values(module, draws[0])
    try:
        assert_close_to_one_of(received, draws, limit)
    except MismatchError as failure:
        if kind := _after_reset(module, draws, limit) or _kind(received.double(), draws[0].double()):
            failure.parts = (*failure.parts, (kind, {}))
        raise


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
        assert_close_to_one_of(_values(module, draws[0]), draws, limit)
    except Exception:  # whatever is wrong there, another test is about it
        return ""
    return "not_reset"
