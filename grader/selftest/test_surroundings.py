"""What a submission leaves behind in its process is found, however it does so; what leaves nothing is not accused."""

from __future__ import annotations

import textwrap

import pytest
import torch

from grader.sandbox.exercise import FILES, exercise_requests
from grader.sandbox.handle import WorkerFailed
from grader.sandbox.launch import Zygote
from grader.sandbox.operations import Operations
from grader.sandbox.protocol import Message

pytestmark = pytest.mark.process

ONES = torch.ones(2)
LIMIT_S = 20.0

LEAKS = {
    # names
    "attribute_of_torch": "torch.called = True",
    "attribute_of_a_module": "import json; json.called = 1",
    "attribute_of_a_package": "import collections.abc; collections.abc.called = 1",
    "attribute_of_a_class": "torch.nn.Linear.called = 1",
    "attribute_of_a_class_elsewhere": "import json; json.JSONEncoder.called = 1",
    "attribute_of_a_function": "torch.nn.functional.relu.called = 1",
    "attribute_of_a_function_elsewhere": "import textwrap; textwrap.dedent.called = [torch.ones(1)]",
    "builtin_replaced": "import builtins; builtins.abs = len",
    "builtin_added": "import builtins; builtins.called = 1",
    "function_replaced": "torch.cat = len",
    "function_wrapped": "old = torch.rsqrt; torch.rsqrt = lambda x: old(x)",
    "method_replaced": "torch.Tensor.float = torch.Tensor.double",
    "method_wrapped": "old = torch.nn.Module.__call__; torch.nn.Module.__call__ = lambda *a, **k: old(*a, **k)",
    "method_wrapped_elsewhere": "import fractions; fractions.Fraction.limit_denominator = lambda *_: None",
    "function_of_a_rare_module_wrapped": "import textwrap; textwrap.wrap = lambda *_: []",
    "constant_changed": "import math; math.pi = 3",
    "name_removed": "del torch.nn.functional.relu",
    "default_of_a_function": "import textwrap; textwrap.fill.__defaults__ = (ONE := [torch.ones(1)],)",
    "closure": "kept = torch.zeros(1); torch.nn.functional.kept = lambda: kept",
    # modules
    "module_added": "import sys, types; sys.modules['called'] = types.ModuleType('called')",
    "module_replaced": "import sys; sys.modules['json'] = sys",
    "module_removed": "import sys; sys.modules.pop('fractions')",
    "finder": "import sys; sys.meta_path.append(type('F', (), {'find_spec': lambda *_: None})())",
    "path": "import sys; sys.path.append('/nowhere')",
    # collections
    "item_of_a_list": "import keyword; keyword.kwlist.append('called')",
    "item_of_a_dict": "import sys; sys.path_importer_cache['/nowhere'] = None",
    "item_of_a_set": "import copy, keyword; copy._deepcopy_dispatch[Mine := type('Mine', (), {})] = len",
    "environment": "import os; os.environ['CALLED'] = '1'",
    "environment_changed": "import os; os.environ['HOME'] = '/'",
    "cache_of_a_function": "import functools, operator; functools.kept = functools.lru_cache(len)",
    # the interpreter
    "trace": "import sys; sys.settrace(lambda *_: None)",
    "profile": "import sys; sys.setprofile(lambda *_: None)",
    "trace_of_threads": "import threading; threading.settrace(len)",
    "callback_of_the_collector": "import gc; gc.callbacks.append(len)",
    "collector_off": "import gc; gc.disable()",
    "collector_threshold": "import gc; gc.set_threshold(7)",
    "end_of_the_process": "import atexit; atexit.register(len, ())",
    "finalizer": "import weakref; weakref.finalize(torch.nn.Linear, len, ())",
    "recursion_limit": "import sys; sys.setrecursionlimit(5000)",
    "integer_digits": "import sys; sys.set_int_max_str_digits(0)",
    "exception_hook": "import sys; sys.excepthook = print",
    "output": "import io, sys; sys.stdout = io.StringIO()",
    "signal_handler": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "warnings_filter": "import warnings; warnings.simplefilter('error')",
    "warnings_caught": "import warnings; warnings.showwarning = print",
    "codec": "import codecs; codecs.register(lambda name: None)",
    "error_handler": "import codecs; codecs.register_error('strict', codecs.ignore_errors)",
    "context_variable": "import contextvars; contextvars.ContextVar('called').set(1)",
    "decimal_context": "import decimal; decimal.getcontext().prec = 5",
    "abstract_class": "import collections.abc; collections.abc.Sequence.register(torch.Tensor)",
    "pickler": "import copyreg; copyreg.pickle(torch.Generator, lambda g: (len, ()))",
    "reference_cycle_in_the_open": "import gc; kept = []; kept.append(kept); gc.get_objects.__self__.kept = kept",
    # torch
    "default_dtype": "torch.set_default_dtype(torch.float64)",
    "default_device": "torch.set_default_device('meta')",
    "gradients_off": "torch.set_grad_enabled(False)",
    "inference_mode": "torch.kept = torch.inference_mode(); torch.kept.__enter__()",
    "anomaly_mode": "torch.autograd.set_detect_anomaly(True)",
    "deterministic": "torch._C._set_deterministic_algorithms(True)",
    "precision": "torch.set_float32_matmul_precision('medium')",
    "small_numbers": "torch.set_flush_denormal(True)",
    "autocast": "torch.autocast('cpu', torch.bfloat16).__enter__()",
    "autocast_dtype": "torch.set_autocast_dtype('cpu', torch.float16)",
    "function_mode": "torch.overrides.TorchFunctionMode().__enter__()",
    "dispatch_mode": "from torch.utils._python_dispatch import TorchDispatchMode; TorchDispatchMode().__enter__()",
    "saved_tensors_hooks": "torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()",
    "hook_of_all_modules": "torch.nn.modules.module.register_module_forward_hook(lambda *_: None)",
    "kernel": "kept = torch.library.Library('called', 'DEF'); torch.nn.kept = kept",
    "mkldnn": "torch._C._set_mkldnn_enabled(False)",
    "gradients_of_a_shared_tensor": "torch.nn.functional.kept = torch.ones(1, requires_grad=True)",
    "module_state": "torch.__future__.set_swap_module_params_on_conversion(True)",
}
INNOCENT = {
    "nothing": "pass",
    "memory_of_its_own": "kept.append(torch.ones(3)); kept.append(kept)",
    "random_numbers": "import random; torch.manual_seed(3); torch.rand(3); random.seed(4); random.random()",
    "an_exception": "raise ValueError('refused')",
    "a_module_with_gradients": "kept.append(torch.nn.Linear(2, 2)); kept[0](ONES).sum().backward()",
    "annotations": "from typing import Optional, Union; kept.append(Optional[Union[int, 'torch.Tensor']])",
    "regular_expressions": "import re; re.match('a+b', 'aab')",
    "modes_that_end": "with torch.no_grad(), torch.inference_mode(), torch.autocast('cpu'): torch.dot(ONES, ONES)",
    "a_forked_generator": "with torch.random.fork_rng(devices=[]): torch.manual_seed(1)",
    "a_data_class": "import dataclasses; kept.append(dataclasses.make_dataclass('Point', ['x', 'y'])(1, 2))",
    "a_cached_function": "import functools; functools.lru_cache(lambda n: torch.ones(n))(3)",
    "a_sibling": "from . import sibling; sibling.kept = torch.ones(1)",
    "a_custom_function": (
        "f = type('F', (torch.autograd.Function,), {'forward': staticmethod(lambda c, x: x * 2),"
        " 'backward': staticmethod(lambda c, g: g * 2)}); f.apply(torch.ones(1, requires_grad=True)).sum().backward()"
    ),
}


