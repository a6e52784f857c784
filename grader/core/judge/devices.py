"""The devices that cases run on: the CPU, and beside it a GPU or a simulated second device."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import torch

from grader.core.messages import Message, Part, quoted, say
from grader.core.settings import CannotGrade
from grader.shared import second_device
from grader.shared.second_device.backend import LABEL
from grader.shared.source_rules import asks_for_cuda, nodes_of

from .faults import Crashed, StudentFault

ASKS_FOR_CUDA = "assessed on a GPU only: {path} checks for CUDA, and the simulated device is not CUDA"
MOST_READ = 512  # files; more than one submission has
NONE = "none"  # in place of a second device where there is none: cases that need one are not assessed


def devices(choice: str) -> tuple[str, ...]:
    """The devices that ``--device`` means on this machine; a simulated one among them is installed in this process.

    Raises:
        CannotGrade: If a GPU was asked for and there is none.
    """
    gpu = torch.cuda.is_available()
    if choice == "cuda" and not gpu:
        raise CannotGrade("--device cuda: torch finds no CUDA device here. Omit the option to grade on the CPU.")
    if choice != "auto":
        return ("cuda:0",) if choice == "cuda" else ("cpu",)
    if gpu:
        return ("cpu", "cuda:0")
    return ("cpu",) if why_not_simulated() else ("cpu", second_device.DEVICE)


def why_not_simulated() -> str:
    """Install the simulated device; the reason if this torch cannot have one, else an empty text."""
    try:
        second_device.install()
    except second_device.Unavailable as error:
        return str(error)
    return ""


def others(chosen: Sequence[str]) -> tuple[str, ...]:
    """The devices that cases about a second device run on; ``none`` if there is only the CPU."""
    return tuple(device for device in chosen if device not in ("cpu", NONE)) or (NONE,)


def label(device: str | torch.device) -> Message:
    """What reports call a device."""
    return say(LABEL) if second_device.is_here(device) else quoted(str(device))


def why_not_assessed(fault: StudentFault, device: str, files: Mapping[str, str]) -> Message | None:
    """Why a fault on the simulated device does not count (a difference from a GPU); None if it counts.

    Args:
        fault: What became of a case on that device.
        device: Its name.
        files: What may be behind the fault, path to source text.
    """
    if not second_device.is_here(device):
        return None
    if isinstance(fault, Crashed) and fault.lacking:
        return say(
            "assessed on a GPU only: the simulated device does not support {what}",
            what=Message(Part(fault.lacking, {})),
        )
    asking = next((path for path, text in files.items() if _seen_in(text)[0]), "")
    return say(ASKS_FOR_CUDA, path=asking) if asking else None


def with_imports(paths: Collection[str], files: Mapping[str, str]) -> dict[str, str]:
    """The existing ones of these files, and the files that they import, directly or not, under any name."""
    found: dict[str, str] = {}
    waiting = [path for path in paths if path in files]
    named = {path: path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2] for path in files}
    while waiting:
        if (path := waiting.pop()) in found:
            continue
        found[path] = files[path]
        _, modules = _seen_in(files[path])
        waiting += [other for other, name in named.items() if name in modules and other not in found]
    return found


@lru_cache(MOST_READ)
def _seen_in(text: str) -> tuple[bool, frozenset[str]]:
    """Whether a file checks for CUDA, and the names that it imports; parsing all files takes up to half a minute."""
    nodes, named = nodes_of(text), list[str]()
    for node in nodes:
        match node:
            case ast.Import(names=aliases):
                named += [alias.name for alias in aliases if alias.name.partition(".")[0] != "torch"]
            case ast.ImportFrom(module=module, level=level, names=aliases):
                if level or str(module).partition(".")[0] != "torch":  # torch.nn.functional is no file of src/
                    named += [module or "", *(alias.name for alias in aliases)]
    return asks_for_cuda(nodes), frozenset(name.rpartition(".")[2] for name in named)
