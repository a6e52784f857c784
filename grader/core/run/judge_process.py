"""A judge in a process of its own: the handle in the parent, and the loop that the process runs.

Either may be killed at any moment. A judge ends when its parent dies, and its fork server ends when the judge dies.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Collection
from ctypes import Array, c_int
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir

from grader.core.bounds import bound_memory, bound_time
from grader.core.intake.submission import Submission
from grader.core.results.report import Report
from grader.core.settings import CannotGrade, Settings

NAME = "judge"
KEEP_S = 30.0  # after so many seconds without a submission a judge ends, since it holds some 100 MiB
CPU_S = 120  # CPU time of the judge itself for one submission; the reference takes a tenth of a second
MEMORY_MIB = 1024  # of address space that judging one submission may add
PARTING_S = 5.0  # how long to wait for the exit code of a judge that has closed its pipe
LOOK_S = 0.1  # between two looks at whether the job has been abandoned
ADDRESS_BYTES = 107 - len("/pymp-12345678/listener-12345678")  # for the folder of a socket; the kernel takes 107 in all
SHORT_FOLDER = "/tmp"  # for sockets, where TMPDIR is longer than that


class Abandoned(Exception):
    """The job has been cancelled while its judge was at work."""


@dataclass(frozen=True)
class Failure:
    """The result of a job whose judge has died, stalled or failed.

    Attributes:
        begun: Whether the judge had started on the submission, which may then have caused the failure.
        at: The id of the property that was being judged; empty if no code of the student's had run yet.
        of_its_limit: Whether the judge had used up its own CPU time, which only the submission can cause.
    """

    reason: str
    begun: bool = True
    at: str = ""
    of_its_limit: bool = False


class JudgeProcess:
    """The parent's handle of a judge process, used by one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        """Start the process. The first call of :meth:`answer` waits until it is ready."""
        self.settings = settings
        self.ready = False
        context = _context()
        self._pipe, theirs = context.Pipe()
        # Shared memory, since a message for each property would wake both processes: the number of the property that is
        # being judged, 0 before the first of a submission, and how many the judge has begun in its life.
        self._at = context.RawArray("i", 2)
        self._process = context.Process(
            target=_serve, args=(theirs, self._at, settings, KEEP_S), daemon=True, name=NAME
        )
        self._handle: int | None = None
        with theirs:
            try:
                self._process.start()
                self._handle = _handle(self._process)
            except (EOFError, OSError):  # the fork server is dying; `answer` says so, and the next judge gets a new one
                time.sleep(1)

    @property
    def alive(self) -> bool:
        """Whether the process is there; an idle judge ends by itself after ``KEEP_S``."""
        return self._process.is_alive()

    def ask(self, submission: Submission, failure: str | None, condemned: Collection[str] = ()) -> None:
        """Send a submission to grade without the properties ``condemned``, or with the ``failure`` to report."""
        self._at[0] = 0
        with contextlib.suppress(BrokenPipeError):  # the judge has just died; `answer` will say so
            self._pipe.send((submission, failure, frozenset(condemned)))

    def answer(self, within_s: float, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """Wait for the report, or for a failure; None means that the judge has started and is ready.

        The judge has ``within_s`` seconds, and as many again for each property that it starts on.

        Raises:
            Abandoned: As soon as ``abandoned()`` is true.
            CannotGrade: If the judge cannot grade with its settings.
        """
        try:
            if not self._wait(within_s, abandoned):
                return Failure("the judge process stalled", at=self._property())
            answer: Report | Failure | CannotGrade | None = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(PARTING_S)
            of_its_limit = self._process.exitcode == -signal.SIGXCPU
            return Failure("the judge process died", at=self._property(), of_its_limit=of_its_limit)
        if isinstance(answer, CannotGrade):
            raise answer
        self.ready = self.ready or answer is None
        return answer

    def _property(self) -> str:
        """The id of the property that is being judged, or the last; empty before the first of a submission."""
        return _ids(self.settings)[int(self._at[0])]

    def _wait(self, within_s: float, abandoned: Callable[[], bool]) -> bool:
        """Whether a message arrives within that time after the judge has last begun a property."""
        begun, end = self._at[1], time.monotonic() + within_s
        while not self._pipe.poll(max(0.0, min(LOOK_S, end - time.monotonic()))):
            if abandoned():
                raise Abandoned
            if self._at[1] != begun:
                begun, end = self._at[1], time.monotonic() + within_s
            elif time.monotonic() >= end:
                return False
        return True

    def end(self) -> None:
        """Kill the process and wait until it is gone. Its fork server and workers end with it."""
        self._pipe.close()
        if self._handle is not None and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            wait([self._handle])
            os.close(self._handle)
        elif self._process.pid is not None:  # it has been started
            self._process.kill()
            self._process.join()


def _ids(settings: Settings) -> list[str]:
    """Ids of properties; shared memory holds an index into this list."""
    return ["", *settings.assignment.rubric.properties]


def _handle(process: BaseProcess) -> int | None:
    """A file descriptor by which to kill a process and wait for it; None except on Linux.

    The ``process`` object is not enough: once multiprocessing's fork server has died, the object reports that the
    process has finished, and its ``kill()`` does nothing.
    """
    return os.pidfd_open(process.ident) if sys.platform == "linux" and process.ident is not None else None


def _context() -> ForkServerContext | SpawnContext:
    """How judges are started: forked from a server that has imported torch and pytest, or spawned if not on Linux."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.core.run.preload"])
    _keep_addresses_short()
    resource_tracker.ensure_running()  # before the next line, since it changes the signal mask, too
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # the fork server inherits this until `preload` undoes it
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return context


def _keep_addresses_short() -> None:
    """Let multiprocessing make its sockets in /tmp if the name of the folder for temporary files is too long for them.

    `get_temp_dir` creates the folder at its first call, and gives the same one from then on.
    """
    usual = tempfile.gettempdir()
    if len(os.fsencode(usual)) > ADDRESS_BYTES:
        tempfile.tempdir = SHORT_FOLDER
        try:
            get_temp_dir()
        finally:
            tempfile.tempdir = usual


def _serve(pipe: Connection, at: Array[c_int], settings: Settings, keep_s: float) -> None:
    """The judge process: send None when ready, then a report for each submission, until none comes for ``keep_s``."""

    def begin(property_id: str) -> None:
        at[0] = _ids(settings).index(property_id)
        at[1] += 1

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    try:
        from grader.core.judge.judge import Judge  # imports torch and pytest, which the parent does not need

        judge = Judge(settings)
        pipe.send(None)
        while pipe.poll(keep_s):
            submission, failure, condemned = pipe.recv()
            bound_time(CPU_S)
            if settings.device == "cpu":  # with a GPU, its driver reserves gigabytes of address space
                bound_memory(MEMORY_MIB)
            graded = partial(judge.grade, submission, condemned, begin)
            pipe.send(graded() if failure is None else judge.give_up(submission.id, failure))
    except CannotGrade as error:
        pipe.send(error)
    except (EOFError, OSError):  # the parent has gone
        os._exit(0)
    except BaseException as error:
        pipe.send(Failure("".join(traceback.format_exception_only(error)).strip()))


def _end_with_the_parent() -> None:
    """In a thread of the judge: end the process as soon as its parent has died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
