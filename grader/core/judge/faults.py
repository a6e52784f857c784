"""Why a case did not pass: the student's faults as exceptions. Anything else raised by a test is a grader fault."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from typing import Any, Self

from grader.core.messages import Message, from_data, quoted, say
from grader.core.results.outcome import FRAME, RAISED, RAISED_INSIDE, SYNTAX_ERROR, Outcome
from grader.core.sandbox.protocol import Kind
from grader.shared import second_device

MAX_MESSAGE = 300
MAX_TOLD = 4 * MAX_MESSAGE  # what a worker tells by itself has few statements
ON_A_LINE = "\n  {told}"  # below an exception
MAX_TYPES = 8  # an exception's class and its bases
# What may come from a hidden input; short integers, such as sizes, may be told.
NUMBERS = re.compile(r"[-+]?\d*\.\d+(?:e[-+]?\d+)?|\d+\.?e[-+]?\d+|[-+]?\d{6,}|\b(?:nan|inf)\b", flags=re.IGNORECASE)


class StudentFault(Exception):
    """Ends a case with ``outcome``; the message is for the student.

    Most faults are passed over, so a message may be given as a function, which is called when somebody reads it.
    """

    outcome = Outcome.CRASHED
    takes_lines = False  # whether each further statement starts on a new line

    def __init__(
        self,
        message: Message | Callable[[], Message],
        error_ulp: float | None = None,
        limit_ulp: float | None = None,
        elements: int | None = None,
    ) -> None:
        """Keep the message and, for a wrong value, its error and the limit in ulp, and how many elements it has."""
        super().__init__(message)
        self._message = message
        self.is_excusable = True  # although no reading differs from the contract
        self.is_final = False  # whether it counts without a second look
        self.elements = elements
        self.error_ulp = error_ulp
        self.limit_ulp = limit_ulp

    @property
    def message(self) -> Message:
        """What the student reads."""
        if callable(self._message):
            self._message = self._message()
        return self._message

    def __str__(self) -> str:
        return self.message

    def with_more(self, *more: Message | Callable[[], Message | None] | None) -> Self:
        """The same fault, which tells more."""
        told, first = copy(self), self._message

        def message() -> Message:
            begun, *others = filter(None, (one() if callable(one) else one for one in (first, *more)))
            return begun.then(
                *(say(ON_A_LINE, told=one) if self.takes_lines and one[0] != "\n" else one for one in others)
            )

        told._message = message
        return told


@contextmanager
def without_excuse(but: tuple[type[StudentFault], ...] = ()) -> Iterator[None]:
    """Around a check: a fault inside, ``but`` of these kinds, is excused only where a reading shows a difference."""
    try:
        yield
    except StudentFault as fault:
        fault.is_excusable &= isinstance(fault, but)
        raise


class WrongAnswer(StudentFault):
    """A value, shape, dtype or effect that the contract does not allow."""

    outcome = Outcome.FAILED


class Crashed(StudentFault):
    """An exception in student code, or a dead process.

    Attributes:
        types: Names of the exception's class and its bases; empty when the process died.
        raw_message: The exception's own text, unmasked: for checks, never for display.
        lacking: What the simulated second device lacks and the code has asked for; empty if nothing.
    """

    takes_lines = True  # on the same line, a statement would read as part of the exception's own text

    def __init__(self, message: Message, types: tuple[str, ...] = (), raw_message: str = "", lacking: str = "") -> None:
        """Keep the message for the student, and the exception."""
        super().__init__(message)
        self.types = types
        self.raw_message = raw_message
        self.lacking = lacking


class TimedOut(StudentFault):
    """No answer in time."""

    outcome = Outcome.TIMED_OUT


class MemoryExceeded(StudentFault):
    """More memory than a submission may use."""

    outcome = Outcome.MEMORY_EXCEEDED


class NotImplementedYet(StudentFault):
    """The stub was reached."""

    outcome = Outcome.NOT_IMPLEMENTED


class Missing(StudentFault):
    """A file or a name that is not there."""

    outcome = Outcome.MISSING


class InvalidReply(StudentFault):
    """A reply that is not a plain value, or is too large."""

    outcome = Outcome.INVALID_REPLY


MALFORMED = say("a malformed error report")
_TOLD_BY_THE_WORKER: dict[str, type[StudentFault]] = {
    Kind.MISSING: Missing,
    Kind.INVALID_REPLY: InvalidReply,
    Kind.UNFIT: WrongAnswer,
}


def fault_from_reply(error: Any, files: Mapping[str, str], memory_mib: int) -> StudentFault:
    """Turn the error that a worker reported into a fault; its fields are untrusted and checked here.

    Only a field that is text is read as text: to print a forged tensor could take minutes.
    """
    fields = error if isinstance(error, dict) else {}
    kind = fields.get("kind")
    if kind == Kind.MEMORY_EXCEEDED:
        return MemoryExceeded(say("memory use exceeded the limit of {n} MiB", n=memory_mib))
    if isinstance(kind, str) and kind in _TOLD_BY_THE_WORKER:
        try:
            told = from_data(fields.get("told"), masked)
        except (ValueError, RecursionError):
            return InvalidReply(MALFORMED)
        return _TOLD_BY_THE_WORKER[kind](told) if len(told) <= MAX_TOLD else InvalidReply(MALFORMED)
    said = fields.get("message", "")
    if kind not in (Kind.CRASHED, Kind.NOT_IMPLEMENTED) or not isinstance(said, str):
        return InvalidReply(MALFORMED)
    frames = fields.get("frames")
    places = [place for frame in frames[-3:] for place in told_frame(frame, files)] if isinstance(frames, list) else []
    if kind == Kind.NOT_IMPLEMENTED:
        return NotImplementedYet((quoted(masked(said)) if said else say("still a stub")).then(*places))
    types = fields.get("types")
    names = tuple(safe_text(name) for name in types[:MAX_TYPES]) if isinstance(types, list) else ()
    claim = fields.get("lacking")  # it counts if this process finds the same
    lacking = claim if isinstance(claim, str) and second_device.lacks(claim) else ""
    return Crashed(_raised(names, said, fields).then(*places), names, said, lacking)


def _raised(names: tuple[str, ...], said: str, fields: Mapping[str, Any]) -> Message:
    """What was raised, in words."""
    name = masked(names[0]) if names else say("an exception")
    message = masked(said)
    if names[:1] == ("SyntaxError",):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return say(SYNTAX_ERROR, exception=name, message=message, python=python)
    inside, module = safe_text(fields.get("inside")), safe_text(fields.get("module"))
    if inside:
        return say(RAISED_INSIDE, exception=name, message=message, file=inside)
    return say(RAISED if name and message else "{exception}{message}", exception=name, message=message, module=module)


def told_frame(frame: Any, files: Mapping[str, str]) -> Iterator[Message]:
    """A frame in the student's files, empty if it is malformed; the code comes from the judge's copy of the files."""
    match frame:
        case [str(path), int(line), str(function)] if path in files and 0 <= line <= len(files[path]):
            source = _lines(files[path])
            code = safe_text(source[line - 1].strip()) if 0 < line <= len(source) else ""
            yield say(FRAME, path=path, line=line, function=masked(function), code=code)


@lru_cache(16)  # files, which a stub's every reply names
def _lines(text: str) -> list[str]:
    return text.split("\n")  # as Python counts them: other characters end a line for splitlines alone


def masked(text: str) -> str:
    """A student's text, cleaned for display and without numbers that may come from a hidden input."""
    return _masked(text[:MAX_TOLD])


@lru_cache(256)  # texts, of which most come again and again: the sentence of a stub, the names of its functions
def _masked(text: str) -> str:
    return NUMBERS.sub("…", safe_text(text))


def safe_text(value: Any) -> str:
    """A student's text, cleaned for display: one line, of limited length, without control characters."""
    text = value[: 4 * MAX_MESSAGE] if isinstance(value, str) else ""
    squeezed = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return squeezed if len(squeezed) <= MAX_MESSAGE else f"{squeezed[: MAX_MESSAGE - 2].rstrip()} …"
