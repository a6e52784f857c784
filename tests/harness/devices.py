"""The devices that the tests run on, with a simulated one for machines that have no GPU."""

import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

import torch

from .rubric import ROOT, SOURCE

# Students get a copy of the package beside this file; in the course's own repository it is only in ``grader``.
PLACES = (Path(__file__).with_name("second_device"), ROOT / "grader" / "core" / "sandbox" / "second_device")
MOST_CAUSES = 8  # of an exception, that are searched
ONLY_CPU = os.environ.get("DEVICE") == "cpu"  # as in `make test DEVICE=cpu`


def real_devices() -> list[str]:
    """``cpu``, and ``cuda`` if there is a GPU that torch can use."""
    gpu = torch.backends.cuda.is_built() and torch.cuda.is_available() and not ONLY_CPU
    return ["cpu", "cuda"] if gpu else ["cpu"]


@cache
def second_device() -> str | None:
    """The GPU, or a simulated device: tensors in the CPU's memory that torch treats as tensors on another device.

    Returns:
        The name of the device; None with ``DEVICE=cpu``, or if there is no GPU and this torch has no simulation.
    """
    if ONLY_CPU or "cuda" in real_devices():
        return None if ONLY_CPU else "cuda"
    if not any(place.is_dir() for place in PLACES):
        return None
    package = _simulation()
    try:
        package.install()
    except package.Unavailable:
        return None
    return package.DEVICE


def says_nothing(error: BaseException) -> bool:
    """Whether a failure on the simulated device may be the simulation's: it lacks something, or is asked for CUDA."""
    if second_device() in (None, "cuda"):
        return False
    package, causes = sys.modules["second_device"], [error]
    while causes[-1] is not None and len(causes) < MOST_CAUSES:
        causes.append(causes[-1].__cause__ or causes[-1].__context__)
    if any(type(cause).__name__ == package.NotSimulated.__name__ for cause in causes):
        return True
    return any(package.asks_for_cuda(path.read_text("utf-8", "replace")) for path in SOURCE.rglob("*.py"))


def _simulation():
    """Import the simulation from its folder by path, since it belongs to no package that could be imported."""
    folder = next(place for place in PLACES if place.is_dir())
    init = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location("second_device", init, submodule_search_locations=[str(folder)])
    package = sys.modules["second_device"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package
