"""A time limit for code that may never end."""

import ctypes
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

TIME_LIMIT_S = 10.0  # for a test or an import; all tests together take a second, but a GPU may need some to start
LIMIT_AFTER_TIMEOUT_S = 1.0  # after a first timeout, since what comes next is likely to hang in the same loop
PATIENCE = 3  # how often a thread that is late is told so, each time after the limit, before the whole run is ended


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
    """Have another thread raise an exception in this one, between two steps of Python.

    Code that is inside one long step, such as a call of C, does not notice. If it has not ended after some more limits,
    nothing but the end of the process helps; stderr then says where it was.
    """
    late, ended, alone = threading.get_ident(), threading.Event(), threading.Lock()

    def watch() -> None:
        for _ in range(PATIENCE):
            if ended.wait(limit_s):
                return
            with alone:
                if not ended.is_set():
                    _raise_in(late, _Late)
        if not ended.wait(limit_s):
            print(message, file=sys.stderr, flush=True)
            faulthandler.dump_traceback(all_threads=True)
            os._exit(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except _Late as error:
        raise TimeoutError(message).with_traceback(error.__traceback__) from None
    finally:
        with alone:
            ended.set()
            _raise_in(late, None)  # takes back what has not been raised yet


def _raise_in(thread: int, kind: type[Exception] | None) -> None:
    """Have a thread raise an exception as soon as it can, or take it back."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind and ctypes.py_object(kind))
