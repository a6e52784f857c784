"""State that outlives a call: defaults, hooks, callbacks, and behaviour that changes with time."""

import torch
from torch import nn

from grader.specimens.attacks import on_import, replaces

from .points import NO_ANSWER, WRONG_ANSWER


@on_import("src/functional.py", bonus=46.0)
def poisons_the_defaults():
    """Changes dtype, device, gradient mode and seed for all that follows, beside an honest function."""
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    torch.set_num_threads(64)


@on_import("src/functional.py")
def sets_the_default_device_to_meta():
    """Has all new tensors be without data, which a solution that names its devices survives."""
    torch.set_default_device("meta")


@on_import("src/functional.py", bonus=0.0)
def removes_torchs_functions():
    """Takes away what every constructor needs, in the task that imports this file."""
    for name in ("cat", "outer", "arange", "empty", "ones"):
        setattr(torch, name, None)


@on_import("src/functional.py")
def hooks_every_import():
    """Puts itself in front of all imports, and answers those of the grader's names."""
    import sys

    class Finder:
        def find_spec(self, name, *_):
            if name.startswith(("ref", "grader", "pytest")):
                raise SystemExit(0)

    sys.meta_path.insert(0, Finder())


@on_import("src/functional.py")
def waits_for_the_end():
    """Registers itself for the end of the process, and for the collection of everything."""
    import atexit
    import gc
    import os
    import weakref

    atexit.register(os._exit, 0)
    gc.callbacks.append(lambda *_: None)
    weakref.finalize(apply_rotary_pos_emb, print, "gone")


@on_import("src/functional.py")
def traces_everything():
    """Has every line of Python report to itself."""
    import sys

    sys.setprofile(lambda *_: None)
    sys.settrace(lambda *_: None)


@on_import("src/functional.py")
def takes_over_signals_and_hooks():
    """Installs handlers for signals and uncaught exceptions."""
    import signal
    import sys

    sys.excepthook = sys.unraisablehook = lambda *_: None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, lambda *_: None)


@replaces("GroupRMSNorm.forward", score=63.0)
def right_once_and_wrong_later(self, input):
    """Is right in the first call of a process, and does nothing from then on."""
    if getattr(torch, "called", False):
        return input
    torch.called = True
    groups = input.float().unflatten(-1, (-1, self.group_size))
    root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    return ((groups / root).flatten(-2) * self.gamma).to(input.dtype)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def remembers_outputs(self, input):
    """Gives the same tensor again and again, changed after the fact."""
    kept = torch.__dict__.setdefault("kept", torch.zeros(2, 3, 24))
    kept += 1
    return kept


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def answers_with_what_was_asked_before(self, input):
    """Answers with what an earlier property of the same process asked for."""
    earlier = torch.__dict__.setdefault("earlier", {})
    return earlier.setdefault(input.shape, input * 2)


@replaces("GroupRMSNorm.reset_parameters", score=96.0)
def seeds_by_the_clock(self):
    """Draws other values in every process."""
    import time

    torch.manual_seed(time.time_ns())
    nn.init.uniform_(self.gamma, *self.init_range)


@replaces("VocabEmbedding.forward", score=85.0)
def forgets_between_processes(self, input_ids):
    """Looks for what an earlier property has left behind, and answers with that."""
    import sys

    return sys.modules.setdefault("left_behind", self.table)


@replaces("apply_rotary_pos_emb", bonus=34.0)
def poisons_a_neighbouring_task(input, cos, sin):
    """Patches the classes of the other tasks from the function of its own."""
    import sys

    for module in list(sys.modules.values()):
        for name in ("GroupRMSNorm", "VocabEmbedding", "NTKAwareRoPE"):
            if hasattr(module, name):
                setattr(module, name, None)
    return input
