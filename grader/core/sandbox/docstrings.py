"""Takes the docstrings of this package out of memory, so that no text of the grader's lies beside a submission."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

HAS_DOCSTRING = 0x4000000  # a flag of code since Python 3.13; before, the first constant is the docstring or None
FUNCTION = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS


def drop_docstrings(package: str) -> None:
    """Drop the docstrings of all imported modules of a package, and the lines of source that Python has kept."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == package]
    for module in modules:
        module.__doc__ = None
        for value in _defined(vars(module), package):
            value.__doc__ = None
            if isinstance(value, FunctionType):
                value.__code__ = _without_docstrings(value.__code__)
    linecache.clearcache()
    inspect.modulesbyfile.clear()


def _defined(namespace: Any, package: str) -> Iterator[Any]:
    """The package's functions, classes and properties in a namespace, and those in its classes."""
    for value in list(namespace.values()):
        value = getattr(value, "__func__", value)  # of a static method, or one of the class
        if isinstance(value, property):
            yield value
            yield from (part for part in (value.fget, value.fset) if part is not None)
        elif isinstance(wrapped := getattr(value, "__wrapped__", None), FunctionType):  # a cache, or a context manager
            yield from (value, wrapped)
        elif isinstance(value, FunctionType | type) and value.__module__.partition(".")[0] == package:
            yield value
            if isinstance(value, type):
                yield from _defined(vars(value), package)


def _without_docstrings(code: CodeType) -> CodeType:
    """The code of a function, and of the functions in it, without docstrings."""
    constants = [_without_docstrings(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    is_function = code.co_flags & FUNCTION == FUNCTION and not code.co_name.startswith("<")
    told = code.co_flags & HAS_DOCSTRING if sys.version_info >= (3, 13) else is_function
    if told and constants and isinstance(constants[0], str):
        constants[0] = None
    return code.replace(co_consts=tuple(constants))
