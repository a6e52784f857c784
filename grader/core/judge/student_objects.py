"""Objects of a submission as hidden tests see them: functions, modules, parameters. A worker has the real ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, Self, overload

import torch
from torch import Tensor

from grader.core.messages import Message, say

from .faults import InvalidReply, StudentFault, masked

SEVERAL, MALFORMED = say("several values"), say("a malformed reply")
RECORDING: ContextVar[bool] = ContextVar("RECORDING", default=True)
MAX_NAMES = 8  # of entries in a state dict: more would only fill the report


@contextmanager
def without_gradients() -> Iterator[None]:
    """Inside, calls in training mode record no gradients either, as under ``torch.no_grad()``."""
    before = RECORDING.set(False)
    try:
        yield
    finally:
        RECORDING.reset(before)


class Asked(Protocol):
    """The submission that an object belongs to, which is a :class:`~.student.Student`.

    Attributes:
        turns: Whether a constructor that refuses its sizes is asked again.
    """

    turns: bool

    def request(self, name: str, operation: str, /, **arguments: Any) -> Any:
        """Have a worker do an operation, and return its value."""

    def defer(self, name: str, operation: str, /, **arguments: Any) -> None:
        """Keep an operation for the next request."""

    def construct(self, name: str, arguments: dict[str, Any]) -> StudentModule:
        """Construct an object of a class."""

    def charge_in_one_property(self, name: str, fault: StudentFault) -> None:
        """Pass over a fault except in one property."""

    def is_about_import(self, fault: StudentFault) -> bool:
        """Whether a fault says that a file cannot be imported."""


@dataclass(frozen=True)
class StudentFunction:
    """A student's function, or the forward of a student's module."""

    student: Asked
    name: str
    target: int | str  # as the worker knows it: a module's number, or a function's name

    def __call__(self, *arguments: Tensor) -> Tensor:
        """Call it; returns the output.

        Raises:
            InvalidReply: If that is no tensor. Of several values, the first counts, and one property charges for it.
        """
        output = self.student.request(self.name, "call", target=self.target, **_called_with(arguments))
        return self._one_tensor(output)

    def after(self, *arguments: Tensor) -> Self:
        """Call it at the next request, before the request's own operations; the return value is ignored."""
        return self._later("call", **_called_with(arguments))

    def again(self, *arguments: Tensor) -> Tensor:
        """Call it with the tensors of its last call: a module's changed in place to hold these numbers, if like these.

        A function's where they are equal, or where no gradients are recorded.
        """
        more = {"target": self.target, **_called_with(arguments), "again": True}
        return self._one_tensor(self.student.request(self.name, "call", **more))

    def observe(
        self, *arguments: Tensor, recording: bool = True, then: Sequence[Tensor] = (), again: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """Call it, perhaps without ``recording`` gradients; returns the output, and the arguments after the call.

        For ``again``, see :meth:`again`.

        Raises:
            WrongAnswer: If another call, which comes ``then`` with arguments of its own, changes that output.
        """
        values: dict[str, Any] = {"target": self.target, **_called_with(arguments, recording)}
        values |= ({"then": list(then)} if then else {}) | ({"again": True} if again else {})
        match self.student.request(self.name, "observe", **values):
            case {"output": output, "arguments_after": list(after)} if len(after) == len(arguments):
                if all(isinstance(tensor, Tensor) for tensor in after):
                    return self._one_tensor(output), after
        raise InvalidReply(MALFORMED)

    def _later(self, operation: str, /, **arguments: Any) -> Self:
        """Have the next request do this first."""
        self.student.defer(self.name, operation, target=self.target, **arguments)
        return self

    def _one_tensor(self, output: Any) -> Tensor:
        if isinstance(output, Tensor):
            return output
        if isinstance(output, tuple | list) and output:
            self._charge_in_one_property()
            return self._one_tensor(output[0])
        kinds: dict[type, str | Message] = {tuple: SEVERAL, list: SEVERAL, type(None): "None"}
        raise self._no_tensor(kinds.get(type(output), type(output).__name__))

    def _charge_in_one_property(self) -> None:
        self.student.charge_in_one_property(self.name, self._no_tensor(SEVERAL))

    def _no_tensor(self, kind: str | Message) -> InvalidReply:
        return InvalidReply(say("{name} returned {kind} instead of one tensor", name=self.name, kind=kind))

    def gradients(
        self, *arguments: Tensor, upstream: Tensor, between: Sequence[Tensor] = (), alone: str = ""
    ) -> Gradients:
        """Call it, perhaps again with ``between``, and send the gradient ``upstream`` back through the first call.

        ``alone`` may say that only the ``"arguments"`` or only the ``"parameters"`` take a gradient.
        """
        values: dict[str, Any] = {"target": self.target, "arguments": list(arguments), "upstream": upstream}
        values |= ({"between": list(between)} if between else {}) | ({"alone": alone} if alone else {})
        reply = self.student.request(self.name, "backward", **values)
        if isinstance(reply, dict) and reply.get("several") is True:
            self._charge_in_one_property()
        match reply:
            case {"argument_gradients": list(of_arguments), "parameter_gradients": list(of_parameters)}:
                if all(gradient is None or isinstance(gradient, Tensor) for gradient in of_arguments + of_parameters):
                    return Gradients(of_arguments, of_parameters)
        raise InvalidReply(MALFORMED)


def _called_with(arguments: Sequence[Tensor], recording: bool = True) -> dict[str, Any]:
    """The arguments of a call, whether it records no gradients, and whether one of them needs a gradient."""
    how = {} if recording and RECORDING.get() else {"recording": False}
    needing = {"needing": True} if any(argument.requires_grad for argument in arguments) else {}
    return {"arguments": list(arguments), **how, **needing}


@dataclass(frozen=True)
class Gradients:
    """Gradients after backward; None for an argument without one."""

    of_arguments: list[Tensor | None]
    of_parameters: list[Tensor | None]


@dataclass(frozen=True)
class Parameter:
    """A copy of a registered parameter or buffer."""

    name: str
    value: Tensor
    requires_grad: bool = False


@dataclass(frozen=True)
class StudentModule(StudentFunction):
    """A student's ``nn.Module``.

    Constructing it, assigning to it and calling its methods take effect, and may fail, only at the next request for a
    value.
    """

    target: int

    def parameters(self) -> list[Parameter]:
        """The registered parameters."""
        return self._tensors("parameters")

    def buffers(self) -> list[Parameter]:
        """The registered buffers, persistent or not."""
        return self._tensors("buffers")

    def held(self, *sizes: int) -> Tensor | None:
        """The tensor of the first of these sizes, in elements, that a parameter, a buffer or an attribute has.

        Flat if the module holds it in several tensors; None if it holds none of these sizes.
        """
        pieces = self.student.request(self.name, "held", target=self.target, sizes=list(sizes))
        if not isinstance(pieces, list) or not all(isinstance(piece, Tensor) for piece in pieces):
            raise InvalidReply(MALFORMED)
        if len(pieces) < 2:
            return pieces[0] if pieces else None
        return torch.cat([piece.flatten() for piece in pieces])

    def state_dict(self) -> list[str]:
        """The first few names that ``state_dict()`` lists, made fit to be shown."""
        names = self.student.request(self.name, "state_dict", target=self.target)
        if not isinstance(names, list):
            raise InvalidReply(MALFORMED)
        return [masked(name) or "?" for name in names[:MAX_NAMES]]

    def assign(self, *values: Tensor | float) -> Self:
        """Overwrite a tensor of the module with the first value of its size; a number fills all parameters."""
        return self._later("assign", values=list(values))

    def assign_named(self, **values: Tensor) -> Self:
        """Set parameters by the names that the contract gives them; write ``__`` for a dot in a name."""
        named = {name.replace("__", "."): value for name, value in values.items()}
        return self._later("assign_named", values=named)

    def recorded(self, *arguments: Tensor) -> tuple[Tensor, list[Any], dict[str, Any]]:
        """Call it where a function is recorded; see ``Student.recording``.

        Returns:
            The output, and what the function was called with last: by place, and by name; nothing if it was not called.
        """
        match self.student.request(self.name, "recorded", target=self.target, **_called_with(arguments)):
            case {"output": output, "arguments": list(by_place), "named": dict(by_name)}:
                return self._one_tensor(output), by_place, by_name
        raise InvalidReply(MALFORMED)

    def reset_parameters(self) -> None:
        """Call the method of that name."""
        self._later("method", name="reset_parameters", arguments=[])

    def to(self, where: torch.dtype | str) -> Self:
        """Convert to a dtype, or move to a device."""
        return self._later("method", name="to", arguments=[where])

    def train(self, mode: bool) -> Self:
        """Switch to training or to evaluation mode."""
        return self._later("method", name="train", arguments=[mode])

    def freeze(self) -> Self:
        """Freeze its parameters, as if only other layers were trained."""
        return self._later("method", name="requires_grad_", arguments=[False])

    def _tensors(self, operation: str) -> list[Parameter]:
        entries = self.student.request(self.name, operation, target=self.target)
        if not isinstance(entries, list):
            raise InvalidReply(MALFORMED)
        return [_parameter(entry) for entry in entries]


@dataclass(frozen=True)
class StudentName(StudentFunction):
    """A name that the student defines: called with tensors it is a function, with keywords or nothing it is a class."""

    @overload  # type: ignore[override] # a class is constructed by the same call
    def __call__(self, first: Tensor, /, *others: Tensor) -> Tensor: ...

    @overload
    def __call__(self, **arguments: Any) -> StudentModule: ...

    def __call__(self, *tensors: Tensor, **arguments: Any) -> Tensor | StudentModule:
        """Call the function, or construct an object of the class."""
        return super().__call__(*tensors) if tensors else self.student.construct(self.name, arguments)


def _parameter(entry: Any) -> Parameter:
    match entry:
        case {"name": str(name), "value": Tensor() as value}:
            return Parameter(name, value, entry.get("requires_grad") is True)
    raise InvalidReply(MALFORMED)
