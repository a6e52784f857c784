"""What outlives a submission's modules in its process, and whether it is as it was. Runs on the untrusted side.

Three looks, each for what the others miss. What a submission has made and what is still there when its own modules are
gone is found by the garbage collector, wherever it hides. What it has put in the place of something, or taken away, is
found by identity in the namespaces that solutions use, and by size in all others. Settings are compared one by one.

Looking costs: to count a reference to an object is to write on its page, which a forked process then copies. So the
fork server does what can be done once, and sizes are read through views that stand beside each other.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import torch
from torch import nn

from . import second_device

# Where a name may be given to something else that exists already; something new is found wherever it is put.
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
ATOM = -1.0  # its own name, so that no compiler computes with it


class Surroundings:
    """Everything as it is before any student code."""

    def __init__(self) -> None:
        """Look, in the fork server; where a worker is locked, some of this could not be read any more."""
        self._settings = _settings()  # first, since to ask for some is to import what answers
        self._waiting_seeds = [(vars(tracker), dict(vars(tracker))) for tracker in _waiting_seeds()]
        _empty_caches()
        self._random = [(give_back, state()) for state, give_back in _random_numbers()]
        self._compared = [(space, list(space), list(space.values())) for space in _compared()]
        self._views = list(_views())
        self._sizes = list(map(operator.length_hint, self._views))

    def enter(self) -> None:
        """Take all that there is for known, in the worker, before it has met student code."""
        gc.collect()
        gc.freeze()

    def restore(self) -> bool:
        """Give random numbers their old state, and say whether everything else still is, or again, as it was."""
        for give_back, state in self._random:
            give_back(state)
        for waiting, old in self._waiting_seeds:
            waiting.update(old)
        _empty_caches()
        gc.collect()
        if gc.get_objects():  # before anything is made here
            return False
        try:
            return _settings() == self._settings and self._names_are_as_they_were()
        except Exception:  # whoever breaks the comparison has changed something
            return False

    def _names_are_as_they_were(self) -> bool:
        if list(map(operator.length_hint, self._views)) != self._sizes:
            return False
        # Lists compare identical elements as equal without asking them.
        return all(list(space) == names and _same(space.values(), old) for space, names, old in self._compared)


def _same(values: Iterable[object], others: Iterable[object]) -> bool:
    return all(map(operator.is_, values, others))


def _random_numbers() -> Iterator[tuple[Callable[[], Any], Callable[[Any], object]]]:
    """For each source of random numbers, what gives its state and what sets it."""
    yield random.getstate, random.setstate
    yield torch.get_rng_state, torch.set_rng_state
    if device := getattr(torch, second_device.NAME, None):
        yield device.get_rng_state, device.set_rng_state


def _waiting_seeds() -> Iterator[Any]:
    """Where ``torch.manual_seed`` keeps seeds for devices that nobody has used yet."""
    for device in (torch.cuda, torch.xpu, torch.mtia):
        yield device._lazy_seed_tracker


def _empty_caches() -> None:
    """Those of the standard library that anybody fills, and nobody can tell by."""
    re.purge()
    linecache.clearcache()
    for empty in typing._cleanups:  # type: ignore[attr-defined] # as the standard library's own tests do it
        empty()


def _compared() -> list[Mapping[str, Any]]:
    return [vars(space) for space in (*CLASSES, *(sys.modules[name] for name in MODULES))]


def _views() -> Iterator[Any]:
    """Views of every module's namespace, of the collections and classes in it, and of the attributes of some functions.

    The length of a view is that of what it shows; to ask for it counts no reference to that.
    """
    modules = [vars(module) for module in sys.modules.values() if isinstance(module, ModuleType)]
    held = [value for module in modules for value in module.values()]
    functions = [value for space in _compared() for value in space.values() if isinstance(value, FunctionType)]
    collections = [*modules, *(value for value in held if isinstance(value, list | set | dict))]
    collections += [vars(value) for value in (*held, *functions) if isinstance(value, type | FunctionType)]
    for collection in {id(collection): collection for collection in collections}.values():
        yield iter(collection) if isinstance(collection, list | set) else MappingProxyType(collection)


def _settings() -> Sequence[Any]:
    """What can be asked for, and compared by value."""
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
        (5e-324 * ATOM).hex(),  # zero, where small numbers are flushed; as text, since comparing flushes them too
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
