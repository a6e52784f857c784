"""A second device for machines that have only one: plain tensors on ``gpu:0`` whose bytes lie in the CPU's memory.

torch has a device type named PrivateUse1 that anybody may implement. Every operation on its tensors passes through
torch's own C++ as it does for a GPU (autograd, type promotion, the check that all tensors are on one device), and ends
in :mod:`.compute`, which has the CPU do it on the same bytes. Nothing is compiled, and no thread is started.

The package depends on torch alone: workers and the judge install it, and so does ``make test``. It uses
private interfaces of torch; when one of them breaks, ``grader/selftest/test_second_device.py`` says which.
"""

from __future__ import annotations

import warnings

import torch
from torch import nn
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from .backend import DEVICE, LABEL, NAME, Backend, Generator, NotSimulated, is_here, lacks, unless_dense
from .compute import direct, exchange_data, fallback

__all__ = [
    "DEVICE",
    "LABEL",
    "NAME",
    "NotSimulated",
    "Unavailable",
    "install",
    "is_here",
    "lacks",
]

_OTHER_LAYOUTS = ("SparsePrivateUse1", "SparseCsrPrivateUse1", "NestedTensorPrivateUse1", "QuantizedPrivateUse1")


class Unavailable(Exception):
    """The device does not work with this version of torch; the text says why."""


def install() -> None:
    """Make the device known to this process, once; backward stays in the thread that calls this.

    Raises:
        Unavailable: If this torch refuses, or the device does not work.
    """
    try:
        if not getattr(getattr(torch, NAME, None), "works", False):  # after a failure, it is tried again
            with warnings.catch_warnings(action="ignore"):  # what torch has to say about its own interfaces
                _register()
            _try_it()
            getattr(torch, NAME).works = True
        torch.autograd.set_multithreading_enabled(False)  # of this thread
    except Exception as error:  # anything: these interfaces are private
        raise Unavailable(f"torch {torch.__version__}: {type(error).__name__}: {error}") from error


def _register() -> None:
    # The first backward starts a thread for each device but the CPU; here it runs before there is another device.
    torch.ones((), requires_grad=True).backward()
    torch.autograd.set_multithreading_enabled(False)
    backend = Backend()
    _setup_privateuseone_for_python_backend(NAME, backend)
    fallbacks, aten = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
    fallbacks.fallback(fallback, "PrivateUse1")
    fallbacks.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")  # autocast changes no dtype here
    for layout in _OTHER_LAYOUTS:
        fallbacks.fallback(unless_dense, layout)
    for op, function in direct():
        aten.impl(op, function, "PrivateUse1")
    for lazy in ("Conjugate", "Negative"):  # torch resolves these bits by a copy, which would again ask to resolve them
        aten.impl("_copy_from", torch.library.fallthrough_kernel, lazy)
    backend.libraries = (fallbacks, aten)
    torch.Generator = Generator  # type: ignore[assignment, misc] # a class takes the place of a class
    exchange_data()


def _try_it() -> None:
    """Try random numbers, a view, a gradient and a copy to the CPU, before anybody relies on them."""
    source = torch.Generator(DEVICE).manual_seed(0)
    layer = nn.Linear(3, 2, device=DEVICE)
    (layer(torch.randn(2, 3, generator=source, device=DEVICE))[:, :1] * 2).sum().backward()
    gradient = layer.weight.grad
    if gradient is None or not is_here(gradient.device) or gradient.cpu()[1].any():
        raise RuntimeError("a gradient came out wrong")
