"""A judge in a process of its own, and the coordinator's end of it.

The coordinator may die at any moment, and so may a judge: what either has started does not outlive it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from .intake.candidate import Candidate
from .results.report import Report
from .settings import CannotGrade, Settings


@dataclass(frozen=True)
class Failure:
    """What a judge gives in place of a report, for a fault that is not the student's."""

    reason: str


class JudgeProcess:
    """A judge that is starting, idle or at work, seen from the coordinator.

    Attributes:
        pipe: Readable when :meth:`answer` has something to give.
    """

    def __init__(self, settings: Settings) -> None:
        """Start it; it says None once it is ready."""
        context = _context()
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, settings), daemon=True)
        self._handle: int | None = None
        with theirs:
            try:
                self._process.start()
                self._handle = _handle(self._process)
            except (EOFError, OSError):  # the fork server is dying, and so is the pipe; the next judge gets a new one
                time.sleep(1)

    def ask(self, candidate: Candidate, failure: str | None) -> None:
        """Have it grade a candidate, or report that this cannot be done, because of ``failure``."""
        with contextlib.suppress(BrokenPipeError):  # it has just died, as its pipe is about to say
            self.pipe.send((candidate, failure))

    def answer(self) -> Report | Failure | None:
        """Its report, or what went wrong; None from a judge that is ready now.

        Raises:
            CannotGrade: If that is what it says.
        """
        try:
            if not self.pipe.poll():
                return Failure("the judge process stalled")
            answer: Report | Failure | CannotGrade | None = self.pipe.recv()
        except (EOFError, OSError):
            return Failure("the judge process died")
        if isinstance(answer, CannotGrade):
            raise answer
        return answer

    def kill(self) -> None:
        """End it now; what it has started ends by itself, for want of a parent."""
        self.pipe.close()
        if self._handle is not None and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        elif self._process.pid is not None:  # it has been started
            self._process.kill()

    def join(self) -> None:
        """Wait for the end of a killed judge."""
        if self._handle is not None:
            wait([self._handle])
            os.close(self._handle)
        elif self._process.pid is not None:
            self._process.join()


def _handle(process: BaseProcess) -> int | None:
    """What to end and await a process by; None where the process object itself can be relied on.

    Once the fork server has died, multiprocessing takes every process that it forked for finished, and would not end
    one that runs, or stands still.
    """
    return os.pidfd_open(process.ident) if sys.platform == "linux" and process.ident is not None else None


def _context() -> ForkServerContext | SpawnContext:
    """Processes that have imported torch and pytest once between them, where the system can fork."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.preload"])
    resource_tracker.ensure_running()  # first, as it changes the mask itself
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited, until preload has said what it does
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return context


def _serve(pipe: Connection, settings: Settings) -> None:
    """The judge process: says None when it is ready, then answers candidates until the coordinator hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_coordinator, daemon=True).start()
    try:
        from .grading import Grader  # with torch and pytest, which the coordinator can do without

        grader = Grader(settings)
        pipe.send(None)
        while True:
            candidate, failure = pipe.recv()
            pipe.send(grader.grade(candidate.read()) if failure is None else grader.give_up(candidate.id, failure))
    except CannotGrade as error:
        pipe.send(error)
    except (EOFError, OSError):  # the coordinator has gone
        os._exit(0)
    except BaseException as error:
        pipe.send(Failure("".join(traceback.format_exception_only(error)).strip()))


def _end_with_the_coordinator() -> None:
    """In a thread: end even in the middle of a submission. A pipe that stays open until then says when."""
    coordinator = multiprocessing.parent_process()
    if coordinator is not None:
        coordinator.join()
        os._exit(1)
