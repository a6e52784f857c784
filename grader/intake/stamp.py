"""The stamp of a submission, by which the next run knows without reading it that nothing has changed.

Like git's index, it is made from what the disk records about each file, including the time of the last change of any
kind (ctime), which no copying tool can set. Where that proves nothing, there is no stamp, and the submission is read
again (``grader/docs/decisions/0025-stamps.md``).
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator

from ..messages import say
from .candidate import Candidate
from .folder import walked
from .submission import Submission, Unreadable

SETTLED_S = 2.0  # since the last change: many ticks of a disk's clock, and some difference between clocks
MAX_FILES = 2000  # with more, reading the few that are needed is cheaper than asking about each
SECOND_NS = 1_000_000_000
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC

Look = tuple[str, int, int, int, int, int, int]  # name, device, inode, mode, size, times of content and of any change


def stamp(candidate: Candidate, settled_s: float = SETTLED_S) -> str:
    """A digest of all that reading the candidate depends on, to be taken before it is read.

    Args:
        candidate: The submission.
        settled_s: Seconds that must have passed since the last change: a file that is changed again within one tick of
            its disk's clock keeps the same times (git calls that "racily clean").

    Returns:
        The digest, or an empty text if a later change might not show in it: something has changed just now or in the
        future, the disk counts in whole seconds, something is no regular file or cannot be opened, or there are too
        many files.
    """
    settled_ns = time.time_ns() - int(settled_s * SECOND_NS)
    looks: list[Look] = []
    try:
        for look in _looks(candidate) if candidate.reason is None else ():
            looks.append(look)
            if len(looks) > MAX_FILES or max(look[-2:]) >= settled_ns:
                return ""
    except (OSError, Unreadable):
        return ""
    if all(look[-1] % SECOND_NS == 0 for look in looks):
        return ""
    part = candidate.part
    seen = [sorted(looks), part.below, sorted(part.files.items()), candidate.notices, candidate.among_others]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def worth_a_stamp(submission: Submission, candidate: Candidate) -> bool:
    """Whether the next run may skip reading a submission: all expected files were read, without a concern.

    Any other submission is read again, since perhaps only the disk failed.
    """
    whole = all(path in submission.files for path in candidate.expected)
    return submission.reason is None and not submission.concerns and whole


def _looks(candidate: Candidate) -> Iterator[Look]:
    """What the disk records about each file and folder.

    Raises:
        OSError: If one cannot be opened.
        Unreadable: If one is no regular file, one that the part names is in a subfolder, or there are too many.
    """
    path, part = str(candidate.path), candidate.part
    if not candidate.path.is_dir():
        yield _look(path, "", follow=not candidate.among_others)
    elif part.files:
        for name in part.files.values():
            if "/" in name:  # a folder on the way could become a link
                raise Unreadable(say("{path} is not a regular file"))
            yield _look(f"{path}/{name}", name)
    else:
        root = f"{path}/{part.below}".rstrip("/")
        for current, names in walked(root):
            inside = current.removeprefix(root)
            yield _noted(inside, os.lstat(current))
            for name in names:
                yield _look(f"{current}/{name}", f"{inside}/{name}")


def _look(path: str, name: str, follow: bool = False) -> Look:
    """What the disk records about a regular file. It is opened, since some network disks ask their server only then."""
    file = os.open(path, FLAGS if follow else FLAGS | os.O_NOFOLLOW)
    try:
        noted = os.fstat(file)
    finally:
        os.close(file)
    if not stat.S_ISREG(noted.st_mode):
        raise Unreadable(say("{path} is not a regular file"))
    return _noted(name, noted)


def _noted(name: str, own: os.stat_result) -> Look:
    return name, own.st_dev, own.st_ino, own.st_mode, own.st_size, own.st_mtime_ns, own.st_ctime_ns
