"""Python's debugger in a locked worker. Runs on the untrusted side; a person's terminal is never open here.

What the debugger says goes to the trusted end as text, and what a person types comes back as text, through the same
channel as every request. So the worker executes what a person types, within its limits and isolation. Student code runs
in the same process, and may have made up what is shown.
"""

from __future__ import annotations

import contextlib
import io
import pdb
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any

from grader.core.sandbox.channel import Channel
from grader.core.sandbox.operations import Operations
from grader.core.sandbox.protocol import pack, unpack

from . import DEBUG, ENTERED

with contextlib.suppress(ImportError):
    import readline  # noqa: F401 - the debugger imports it when it starts, where no file may be opened any more

MOST_SAID = 100_000  # characters between two questions


class Conversation(io.TextIOBase):
    """The file that the debugger writes to and reads from."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._said = channel, ""

    def write(self, text: str) -> int:
        """Keep the text until a question is asked."""
        self._said = (self._said + str(text))[: MOST_SAID + 1]
        return len(text)

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override] # lines of text, not bytes
        """Send all output, and wait for a line of input."""
        del size
        more = " …\n" * (len(self._said) > MOST_SAID)
        self._channel.send(pack(self._said[:MOST_SAID] + more))
        self._said = ""
        return str(unpack(self._channel.receive()))


class Debugger(pdb.Pdb):
    """Stops in files of the submission only, and knows them by the paths that their student knows."""

    def __init__(self, files: Mapping[str, str], conversation: Conversation) -> None:
        file: Any = conversation  # a file as far as the debugger uses one
        super().__init__(stdin=file, stdout=file, nosigint=True, readrc=False)
        self._files = files

    def canonic(self, filename: str) -> str:
        """The name of a file, as in the submission."""
        return filename if filename in self._files else super().canonic(filename)

    def stop_here(self, frame: FrameType) -> bool:
        """Whether to stop: never outside of the submission."""
        return frame.f_code.co_filename in self._files and super().stop_here(frame)

    def get_stack(
        self, frame: FrameType | None, trace: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        """The frames of an exception, and which of them to show first: the innermost one of the submission."""
        stack, place = super().get_stack(frame, trace)
        students = [number for number, (each, _) in enumerate(stack) if each.f_code.co_filename in self._files]
        return (stack, students[-1]) if trace and students else (stack, place)


class Debugged(Operations):
    """The operations of a worker, of which a request that begins with ``DEBUG`` is done under the debugger.

    It stops where an exception was raised if it looks for ``crashes``, and else where student code is entered.
    """

    def __init__(self, files: Mapping[str, str], channel: Channel) -> None:
        super().__init__(files)
        self._conversation, self._crashes = Conversation(channel), False
        self._entered = ""

    def perform(self, operations: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
        """Do one thing after another; under the debugger, stop in the one that says most about the student's code."""
        names = [name for name, _ in operations]
        if names[:1] != [DEBUG]:
            return super().perform(operations)
        self._crashes = operations[0][1]["crashes"]
        self._entered = next((name for name in ENTERED if name in names), "")
        with contextlib.redirect_stdout(self._conversation):  # what student code prints is shown here
            return super().perform(operations[1:])

    def do(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Do one thing, and stop in it if it is the one to look at."""
        if not self._crashes and operation != self._entered:
            return super().do(operation, arguments)
        debugger = Debugger(self._files, self._conversation)
        if self._crashes:
            try:
                return super().do(operation, arguments)
            except Exception as error:
                self._conversation.write("".join(traceback.format_exception_only(error)))
                debugger.reset()
                debugger.interaction(None, error.__traceback__)
                raise
        try:
            return debugger.runcall(super().do, operation, arguments)
        finally:
            sys.settrace(None)


make = Debugged  # what the fork server asks of a module for workers' operations
