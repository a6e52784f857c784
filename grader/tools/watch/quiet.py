"""Tells when a folder has changed and come to rest: sizes and times are looked at every now and then."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Seen = frozenset[tuple[str, int, int]]  # path, size and time of every file; folders have a size of -1


@dataclass(frozen=True)
class Pace:
    """How often to look, and how long to wait.

    Attributes:
        every_s: Seconds between two looks.
        settle_s: Seconds without any change after which an upload counts as finished.
        most_s: Seconds after which a folder that never comes to rest is graded as it is.
    """

    every_s: float = 1.0
    settle_s: float = 2.0
    most_s: float = 20.0


def changes(
    folder: Path,
    pace: Pace,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    beside: Sequence[Path] = (),
) -> Iterator[None]:
    """Yield at once, and again whenever the folder or a file ``beside`` it has changed and come to rest; never ends.

    What changes while the caller is at work is found at the next look.
    """
    known: Seen | None = None
    while True:
        now = seen(folder, *beside)
        if now == known:
            sleep(pace.every_s)
            continue
        began = last = clock()
        while known is not None and clock() - last < pace.settle_s and clock() - began < pace.most_s:
            sleep(pace.every_s)
            later = seen(folder, *beside)
            if later != now:
                now, last = later, clock()
        known = now
        yield


def seen(folder: Path, *beside: Path) -> Seen:
    """Every file and folder below ``folder``, and files ``beside`` it; what vanishes is left out, and so are links."""
    return frozenset(_entries(str(folder))) | seen_files(beside)


def seen_files(paths: Iterable[Path]) -> Seen:
    """Those of the files that are there."""
    return frozenset(_files(paths))


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in paths:
        with contextlib.suppress(OSError):
            status = path.stat()
            yield str(path), status.st_size, status.st_mtime_ns


def _entries(folder: str) -> Iterator[tuple[str, int, int]]:
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return
    for entry in listed:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield entry.path, -1, 0
            yield from _entries(entry.path)
        else:
            yield entry.path, status.st_size, status.st_mtime_ns
