"""Proves the grader: right work keeps its points, wrong work loses exactly the expected ones, attacks gain none.

In each round of ``grader verify`` new processes judge the items; results come in the items' order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import product
from typing import Any

from grader.core.assignment import Assignment
from grader.core.messages import UserError
from grader.core.sandbox.limits import LAYERS
from grader.lab.pool import pool

from . import attacks, both_ways, variants
from .page import Result


@dataclass(frozen=True)
class Round:
    """Items to judge, one by one.

    Attributes:
        title: The text beside the progress bar.
        judge: Judges one item; a module-level function, because other processes import it by name.
        items: The arguments of ``judge`` for each item.
        waits: Whether some items hang until a time limit, so that a core can serve more than one process.
    """

    title: str
    judge: Callable[..., Result]
    items: Sequence[tuple[Any, ...]]
    waits: bool = False


class JudgeDied(UserError):
    """An item killed the process that judged it; the message names an item near it."""

    code = 3


def rounds(assignment: Assignment, seeds: Sequence[int], all_styles: bool = False) -> list[Round]:
    """Variants for every seed, attacks with all layers and with none, everything with and without --plain, styles."""
    known, hostile = variants.known(assignment), attacks.known(assignment)
    numbers = variants.style_numbers(assignment, seeds, all_styles)
    return [
        Round("variants", variants.judge, [(assignment, name, seed) for seed, name in product(seeds, known)]),
        Round("attacks, all layers", attacks.judge, [(assignment, name, ()) for name in hostile], waits=True),
        Round("attacks, a process only", attacks.judge, [(assignment, name, LAYERS) for name in hostile], waits=True),
        Round("everything, with and without --plain", both_ways.judge, both_ways.items(assignment, seeds), waits=True),
        Round("styles", variants.judge_style, [(assignment, n, way) for way, n in product(variants.WAYS, numbers)]),
    ]


def judged(round_: Round, jobs: int) -> Iterator[Result]:
    """Judge all items of a round, ``jobs`` at a time, or half as many more if some wait; results in the items' order.

    Nothing is retried, unlike in a class, so that grader faults show.

    Raises:
        JudgeDied: If a process that judges dies.
    """
    done = 0
    judges = jobs + jobs // 2 if round_.waits else jobs
    try:
        with pool(judges) as processes:
            for result in processes.map(round_.judge, *zip(*round_.items, strict=True)):
                yield result
                done += 1
    except BrokenProcessPool:
        name = next(part for part in round_.items[done] if not isinstance(part, Assignment))
        place = f"at {name} or soon after"
        raise JudgeDied(f"a judge died in the round '{round_.title}', {place}.") from None
