"""Reads submissions in a process with little memory and time, so that a hostile archive costs only its own submission.

One process reads one submission after another, and is replaced when it dies. It has the rights of the command and runs
no student code, so requests and replies are pickles.
"""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from grader import REPOSITORY
from grader.core.bounds import bound_memory, bound_time
from grader.core.messages import say

from .candidate import Candidate, Place
from .discover import IntakeError, discover
from .origin import Student
from .submission import ANYTHING, Expected, Submission

T = TypeVar("T")
MEMORY_MIB = 768  # of address space, beyond what the process has at its start
CPU_S = 30  # for one submission
WALL_S = 600.0  # the backstop for a process that waits without computing, as for a slow disk
DISCOVERY_CPU_S = 300  # for finding the submissions of a whole class
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from grader.core.intake.reading_process import serve; serve(int(sys.argv[2]))"
)
REMEDY = say("submit the Python files of src/ in a plain zip.")
TOO_MUCH_MEMORY = say("Reading it exceeds the memory limit of {n} MiB", n=MEMORY_MIB).then(REMEDY)
TOO_MUCH_TIME = say("Reading it exceeds the CPU time limit of {n} s", n=CPU_S).then(REMEDY)


class _Died(Exception):
    """The process has ended; the text says how, and ``of_its_limit`` whether it had used up its time."""

    def __init__(self, how: str, of_its_limit: bool) -> None:
        super().__init__(how)
        self.of_its_limit = of_its_limit


class Reader(contextlib.AbstractContextManager["Reader"]):
    """Sends requests to the reading process, which starts with the first request."""

    def __init__(self) -> None:
        """Start no process yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()

    def read(self, candidate: Candidate) -> Submission:
        """Read a submission. Never raises: a submission that cannot be read within the limits has a reason."""
        try:
            return self.ask(CPU_S, Candidate.read, candidate)
        except MemoryError:
            reason = TOO_MUCH_MEMORY
        except _Died as death:
            ended = say("It crashed the reader twice ({how})", how=str(death)).then(REMEDY)
            reason = TOO_MUCH_TIME if death.of_its_limit else ended
        return Submission(candidate.id, reason=reason, notices=candidate.notices)

    def discover(
        self,
        paths: Iterable[Path],
        source: str | None = None,
        roster: Sequence[Student] = (),
        expected: Expected = ANYTHING,
        every_attempt: bool = False,
        known: Mapping[str, Place] | None = None,
        apart: bool = False,
    ) -> list[Candidate]:
        """Every submission below ``paths``; see :func:`~grader.core.intake.discover.discover`.

        Raises:
            IntakeError: If a path does not exist, or holds no submission, or too many files.
        """
        paths = list(paths)
        try:
            return self.ask(DISCOVERY_CPU_S, discover, paths, source, roster, expected, every_attempt, known, apart)
        except MemoryError:
            problem = f"takes more than {MEMORY_MIB} MiB"
        except _Died as death:
            problem = f"exceeds the limits ({death})"
        raise IntakeError(f"{', '.join(map(str, paths))}: listing it {problem}. Unpack it, and give the folder.")

    def ask(self, cpu_s: int, function: Callable[..., T], *arguments: object) -> T:
        """What the function returns or raises in the process.

        If the process dies without using up its time, it is asked again: the machine may have been the reason.
        """
        try:
            return self._once(cpu_s, function, *arguments)
        except _Died as death:
            if death.of_its_limit:
                raise
        return self._once(cpu_s, function, *arguments)

    def _once(self, cpu_s: int, function: Callable[..., T], *arguments: object) -> T:
        pipe = self._pipe or self._start()
        try:
            pipe.send((cpu_s, function, arguments))
            if not pipe.poll(WALL_S):
                self.close()
                raise _Died(f"no answer in {WALL_S:g} s", of_its_limit=True)
            reply: T | Exception = pipe.recv()
        except (EOFError, OSError):
            ended = self.close()
            name = signal.Signals(-ended).name if ended < 0 else f"exit status {ended}"
            raise _Died(name, of_its_limit=ended == -signal.SIGXCPU) from None
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-sPB", "-W", "ignore", "-c", START, str(REPOSITORY), str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        self._pipe = Connection(ours.detach())
        return self._pipe

    @property
    def pid(self) -> int | None:
        """The process's number; None if there is no process."""
        return self._process.pid if self._process else None

    def close(self) -> int:
        """End the process; returns its exit status. The next request starts another."""
        if self._pipe is None or self._process is None:
            return 0
        self._pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1)  # it ends by itself when the pipe is closed, if it is not ending already
        self._process.kill()
        ended = self._process.wait()
        self._process = self._pipe = None
        return ended


def serve(fd: int) -> None:
    """Answer requests, in the process, until the other end closes the pipe."""
    bound_memory(MEMORY_MIB)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    pipe = Connection(fd)
    while True:
        try:
            cpu_s, function, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        bound_time(cpu_s)
        try:
            reply = function(*arguments)
        except (MemoryError, RecursionError):
            reply = MemoryError()
        except Exception as error:
            error.add_note(traceback.format_exc())  # where it was raised, which a pickle does not say
            reply = error
        pipe.send(reply)
