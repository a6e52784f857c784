"""Finds out whether a submission has left something behind in its process. Runs on the untrusted side.

Three checks, each for what the others miss. The garbage collector finds objects that the submission has made and that
are still there when its modules are gone, wherever they are. Names that it has given another value, or deleted, are
found by comparing values by identity in the namespaces that solutions use, and by comparing sizes in all others.
Settings are compared one by one.

A closer look at names and sizes takes many times as long as a glance at the memory that they lie in (:mod:`.glance`),
which nearly always is enough.
"""

from __future__ import annotations

import abc
import atexit
import codecs
import contextvars
import decimal
import gc
import linecache
import locale
import operator
import os
import random
import re
import signal
import sys
import threading
import typing
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from . import second_device
from .glance import Glance, dictionary

# Here values are compared by identity, to find a name that got another existing object; new objects are found anywhere.
CLASSES: tuple[type, ...] = (
    *(torch.Tensor, torch._C.TensorBase, torch.Generator, torch.autograd.Function),
    *(nn.Module, nn.Parameter, nn.Embedding, nn.Linear, nn.LayerNorm, nn.RMSNorm),
)
MODULES = (
    *("builtins", "cmath", "copy", "functools", "itertools", "json", "math", "operator", "random", "sys"),
    *("time", "typing", "warnings"),
    *("torch", "torch.autograd", "torch.backends", "torch.linalg", "torch.nn", "torch.nn.functional", "torch.nn.init"),
)
ERROR_HANDLERS = ("strict", "ignore", "replace", "backslashreplace", "surrogateescape", "xmlcharrefreplace")
MINUS_ONE = -1.0  # a name, so that the product below is computed each time and not once by the compiler


class Surroundings:
    """A process as it was before any student code, to compare it with later."""

    def __init__(self) -> None:
        """Record everything, in the fork server: a locked worker could not read all of it."""
        self._settings = _settings()  # first, since asking for some settings imports modules
        self._waiting_seeds = [(vars(tracker), dict(vars(tracker))) for tracker in _waiting_seeds()]
        _empty_caches()
        self._random = [(give_back, state()) for state, give_back in _random_numbers()]
        self._compared = [(space, list(space), list(space.values())) for space in _compared()]
        self._collections = _collections()
        self._sizes = list(map(len, self._collections))
        self._glance = Glance(self._collections, (space for space, _, _ in self._compared))

    def enter(self) -> None:
        """In the worker, before any student code: have the garbage collector ignore all objects there are now."""
        gc.collect()
        gc.freeze()

    def restore(self) -> None:
        """Restore the state of random numbers and empty caches: any property may change both."""
        for give_back, state in self._random:
            give_back(state)
        for waiting, old in self._waiting_seeds:
            waiting.update(old)
        _empty_caches()

    def unchanged(self) -> bool:
        """Whether everything else is as it was. This takes milliseconds, so it is asked once for several properties."""
        gc.collect()
        if gc.get_objects():  # before this function makes objects
            return False
        try:
            return _settings() == self._settings and (self._glance.shows_no_change() or self._names_are_as_they_were())
        except Exception:  # if a comparison fails, the submission has changed something
            return False

    def _names_are_as_they_were(self) -> bool:
        if list(map(len, self._collections)) != self._sizes:
            return False
        # Lists take identical elements as equal without calling their __eq__.
        return all(list(space) == names and _same(space.values(), old) for space, names, old in self._compared)


def _same(values: Iterable[object], others: Iterable[object]) -> bool:
    return all(map(operator.is_, values, others))


def _random_numbers() -> Iterator[tuple[Callable[[], Any], Callable[[Any], object]]]:
    """For each source of random numbers, the function that gets its state and the one that sets it."""
    yield random.getstate, random.setstate
    yield torch.get_rng_state, torch.set_rng_state
    if device := getattr(torch, second_device.NAME, None):
        yield device.get_rng_state, device.set_rng_state


