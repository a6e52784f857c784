"""Puts one submission together from its files: opens archives among them, leaves doubtful files out, and says so."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import IO

from ..messages import say
from .bundle import Files, Read, may_be_source, without_clutter
from .defined import STUB, lacking
from .kinds import START_BYTES, archive_kind, has_name_of_any_archive, is_archive, named
from .layout import MISSING, Placed, copy_number, doubtful, place, renamed, without_copy_suffix
from .origin import WHOLE, Part
from .source_rules import modules_of, own_imports, relative_name
from .submission import (
    MAX_ARCHIVE_BYTES,
    MAX_ENTRIES,
    MAX_SOURCE_BYTES,
    Concern,
    Expected,
    Submission,
    Unreadable,
)
from .tarballs import tar_files
from .zips import zip_files

MAX_ARCHIVES = 20  # in one submission
MAX_NESTING = 3


def submission_in(identifier: str, files: Files, expected: Expected) -> Submission:
    """The submission in these files, and in the archives among them.

    Raises:
        Unreadable: If there is nothing to grade.
        Exception: Any, if an archive is damaged.
    """
    search = _Search(expected)
    search.look(files, "", 0)
    found = search.found
    for path in found.in_doubt:
        found.files.pop(path, None)
    if (total := sum(len(text.encode()) for text in found.files.values())) > MAX_SOURCE_BYTES:
        raise Unreadable(f"{total >> 20} MiB of Python source; at most {MAX_SOURCE_BYTES >> 20} MiB are taken.")
    missing = [path for path in expected if path not in found.files]
    explained = " ".join(concern.text for concern in found.concerns)
    unexplained = [path for path in missing if f"{path} " not in f"{explained} "]
    poor = {path: lacking(found.files[path], names) for path, names in expected.items() if path in found.files}
    wanted = dict.fromkeys(unexplained, MISSING) | {path: problem for path, problem in poor.items() if problem}
    offered = [*renamed(search.files, found.used, wanted, expected)]
    said = " ".join(concern.text for concern in offered)
    odd = [f"{path} {problem}" for path, problem in wanted.items() if problem not in (MISSING, STUB)]
    found.concerns += [*offered, *(Concern("renamed", f"{what}.") for what in odd if what not in said)]
    notices = [*found.notices, *(concern.text for concern in found.concerns)]
    if not found.files or (expected and len(missing) == len(expected)):
        why = " ".join(notices) or " ".join(filter(None, (_nothing(expected), named(search.files))))
        return Submission(identifier, notices=tuple(notices), reason=why, concerns=tuple(found.concerns))
    explained = " ".join(notices)
    absent = [say("{path} is missing.", path=path) for path in unexplained if f"{path} is missing" not in explained]
    if absent and (others := named(_telling(search.files))):
        found.concerns.append(Concern("left_out", others))
        absent.append(others)
    found.concerns += _own_imports(found.files)
    more = [concern.text for concern in found.concerns if concern.code == "own_import"]
    return Submission(identifier, found.files, (*notices, *absent, *more), concerns=tuple(found.concerns))


def _telling(files: Files) -> Files:
    """The files but those that many hand in beside their work."""
    return {name: read for name, read in files.items() if not name.endswith((".txt", ".html", ".png"))}


def _nothing(expected: Expected) -> str:
    return say("None of {names} is in the submission.", names=", ".join(expected) or "the files of src/")


def _own_imports(files: dict[str, str]) -> Iterator[Concern]:
    modules = modules_of(files)
    for path, text in files.items():
        for problem in own_imports(text, modules):
            name = problem.fields["name"]
            yield Concern(
                "own_import",
                f"{path}:{problem.line} imports {name} by its bare name, which is not found where it is graded. "
                f"Import it relatively, as in: from {relative_name(name, path, files)} import …",
            )


class _Search:
    """Looks through files, and, while something is missing, through the archives among them."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self.files: dict[str, Read] = {}
        self.found = Placed()
        self._archives = 0
        self._bytes = 0

    def look(self, files: Files, inside: str, depth: int) -> None:
        """Take the loose files, then, if something is missing, open the archives."""
        names = without_clutter(files)
        packed = {name for name in names if is_archive(name, files[name])}
        loose = {name: files[name] for name in names if name not in packed}
        python = [name for name in loose if name.endswith(".py")]
        if len(python) > MAX_ENTRIES:
            raise Unreadable(f"It holds {len(python)} Python files; hand in src/ only.")
        self._merge(place(loose, self._expected), inside)
        self.files |= {inside + name: read for name, read in loose.items()}
        archives = sorted(packed, key=lambda name: (-copy_number(name), name))
        if self.found.files and all(self._is_written(path) for path in self._expected):
            return
        seen: set[tuple[str, str]] = set()
        for name in archives:
            if (key := without_copy_suffix(name)) in seen:
                self.found.notices.append(f"{inside + name!r} was handed in again; the latest counts.")
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
                raise Unreadable("lies too deep among other archives; hand in one zip of src/")
            data = read(MAX_ARCHIVE_BYTES)
            self._bytes += len(data)
            if self._bytes > MAX_ARCHIVE_BYTES:
                raise Unreadable(f"is larger than {MAX_ARCHIVE_BYTES >> 20} MiB; hand in src/ only")
            self.look(archive_files(io.BytesIO(data)), f"{shown}/", depth + 1)
            self.found.notices.append(f"Found inside the archive {shown!r}.")
        except MemoryError:
            raise
        except Unreadable as problem:
            self.found.concerns.append(Concern("left_out", f"{shown} {problem}; it was left out."))
        except Exception as error:  # an archive's reader may raise anything for damaged or hostile bytes
            self.found.concerns.append(Concern("left_out", f"{shown} cannot be read ({error}); it was left out."))

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


def _in_archive(name: str) -> bool:
    return any(has_name_of_any_archive(part) for part in name.split("/")[:-1])


def archive_files(file: IO[bytes], part: Part = WHOLE) -> Files:
    """The files of an archive, whatever its name.

    Args:
        file: The archive.
        part: The part in which folders are counted, where a zip is an export; see :func:`zip_files`.

    Raises:
        Unreadable: If it is not an archive that can be opened.
        Exception: Any, if the archive is damaged.
    """
    start = file.read(START_BYTES)
    file.seek(0)
    kind = archive_kind(start)
    if kind == "tar":
        return tar_files(file, lambda name: may_be_source(name) or has_name_of_any_archive(name))
    if kind not in ("", "zip"):
        raise Unreadable(f"is {kind}; ask for a zip")
    return zip_files(file, part)


@contextlib.contextmanager
def _failure_as_reason(identifier: str) -> Iterator[list[Submission]]:
    """Give a list to put the submission in; if reading fails, put a submission with the reason there."""
    result: list[Submission] = []
    try:
        yield result
    except MemoryError:
        raise
    except Unreadable as problem:
        text = f"{problem}"
        result[:] = [Submission(identifier, reason=text if text.endswith(".") else f"The archive {text}.")]
    except OSError as error:
        result[:] = [Submission(identifier, reason=f"It cannot be read: {error.strerror or error}.")]
    except Exception as error:
        result[:] = [Submission(identifier, reason=say("The zip cannot be read: {problem}.", problem=error))]


def read_files(identifier: str, files: Callable[[], Files], expected: Expected) -> Submission:
    """The submission in the files that ``files()`` returns; on failure it has a reason. Only MemoryError is raised."""
    with _failure_as_reason(identifier) as result:
        result.append(submission_in(identifier, files(), expected))
    return result[0]
