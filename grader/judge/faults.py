"""Why a case did not pass: the student's faults as exceptions. All else that a hidden test raises is the grader's."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..results.outcome import Outcome
from ..sandbox import second_device

MAX_MESSAGE = 300
MAX_TYPES = 8  # an exception's class and its bases


class StudentFault(Exception):
    """Ends a case with ``outcome``; the message is for the student."""

    outcome = Outcome.CRASHED

    def __init__(
        self,
        message: str,
        error_ulp: float | None = None,
        limit_ulp: float | None = None,
        elements: int | None = None,
    ) -> None:
        """Keep the message and, for a wrong value, its error and the limit in ulp, and how many elements it has."""
        super().__init__(message)
        self.is_excusable = True  # although no reading differs from the contract
        self.elements = elements
        self.error_ulp = error_ulp
        self.limit_ulp = limit_ulp


@contextmanager
def without_excuse() -> Iterator[None]:
    """Around a check: a fault inside is excused only where a reading shows how the submission differs."""
    try:
        yield
    except StudentFault as fault:
        fault.is_excusable = False
        raise


class WrongAnswer(StudentFault):
    """A value, shape, dtype or effect that the contract does not allow."""

    outcome = Outcome.FAILED


class Crashed(StudentFault):
    """An exception in student code, or the end of its process.

    Attributes:
        types: Names of the exception's class and its bases; empty when the process died.
        raw_message: The exception's own text, unmasked: for checks, never for display.
        lacking: What the simulated second device lacks and the code has asked for; empty if nothing.
    """

    def __init__(self, message: str, types: tuple[str, ...] = (), raw_message: str = "", lacking: str = "") -> None:
        """Keep the message for the student, and what was raised."""
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
    """A reply that is no plain value, or is too large."""

    outcome = Outcome.INVALID_REPLY


_SIMPLE_FAULTS: dict[str, type[StudentFault]] = {
    "timed_out": TimedOut,
    "missing": Missing,
    "invalid_reply": InvalidReply,
    "unfit": WrongAnswer,
}


def fault_from_reply(error: Any, files: Mapping[str, str], memory_mib: int) -> StudentFault:
    """Turn the error that a worker reported into a fault; its fields are untrusted and checked here.

    Only a field that is text is read as text: to print a forged tensor could take minutes.
    """
    fields = error if isinstance(error, dict) else {}
    kind, said = fields.get("kind"), fields.get("message", "")
    if not isinstance(said, str):
        return InvalidReply("a malformed error report")
    message = mask_values(safe_text(said))
    if kind == "memory_exceeded":
        return MemoryExceeded(f"more memory was used than the {memory_mib} MiB that a submission may add")
    if isinstance(kind, str) and kind in _SIMPLE_FAULTS:
        return _SIMPLE_FAULTS[kind](message)
    if kind not in ("crashed", "not_implemented"):
        return InvalidReply("a malformed error report")
    frames = fields.get("frames")
    place = "".join(frame_line(frame, files) for frame in frames[-3:]) if isinstance(frames, list) else ""
    if kind == "not_implemented":
        return NotImplementedYet(f"{message or 'still a stub'}{place}")
    types = fields.get("types")
    names = tuple(safe_text(name) for name in types[:MAX_TYPES]) if isinstance(types, list) else ()
    text = ": ".join(filter(None, (mask_values(names[0]) if names else "an exception", message)))
    if names[:1] == ("SyntaxError",):
        text += f" (the grader runs Python {sys.version_info.major}.{sys.version_info.minor})"
    claim = fields.get("lacking")  # it counts if this process finds the same
    lacking = claim if isinstance(claim, str) and second_device.lacks(claim) else ""
    return Crashed(text + place, names, said, lacking)


def frame_line(frame: Any, files: Mapping[str, str]) -> str:
    """A frame in the student's files as text, empty if it is malformed; the code comes from our copy of the files."""
    match frame:
        case [str(path), int(line), str(function)] if path in files and 0 <= line <= len(files[path]):
            source = files[path].splitlines()
            code = safe_text(source[line - 1].strip()) if 0 < line <= len(source) else ""
            return f"\n  {path}:{line} in {mask_values(safe_text(function))}: {code}"
    return ""


def safe_text(value: Any) -> str:
    """A student's text made fit to be shown: one line, of limited length, without control characters."""
    text = value if isinstance(value, str) else ""
    printable = "".join(char if char.isprintable() else " " for char in text[: 4 * MAX_MESSAGE])
    squeezed = re.sub(r"\s+", " ", printable).strip()
    return squeezed if len(squeezed) <= MAX_MESSAGE else f"{squeezed[: MAX_MESSAGE - 2].rstrip()} …"


def mask_values(message: str) -> str:
    """Put ``…`` in place of each number that may come from a hidden input; short integers, such as sizes, stay."""
    return re.sub(
        r"[-+]?\d*\.\d+(?:e[-+]?\d+)?|\d+\.?e[-+]?\d+|\d{6,}|\b(?:nan|inf)\b", "…", message, flags=re.IGNORECASE
    )
