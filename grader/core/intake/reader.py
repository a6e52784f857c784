"""Reads submissions in a process with little memory and time, so that a hostile archive costs only its own submission.

One process reads one submission after another, and is replaced when it dies. It returns text, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from grader import REPOSITORY
from grader.core.bounds import bound_memory, bound_time
from grader.core.messages import as_data, from_data, say

from .candidate import Candidate
from .discover import IntakeError, discover
from .origin import Origin, Part, Student
from .submission import ANYTHING, Concern, Expected, Submission

MEMORY_MIB = 768  # of address space, beyond what the process has at its start
CPU_S = 30  # for one submission
WALL_S = 600.0  # the backstop for a process that waits without computing, as for a slow disk
DISCOVERY_CPU_S = 300  # for finding the submissions of a whole class
START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from grader.core.intake.reader import serve; serve(int(sys.argv[2]))"
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
        if candidate.reason is not None:
            return candidate.read()
        try:
            return _submission(self._insist(("read", (candidate,)), CPU_S))
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
    ) -> list[Candidate]:
        """Every submission below ``paths``; see :func:`~grader.core.intake.discover.discover`.

        Raises:
            IntakeError: If a path does not exist, or holds no submission, or too many files.
        """
        paths = list(paths)
        try:
            wanted = (paths, source, list(roster), dict(expected), every_attempt)
            reply = self._insist(("discover", wanted), DISCOVERY_CPU_S)
        except _Died as death:
            listed = ", ".join(map(str, paths))
            raise IntakeError(
                f"{listed}: listing it exceeds the limits ({death}). Unpack it, and give the folder."
            ) from None
        if isinstance(reply, dict):
            raise IntakeError(str(reply["refused"]))
        return [_candidate(fields) for fields in reply]

    def _insist(self, request: object, cpu_s: int) -> Any:
        """Ask, and ask again if the process died without using up its time: the machine may have been the reason."""
        try:
            return self._ask(request, cpu_s)
        except _Died as death:
            if death.of_its_limit:
                raise
        return self._ask(request, cpu_s)

    def _ask(self, request: object, cpu_s: int) -> Any:
        pipe = self._pipe or self._start()
        try:
            pipe.send_bytes(pickle.dumps((request, cpu_s)))
            if not pipe.poll(WALL_S):
                raise _Died(f"no answer in {WALL_S:g} s", of_its_limit=True)
            return json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            ended = self.close()
            name = signal.Signals(-ended).name if ended < 0 else f"exit status {ended}"
            raise _Died(name, of_its_limit=ended == -signal.SIGXCPU) from None
        except _Died:
            self.close()
            raise

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


def _submission(fields: dict[str, Any]) -> Submission:
    concerns = tuple(Concern(code, from_data(text)) for code, text in fields["concerns"])
    return Submission(**fields | _messages(fields) | {"concerns": concerns})


def _candidate(fields: dict[str, Any]) -> Candidate:
    origin = Origin.model_validate_json(fields["origin"]) if fields["origin"] else None
    own = fields | {"path": Path(fields["path"]), "part": Part(**fields["part"]), "origin": origin}
    return Candidate(**own | _messages(fields))


def _messages(fields: dict[str, Any]) -> dict[str, Any]:
    """Notices and the reason of a submission, from what :func:`_data` made of them."""
    reason = fields["reason"]
    return {
        "notices": tuple(map(from_data, fields["notices"])),
        "reason": None if reason is None else from_data(reason),
    }


# ── In the process ──────────────────────────────────────────────────────────────────────────────────────────────────


def serve(fd: int) -> None:
    """Answer requests until the other end closes the pipe."""
    bound_memory(MEMORY_MIB)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    pipe = Connection(fd)
    while True:
        try:
            (kind, argument), cpu_s = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        bound_time(cpu_s)
        pipe.send_bytes(json.dumps(ANSWERS[kind](*argument)).encode())


def _read(candidate: Candidate) -> Any:
    try:
        submission = candidate.read()
    except (MemoryError, RecursionError):
        submission = Submission(candidate.id, reason=TOO_MUCH_MEMORY, notices=candidate.notices)
    concerns = [(concern.code, as_data(concern.text)) for concern in submission.concerns]
    return vars(submission) | _data(submission) | {"concerns": concerns}


def _discover(
    paths: list[Path], source: str | None, roster: list[Student], expected: Expected, every_attempt: bool
) -> Any:
    try:
        found = discover(paths, source, roster, expected, every_attempt)
    except IntakeError as error:
        return {"refused": str(error)}
    except (MemoryError, RecursionError):
        listed = ", ".join(map(str, paths))
        return {"refused": f"{listed}: listing it takes more than {MEMORY_MIB} MiB. Unpack it, and give the folder."}
    return [_fields(candidate) for candidate in found]


ANSWERS: Mapping[str, Callable[..., Any]] = {"read": _read, "discover": _discover}


def _fields(candidate: Candidate) -> dict[str, Any]:
    origin = candidate.origin.model_dump_json() if candidate.origin else None
    part = {"below": candidate.part.below, "files": dict(candidate.part.files)}
    return vars(candidate) | _data(candidate) | {"path": str(candidate.path), "part": part, "origin": origin}


def _data(own: Candidate | Submission) -> dict[str, Any]:
    return {
        "notices": list(map(as_data, own.notices)),
        "reason": None if own.reason is None else as_data(own.reason),
    }
