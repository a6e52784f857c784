"""Shows a student's files line by line, with the lines of failing cases marked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from grader.core.intake.submission import Submission
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.rubric import Rubric

MAX_LINES: Final = 3000  # of a file
MAX_WIDTH: Final = 400  # characters of a line

Places = Mapping[tuple[str, int], Sequence[str]]  # from path and number of a line to properties


@dataclass(frozen=True)
class Line:
    """One line of a file.

    Attributes:
        by: The properties whose failing cases name it.
        begins: The properties whose task is written from here on; a wrong value names no line.
    """

    number: int
    text: str
    by: Sequence[str] = ()
    begins: Sequence[str] = ()


@dataclass(frozen=True)
class File:
    """A file of a submission.

    Attributes:
        left_out: How many lines at its end are not shown.
    """

    path: str
    number: int
    lines: Sequence[Line]
    left_out: int = 0

    def without(self, names: re.Pattern[str], mark: str) -> File:
        """The same file with a mark in the place of names, in its path as well."""
        lines = [replace(line, text=names.sub(mark, line.text)) for line in self.lines]
        return replace(self, path=names.sub(mark, self.path), lines=lines)


def lost(report: Report) -> list[PropertyReport]:
    """The properties that did not pass, in order."""
    return [prop for prop in report.properties.values() if prop.outcome is not Outcome.PASSED]


def shown(submission: Submission, report: Report, rubric: Rubric) -> list[File]:
    """The files, those of the tasks first, with the places of everything that was lost."""
    files = submission.files
    named, begun = _by_line(_named(report)), _by_line(_begun(files, report, rubric))
    asked = [path for path in rubric.expected if path in files]
    paths = [path for path in (*asked, *sorted(files.keys() - {*asked})) if files[path].strip()]
    return [_file(n, path, files[path], named, begun) for n, path in enumerate(paths)]


def anchors(files: Sequence[File]) -> Mapping[str, Sequence[tuple[str, str, bool]]]:
    """For each property its places in the files: the anchor, the words, and whether a case names the line."""
    found: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for file in files:
        for line in file.lines:
            place = (f"f{file.number}-{line.number}", f"{file.path}:{line.number}")
            for prop in line.by:
                found[prop].append((*place, True))
            for prop in line.begins:
                found[prop].append((*place, False))
    return {prop: sorted(places, key=lambda own: not own[2]) for prop, places in found.items()}


def _file(number: int, path: str, text: str, named: Places, begun: Places) -> File:
    lines = text.removesuffix("\n").split("\n")
    kept = [
        Line(n, line[:MAX_WIDTH] + "…" * (len(line) > MAX_WIDTH), named.get((path, n), ()), begun.get((path, n), ()))
        for n, line in enumerate(lines[:MAX_LINES], 1)
    ]
    return File(path, number, kept, max(0, len(lines) - MAX_LINES))


def _by_line(found: Iterator[tuple[str, int, str]]) -> Places:
    places: dict[tuple[str, int], dict[str, None]] = defaultdict(dict)
    for path, line, prop in found:
        places[path, line][prop] = None
    return {place: [*properties] for place, properties in places.items()}


def _named(report: Report) -> Iterator[tuple[str, int, str]]:
    """The lines in the frames of failing cases: path, number and property."""
    for prop in lost(report):
        for part in (part for case in prop.cases for part in case.parts if part["key"] == FRAME):
            match part["fields"]:
                case {"path": str(path), "line": int(line)}:
                    yield path, line, prop.id


def _begun(files: Mapping[str, str], report: Report, rubric: Rubric) -> Iterator[tuple[str, int, str]]:
    """Where the definitions begin that a task asks for, for each property that was lost."""
    for prop in lost(report):
        task = rubric.task_of(prop.id) if prop.id in rubric.properties else None
        for path, name in ((task.file_of(name), name) for name in task.names) if task else ():
            if match := re.search(rf"^(?:class|def)\s+{re.escape(name)}\b", files.get(path, ""), re.MULTILINE):
                yield path, files[path].count("\n", 0, match.start()) + 1, prop.id
