"""Shows a student's files line by line, with the lines of failing cases marked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from grader.core.intake.submission import Submission
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.rubric import Rubric

MAX_LINES: Final = 3000  # of a file
MAX_WIDTH: Final = 400  # characters of a line


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
    return [prop for task in report.tasks for prop in task.properties if prop.outcome is not Outcome.PASSED]


def shown(submission: Submission, report: Report, rubric: Rubric) -> list[File]:
    """The files, those of the tasks first, with the places of everything that was lost."""
    named, begun = _named(report), _begun(submission.files, report, rubric)
    asked = [path for path in rubric.expected if path in submission.files]
    paths = [*asked, *sorted(submission.files.keys() - {*asked})]
    paths = [path for path in paths if submission.files[path].strip()]
    return [_file(n, path, submission.files[path], named, begun) for n, path in enumerate(paths)]


Places = Mapping[tuple[str, int], Sequence[str]]


def _file(number: int, path: str, text: str, named: Places, begun: Places) -> File:
    lines = text.split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    kept = [
        Line(n, line[:MAX_WIDTH] + "…" * (len(line) > MAX_WIDTH), named.get((path, n), ()), begun.get((path, n), ()))
        for n, line in enumerate(lines[:MAX_LINES], 1)
    ]
    return File(path, number, kept, max(0, len(lines) - MAX_LINES))


def _named(report: Report) -> Places:
    """The lines in the frames of failing cases: path and number, and the properties."""
    found: dict[tuple[str, int], dict[str, None]] = defaultdict(dict)
    for prop in lost(report):
        for case in prop.cases:
            for frame in (part["fields"] for part in case.parts if part["key"] == FRAME):
                match frame:
                    case {"path": str(path), "line": int(line)}:
                        found[path, line][prop.id] = None
    return {place: [*properties] for place, properties in found.items()}


def _begun(files: Mapping[str, str], report: Report, rubric: Rubric) -> Places:
    """Where the definitions begin that a task asks for, for each property that was lost."""
    found: dict[tuple[str, int], list[str]] = defaultdict(list)
    for prop in lost(report):
        if prop.id not in rubric.properties:
            continue
        task = rubric.task_of(prop.id)
        for name in task.names:
            path = task.file_of(name)
            match = re.search(rf"^(?:class|def)\s+{re.escape(name)}\b", files.get(path, ""), re.MULTILINE)
            if match:
                found[path, files[path].count("\n", 0, match.start()) + 1].append(prop.id)
    return found
