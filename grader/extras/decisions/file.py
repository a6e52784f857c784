"""Reads ``decisions.toml`` and appends to it; handwritten text is never changed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from grader.core.grades.graded import FILE, FOLDER, DecisionError
from grader.core.intake.origin import clean
from grader.core.results.files import write_text
from grader.core.rubric import first_problem

from .model import Decision, Ruling

LOCK = ".decisions.lock"
TABLE = "decision"
_NAME = re.compile(r"[\w.-]{1,40}")
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_HEADER = re.compile(rf"^\s*\[\[\s*{TABLE}\s*\]\]", re.MULTILINE)
WORDS = """\
# Decisions about grades, one per entry; of two about the same thing, the last one is in force.
# Written by hand or by `grader decide`; see grader/docs/operations.md.
"""


def written_in(folder: Path, grader: str = "") -> Path:
    """The file that one of several graders writes; without a name, the one for all."""
    if grader and not _NAME.fullmatch(grader):
        raise DecisionError(f"--as {grader}: use letters, digits, dots, hyphens and underscores.")
    return folder / FOLDER / f"{grader}.toml" if grader else folder / FILE


def files_in(folder: Path) -> list[Path]:
    """All files of decisions in a folder of reports."""
    return [path for path in (folder / FILE, *sorted((folder / FOLDER).glob("*.toml"))) if path.exists()]


def read(folder: Path) -> list[Ruling]:
    """All decisions in a folder of reports, each file in its order, and those of several graders by time.

    Raises:
        DecisionError: If a file is no TOML, or an entry says something else than one decision.
    """
    entries: list[tuple[datetime, Ruling]] = []
    for path in files_in(folder):
        latest = _EARLIEST
        for ruling in _read(path):
            latest = max(latest, ruling.decision.when)
            entries.append((latest, replace(ruling, file=path.relative_to(folder).as_posix())))
    return [ruling for _, ruling in sorted(entries, key=lambda entry: entry[0])]


def _read(path: Path) -> list[Ruling]:
    try:
        return parse(path.read_bytes().decode("utf-8-sig"), str(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DecisionError(f"{path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise DecisionError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}). Save it as UTF-8.") from None


def parse(text: str, place: str) -> list[Ruling]:
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
    rulings = []
    for raw, line in zip(found, lines, strict=False):
        try:
            rulings.append(Ruling(Decision.model_validate(raw), line))
        except ValidationError as error:
            raise DecisionError(f"{place}:{line}: {first_problem(error)}.") from None
    return rulings


def _located(error: tomllib.TOMLDecodeError) -> str:
    """Where and what, in the order in which editors give a place: ``12: Expected '=' … (column 3)``."""
    found = re.fullmatch(r"(?P<what>.*) \(at line (?P<line>\d+), column (?P<column>\d+)\)", str(error), re.DOTALL)
    return f"{found['line']}: {found['what']} (column {found['column']})." if found else f"{error}."


def append(folder: Path, decisions: Sequence[Decision], about: Sequence[str] = (), grader: str = "") -> None:
    """Add decisions at the end; a kill at any moment leaves either the old file or the new one, whole.

    ``about`` says whom each is about, as a comment for people who read the file.

    Raises:
        DecisionError: If the file as it stands cannot be read; it is not touched then.
        OSError: If it cannot be written.
    """
    path = written_in(folder, grader)
    with _alone(folder):
        _read(path)
        remarks = (f"# {clean(names)}\n" if names else "" for names in about)
        before = path.read_bytes().decode("utf-8-sig") if path.exists() else WORDS
        added = [f"\n{next(remarks, '')}{entry(decision)}" for decision in decisions]
        text = before + "\n" * (not before.endswith("\n")) + "".join(added)
        parse(text, str(path))  # nothing is written that could not be read again
        path.parent.mkdir(exist_ok=True)
        write_text(path, text, lasting=True)


def undo(folder: Path, grader: str = "") -> list[Decision]:
    """Take the last decisions, which were made at the same moment, out of a grader's file again; returns them.

    Raises:
        DecisionError: If there is nothing to undo, or somebody has edited it by hand since.
    """
    path = written_in(folder, grader)
    with _alone(folder):
        entries = _read(path)
        last = [ruling for ruling in entries if ruling.decision.author == entries[-1].decision.author]
        if not last:
            raise DecisionError(f"{path}: nothing to undo.")
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        start = last[0].line - 1
        written = "".join(entry(ruling.decision) for ruling in last).split("\n")
        if _bare(lines[start:]) != _bare(written) or entries[-len(last) :] != last:
            raise DecisionError(f"{path}:{last[0].line}: edited by hand; withdraw it instead.")
        start -= bool(start and lines[start - 1].startswith("# "))  # whom it is about
        start -= bool(start and not lines[start - 1])
        write_text(path, "\n".join([*lines[:start], ""]), lasting=True)
        return [ruling.decision for ruling in last]


def _bare(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line and not line.startswith("# ")]


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the file: two commands at a time would each write it without the other's decision."""
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def entry(decision: Decision) -> str:
    """A decision as an entry of the file."""
    said = {name: getattr(decision, name) for name in Decision.model_fields}
    lines = [f"{name} = {_value(value)}" for name, value in said.items() if value is not None]
    return "\n".join([f"[[{TABLE}]]", *lines, ""])


def _value(value: object) -> str:
    """A value as TOML; its booleans, integers and strings in double quotes are those of JSON."""
    if isinstance(value, datetime):
        # Two graders may decide in the same second, and time is what orders their files.
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # JSON allows it, TOML does not
    ground = {name: fact for name, fact in vars(value).items() if fact}
    return f"{{ {', '.join(f'{name} = {_value(fact)}' for name, fact in ground.items())} }}"
