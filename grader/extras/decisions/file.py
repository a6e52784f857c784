"""Reads ``decisions.toml`` and appends to it; handwritten text is never changed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from grader.core.grades.model import FILE, WHAT, Decision, DecisionError
from grader.core.intake.origin import clean
from grader.core.results.report import first_problem, write_text

LOCK = ".decisions.lock"
TABLE = "decision"
_HEADER = re.compile(rf"^\s*\[\[\s*{TABLE}\s*\]\]", re.MULTILINE)
_FIELDS = ("student", *WHAT[:1], "points", *WHAT[1:], "who", "when", "why", "ground")
WORDS = """\
# Decisions about grades, one per entry; of two about the same thing, the last one is in force.
# Written by hand or by `grader decide`; see grader/docs/operations.md.
"""


@dataclass(frozen=True)
class Entry:
    """A decision, and the line at which it begins."""

    decision: Decision
    line: int


def read(folder: Path) -> list[Entry]:
    """All decisions in a folder of reports, in the order of the file; none where there is no file.

    Raises:
        DecisionError: If the file is no TOML, or an entry says something else than one decision.
    """
    path = folder / FILE
    try:
        return parse(path.read_bytes().decode(), str(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DecisionError(f"{path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise DecisionError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8.") from None


def parse(text: str, place: str) -> list[Entry]:
    """The decisions in a text; ``place`` names the file in messages.

    Raises:
        DecisionError: As :func:`read` does.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DecisionError(f"{place}: {_located(error)}") from None
    found = content.pop(TABLE, [])
    if content or not isinstance(found, list):
        other = next(iter(content), TABLE)
        raise DecisionError(f"{place}: {other!r} is outside any entry. Each entry begins with [[{TABLE}]].")
    lines = [text.count("\n", 0, match.start() + len(match[0])) + 1 for match in _HEADER.finditer(text)]
    lines += [1] * (len(found) - len(lines))
    return [Entry(_decision(raw, f"{place}:{line}"), line) for raw, line in zip(found, lines, strict=False)]


def _decision(raw: object, place: str) -> Decision:
    try:
        return Decision.model_validate(raw)
    except ValidationError as error:
        raise DecisionError(f"{place}: {first_problem(error)}.") from None


def _located(error: tomllib.TOMLDecodeError) -> str:
    """Where and what, in the order in which editors give a place: ``12: Expected '=' … (column 3)``."""
    found = re.fullmatch(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", str(error), re.DOTALL)
    return f"{found['line']}: {found['what']} (column {found['column']})." if found else f"{error}."


def append(folder: Path, decisions: Sequence[Decision], about: str = "") -> None:
    """Add decisions at the end; a kill at any moment leaves either the old file or the new one, whole.

    Args:
        folder: The folder of reports.
        decisions: To be added, in this order.
        about: Whom they are about, as a comment for people who read the file.

    Raises:
        DecisionError: If the file as it stands cannot be read; it is not touched then.
        OSError: If it cannot be written.
    """
    path = folder / FILE
    with _alone(folder):
        read(folder)
        remark = f"# {clean(about)}\n" if about else ""
        before = path.read_bytes().decode() if path.exists() else WORDS
        text = before + "\n" * (not before.endswith("\n")) + "".join(f"\n{remark}{entry(own)}" for own in decisions)
        parse(text, str(path))  # nothing is written that could not be read again
        write_text(path, text, lasting=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the file: two commands at a time would each write it without the other's decision."""
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def entry(decision: Decision) -> str:
    """A decision as an entry of the file."""
    said = {name: getattr(decision, name) for name in _FIELDS}
    lines = [f"{name} = {_value(value)}" for name, value in said.items() if value is not None]
    return "\n".join([f"[[{TABLE}]]", *lines, ""])


def _value(value: object) -> str:
    """A value as TOML, whose strings in double quotes are those of JSON."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON allows it, TOML does not
    ground = {name: own for name, own in vars(value).items() if own}
    return f"{{ {', '.join(f'{name} = {_value(own)}' for name, own in ground.items())} }}"
