"""Exports of learning platforms: the listing of one, a folder or a zip alike, and whose the files at its top are.

The function of a platform returns one :class:`Found` for each submission, and none if it is not such an export.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PurePosixPath

import yaml

from grader.core.messages import Message, quoted, say

from .archives import listed, name_of, read_entry
from .candidate import read_file
from .layout import copy_number, handed_in_again, without_copy_suffix
from .origin import Found, Origin, Part, Student, clean
from .roster import PARTICIPANT
from .submission import Unreadable


@dataclass(frozen=True)
class Listing:
    """What is directly in a folder, in a zip, or in a folder inside a zip.

    Attributes:
        path: The folder, or the zip.
        root: The folder inside the zip, with a slash at its end; empty for a folder, and for the zip itself.
    """

    path: Path
    root: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, sorted; folders end in a slash, and what macOS adds is left out.

        Raises:
            Unreadable: If a zip lists too many files.
            OSError: If it cannot be read.
            zipfile.BadZipFile: If the zip is damaged; zipfile may raise other exceptions, too.
        """
        if self.path.is_dir():
            with os.scandir(self.path) as entries:
                found = {entry.name + "/" * entry.is_dir() for entry in entries}
        else:
            inside = (name.removeprefix(self.root) for name in self._entries if name.startswith(self.root))
            found = {first + slash for first, slash, _ in (name.partition("/") for name in inside) if first}
        return tuple(sorted(name for name in found if not name.startswith(("._", "__MACOSX"))))

    @property
    def visible(self) -> tuple[str, ...]:
        """The names that do not begin with a dot."""
        return tuple(name for name in self.names if not name.startswith("."))

    @cached_property
    def _entries(self) -> dict[str, zipfile.ZipInfo]:
        with self.path.open("rb") as file:
            return {name_of(entry): entry for entry in listed(file)}

    @property
    def folder(self) -> str:
        """The name of the folder, or of the zip."""
        return (Path(self.root) if self.root else self.path.resolve()).name

    def inside(self, name: str) -> Listing:
        """The listing of a folder in this one."""
        return Listing(self.path / name) if self.path.is_dir() else Listing(self.path, f"{self.root}{name}")

    def rooted(self, part: Part) -> Part:
        """The same part with paths from the top of the zip rather than of this listing."""
        files = {shown: self.root + name for shown, name in part.files.items()}
        return Part(below=part.below and self.root + part.below, files=files)

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of that name."""
        if self.path.is_dir():
            return os.path.lexists(self.path / name)
        return any(entry == self.root + name or entry.startswith(f"{self.root}{name}/") for entry in self._entries)

    def read(self, name: str, limit: int) -> bytes:
        """Read at most ``limit + 1`` bytes of one file.

        Raises:
            Unreadable: If it is not a regular file, or damaged.
            KeyError: If a zip has no file of that name.
            OSError: If the system refuses.
        """
        if self.path.is_dir():
            return read_file(self.path, name, limit)
        with self.path.open("rb") as file:
            return read_entry(file, self._entries[self.root + name], limit)


_WHAT = r"(?:(?P<attachment>[0-9]{1,20})_(?P<file>[^/]+)|(?P<page>text|link)\.html)"
_NAMED = re.compile(rf"(?P<name>.*?)(?P<late>_LATE)?_(?P<user>[0-9]+)_{_WHAT}", re.DOTALL)
_ANONYMOUS = re.compile(rf"(?P<late>LATE_)?(?P<name>anon)_(?P<user>[^_\W]+)_{_WHAT}", re.DOTALL)


def canvas(listing: Listing) -> list[Found]:
    """Canvas, "Download submissions": one flat folder or zip; a file's name says whose it is.

    ``{name}[_LATE]_{user id}_{attachment id}_{file}``, the name sortable and in lower case; texts and links that were
    entered online end in ``{user id}_text.html`` and ``_link.html``. Where grading is anonymous,
    ``[LATE_]anon_{id}_{attachment id}_{file}``.
    """
    by_user: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ANONYMOUS.fullmatch(name) or _NAMED.fullmatch(name):
            by_user.setdefault(match["user"], []).append(match)
    return [_of_user(user, matches) for user, matches in by_user.items()]


def _of_user(user: str, matches: Sequence[re.Match[str]]) -> Found:
    """One user's submission; of a file that was handed in several times, the latest attachment."""
    latest: dict[tuple[str, str], re.Match[str]] = {}
    replaced = []
    for match in sorted(matches, key=lambda match: (int(match["attachment"] or 0), copy_number(_shown(match)))):
        key = without_copy_suffix(_shown(match))
        if key in latest:
            replaced.append(_shown(latest[key]))
        latest[key] = match
    name = "" if matches[0]["name"] == "anon" else clean(matches[0]["name"])
    late = any(match["late"] for match in matches)
    return Found(
        f"{name or 'anon'} {user}",
        Part(files={_shown(match): match.string for match in latest.values()}),
        tuple(match.string for match in matches),
        Origin(source="canvas", students=(Student(id=user, name=name),), late=late),
        tuple(handed_in_again(file) for file in replaced),
    )


