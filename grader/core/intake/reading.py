"""Puts one submission together from its files: opens archives among them, leaves doubtful files out, and says so."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from grader.core.messages import Field, Message, say
from grader.shared.source_rules import modules_of, own_imports, relative_name

from .archives import archive_files
from .kinds import has_name_of_any_archive, is_archive, named
from .layout import (
    MISSING,
    STUB,
    Placed,
    copy_number,
    doubtful,
    handed_in_again,
    lacking,
    place,
    renamed,
    without_copy_suffix,
)
from .submission import (
    MAX_ARCHIVE_BYTES,
    MAX_ENTRIES,
    MAX_SOURCE_BYTES,
    SRC_ONLY,
    Concern,
    Expected,
    Files,
    Read,
    Submission,
    Taken,
    Unreadable,
    left_out,
    places_in,
    without_clutter,
)

MAX_ARCHIVES = 20  # in one submission
MAX_NESTING = 3
NONE_OF = "None of {names} is in the submission."
NO_ZIP = "File is not a zip file"  # as Python's zipfile says it


def _submission_in(identifier: str, files: Files, expected: Expected, taken: Taken) -> Submission:
    """The submission in these files, and in the archives among them.

    Raises:
        Unreadable: If there is nothing to grade.
        Exception: Any, if an archive is damaged.
    """
    search = _Search(expected, taken)
    search.look(files, "", 0)
    found = search.found
    for path in found.in_doubt:
        found.files.pop(path, None)
    if (total := sum(len(text.encode()) for text in found.files.values())) > MAX_SOURCE_BYTES:
        much = say("{n} MiB of Python source", n=total >> 20)
        raise Unreadable(much.then(say("the limit is {n} MiB", n=MAX_SOURCE_BYTES >> 20)))
    missing = [path for path in expected if path not in found.files]
    explained = places_in(found.concerns)
    unexplained = [path for path in missing if path not in explained]
    poor = {path: lacking(found.files[path], names) for path, names in expected.items() if path in found.files}
    wanted = dict.fromkeys(unexplained, MISSING) | {path: problem for path, problem in poor.items() if problem}
    offered = [*renamed(search.files, found.used, wanted, expected)]
    offers = places_in(offered)
    rest = {path: problem for path, problem in wanted.items() if path not in offers}
    odd = [sentence(problem.filled(path=path)) for path, problem in rest.items() if problem not in (MISSING, STUB)]
    found.concerns += [*offered, *(Concern("renamed", what) for what in odd)]
    notices = [*found.notices, *(concern.text for concern in found.concerns)]
    if not found.files or (expected and len(missing) == len(expected)):
        nothing = say(NONE_OF, names=", ".join(expected) or say("the files of src/"))
        first, *more = notices or filter(None, (nothing, named(search.files)))
        why = first.then(*more)
        return Submission(identifier, notices=tuple(notices), reason=why, concerns=tuple(found.concerns))
    absent = [say("{path} is missing.", path=path) for path, problem in rest.items() if problem == MISSING]
    if absent and (others := named(_telling(search.files))):
        found.concerns.append(Concern("left_out", others))
        absent.append(others)
    found.concerns += _own_imports(found.files)
    more = [concern.text for concern in found.concerns if concern.code == "own_import"]
    return Submission(identifier, found.files, (*notices, *absent, *more), concerns=tuple(found.concerns))


def _telling(files: Files) -> Files:
    """The files but those that many hand in beside their work."""
    return {name: read for name, read in files.items() if not name.endswith((".txt", ".html", ".png"))}


def sentence(message: Message) -> Message:
    """The message with a full stop."""
    return say("{problem}.", problem=message)


def _own_imports(files: dict[str, str]) -> Iterator[Concern]:
    modules = modules_of(files)
    for path, text in files.items():
        for problem in own_imports(text, modules):
            name = problem.fields["name"]
            bare = say(
                "{path}:{line} imports {name} by its bare name, which fails during grading.",
                path=path,
                line=problem.line,
                name=name,
            )
            relative = relative_name(name, path, files)
            remedy = say("Import it relatively, as in: from {name} import …", name=relative)
            yield Concern("own_import", bare.then(remedy))


class _Search:
    """Looks through files, and, while something is missing, through the archives among them."""

    def __init__(self, expected: Expected, taken: Taken) -> None:
        self._expected, self._taken = expected, taken
        self.files: dict[str, Read] = {}
        self.found = Placed()
        self._archives = 0
        self._bytes = 0

    def look(self, files: Files, inside: str, depth: int) -> None:
        """Take the loose files, then, if something is missing, open the archives."""
        for path, called in self._taken.items():
            if name := next((name for name in sorted(files) if f"/{name}".endswith(f"/{called}")), ""):
                root = next((other.rpartition("src/")[0] for other in sorted(files) if "/src/" in f"/{other}"), "")
                files = {other: files[other] for other in files if other != name} | {root + path: files[name]}
                self.found.notices.append(say("{called} was graded as {path}.", called=repr(name), path=path))
        names = without_clutter(files)
        packed = {name for name in names if is_archive(name, files[name])}
        loose = {name: files[name] for name in names if name not in packed}
        python = [name for name in loose if name.endswith(".py")]
        if len(python) > MAX_ENTRIES:
            raise Unreadable(say("It contains {n} Python files", n=len(python)).then(SRC_ONLY))
        self._merge(place(loose, self._expected), inside)
        self.files |= {inside + name: read for name, read in loose.items()}
        archives = sorted(packed, key=lambda name: (-copy_number(name), name))
        if self.found.files and all(self._is_written(path) for path in self._expected):
            return
        seen: set[tuple[str, str]] = set()
        for name in archives:
            if (key := without_copy_suffix(name)) in seen:
                self.found.notices.append(handed_in_again(inside + name))
                continue
            seen.add(key)
            self._open(name, files[name], inside, depth)

    def _is_written(self, path: str) -> bool:
        return path in self.found.files and not lacking(self.found.files[path], self._expected.get(path, ()))

    def _open(self, name: str, read: Read, inside: str, depth: int) -> None:
        shown = inside + name
        try:
            self._archives += 1
            if depth >= MAX_NESTING or self._archives > MAX_ARCHIVES:
                deep = say("{path} is nested too deeply in archives")
                raise Unreadable(deep.then(say("submit one zip of src/")))
            data = read(MAX_ARCHIVE_BYTES)
            self._bytes += len(data)
            if self._bytes > MAX_ARCHIVE_BYTES:
                raise Unreadable(say("{path} is larger than {n} MiB", n=MAX_ARCHIVE_BYTES >> 20).then(SRC_ONLY))
            if not (inner := archive_files(io.BytesIO(data))):
                raise Unreadable(say("{path} is an empty archive"))
            self.look(inner, f"{shown}/", depth + 1)
        except MemoryError:
            raise
        except Unreadable as problem:
            self.found.concerns.append(left_out(shown, problem))
        except Exception as error:  # an archive's reader may raise anything for damaged or hostile bytes
            unread = Unreadable(say("{path} cannot be read ({problem})", problem=_said_by(error)))
            self.found.concerns.append(left_out(shown, unread))

    def _merge(self, more: Placed, inside: str) -> None:
        """Add the files of one folder or archive; if a file then has two versions, neither counts."""
        for path, text in more.files.items():
            source = inside + more.sources[path]
            if path not in self.found.files:
                self.found.files[path], self.found.sources[path] = text, source
            elif text != self.found.files[path] and inside and path not in self.found.in_doubt:
                better = not self._is_written(path) and not lacking(text, self._expected.get(path, ()))
                if not _in_archive(self.found.sources[path]) and not better:
                    continue  # a file beside an archive was unpacked from it, and has been worked on since
                self.found.in_doubt.add(path)
                self.found.concerns.append(doubtful(path, self.found.sources[path], source))
        self.found.used |= {inside + name for name in more.used}
        self.found.in_doubt |= more.in_doubt
        self.found.notices += more.notices
        self.found.concerns += more.concerns


def _said_by(error: Exception) -> Field:
    return say(NO_ZIP) if str(error) == NO_ZIP else str(error)


def _in_archive(name: str) -> bool:
    return any(has_name_of_any_archive(part) for part in name.split("/")[:-1])


def read_files(identifier: str, files: Callable[[], Files], expected: Expected, taken: Taken) -> Submission:
    """The submission in the files that ``files()`` returns; on failure it has a reason. Only MemoryError is raised."""
    try:
        return _submission_in(identifier, files(), expected, taken)
    except MemoryError:
        raise
    except Unreadable as problem:
        why = sentence(problem.message.filled(path=say("The archive")))
    except OSError as error:
        why = say("It cannot be read: {problem}.", problem=error.strerror or str(error))
    except Exception as error:
        why = say("The zip cannot be read: {problem}.", problem=_said_by(error))
    return Submission(identifier, reason=why)
