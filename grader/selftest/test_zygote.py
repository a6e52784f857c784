"""The fork server leaves nothing behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.sandbox.launch import Worker, WorkerFailed, Zygote
from grader.sandbox.limits import Limits

SPIN = {"src/functional.py": "def spin(): \n    while True: pass\n"}
LOAD = ("load", {"module": "src.functional", "name": "spin", "bare_packages": False})
CALL = ("call", {"target": "spin", "arguments": []})


def descendants(ancestor: int) -> set[int]:
    """Every living process below another, from /proc."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:  # it has just ended
                continue
            if state != "Z":
                parents[int(entry.name)] = int(parent)
    found = {ancestor} & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def living(processes: set[int]) -> set[int]:
    """Those of the processes that still run, whoever has become their parent."""
    return {pid for pid in processes if descendants(pid)}


def spinning(zygote: Zygote) -> Worker:
    """A worker whose code runs for ever when it is called."""
    worker = zygote.start(SPIN)
    assert worker.request([LOAD], 5.0) == {"value": None}
    return worker


def test_a_worker_that_is_given_up_on_is_gone(zygote: Zygote) -> None:
    before = descendants(zygote._process.pid)
    worker = spinning(zygote)
    assert descendants(zygote._process.pid) > before
    with pytest.raises(WorkerFailed, match="no answer in time"):
        worker.request([CALL], 0.3)
    assert descendants(zygote._process.pid) == before


def test_after_closing_nothing_is_left_running() -> None:
    """Neither a worker that waits, nor one that spins, nor one that nobody has ended."""
    zygote = Zygote(Limits())
    waiting, busy, ended = (spinning(zygote) for _ in range(3))
    ended.close()
    busy._channel.send({"operations": [CALL]})
    processes = descendants(zygote._process.pid)
    assert len(processes) >= 3
    zygote.close()
    assert living(processes) == set()
    for worker in (waiting, busy):
        worker._channel.close()


def test_a_closed_worker_can_be_closed_again(zygote: Zygote) -> None:
    worker = zygote.start(SPIN)
    worker.close()
    worker.close()
    assert zygote.start(SPIN).request([LOAD], 5.0) == {"value": None}


def test_a_worker_starts_in_milliseconds(zygote: Zygote) -> None:
    """The point of forking: importing torch takes more than a second. The fastest of five, on a busy machine."""
    times = []
    for _ in range(5):
        started = time.monotonic()
        worker = zygote.start(SPIN)
        worker.request([LOAD], 5.0)
        times.append(time.monotonic() - started)
        worker.close()
    assert min(times) < 0.5
