"""Shows a student's files line by line, with the lines of failing cases marked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from grader.core.intake.submission import Submission
from grader.core.results.outcome import FRAME, Outcome
from grader.core.results.report import PropertyReport, Report
from grader.core.rubric import Rubric

MAX_LINES: Final = 3000  # of a file
MAX_WIDTH: Final = 400  # characters of a line


class Place(NamedTuple):
    """A line that a lost property is about.

    Attributes:
        named: Whether a failing case names the line; else its task is written from there on, since a wrong value names
            no line.
    """

    path: str
    line: int
    property: str
    named: bool


@dataclass(frozen=True)
class File:
    """A file of a submission.

    Attributes:
        lines: Those that are shown.
        places: In the lines that are shown.
        left_out: How many lines at its end are not shown.
    """

    path: str
    number: int
    lines: Sequence[str]
    places: Sequence[Place]
    left_out: int

    def at(self, line: int, *, named: bool) -> list[str]:
        """The properties whose place a line is."""
        return [place.property for place in self.places if (place.line, place.named) == (line, named)]

    def without(self, names: re.Pattern[str], mark: str) -> File:
        """The same file with a mark in the place of names, in its path as well."""
        lines = [names.sub(mark, line) for line in self.lines]
        return replace(self, path=names.sub(mark, self.path), lines=lines)


def lost(report: Report) -> list[PropertyReport]:
    """The properties that did not pass, in order."""
    return [prop for prop in report.properties.values() if prop.outcome is not Outcome.PASSED]


def shown(submission: Submission, report: Report, rubric: Rubric) -> list[File]:
    """The files, those of the tasks first, with the places of everything that was lost."""
    files = submission.files
    places = dict.fromkeys((*_named(report), *_begun(files, report, rubric)))
    asked = [path for path in rubric.expected if path in files]
    paths = [path for path in (*asked, *sorted(files.keys() - {*asked})) if files[path].strip()]
    return [_file(n, path, files[path], [one for one in places if one.path == path]) for n, path in enumerate(paths)]


def anchors(files: Sequence[File]) -> Mapping[str, Sequence[tuple[str, str, bool]]]:
    """For each property its places in the files: the anchor, the words, and whether a case names the line."""
    found: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    every = [(not one.named, file.number, one.line, one.property) for file in files for one in file.places]
    for begins, number, line, prop in sorted(every):
        found[prop].append((f"f{number}-{line}", f"{files[number].path}:{line}", not begins))
    return found


def _file(number: int, path: str, text: str, places: Sequence[Place]) -> File:
    lines = text.removesuffix("\n").split("\n")
    kept = [line[:MAX_WIDTH] + "…" * (len(line) > MAX_WIDTH) for line in lines[:MAX_LINES]]
    return File(path, number, kept, [one for one in places if one.line <= len(kept)], len(lines) - len(kept))


def _named(report: Report) -> Iterator[Place]:
    """The lines in the frames of failing cases."""
    for prop in lost(report):
        for part in (part for case in prop.cases for part in case.parts if part["key"] == FRAME):
            match part["fields"]:
                case {"path": str(path), "line": int(line)}:
                    yield Place(path, line, prop.id, named=True)


def _begun(files: Mapping[str, str], report: Report, rubric: Rubric) -> Iterator[Place]:
    """Where the definitions begin that a task asks for, for each property that was lost."""
    for prop in lost(report):
        task = rubric.task_of(prop.id) if prop.id in rubric.properties else None
        for path, name in ((task.file_of(name), name) for name in task.names) if task else ():
            if match := re.search(rf"^(?:class|def)\s+{re.escape(name)}\b", files.get(path, ""), re.MULTILINE):
                yield Place(path, files[path].count("\n", 0, match.start()) + 1, prop.id, named=False)