def answers(zygote: Zygote, body: str, at_import: bool = False) -> list[list[bytes] | None]:
    """What a process says in which a call, or the import, runs ``body``, when two batches ask for that call twice."""
    setting = "import torch\nkept, ONES = [], torch.ones(2)\n"
    call = "pass" if at_import else body
    text = f"{setting}{body if at_import else ''}\n\ndef call(x):\n{textwrap.indent(call, '    ')}\n    return x\n"
    requests = Message()
    requests.add([("load", {"module": "src.functional", "name": "call", "bare_packages": False})])
    requests.add([("call", {"target": "call", "arguments": [ONES]})])
    packed = torch.frombuffer(bytearray(requests.packed()), dtype=torch.uint8)
    zygote.keep([packed] * 4)
    worker = zygote.start({"src/functional.py": text, "src/sibling.py": ""})
    try:
        worker.ask_ahead([0, 1], False)
        worker.ask_ahead([2, 3], False)
        return [worker.answer_ahead(LIMIT_S), worker.answer_ahead(LIMIT_S)]
    except WorkerFailed:
        return [None]
    finally:
        worker.close()


def test_the_exercise_does_what_it_says() -> None:
    """Its last three requests are mistakes on purpose; any other error would leave work undone."""
    operations = Operations(FILES)
    errors = ["error" in operations.perform(request) for request in exercise_requests("cpu")]
    operations.forget()
    assert errors == [False] * (len(errors) - 3) + [True] * 3


@pytest.mark.parametrize("at_import", [False, True], ids=["when_called", "when_imported"])
@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_what_is_left_behind_ends_the_process(zygote: Zygote, leak: str, at_import: bool) -> None:
    assert not any(answers(zygote, leak, at_import))


@pytest.mark.parametrize("body", INNOCENT.values(), ids=INNOCENT)
def test_what_leaves_nothing_behind_does_not(zygote: Zygote, body: str) -> None:
    first, second = answers(zygote, body)
    assert first
    assert len({*first, *(second or [b""])}) == 1  # the same replies to each property
