"""The student's code: time limits, processes of its own, imports, and its files."""

import ctypes
import importlib
import linecache
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from multiprocessing.connection import Connection
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from . import rubric
from .rubric import ROOT, SOURCE

TIME_LIMIT_S = 10.0  # for a test or an import; all tests together take a second, but a GPU may need some to start
LIMIT_AFTER_TIMEOUT_S = 1.0  # after a first timeout, since what comes next is likely to hang in the same loop


@contextmanager
def time_limit(limit_s: float, message: str) -> Iterator[None]:
    """Raise TimeoutError in the ``with`` block after ``limit_s`` seconds."""
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        with _by_signal(limit_s, message):
            yield
    else:
        with _by_thread(limit_s, message):  # Windows has no such timer
            yield


@contextmanager
def _by_signal(limit_s: float, message: str) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(message)

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


class _Late(Exception):
    """What another thread can have raised here: a class, without a message."""


@contextmanager
def _by_thread(limit_s: float, message: str) -> Iterator[None]:
    """Have another thread raise an exception in this one, between two steps of Python, as a signal would."""
    late = threading.get_ident()
    timer = threading.Timer(limit_s, _raise_in, (late, _Late))
    timer.daemon = True
    timer.start()
    try:
        yield
    except _Late as error:
        raise TimeoutError(message).with_traceback(error.__traceback__) from None
    finally:
        timer.cancel()
        timer.join()
        _raise_in(late, None)  # takes back what has not been raised yet


def _raise_in(thread: int, kind: type[Exception] | None) -> None:
    """Have a thread raise an exception as soon as it can, or take it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind and ctypes.py_object(kind))


CAN_FORK = "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"
PROCESSES = multiprocessing.get_context("fork" if CAN_FORK else "spawn")  # a fork starts at once; torch is imported


def apart(function: Callable[..., None], *arguments: object, start_s: float, next_s: float) -> Iterator[Any]:
    """What ``function(tell, *arguments)`` tells from a process of its own, which student code may end or hang.

    What is printed there goes nowhere.

    Raises:
        TimeoutError: If nothing is told for ``next_s`` seconds, or for ``start_s`` at first.
    """
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_silently, args=(sender, function, arguments))
    process.start()
    sender.close()
    patience_s = start_s
    try:
        while receiver.poll(patience_s):
            yield receiver.recv()
            patience_s = next_s
        raise TimeoutError
    except EOFError:  # the process has ended
        return
    finally:
        process.kill()
        process.join()


def _silently(sender: Connection, function: Callable[..., None], arguments: Sequence[object]) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # also for what is printed past Python
        os.dup2(nowhere, stream)
    function(sender.send, *arguments)


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
    then on, as that of a file that exits does.

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
            folder_missing = isinstance(error, ModuleNotFoundError) and error.name == name  # its files will be named
            errors += [] if folder_missing else [error]
            limit_s = LIMIT_AFTER_TIMEOUT_S if isinstance(error, TimeoutError) else limit_s
            for stale in [module for module in sys.modules if module.startswith(f"{name}.")]:
                del sys.modules[stale]
            stand_in = ModuleType(name)
            stand_in.__path__ = [str(ROOT.joinpath(*name.split(".")))]
            sys.modules[name] = stand_in
    for name in map(module_of, sorted(rubric.load().names_in)):
        try:
            with time_limit(limit_s, ""):
                importlib.import_module(name)
        except (TimeoutError, SystemExit) as error:
            late = isinstance(error, TimeoutError)
            again = error if late else Exited(f"SystemExit: {error}").with_traceback(error.__traceback__)
            sys.meta_path.insert(0, _Barred(name, again))
        except Exception:  # the tests of this file will meet it again
            continue
    return errors


class Exited(Exception):
    """In place of the ``SystemExit`` of a file that is imported, which would end pytest."""


class _Barred(MetaPathFinder):
    """Stands in the way of a module whose import has not ended in time, or exits."""

    def __init__(self, name: str, error: Exception) -> None:
        self._name = name
        self._error = error

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Raise again what the first import has raised, with its place."""
        del path, target  # modules are found by name alone
        if fullname == self._name:
            raise self._error


def module_of(file: str) -> str:
    """The name under which a file such as ``src/functional.py`` is imported."""
    return file.removesuffix(".py").replace("/", ".")


def packages() -> list[str]:
    """The names of the packages that hold the files of the assignment, each after its parent package."""
    folders = {folder for file in rubric.load().names_in for folder in PurePosixPath(file).parents if folder.name}
    return sorted(".".join(folder.parts) for folder in folders)


def source_files() -> list[Path]:
    """Every Python file below ``src/``, helper modules included; nothing hidden, such as Jupyter's checkpoints."""
    found = (path for path in SOURCE.rglob("*.py") if path.is_file())
    hidden = (".", "__pycache__")
    return sorted(path for path in found if not any(part.startswith(hidden) for part in path.relative_to(SOURCE).parts))
