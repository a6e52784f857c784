"""One end of a socket between judge and worker: whole messages, each within an allowance of time."""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import struct
import time

from .protocol import MAX_BYTES, TOO_LARGE, ProtocolError

NOTHING = memoryview(b"")
LOOK_S = 0.1  # between two looks at the time, while a worker keeps the judge waiting
WALL_FACTOR = 10.0  # a request may take this many times its allowance by the wall clock, whatever delays the worker
FRESH_S = 0.003  # a sum that was read so long ago is good enough: most requests take less
SCHEDSTAT_BYTES = 100  # three numbers: nanoseconds on a core, nanoseconds ready to run, and a count
_LENGTH = struct.Struct("<I")
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class PeerClosed(Exception):
    """The other end is gone."""


class DeadlineExceeded(Exception):
    """The other end did not answer, or did not read, in time."""


class Waited:
    """Seconds for which a worker, and this thread, were ready to run and had no core.

    Attributes:
        computed_s: Seconds for which the worker had a core, as of the last look; 0 where the system does not tell.
    """

    def __init__(self, pid: int | None) -> None:
        """Watch a worker from now on, by its process number in this process's namespace; None if unknown."""
        self._last: dict[int, list[float]] = {}  # by descriptor, the worker's first
        self._sum, self.computed_s, self._read_at = 0.0, 0.0, -math.inf
        if pid is not None:
            with contextlib.suppress(OSError):
                for path in (f"/proc/{pid}/schedstat", "/proc/thread-self/schedstat"):
                    self._last[os.open(path, os.O_RDONLY | os.O_CLOEXEC)] = [0.0, 0.0]

    @property
    def seconds(self) -> float:
        """The sum so far; 0 if the system does not report it."""
        if self._last and (now := time.monotonic()) - self._read_at >= FRESH_S:
            for descriptor in self._last:
                with contextlib.suppress(OSError):  # the process has ended: what was read last stays
                    self._last[descriptor] = [int(ns) / 1e9 for ns in os.pread(descriptor, SCHEDSTAT_BYTES, 0).split()]
            self._sum, self._read_at = sum(waited for _, waited, *_ in self._last.values()), now
            self.computed_s = next(iter(self._last.values()))[0]
        return self._sum

    def close(self) -> None:
        """Watch no more; the sum stays as it is."""
        self._sum = self.seconds
        while self._last:
            os.close(self._last.popitem()[0])


class Allowance:
    """The time that one request may take: all time that passes, except waiting for a core on a busy machine.

    The kernel counts how long a process was ready to run and had no core. That is not charged, neither the worker's nor
    the judge's own, so a busy machine changes no verdict; computing, sleeping and waiting for anything else are.
    """

    def __init__(self, waited: Waited, allowed_s: float) -> None:
        """Begin now."""
        self._waited, self._allowed_s = waited, allowed_s
        self._began, self._waited_before, self._computed_before = time.monotonic(), waited.seconds, waited.computed_s

    @property
    def spent_s(self) -> float:
        """Seconds up to now, less those in which the worker or the judge waited for a core."""
        return max(0.0, time.monotonic() - self._began - (self._waited.seconds - self._waited_before))

    def left_s(self) -> float:
        """Seconds to wait before asking again.

        Raises:
            DeadlineExceeded: If the allowance is spent, or ``WALL_FACTOR`` times as much by the wall clock.
        """
        computed_s = self._waited.computed_s - self._computed_before  # perhaps while the judge waited
        spent = max(self.spent_s, computed_s)
        if spent >= self._allowed_s or time.monotonic() - self._began >= self._allowed_s * WALL_FACTOR:
            raise DeadlineExceeded
        return min(LOOK_S, self._allowed_s - spent)


class Channel:
    """One end of a stream socket: sends and receives whole messages."""

    def __init__(self, fd: int) -> None:
        """Take over the file descriptor ``fd``."""
        self._fd = fd
        os.set_blocking(fd, False)
        self._poll = select.poll()
        self._unsent = NOTHING

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._fd)

    def send(self, message: bytes) -> None:
        """Post a message, and wait until the other end has taken all of it, or is gone."""
        self.post(message)
        while self._unsent:
            self._wait(select.POLLOUT, None)
            self._push()

    def post(self, message: bytes, before: bytes = b"") -> None:
        """Send a message after ``before``: as much as the other end takes now, the rest while :meth:`receive` waits.

        So when both ends send much at once, neither blocks the other. If the other end is gone, :meth:`receive` reports
        it, after the last message from there.

        Raises:
            ProtocolError: If it is too large.
        """
        size = len(before) + len(message)
        if size > MAX_BYTES:
            raise ProtocolError(TOO_LARGE)
        self._unsent = memoryview(b"".join((self._unsent, _LENGTH.pack(size), before, message)))
        self._push()

    def _push(self) -> None:
        """Send as much as the other end takes now; nothing more if it is gone."""
        try:
            self._unsent = self._unsent[os.write(self._fd, self._unsent) :] or NOTHING
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            self._unsent = NOTHING

    def receive(self, allowance: Allowance | None = None, so_far: int = 0) -> bytearray:
        """Receive one message, which continues others of ``so_far`` bytes; without an allowance, wait for ever.

        Raises:
            ProtocolError: If it is too large.
            PeerClosed: If the other end is gone.
            DeadlineExceeded: If no whole message arrives in time.
        """
        (size,) = _LENGTH.unpack(self._read(_LENGTH.size, allowance))
        if so_far + size > MAX_BYTES:
            raise ProtocolError(TOO_LARGE)
        return self._read(size, allowance)

    def _read(self, size: int, allowance: Allowance | None) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            try:
                count = os.readv(self._fd, [rest])
            except BlockingIOError:
                if self._wait(select.POLLIN | (select.POLLOUT if self._unsent else 0), allowance) & select.POLLOUT:
                    self._push()
                continue
            except ConnectionResetError:
                count = 0
            if count == 0:
                raise PeerClosed
            rest = rest[count:]
        return data

    def _wait(self, events: int, allowance: Allowance | None) -> int:
        self._poll.register(self._fd, events)
        while not (happened := self._poll.poll(1000 * allowance.left_s() if allowance else None)):
            pass
        return happened[0][1]

    def peer(self, allowance: Allowance) -> int | None:
        """The process number of the sender, once it has sent something; None if the system does not report it.

        The option ``SO_PASSCRED`` has to be set on this end's socket.
        """
        if not hasattr(socket, "SO_PASSCRED"):
            return None
        self._wait(select.POLLIN, allowance)
        with socket.socket(fileno=os.dup(self._fd)) as peeked:
            _, ancillary, _, _ = peeked.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_PEEK)
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return int(_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]) or None
        return None
