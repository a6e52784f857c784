"""Puts one submission together from its files: opens archives among them, leaves doubtful files out, and says so."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from grader.core.messages import Field, Message, say
from grader.shared.source_rules import Refused, decoded, own_imports

from .archives import archive_files, has_name_of_any_archive, is_archive, ungradable
from .layout import (
    STUB,
    Roots,
    copy_number,
    defined,
    expected_path,
    handed_in_again,
    lacking,
    places,
    rank,
    roots_in,
    without_copy_suffix,
)
from .submission import (
    LEFT_OUT,
    MAX_ARCHIVE_BYTES,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_SOURCE_BYTES,
    SRC_ONLY,
    Expected,
    Files,
    Read,
    Submission,
    Taken,
    Unreadable,
    lacks_suffix,
    left_out,
    may_be_source,
    places_in,
    refused,
    without_clutter,
)

MAX_ARCHIVES = 20  # in one submission
MAX_NESTING = 3
MAX_VERSIONS = 20  # the most versions of one file that are compared
MISSING = say("{path} is missing")
TWICE = say("{path} exists twice, as {one} and as {other}, with different content")
UNFOUND = say("{called} was to be graded as {path}, but was not found.").filled(concern="renamed")
BARE = "{path}:{line} imports {name} by its bare name, which fails during grading."
NONE_OF = "None of {names} is in the submission."
NO_ZIP = "File is not a zip file"  # as Python's zipfile says it


def submission_in(identifier: str, files: Files, expected: Expected, taken: Taken) -> Submission:
    """The submission in these files, and in the archives among them.

    Raises:
        Unreadable: If there are too many files.
        MemoryError: If there is too little memory.
    """
    search = _Search(expected, taken)
    search.look(files, "", 0)
    kept = {path: text for path, text in search.files.items() if path not in search.in_doubt}
    if (total := sum(len(text.encode()) for text in kept.values())) > MAX_SOURCE_BYTES:
        much = say("{n} MiB of Python source", n=total >> 20)
        raise Unreadable(much.then(say("the limit is {n} MiB", n=MAX_SOURCE_BYTES >> 20)))
    missing = [path for path in expected if path not in kept]
    explained = places_in(search.concerns)
    wanted = {path: MISSING for path in missing if path not in explained}
    wanted |= {path: why for path in expected if path in kept and (why := lacking(kept[path], expected[path]))}
    offered = [*_renamed(search.loose, search.used, wanted, expected)]
    rest = {path: why.filled(path=path) for path, why in wanted.items() if path not in places_in(offered)}
    odd = [sentence(why).filled(concern="renamed") for path, why in rest.items() if wanted[path] not in (MISSING, STUB)]
    lost = [
        UNFOUND.filled(called=repr(called), path=path)
        for path, called in taken.items()
        if not any(f"/{name}".endswith(f"/{called}") for name in search.loose)
    ]
    concerns = [*search.concerns, *offered, *odd, *lost]
    notices = [*search.notices, *concerns]
    if not kept or (expected and len(missing) == len(expected)):
        nothing = say(NONE_OF, names=", ".join(expected) or say("the files of src/"))
        first, *more = notices or filter(None, (nothing, ungradable(search.loose)))
        return Submission(identifier, notices=tuple(notices), reason=first.then(*more))
    if absent := [say("{path} is missing.", path=path) for path in rest if wanted[path] == MISSING]:
        others = {name: read for name, read in search.loose.items() if not name.endswith((".txt", ".html", ".png"))}
        if instead := ungradable(others):  # without what many hand in beside their work
            absent.append(instead.filled(concern="left_out"))
    return Submission(identifier, kept, (*notices, *absent, *_own_imports(kept)))


def unread(error: Exception) -> Message:
    """Why a submission cannot be read, from the exception."""
    if isinstance(error, Unreadable):
        return sentence(error.message.filled(path=say("The archive")))
    if isinstance(error, OSError):
        return say("It cannot be read: {problem}.", problem=error.strerror or str(error))
    return say("The zip cannot be read: {problem}.", problem=_said_by(error))


def sentence(message: Message) -> Message:
    """The message with a full stop."""
    return say("{problem}.", problem=message)


def _renamed(
    files: Files, used: Collection[str], wanted: Mapping[str, Message], expected: Expected
) -> Iterator[Message]:
    """A concern for each file that may be a wanted one under another name; such a file is never used.

    ``wanted`` has the expected paths that are missing or hold only a stub, with what is wrong with each, as
    :func:`~.layout.lacking` says it; ``used``, the names of files that already count as something.
    """
    rest = [name for name in sorted(files) if name not in used]
    others = [*filter(may_be_source, rest), *filter(lacks_suffix, rest)][:MAX_FILES]
    for path, problem in wanted.items():
        for name in others:
            text = ""
            with contextlib.suppress(Unreadable):  # the name may still say what it is
                text = _text(files[name])
            known = defined(text, expected[path])
            called = (
                expected_path(f"{name}.py", expected) == path  # else every binary file would be suspected
                if lacks_suffix(name)
                else PurePosixPath(path).stem in PurePosixPath(name).stem.lower()
            )
            if (called and (problem == MISSING or not text)) or (known and not lacking(text, known)):
                offer = say(
                    "{called} may be that file (it defines {names})." if known else "{called} may be that file.",
                    called=repr(name),
                    names=", ".join(known),
                )
                yield problem.filled(path=path).then(offer, say("If so, rename it.")).filled(concern="renamed")


def _own_imports(files: Mapping[str, str]) -> Iterator[Message]:
    for path, line, name, relative in own_imports(files):
        bare = say(BARE, path=path, line=line, name=name)
        remedy = say("Import it relatively, as in: from {name} import …", name=relative)
        yield bare.then(remedy).filled(concern="own_import")


class _Search:
    """Looks through files, and, while something is missing, through the archives among them.

    Attributes:
        loose: All files, by the student's names for them; those in an archive have its name in front.
        files: Source text by path below the submission's root.
        notices: Remarks on guesses.
        concerns: What a person should look at.
        used: The names that were taken for expected files, whether they could be read or not.
        in_doubt: Paths of which another version is as likely to be meant, or better than a stub, so that none counts.
    """

    def __init__(self, expected: Expected, taken: Taken) -> None:
        self._expected, self._taken = expected, taken
        self.loose: dict[str, Read] = {}
        self.files: dict[str, str] = {}
        self.notices: list[Message] = []
        self.concerns: list[Message] = []
        self.used: set[str] = set()
        self.in_doubt: set[str] = set()
        self._sources: dict[str, str] = {}  # the name of the file that was taken for each path
        self._archives = self._bytes = 0

    def look(self, files: Files, inside: str, depth: int) -> None:
        """Take the loose files, then, if something is missing, open the archives."""
        names = without_clutter(files)
        packed = {name for name in names if is_archive(name, files[name])}
        loose = {name: files[name] for name in names if name not in packed}
        if (python := sum(name.endswith(".py") for name in loose)) > MAX_ENTRIES:
            raise Unreadable(say("It contains {n} Python files", n=python).then(SRC_ONLY))
        self._place(loose, inside)
        if self.files and all(self._is_written(path) for path in self._expected):
            return
        seen: set[tuple[str, str]] = set()
        for name in sorted(packed, key=lambda name: (-copy_number(name), name)):
            if (key := without_copy_suffix(name)) in seen:
                self.notices.append(handed_in_again(inside + name))
            else:
                seen.add(key)
                self._open(inside + name, files[name], depth)

    def _open(self, name: str, read: Read, depth: int) -> None:
        """Look through an archive; one that cannot be read costs itself only."""
        try:
            self._archives += 1
            if depth >= MAX_NESTING or self._archives > MAX_ARCHIVES:
                deep = say("{path} is nested too deeply in archives")
                raise Unreadable(deep.then(say("submit one zip of src/")))
            data = read(MAX_ARCHIVE_BYTES)
            self._bytes += len(data)
            if self._bytes > MAX_ARCHIVE_BYTES:
                raise Unreadable(say("{path} is larger than {n} MiB", n=MAX_ARCHIVE_BYTES >> 20).then(SRC_ONLY))
            if not (inner := archive_files(partial(io.BytesIO, data))):
                raise Unreadable(say("{path} is an empty archive"))
            self.look(inner, f"{name}/", depth + 1)
        except MemoryError:
            raise
        except Exception as error:  # an archive's reader may raise anything for damaged or hostile bytes
            unreadable = Unreadable(say("{path} cannot be read ({problem})", problem=_said_by(error)))
            self.concerns.append(left_out(name, error if isinstance(error, Unreadable) else unreadable))

    def _place(self, files: Files, inside: str) -> None:
        """Take the files of one folder or archive, found by their folders and names.

        A file that cannot be read is left out, with a concern, and costs its own tasks only.

        Raises:
            Unreadable: If there are too many Python files below ``src/``.
        """
        roots = roots_in(files, self._expected)
        placed, remarks = places([*files], self._expected, roots)
        for path, called in self._taken.items():
            if name := next((name for name in files if f"/{inside}{name}".endswith(f"/{called}")), ""):
                placed[path] = name
                remarks.append(say("{called} was graded as {path}.", called=repr(name), path=path))
        self.notices += remarks
        self.loose |= {inside + name: read for name, read in files.items()}
        for path, name in placed.items():
            if path in self._expected:
                self.used.add(inside + name)
            try:
                text = _text(files[name])
                if path in self._expected and not text.strip():
                    raise Unreadable(say("{path} is empty"))
            except Unreadable as problem:
                self.concerns.append(left_out(path, problem))
                continue
            self._take(path, text, inside + name)
            if path in self._expected and path not in self._taken:
                self._compare(path, name, text, files, inside, roots)

    def _take(self, path: str, text: str, name: str) -> None:
        """Take a file for a path; of two versions in two archives none counts."""
        if path not in self.files:
            self.files[path], self._sources[path] = text, name
        elif text != self.files[path] and path not in self.in_doubt:
            # A file beside an archive was unpacked from it, and has been worked on since.
            better = not self._is_written(path) and not lacking(text, self._expected.get(path, ()))
            if better or any(map(has_name_of_any_archive, self._sources[path].split("/")[:-1])):
                self._doubt(path, self._sources[path], name)

    def _compare(self, path: str, name: str, text: str, files: Files, inside: str, roots: Roots) -> None:
        """Put an expected file in doubt if another version beside it is as likely to be meant, or better."""
        names: Sequence[str] = self._expected[path]
        versions = [other for other in files if other != name and expected_path(other, self._expected) == path]
        for other in versions[:MAX_VERSIONS]:
            with contextlib.suppress(Unreadable):
                more = _text(files[other])
                alike = rank(other, path, roots) == rank(name, path, roots)
                if more != text and (alike or (lacking(text, names) and not lacking(more, names))):
                    self.used.add(inside + other)
                    self._doubt(path, inside + name, inside + other)
                    return

    def _doubt(self, path: str, one: str, other: str) -> None:
        twice = TWICE.filled(path=path, one=one, other=other).then(LEFT_OUT)
        self.concerns.append(twice.filled(concern="doubtful"))
        self.in_doubt.add(path)

    def _is_written(self, path: str) -> bool:
        return path in self.files and not lacking(self.files[path], self._expected.get(path, ()))


def _text(read: Read) -> str:
    try:
        return decoded(read(MAX_FILE_BYTES))
    except Refused as refusal:
        raise refused(refusal) from None
    except OSError as problem:
        why = problem.strerror or str(problem)
        raise Unreadable(say("{path} cannot be read ({problem})", problem=why)) from None


def _said_by(error: Exception) -> Field:
    return say(NO_ZIP) if str(error) == NO_ZIP else str(error) or type(error).__name__
