"""Imports the student's code, and finds the tensors that its modules have registered."""

import importlib
import linecache
import sys
import traceback
from collections.abc import Iterable
from importlib.abc import MetaPathFinder
from pathlib import Path, PurePosixPath
from types import ModuleType

import torch
from torch import Tensor, nn

from . import rubric
from .compare import MismatchError
from .messages import Words
from .rubric import ROOT, SOURCE
from .timer import LIMIT_AFTER_TIMEOUT_S, TIME_LIMIT_S, time_limit


def is_todo(error: BaseException) -> bool:
    """Whether a stub raised ``error``; torch raises ``NotImplementedError``, too, for other reasons."""
    if not isinstance(error, NotImplementedError) or error.__traceback__ is None:
        return False
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    file = frame.f_code.co_filename
    return Path(file).is_relative_to(SOURCE) and linecache.getline(file, line).lstrip().startswith("raise")


def import_packages() -> list[BaseException]:
    """Import the student's packages, so that one broken file fails only the tests of that file.

    A package's ``__init__.py`` may import all of its modules. If one of these cannot be imported, none of the others
    could be. The package is then replaced by an empty one: ``from src.modeling.norm import ...`` imports just that
    file, and fails only if that file is broken. The import of a file that never ends is stopped, and fails at once from
    then on.

    Returns:
        The exceptions that the packages raised.
    """
    errors: list[BaseException] = []
    limit_s = TIME_LIMIT_S
    for name in packages():
        try:
            with time_limit(limit_s, ""):
                importlib.import_module(name)
        except (Exception, SystemExit) as error:
            errors.append(error)
            limit_s = LIMIT_AFTER_TIMEOUT_S if isinstance(error, TimeoutError) else limit_s
            for stale in [module for module in sys.modules if module.startswith(f"{name}.")]:
                del sys.modules[stale]
            stand_in = ModuleType(name)
            stand_in.__path__ = [str(ROOT.joinpath(*name.split(".")))]
            sys.modules[name] = stand_in
    for name in map(module_of, sorted(_files())):
        try:
            with time_limit(limit_s, ""):
                importlib.import_module(name)
        except TimeoutError as error:
            sys.meta_path.insert(0, _Endless(name, error))
        except (Exception, SystemExit):  # the tests of this file will meet it again
            continue
    return errors


class _Endless(MetaPathFinder):
    """Stands in the way of a module whose import has not ended in time."""

    def __init__(self, name: str, error: TimeoutError) -> None:
        self._name = name
        self._error = error

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Raise again what the first import has raised, with the place where it was stopped."""
        del path, target  # modules are found by name alone
        if fullname == self._name:
            raise self._error


def module_of(file: str) -> str:
    """The name under which a file such as ``src/functional.py`` is imported."""
    return file.removesuffix(".py").replace("/", ".")


def packages() -> list[str]:
    """The names of the packages that hold the files of the assignment, each after its parent package."""
    folders = {folder for file in _files() for folder in PurePosixPath(file).parents if folder.name}
    return sorted(".".join(folder.parts) for folder in folders)


def _files() -> set[str]:
    return {file for task in rubric.load().tasks for file in task.names.values()}


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
