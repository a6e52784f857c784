"""The fork server leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader import PACKAGE, REPOSITORY
from grader.core.sandbox import started as starting
from grader.core.sandbox import trial
from grader.core.sandbox import zygote as zygote_module
from grader.core.sandbox.handle import Worker, WorkerFailed
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import LAYERS, Level, Limits
from grader.core.sandbox.protocol import GO_ON, pack
from grader.lab.processes import descendants
from grader.selftest.borrowed import ADDRESS
from grader.selftest.warm import WarmPython

from .faulty import survivors

pytestmark = pytest.mark.process

SPIN = {"src/work.py": "def spin(): \n    while True: pass\n"}
LOAD = ("load", {"module": "src.work", "name": "spin"})
LEAVE_S = 60.0  # on a busy machine
CALL = ("call", {"target": "spin", "arguments": []})


def spinning(zygote: Zygote) -> Worker:
    """A worker whose code runs for ever when it is called."""
    worker = zygote.start(SPIN)
    assert worker.request([LOAD], 5.0) == {"value": None}
    return worker


def test_a_worker_that_is_given_up_on_is_gone(zygote: Zygote) -> None:
    assert zygote.isolation.held  # it is ready
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
    busy._channel.send(GO_ON + pack([[CALL]]))
    processes = descendants(zygote._process.pid)
    assert len(processes) >= 3
    zygote.close()
    assert survivors(processes, LEAVE_S) == []
    for worker in (waiting, busy):
        worker._channel.close()


def test_a_fork_server_whose_judge_died_before_it_woke_does_not_start() -> None:
    """Not even to import torch, which would take its time."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    with theirs:
        arguments = (starting.START, str(REPOSITORY), str(theirs.fileno()))
        started = subprocess.run(
            [sys.executable, "-sPB", "-X", "importtime", "-c", *arguments],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
            check=True,
        )
    assert "grader.core.sandbox.lockdown" in started.stderr
    assert "torch" not in started.stderr


NEVER_IMPORTS = """
import sys, time
sys.addaudithook(lambda event, arguments: event == "import" and arguments[0] == "torch" and time.sleep(600))
"""


def test_a_judge_that_dies_while_its_fork_server_starts_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At any moment of the start: where torch's import never ends, a fork server that goes on with it is left."""
    monkeypatch.setattr(starting, "START", NEVER_IMPORTS + starting.START)
    for milliseconds in range(0, 120, 12):
        judge = os.fork()
        if judge == 0:
            with contextlib.suppress(BaseException):
                Zygote(Limits(), without=["namespaces"])
                time.sleep(60)
            os._exit(0)
        time.sleep(milliseconds / 1000)
        family = descendants(judge)
        os.kill(judge, 9)
        os.waitpid(judge, 0)
        assert survivors(family, LEAVE_S) == []


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> subprocess.Popen[bytes]:
    """A fork server that was started for the next process that is forked from this one; later ones are lent."""
    monkeypatch.setattr(starting, "GPU_SIGNS", ())
    monkeypatch.setattr(starting, "_AHEAD", [])
    with monkeypatch.context() as patch:
        patch.delenv(ADDRESS, raising=False)
        starting.start_ahead()
    return starting._AHEAD[0].process


def test_a_fork_server_that_was_started_ahead_is_taken_over_once(ahead: subprocess.Popen[bytes]) -> None:
    for mine in (True, False):
        judge = os.fork()
        if judge == 0:
            status = 1
            with contextlib.suppress(BaseException):
                zygote = Zygote(Limits())
                taken = zygote._process.pid == ahead.pid
                zygote.start({}).close()
                zygote.close()
                status = 0 if taken is mine else 2
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(judge, 0)[1]) == 0
    assert ahead.wait(60) == 0


def test_a_fork_server_that_was_started_ahead_ends_where_another_is_wanted(ahead: subprocess.Popen[bytes]) -> None:
    assert starting.taken_over(cuda=False, contained=False) is None
    assert ahead.wait(60) == 0


def test_a_fork_server_that_was_started_ahead_ends_with_its_judge(ahead: subprocess.Popen[bytes]) -> None:
    judge = os.fork()
    if judge == 0:
        os._exit(0)  # without asking it for anything
    os.waitpid(judge, 0)
    assert ahead.wait(60) == 0


def test_none_is_started_ahead_where_there_may_be_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "GPU_SIGNS", ("/proc",))
    monkeypatch.setattr(starting, "_AHEAD", [])
    starting.start_ahead()
    assert starting._AHEAD == []


def test_a_fork_server_with_a_second_thread_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    thread = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); "
    monkeypatch.setattr(starting, "START", thread + starting.START)
    zygote = Zygote(Limits())
    with pytest.raises(RuntimeError, match="the fork server has died"):
        _ = zygote.isolation
    zygote.close()
    assert "the fork server has a second thread" in capfd.readouterr().err


def have_huge_pages(*processes: int) -> list[bool]:
    """Whether each of them, or a process below it, has some, where the kernel tells."""
    trees = ([Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in descendants(top)] for top in processes)
    return [bool(re.search(r"AnonHugePages: +[1-9]", "".join(texts))) for texts in trees]


def test_the_container_shows_every_file_of_ours_that_the_fork_server_imports(run: WarmPython) -> None:
    """Also where bubblewrap is missing: there, no container would fail for lack of one."""
    imported = run.imported(REPOSITORY, zygote_module.__name__)
    shown = [PACKAGE / name for name in starting.OURS]
    assert [file for file in imported if not any(map(file.is_relative_to, shown))] == []
    assert len(imported) > 10


def test_the_container_leaves_the_heap_its_huge_pages(zygote: Zygote) -> None:
    """Forking takes three times as long without, and glibc asks a file under ``/sys`` whether there are any."""
    open_to_all = Zygote(Limits(), without=["namespaces"])
    assert zygote.isolation
    assert open_to_all.isolation
    assert len({*have_huge_pages(zygote._process.pid, open_to_all._process.pid)}) == 1
    open_to_all.close()


NO_LINUX = """
import sys
sys.platform = "another"
def refuse(event, arguments):
    opens_proc = event == "open" and str(arguments[0]).startswith("/proc")
    if opens_proc or (event, arguments[1:]) == ("ctypes.dlsym", ("prctl",)):
        raise OSError(f"there is no {arguments}")
sys.addaudithook(refuse)
"""


def test_without_linux_processes_and_their_limits_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    """What macOS has: no prctl, no /proc, no layer. A worker starts, computes, and ends when it takes too long."""
    monkeypatch.setattr(starting, "START", NO_LINUX + starting.START)
    zygote = Zygote(Limits(), without=LAYERS)
    assert zygote.isolation.level is Level.PROCESS
    worker = spinning(zygote)
    with pytest.raises(WorkerFailed, match="no answer in time"):
        worker.request([CALL], 0.3)
    family = descendants(zygote._process.pid)
    zygote.close()
    assert survivors(family, LEAVE_S) == []


def test_a_trial_that_dies_is_no_proof_that_a_layer_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "_attack", lambda *_: os._exit(0))
    assert trial.layers_that_hold(["seccomp"], Limits(), False) == {"seccomp": "it exited without an answer"}