def _shown(match: re.Match[str]) -> str:
    return PurePosixPath(match["file"] or f"{match['page']}.html").name


_ENTRY = re.compile(
    r"(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?P<plugin>file|onlinetext)_?(?P<rest>/|[^/]+)", re.DOTALL
)


def moodle(listing: Listing) -> list[Found]:
    """Moodle, "Download all submissions": a folder for each participant, or, in an older variant, flat files.

    ``{full name}_{participant id}_assignsubmission_file/…``, before Moodle 4.1 with another ``_`` at the end. Flat
    files: ``…_assignsubmission_file_{file}``. With blind marking the name is ``Participant`` in the site's language. A
    text typed in online comes as ``…_assignsubmission_onlinetext``. Only the grading worksheet says whether a
    submission is late.
    """
    by_id: dict[str, list[re.Match[str]]] = {}
    for name in listing.names:
        if match := _ENTRY.fullmatch(name):
            by_id.setdefault(match["id"], []).append(match)
    return [_of_participant(participant, matches) for participant, matches in by_id.items()]


def _of_participant(participant: str, matches: list[re.Match[str]]) -> Found:
    """One participant's submission: the files, or the text typed in online if there is no file."""
    matches.sort(key=lambda match: match["plugin"])
    first = matches[0]
    if first["rest"] == "/":
        part = Part(below=first.string)
    else:
        flat = [match for match in matches if match["plugin"] == first["plugin"] and match["rest"] != "/"]
        part = Part(files={match["rest"]: match.string for match in flat})
    name = clean(first["name"])
    student = Student(id=participant, name="" if name in PARTICIPANT else name)
    claimed = tuple(match.string for match in matches)
    return Found(f"{name} {participant}", part, claimed, Origin(source="moodle", students=(student,)))


METADATA = "submission_metadata.yml"
MAX_METADATA_BYTES = 64 << 20  # it repeats the output of every run of an autograder
MAX_DEPTH = 100
_FOLDER = re.compile(r"submission_\d+/")
_SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C if there is one: the file has megabytes


class _PlainLoader(_SafeLoader):  # type: ignore[misc, valid-type] # yaml ships no types
    """A safe loader without merge keys, with which a small file could ask for endless work."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


def gradescope(listing: Listing) -> list[Found]:
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
        students=tuple(
            Student(id=clean(person.get(":sid")), name=clean(person.get(":name")), email=clean(person.get(":email")))
            for person in people
        ),
        submitted_at=_moment(entry.get(":created_at")),
    )
    why = problem or say("Gradescope names no submitter")
    unknown = say("Owner unknown: {problem}.", problem=why)
    return Found(folder.rstrip("/"), Part(below=folder), (folder,), origin, () if people else (unknown,))


def _moment(value: object) -> str | None:
    """ISO 8601 in UTC from a time as YAML has read it; times without a zone are UTC in Ruby."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None