def _waiting_seeds() -> Iterator[Any]:
    """The objects in which ``torch.manual_seed`` keeps seeds for devices that are not in use yet."""
    for device in (torch.cuda, torch.xpu, torch.mtia):
        yield device._lazy_seed_tracker


def _empty_caches() -> None:
    """Empty those caches of the standard library that ordinary code fills, and that change no result."""
    re.purge()
    linecache.clearcache()
    for empty in typing._cleanups:  # type: ignore[attr-defined] # as the standard library's own tests do it
        empty()


def _compared() -> list[Mapping[str, Any]]:
    return [vars(space) for space in (*CLASSES, *(sys.modules[name] for name in MODULES))]


def _collections() -> list[Collection[Any]]:
    """Every module's namespace, the collections and classes in it, and the attributes of some functions."""
    modules = [vars(module) for module in sys.modules.values() if isinstance(module, ModuleType)]
    held = [value for module in modules for value in module.values()]
    functions = [value for space in _compared() for value in space.values() if isinstance(value, FunctionType)]
    collections = [*modules, *(value for value in held if isinstance(value, list | set | dict))]
    collections += [dictionary(vars(value)) for value in (*held, *functions) if isinstance(value, type | FunctionType)]
    return list({id(collection): collection for collection in collections}.values())


def _settings() -> Sequence[Any]:
    """Settings of torch and Python, to be compared by value."""
    return [
        *(ask() for ask in _TORCH),
        *(ask() for ask in _PYTHON),
        [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        [codecs.lookup_error(name) for name in ERROR_HANDLERS],
        [sys.modules.get(name) for name in MODULES],
        dict(os.environ),
        list(contextvars.copy_context().items()),
        list(warnings.filters),
        list(gc.callbacks),
        [type(finder) for finder in sys.meta_path],
        [list(sys.path), list(sys.path_hooks)],
        (5e-324 * MINUS_ONE).hex(),  # zero where tiny numbers are flushed to zero; as text, since comparing flushes too
    ]


_TORCH: tuple[Callable[[], Any], ...] = (
    torch.get_default_dtype,
    torch.get_default_device,
    torch.get_num_threads,
    torch.is_grad_enabled,
    torch.is_inference_mode_enabled,
    torch.is_anomaly_enabled,
    torch.is_anomaly_check_nan_enabled,
    torch.get_deterministic_debug_mode,
    torch.is_warn_always_enabled,
    torch.get_float32_matmul_precision,
    lambda: torch.is_autocast_enabled("cpu"),
    lambda: torch.get_autocast_dtype("cpu"),
    torch.is_autocast_cache_enabled,
    lambda: torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined] # a property of the module
    lambda: str(torch._C._dispatch_tls_local_include_set()),
    lambda: str(torch._C._dispatch_tls_local_exclude_set()),
    torch._C._len_torch_function_stack,
    torch._C._len_torch_dispatch_stack,
    torch._C._is_torch_function_enabled,
    torch._C._get_mkldnn_enabled,
    torch._C._get_math_sdp_enabled,
    torch._C._is_multithreading_enabled,
    torch._C._is_fwd_grad_enabled,
    torch._C._get_tracing_state,
    torch._C._functorch.peek_interpreter_stack,
    lambda: torch._C._autograd._top_saved_tensors_default_hooks(False),
    torch.sparse.check_sparse_tensor_invariants.is_enabled,
    torch.__future__.get_overwrite_module_params_on_conversion,
    torch.__future__.get_swap_module_params_on_conversion,
)
_PYTHON: tuple[Callable[[], Any], ...] = (
    gc.isenabled,
    gc.get_threshold,
    gc.get_debug,
    sys.gettrace,
    sys.getprofile,
    threading.gettrace,
    threading.getprofile,
    threading.active_count,
    sys.getrecursionlimit,
    sys.getswitchinterval,
    sys.get_int_max_str_digits,
    sys.get_asyncgen_hooks,
    sys.get_coroutine_origin_tracking_depth,
    atexit._ncallbacks,
    abc.get_cache_token,
    lambda: locale.setlocale(locale.LC_ALL),
    lambda: repr(decimal.getcontext()),
)
