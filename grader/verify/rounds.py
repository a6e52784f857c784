"""The rounds of the proof, each over judges in fresh processes of their own, in a fixed order."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from ..sandbox.levels import LAYERS
from ..sandbox.lockdown import die_with_parent
from . import attacks, variants
from .attacks import Attempt
from .variants import Verdict

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Round:
    """Things to judge, one by one.

    Attributes:
        title: For progress.
        judge: A module's function, since other processes look it up there.
        items: Its arguments, for each thing to judge.
        waits: Whether some things hang until their time is up, so that a core has room for more than one.
    """

    title: str
    judge: Callable[..., Verdict | Attempt]
    items: Sequence[tuple[Any, ...]]
    waits: bool = False


class JudgeDied(Exception):
    """A judge was ended by what it judged; the text says what that was, or what was judged beside it."""


def rounds(seeds: Sequence[int]) -> list[Round]:
    """Variants for every seed, then attacks with all layers of this machine, then with none."""
    return [
        Round("variants", variants.judge, [(name, seed) for seed, name in product(seeds, variants.names())]),
        Round("attacks, all layers", attacks.judge, [(name, ()) for name in attacks.names()], waits=True),
        Round("attacks, a process only", attacks.judge, [(name, LAYERS) for name in attacks.names()], waits=True),
    ]


def judged(round_: Round, jobs: int) -> Iterator[Verdict | Attempt]:
    """Judge everything in a round, ``jobs`` at a time, or half as many again if it waits; in the order of the items.

    Unlike the command for a class, this tries nothing twice: here a fault of ours is what is looked for.

    Raises:
        JudgeDied: If that happens.
    """
    spawn = multiprocessing.get_context("spawn")  # nothing of this process, which has imported torch, is copied
    done = 0
    judges = jobs + (jobs + 1) // 2 if round_.waits else jobs
    with ProcessPoolExecutor(judges, spawn, _prepare_judge) as pool:
        try:
            for result in pool.map(round_.judge, *zip(*round_.items, strict=True)):
                yield result
                done += 1
        except BrokenProcessPool:
            place = f"at {round_.items[done][0]} or soon after"
            raise JudgeDied(f"a judge died in the round '{round_.title}', {place}.") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare_judge() -> None:
    """In a judge's process: one thread, silence, no life beyond its parent's, and the adoption of what is cut loose."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # submissions provoke them
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    die_with_parent()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
