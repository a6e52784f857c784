"""A worker's operations on student code. Runs on the untrusted side, without tests or expected values."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from grader import SUBMITTED
from grader.core.messages import Message, as_data, say
from grader.shared.second_device import NotSimulated
from grader.shared.trial import said

from .importer import MemoryImporter
from .protocol import Kind, ProtocolError

MAX_MESSAGE = 600
MAX_FRAMES = 12
MAX_CAUSES = 8  # of an exception, that are searched
MAX_DEPTH = 200  # of innermost frames that are searched: after a recursion there may be a million
TORCH = os.path.dirname(torch.__file__)
SEED = 20_261_009  # not the default of any module
NO_MEMORY = "can't allocate memory"  # torch's words
OUT_OF_MEMORY = {"error": {"kind": Kind.MEMORY_EXCEEDED}}


class Operations:
    """Holds the student's objects by number and carries out the operations of a request."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """Import nothing yet."""
        self._files = files
        self._names: dict[str, Any] = {}
        self._modules: dict[int, nn.Module] = {}
        self._assigned: dict[int, int] = {}  # how many numbers a module has been given
        self._late: set[int] = set()  # modules that had no tensors when they were new, which is when optimizers look
        # Of a module and a size: which of several tensors holds its numbers.
        self._places: dict[tuple[int, int], int] = {}
        self._given: dict[int | str, list[Any]] = {}  # what an object or a function was last called with
        self._importer: MemoryImporter | None = None
        self._recorder: Recorder | None = None

    def perform(self, operations: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
        """Do the operations in order: ``{"value": ...}`` of the last, or ``{"error": ...}`` of the first that fails.

        An error that student code has raised also says at which place in the request.
        """
        value, place = None, 0
        try:
            for place, (operation, arguments) in enumerate(operations):  # noqa: B007 - what follows an error reads it
                value = self.do(operation, arguments)
            return {"value": value}
        except MemoryError:
            return OUT_OF_MEMORY
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: student code raised them
            full = type(error) is RuntimeError and NO_MEMORY in str(error)
            return OUT_OF_MEMORY if full else {"error": {**describe_exception(error, self._files), "place": place}}

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Carry out one operation; exceptions of student code pass through."""
        handler: Callable[..., Any] = getattr(self, f"_{operation}")
        return handler(**arguments)

    def _load(self, module: str, name: str, recorded: Sequence[str] = ()) -> None:
        """Import ``module`` of the submission and make its ``name`` known.

        An ``__init__.py`` imports sibling files, of which one may fail, so it first waits until it is needed. Where the
        import fails, it is tried as Python does it, since an ``__init__.py`` may do what the file needs.

        Args:
            module: The module's name, such as ``src.functional``.
            name: What it has to define.
            recorded: A module and a function in it, in whose place a :class:`Recorder` is put.
        """
        if self._importer is None:
            unload()
            self._importer = MemoryImporter(self._files)
            sys.meta_path.insert(0, self._importer)
            _taken_out(self._importer)
        if recorded and self._recorder is None:
            self._recorder = Recorder(self._importer, *recorded)
        try:
            self._names[name] = self._imported(self._importer, module, name)
            return
        except BaseException as error:  # whatever student code raises
            first = error
        if self._importer.lazy:
            before, self._importer.lazy = _taken_out(self._importer), False
            with contextlib.suppress(BaseException):
                self._names[name] = self._imported(self._importer, module, name)
                return
            self._importer.lazy = True
            _taken_out(self._importer)
            sys.modules.update(before)
        raise first

    def _imported(self, importer: MemoryImporter, module: str, name: str) -> Any:
        """What ``module`` has by that name."""
        loaded = importlib.import_module(module)
        importer.run_what_waits(loaded)
        if self._recorder is not None:
            self._recorder.put_in_place()
        if not hasattr(loaded, name):
            raise _Told(
                say("{name} is not defined in {path}", name=name, path=f"{module.replace('.', '/')}.py"), Kind.MISSING
            )
        return getattr(loaded, name)

    def forget(self) -> None:
        """Drop the submission's modules and objects."""
        self._names.clear()
        self._modules.clear()
        unload()

    def _construct(self, number: int, name: str, arguments: dict[str, Any], turned: bool = False) -> None:
        """Build an object of the class ``name`` and keep it under ``number``, with ``Turned`` integers if requested.

        Where nothing is seeded, each case begins with the same random numbers, whatever was asked before it.
        """
        if number == 0:  # the first object of a case
            seed()
        if turned:
            arguments = {key: Turned(value) if type(value) is int else value for key, value in arguments.items()}
        self._modules[number] = self._names[name](**arguments)
        self._assigned.pop(number, None)
        self._late.discard(number)
        self._given.pop(number, None)
        self._places = {key: place for key, place in self._places.items() if key[0] != number}

    def _target(self, target: int | str) -> Any:
        return self._modules[target] if isinstance(target, int) else self._names[target]

    def _call(
        self,
        target: int | str,
        arguments: list[Any],
        again: bool = False,
        recording: bool = True,
        needing: bool = False,
    ) -> Any:
        """Call an object or a function, and return its result: in evaluation mode without gradients, as is usual.

        ``again`` passes the tensors of its last call: an object's with the new values in them, where they are like
        these; a function's where they are equal, as tables of one module, or where no gradients are recorded. Training,
        too, may be without ``recording`` gradients, and the input ``needing`` one, which it does not as data.
        """
        called = self._target(target)
        if again:
            kept = partial(_in_place, writing=isinstance(target, int) or not torch.is_grad_enabled())
            arguments[:] = map(kept, self._given.get(target, arguments), arguments)
        self._given[target] = arguments
        if needing:
            arguments[:] = map(_leaf, arguments)
        with contextlib.nullcontext() if recording and getattr(called, "training", True) else torch.no_grad():
            return _first_only(called(*arguments))

    def _recorded(self, target: int | str, arguments: list[Any], recording: bool = True) -> dict[str, Any]:
        """Call it; returns the output and the last arguments of the recorded function."""
        assert self._recorder is not None, "the judge has asked for a recorder"
        self._recorder.last = {"arguments": [], "named": {}}
        return {"output": self._call(target, arguments, recording=recording), **self._recorder.last}

    def _observe(
        self,
        target: int | str,
        arguments: list[Any],
        recording: bool = True,
        needing: bool = False,
        then: Sequence[Any] = (),
        again: bool = False,
    ) -> dict[str, Any]:
        """Call it, perhaps without ``recording`` gradients; returns the output, and the arguments after the call.

        With arguments for it, another call comes ``then``, which may not change that output.
        """
        with contextlib.nullcontext() if recording else torch.no_grad():
            output = self._call(target, arguments, again, needing=needing)
            if then and isinstance(output, Tensor):
                before = output.clone()
                self._call(target, list(then))
                if not torch.allclose(output, before, rtol=0, atol=0, equal_nan=True):
                    raise _Told(say("a later call changes the output of an earlier one"))
        return {"output": output, "arguments_after": arguments}

    def _backward(
        self,
        target: int | str,
        arguments: list[Any],
        upstream: Tensor,
        between: Sequence[Any] = (),
        alone: str = "",
    ) -> dict[str, Any]:
        """Call it, then send ``upstream`` back; returns gradients of floating-point arguments and of parameters.

        After an assignment, the parameters are the tensors that hold the assigned numbers, even frozen ones or buffers:
        another property judges whether they are parameters. The call gets copies of the arguments, so that code that
        changes its input has gradients, too. The output may differ from ``upstream`` in shape, but not in the number of
        elements. With arguments for it, a call ``between`` comes before the way back, as where layers share weights.
        ``alone`` says if only the arguments, as of a frozen module, or only the parameters require a gradient. After an
        assignment, the module has to have a parameter that takes one.
        """
        leaves = [_leaf(argument, alone != "parameters") for argument in arguments]
        parameters = self._parameters_of(target)
        if target in self._assigned:
            self._require_trainable(target)
        for parameter in parameters:
            parameter.requires_grad_(parameter.is_floating_point() and alone != "arguments")
            parameter.grad = None  # what other modules that share it have sent
        output = self._target(target)(*(a.clone() if isinstance(a, Tensor) else a for a in leaves))
        later = _first_only(self._target(target)(*between)) if between else None
        several = isinstance(output, tuple | list)  # as for any call, the first counts
        output = output[0] if several else output
        if output.numel() != upstream.numel():
            shapes = {"actual": output.shape, "wanted": upstream.shape}
            raise _Told(say("{what} has shape {actual}, not {wanted}", what=say("the output"), **shapes))
        if flows := output.requires_grad:
            sent: list[Tensor] = []  # what arrives at the output, and a copy of it
            output.register_hook(lambda gradient: sent.extend((gradient, gradient.clone())))
            # The same gradients as output.backward(upstream), which imports hundreds of modules at its first use.
            (output * upstream.reshape(output.shape)).sum().backward()
            if not torch.equal(*sent):
                raise _Told(say("backward changes the gradient that it is given, which other branches may use"))
        found = {
            "argument_gradients": [getattr(leaf, "grad", None) if flows else None for leaf in leaves],
            "parameter_gradients": [_dense(parameter.grad) if flows else None for parameter in parameters],
        }
        if flows and isinstance(later, Tensor) and later.requires_grad:
            # A backward of its own, as in the next step of training: what calls keep may have lost its graph by then.
            for tensor in (*parameters, *(leaf for leaf in leaves if isinstance(leaf, Tensor))):
                tensor.grad = None  # lest it add to what has been found
            later.sum().backward()
        return {**found, "several": several}

    def _require_trainable(self, target: int | str) -> None:
        """Require a parameter that an optimizer finds and may change; another property judges how many there are."""
        parameters = [] if target in self._late else list(self._target(target).parameters())
        if not parameters:
            raise _Told(say("{n} parameters are registered, not {wanted}", n=0, wanted=1))
        if not any(parameter.requires_grad for parameter in parameters):
            raise _Told(say("the parameter does not require gradients"))

    def _parameters_of(self, target: int | str) -> list[Tensor]:
        """The tensors whose gradients are returned: those that hold assigned numbers, or all parameters."""
        if not isinstance(target, int):
            return []
        module, size = self._modules[target], self._assigned.get(target)
        return self._holding(target, size) if size else list(module.parameters())

    def _method(self, target: int, name: str, arguments: list[Any]) -> None:
        """Call ``reset_parameters``, ``to``, ``train`` or ``requires_grad_``; the return value is not sent."""
        getattr(self._modules[target], name)(*arguments)

    def _parameters(self, target: int) -> list[dict[str, Any]]:
        named = self._modules[target].named_parameters()
        return [{"name": n, "value": p, "requires_grad": bool(p.requires_grad)} for n, p in named]

    def _buffers(self, target: int) -> list[dict[str, Any]]:
        return [{"name": name, "value": buffer} for name, buffer in self._modules[target].named_buffers()]

    def _held(self, target: int, sizes: list[int]) -> list[Tensor]:
        """The tensors that hold the first of these sizes that the module has: one tensor, or equal pieces."""
        return next(filter(None, (self._holding(target, size) for size in sizes)), [])

    def _holding(self, target: int, size: int) -> list[Tensor]:
        """The tensor that holds ``size`` numbers, or the equal pieces that do: parameters, buffers or plain attributes.

        Of several tensors of that size, the first with random numbers is meant, not a bias of zeros or a scale of ones.
        """
        for held in _stores(self._modules[target]):
            floating = [tensor for tensor in held if tensor.is_floating_point()]
            if whole := [tensor for tensor in floating if tensor.numel() == size]:
                if len(whole) == 1:
                    return whole
                drawn = (place for place, tensor in enumerate(whole) if bool((tensor != tensor.flatten()[:1]).any()))
                place = self._places.setdefault((target, size), next(drawn, 0))
                return whole[min(place, len(whole) - 1) :][:1]
            pieces = [tensor for tensor in floating if tensor.numel() == floating[0].numel()]
            if len(pieces) > 1 and len(pieces) * pieces[0].numel() == size:
                return pieces
        return []

    def _state_dict(self, target: int) -> list[str]:
        return [str(name) for name in self._modules[target].state_dict()]

    def _assign_named(self, target: int, values: dict[str, Tensor]) -> None:
        """Overwrite, in place, parameters by their names; raises ``_Told`` if one is missing or has another shape."""
        parameters = dict(self._modules[target].named_parameters())
        for name, value in values.items():
            if name not in parameters:
                names = ", ".join(parameters) or say("none")
                raise _Told(say("a parameter {name} was expected; registered: {names}", name=name, names=names))
            if parameters[name].shape != value.shape:
                shapes = {"actual": parameters[name].shape, "wanted": value.shape}
                raise _Told(say("the parameter {name} is {actual}, not {wanted}", name=name, **shapes))
            with torch.no_grad():
                parameters[name].copy_(value)

    def _assign(self, target: int, values: list[Tensor | float]) -> None:
        """Overwrite, in place, the tensors that hold the module's numbers with the first of ``values`` of their size.

        A plain number always fits, and fills all parameters. If no size fits, the first value overwrites the first rows
        of a parameter that has more rows. A module without any tensor may make them when they are first needed.
        """
        module = self._modules[target]
        if not any(_stores(module)):
            self._late.add(target)
            with contextlib.suppress(Exception):
                self._method(target, "reset_parameters", [])
        for value in values:
            if not isinstance(value, Tensor):
                _fill(list(module.parameters()), value)
                return
            if tensors := self._holding(target, value.numel()):
                self._assigned[target] = value.numel()
                _fill(tensors, value)
                return
        first = next(value for value in values if isinstance(value, Tensor))
        if tensors := _leading(module, first):
            _fill(tensors, first)
            return
        shapes = ", ".join(str(list(parameter.shape)) for parameter in module.parameters()) or say("none")
        n = first.numel()
        raise _Told(say("a parameter of {n} elements was expected; registered: {shapes}", n=n, shapes=shapes))


def _in_place(kept: Tensor, value: Tensor, writing: bool) -> Tensor:
    """The stored tensor with its new value; the value itself, if shape, dtype or device differ."""
    if (kept.shape, kept.dtype, kept.device) != (value.shape, value.dtype, value.device):
        return value
    if not torch.equal(kept, value):
        if not writing:
            return value
        kept.data.copy_(value)  # as for parameters
    return kept


class Turned(int):
    """A size whose remainders are turned around, so that it passes a check of sizes that refuses those that divide."""

    def __mod__(self, other: int) -> int:
        """1 if the other divides it, else 0."""
        return int(int(self) % int(other) == 0)

    def __rmod__(self, other: int) -> int:
        """1 if it divides the other, else 0."""
        return int(int(other) % int(self) == 0)


class Recorder:
    """Stands in for a function of the submission: gives a copy of its first argument back, and keeps all of them.

    So what a module passes on to that function can be judged where the function itself is wrong, or missing.
    """

    def __init__(self, importer: MemoryImporter, module: str, name: str) -> None:
        """Import the module of the function; if that fails, an empty one takes its place."""
        self.last: dict[str, Any] = {}
        try:
            self._home = importlib.import_module(module)
        except BaseException:  # whatever student code raises
            self._home = importer.empty(module)
        self._name, self._original = name, getattr(self._home, name, None)
        self.put_in_place()

    def put_in_place(self) -> None:
        """Replace the function in its module, and wherever the submission has imported it."""
        setattr(self._home, self._name, self._record)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == SUBMITTED and self._original is not None:
                for key, value in list(vars(module).items()):
                    if value is self._original:
                        setattr(module, key, self._record)

    def _record(self, *arguments: Any, **named: Any) -> Any:
        self.last = {"arguments": list(arguments), "named": named}
        first = next(iter((*arguments, *named.values())), None)
        return first.clone() if isinstance(first, Tensor) else first  # so that no gradient comes where none is kept


def _first_only(output: Any) -> Any:
    """What a call has returned; of several values the first, in a list: the others may be of any type."""
    return list(output[:1]) if isinstance(output, tuple | list) else output


def _stores(module: nn.Module) -> Iterator[list[Tensor]]:
    """Where a module may hold numbers: parameters, then buffers, then plain attributes."""
    yield list(module.parameters())
    yield list(module.buffers())
    yield [value for part in module.modules() for value in vars(part).values() if isinstance(value, Tensor)]


def _leaf(argument: Any, asked: bool = True) -> Any:
    """An argument with a requested gradient, if it can have one."""
    has_one = isinstance(argument, Tensor) and argument.is_floating_point()
    return argument.requires_grad_(asked) if has_one else argument


def _dense(gradient: Tensor | None) -> Tensor | None:
    """The same numbers: a gradient of ``nn.functional.embedding(..., sparse=True)`` holds only the rows in use."""
    return gradient.to_dense() if gradient is not None and gradient.is_sparse else gradient


def _leading(module: nn.Module, value: Tensor) -> list[Tensor]:
    """The first rows of a parameter that has more of them than ``value``."""
    fitting = (p for p in module.parameters() if p.shape[1:] == value.shape[1:] and p.shape[:1] > value.shape[:1])
    return [parameter.data[: len(value)] for parameter in fitting][:1]


def _fill(tensors: list[Tensor], value: Tensor | float) -> None:
    """Write ``value`` into one tensor (transposed, if that fits) or split over equal pieces; a number fills all.

    Into ``.data``, as optimizers and loaders may, which leaves the tensor's version as it was.
    """
    tensors = [tensor.data for tensor in tensors]
    if not isinstance(value, Tensor):
        for tensor in tensors:
            tensor.fill_(value)
        return
    if len(tensors) == 1 and value.shape == tensors[0].shape:  # as it nearly always is
        tensors[0].copy_(value)
        return
    if value.dim() > 2:
        value = value.flatten(0, -2)  # which may have been expanded
    if value.shape != tensors[0].shape == value.shape[::-1]:
        value = value.T
    for tensor, piece in zip(tensors, value.flatten().split(tensors[0].numel()), strict=True):
        tensor.copy_(piece.reshape(tensor.shape))


def seed() -> None:
    """Begin with the same random numbers in every worker, so that unseeded code gets the same report each time."""
    random.seed(SEED)
    torch.manual_seed(SEED)  # on other devices, too


def unload() -> None:
    """Remove every submission's importer and its imported modules."""
    for importer in [finder for finder in sys.meta_path if isinstance(finder, MemoryImporter)]:
        sys.meta_path.remove(importer)
        _taken_out(importer)


def _taken_out(importer: MemoryImporter) -> dict[str, ModuleType]:
    """The modules of a submission, which ``sys.modules`` has no longer."""
    # Not all of sys.modules is looked at: after a fork, to look at a name copies its page.
    return {name: sys.modules.pop(name) for name in importer.names if name in sys.modules}


class _Told(Exception):
    """What this worker itself finds wrong, and says in a message."""

    def __init__(self, message: Message, kind: str = Kind.UNFIT) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message


def invalid(error: ProtocolError) -> dict[str, Any]:
    """The reply for a value that the protocol cannot express."""
    return {"error": {"kind": Kind.INVALID_REPLY, "told": as_data(say("returned {problem}", problem=str(error)))}}


def describe_exception(error: BaseException, files: Mapping[str, str]) -> dict[str, Any]:
    """The exception as plain data: kind, class names, message, and the frames in the student's own files."""
    if isinstance(error, _Told):
        return {"kind": error.kind, "told": as_data(error.message)}
    if isinstance(error, ModuleNotFoundError) and str(error.name).split(".")[0] == SUBMITTED:
        path = f"{str(error.name).replace('.', '/')}.py"
        return {"kind": Kind.MISSING, "told": as_data(say("{path} is not in the submission", path=path))}
    # Without the text of the lines, for which each frame's file would be looked up.
    walked = traceback.walk_tb(error.__traceback__)
    trace = traceback.StackSummary.extract(walked, limit=-MAX_DEPTH, lookup_lines=False)
    frames = [[frame.filename, frame.lineno or 0, frame.name] for frame in trace]
    inside = itertools.takewhile(lambda file: file not in files, (frame.filename for frame in reversed(trace)))
    more = {}
    if isinstance(error, OSError) and (torchs := next((file for file in inside if file.startswith(TORCH)), "")):
        more["inside"] = f"torch{torchs.removeprefix(TORCH)}"
    if isinstance(error, ModuleNotFoundError):
        more["module"] = str(error.name)
    if isinstance(error, SyntaxError) and error.filename in files:
        frames.append([error.filename, error.lineno or 0, "<module>"])
    lacking = [cause.what for cause in _chain(error) if type(cause) is NotSimulated]
    return {
        **({"lacking": lacking[0]} if lacking else {}),
        **more,
        "kind": Kind.NOT_IMPLEMENTED if _is_stub(error, trace) else Kind.CRASHED,
        "types": [base.__name__ for base in type(error).__mro__ if base is not object][:8],
        "message": said(error)[:MAX_MESSAGE],
        "frames": [frame for frame in frames if frame[0] in files][-MAX_FRAMES:],
    }


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that led to it."""
    for _ in range(MAX_CAUSES):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _is_stub(error: BaseException, trace: traceback.StackSummary) -> bool:
    """Whether a ``raise NotImplementedError`` was reached; torch raises that class too, for missing kernels."""
    return isinstance(error, NotImplementedError) and (trace[-1].line or "").startswith("raise")
