"""A judge in a process of its own, and the end of it that a job holds.

Whoever started it may die at any moment, and so may a judge: what either has started does not outlive it.
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
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from ..bounds import bound_memory, bound_time
from ..intake.submission import Submission
from ..results.report import Report
from ..settings import CannotGrade, Settings

NAME = "judge"
CPU_S = 120  # of the judge's own, for one submission: the reference takes a tenth of a second
MEMORY_MIB = 1024  # of address space that judging one submission may add
PARTING_S = 5.0  # for the system to say how a judge that has hung up has ended
LOOK_S = 0.1  # between two looks at whether the job has been abandoned


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Failure:
    """What there is in place of a report, for a fault that is not the student's.

    Attributes:
        begun: Whether a judge had looked at the submission, which may then have a part in it.
        at: The property that was being judged, if it had got that far: only then has anything of the student's run.
        of_its_limit: Whether the judge had used up its own time to compute, which no machine can make it do.
    """

    reason: str
    begun: bool = True
    at: str = ""
    of_its_limit: bool = False


@dataclass(frozen=True)
class Begins:
    """What a judge says before it asks for anything that belongs to a property."""

    property_id: str


class JudgeProcess:
    """A judge that is starting, idle or at work. One thread at a time deals with it."""

    def __init__(self, settings: Settings) -> None:
        """Start it; its first :meth:`answer` is None, once it is ready."""
        self.settings = settings
        self.ready = False
        context = _context()
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, settings), daemon=True, name=NAME)
        self._handle: int | None = None
        with theirs:
            try:
                self._process.start()
                self._handle = _handle(self._process)
            except (EOFError, OSError):  # the fork server is dying, and so is the pipe; the next judge gets a new one
                time.sleep(1)

    def ask(self, submission: Submission, failure: str | None, condemned: Collection[str] = ()) -> None:
        """Have it grade a submission but for ``condemned``, or report that this cannot be done, by ``failure``."""
        with contextlib.suppress(BrokenPipeError):  # it has just died, as its pipe is about to say
            self._pipe.send((submission, failure, frozenset(condemned)))

    def answer(self, within_s: float, abandoned: Callable[[], bool]) -> Report | Failure | None:
        """Its report, or what went wrong; None from a judge that is ready now.

        Each property that it begins with gives it ``within_s`` seconds more.

        Raises:
            Abandoned: As soon as ``abandoned()`` says so.
            CannotGrade: If that is what it says.
        """
        at = ""
        try:
            while True:
                if not self._wait(within_s, abandoned):
                    return Failure("the judge process stalled", at=at)
                answer: Report | Failure | CannotGrade | Begins | None = self._pipe.recv()
                if not isinstance(answer, Begins):
                    break
                at = answer.property_id
        except (EOFError, OSError):
            self._process.join(PARTING_S)
            of_its_limit = self._process.exitcode == -signal.SIGXCPU
            return Failure("the judge process died", at=at, of_its_limit=of_its_limit)
        if isinstance(answer, CannotGrade):
            raise answer
        self.ready = self.ready or answer is None
        return answer

    def _wait(self, within_s: float, abandoned: Callable[[], bool]) -> bool:
        """Whether it says something in that time."""
        end = time.monotonic() + within_s
        while not self._pipe.poll(max(0.0, min(LOOK_S, end - time.monotonic()))):
            if abandoned():
                raise Abandoned
            if time.monotonic() >= end:
                return False
        return True

    def end(self) -> None:
        """Kill it, and wait until it is gone; what it has started ends by itself, for want of a parent."""
        self._pipe.close()
        if self._handle is not None and sys.platform == "linux":
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            wait([self._handle])
            os.close(self._handle)
        elif self._process.pid is not None:  # it has been started
            self._process.kill()
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
    context.set_forkserver_preload(["grader.pool.preload"])
    resource_tracker.ensure_running()  # first, as it changes the mask itself
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited, until preload has said what it does
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    return context


def _serve(pipe: Connection, settings: Settings) -> None:
    """The judge process: says None when it is ready, then answers for submissions until the other end hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    try:
        from ..judge.judge import Judge  # with torch and pytest, which the other end can do without

        judge = Judge(settings)
        pipe.send(None)
        while True:
            submission, failure, condemned = pipe.recv()
            bound_time(CPU_S)
            if settings.device == "cpu":  # a GPU's driver reserves address space by the gigabyte
                bound_memory(MEMORY_MIB)
            graded = partial(judge.grade, submission, condemned, lambda name: pipe.send(Begins(name)))
            pipe.send(graded() if failure is None else judge.give_up(submission.id, failure))
    except CannotGrade as error:
        pipe.send(error)
    except (EOFError, OSError):  # the other end has gone
        os._exit(0)
    except BaseException as error:
        pipe.send(Failure("".join(traceback.format_exception_only(error)).strip()))


def _end_with_the_parent() -> None:
    """In a thread: end even in the middle of a submission. A pipe that stays open until then says when."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
