"""Gradescope: whose the folders of its export are, and the columns of the table of grades that it gives for download.

It takes results from its own autograder only, and no file of grades; a gradebook takes the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import yaml

from grader.core.export.rows import Export, Format, Request, Row, remarks
from grader.core.export.table import PLAIN, Columns, table
from grader.core.intake.discover import Listing
from grader.core.intake.origin import Found, Origin, Part, Student, clean
from grader.core.intake.submission import Unreadable
from grader.core.messages import Message, quoted, say

METADATA = "submission_metadata.yml"
MAX_METADATA_BYTES = 64 << 20  # it repeats the output of every run of an autograder
MAX_DEPTH = 100
_FOLDER = re.compile(r"submission_\d+/")
_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C if there is one: the file has megabytes


class _PlainLoader(_SafeLoader):  # type: ignore[misc, valid-type] # yaml ships no types
    """A safe loader without merge keys, with which a small file could ask for endless work."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


def submissions(listing: Listing) -> list[Found]:
    """Gradescope, "Export submissions": a folder for each submission, and one file that says whose they are.

    ``assignment_{id}_export/submission_metadata.yml`` was written by Ruby: its keys are symbols, such as
    ``:submitters``. A group's submission has several submitters; one whose students Gradescope does not know has none.
    """
    if METADATA not in listing.names:
        return []
    metadata, problem = _metadata(listing)
    known = {f"{name}/" for name in metadata if _FOLDER.fullmatch(f"{name}/")}
    folders = sorted(known | {name for name in listing.names if _FOLDER.fullmatch(name)})
    return [_in_metadata(name, metadata.get(name.rstrip("/")), problem) for name in folders]


def _metadata(listing: Listing) -> tuple[Mapping[object, object], Message | None]:
    """The content of the metadata, and what is wrong with it: a broken file must not stop a whole class."""
    try:
        data = listing.read(METADATA, MAX_METADATA_BYTES)
        if len(data) > MAX_METADATA_BYTES:
            raise Unreadable(say("{path} is larger than {n} MiB", n=MAX_METADATA_BYTES >> 20))
        _check_depth(data)
        content = yaml.load(data, Loader=_PlainLoader)
    except Unreadable as problem:
        return {}, problem.of(f"{METADATA}:")
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        return {}, quoted(clean(f"{METADATA}: {error}"))
    return (content, None) if isinstance(content, dict) else ({}, say("{path} contains no submissions", path=METADATA))


def _check_depth(data: bytes) -> None:
    """Refuse a file that is nested too deeply: the loader in C would crash on it, so its events are counted first."""
    depth = 0
    for event in yaml.parse(data, Loader=_SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise Unreadable(say("{path} is nested more than {n} deep", n=MAX_DEPTH))


def _in_metadata(folder: str, entry: object, problem: Message | None) -> Found:
    entry = entry if isinstance(entry, dict) else {}
    named = entry.get(":submitters")
    people = [person for person in named if isinstance(person, dict)] if isinstance(named, list) else []
    origin = Origin(
        source="gradescope",
        students=tuple(student({str(key).removeprefix(":"): value for key, value in one.items()}) for one in people),
        submitted_at=_moment(entry.get(":created_at")),
    )
    why = problem or say("Gradescope names no submitter")
    unknown = say("Owner unknown: {problem}.", problem=why)
    return Found(folder.rstrip("/"), Part(below=folder), (folder,), origin, () if people else (unknown,))


def student(person: Mapping[str, object]) -> Student:
    """A student as Gradescope describes one."""
    return Student(id=clean(person.get("sid")), name=clean(person.get("name")), email=clean(person.get("email")))


def _moment(value: object) -> str | None:
    """ISO 8601 in UTC from a time as YAML has read it; times without a zone are UTC in Ruby."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None


GRADESCOPE: Columns = {
    "Name": PLAIN["name"],
    "SID": PLAIN["student_id"],
    "Email": PLAIN["email"],
    "Total Score": PLAIN["grade"],
    "Max Points": PLAIN["max_score"],
    "Submission ID": lambda row, _: row.report.submission.id.removeprefix("submission_"),
    "Submission Time": PLAIN["submitted_at"],
}
NO_UPLOAD = (
    "Gradescope does not import grades from a file: this table is for a gradebook. To get grades into Gradescope, "
    "upload the autograder that `grader gradescope OUT` writes."
)


def export(rows: Sequence[Row], request: Request) -> Export:
    """The headings of the table that Gradescope gives for download."""
    return Export({"gradescope.csv": table(GRADESCOPE, rows, request)}, rows, [NO_UPLOAD, *remarks(rows)])


FORMATS = {"gradescope": Format(export, "export {out} --to gradescope")}
