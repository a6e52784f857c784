"""A folder of git clones, as classroom tools make it, and when the last commit of each was made.

The folder is ``{slug}-submissions/{repository}/``. git itself is never run on clones: their configuration may name
programs to run. The time is read from git's own files, and is the one that the student's machine wrote into the commit.
Loose objects and packs are compressed with zlib; nothing is unpacked beyond a fixed size, and if a file cannot be
understood, no time is known.
"""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_left
from datetime import UTC, datetime
from functools import reduce

from grader.core.intake.discover import Listing
from grader.core.intake.origin import Found, Origin, Part, Student, clean
from grader.core.intake.submission import Unreadable

SUFFIX = "-submissions"
PACKS = ".git/objects/pack/"
MAX_SMALL = 1 << 16  # bytes of a reference, or of a commit
MAX_REFS = 1 << 20
MAX_INDEX = 4 << 20  # more than 100 000 objects
MAX_PACK = 2 << 20  # enough, since git puts commits first in a pack, the latest at its start
MAX_DELTAS = 50
COMMIT, OFFSET_DELTA = 1, 6  # kinds of objects in a pack
_BRANCH = re.compile(r"ref: (refs/heads/(?!.*\.\.)[\w./-]+)")
_COMMITTER = re.compile(rb"^committer [^\n]* (\d{1,12}) [+-]\d{4}$", re.MULTILINE)


def submissions(listing: Listing) -> list[Found]:
    """One submission for each clone; none if most folders are not clones."""
    folders = [name for name in listing.visible if name.endswith("/")]
    found = [name for name in folders if listing.has(f"{name}.git")]
    if len(found) <= len(folders) // 2:  # some students hand in their repository as a folder
        return []
    called = (listing.path / listing.root).name
    slug = called.removesuffix(SUFFIX) if called.endswith(SUFFIX) else ""
    return [_found(name, slug, committed_at(listing.inside(name))) for name in found]


def _found(folder: str, slug: str, when: str | None) -> Found:
    """The clone of one student or team; the id is the repository's name without the slug."""
    repository = folder.rstrip("/")
    name = repository.removeprefix(f"{slug}-") if slug else repository
    origin = Origin(source="clones", students=(Student(id=clean(name)),), submitted_at=when)
    return Found(repository, Part(below=folder), (folder,), origin)


def committed_at(clone: Listing) -> str | None:
    """The time of the commit that is checked out, ISO 8601 in UTC; None if it cannot be found."""
    try:
        commit = _object(clone, _head(clone))
        found = _COMMITTER.search(commit.partition(b"\n\n")[0])
        return datetime.fromtimestamp(int(found[1]), UTC).isoformat(timespec="seconds") if found else None
    except (Unreadable, OSError, LookupError, ValueError, OverflowError, struct.error, zlib.error):
        return None


def _head(clone: Listing) -> str:
    """The commit that is checked out, as 40 hexadecimal digits."""
    head = clone.read(".git/HEAD", MAX_SMALL).decode().strip()
    if branch := _BRANCH.fullmatch(head):
        try:
            head = clone.read(f".git/{branch[1]}", MAX_SMALL).decode().strip()
        except (OSError, LookupError, Unreadable):
            packed = clone.read(".git/packed-refs", MAX_REFS).decode()
            head = next((line[:40] for line in packed.splitlines() if line.endswith(f" {branch[1]}")), "")
    if not re.fullmatch("[0-9a-f]{40}", head):
        raise ValueError(head)
    return head


def _object(clone: Listing, name: str) -> bytes:
    """The content of a commit, from its own file or from a pack."""
    try:
        loose = clone.read(f".git/objects/{name[:2]}/{name[2:]}", MAX_SMALL)
    except (OSError, LookupError, Unreadable):
        return _packed(clone, bytes.fromhex(name))
    return _inflated(loose).partition(b"\0")[2]


def _packed(clone: Listing, name: bytes) -> bytes:
    """The content of a commit, from the first pack that has it."""
    for index in clone.inside(PACKS).names:
        if index.endswith(".idx"):
            offset = _offset(clone.read(f"{PACKS}{index}", MAX_INDEX), name)
            if offset is not None:
                return _unpacked(clone.read(f"{PACKS}{index.removesuffix('.idx')}.pack", MAX_PACK), offset)
    raise LookupError(name.hex())


def _offset(index: bytes, name: bytes) -> int | None:
    """The offset of an object in a pack, from the pack's index (version 2); None if it is not there."""
    if index[:8] != b"\xfftOc\0\0\0\2":
        return None
    (count,) = struct.unpack_from(">I", index, 8 + 255 * 4)
    names, offsets = 8 + 256 * 4, 8 + 256 * 4 + count * 24
    place = bisect_left(range(count), name, key=lambda number: index[names + 20 * number : names + 20 * number + 20])
    if place == count or index[names + 20 * place : names + 20 * place + 20] != name:
        return None
    return int(struct.unpack_from(">I", index, offsets + 4 * place)[0])


def _unpacked(pack: bytes, offset: int, most: int = MAX_DELTAS) -> bytes:
    """An object of a pack; one stored as differences to an earlier object is put together, up to so many times."""
    kind, place = pack[offset] >> 4 & 7, _behind(pack, offset)
    if kind == COMMIT:
        return _inflated(pack[place : place + MAX_SMALL])
    after = _behind(pack, place)
    back = reduce(lambda back, byte: (back + 1 << 7) | byte & 0x7F, pack[place:after], -1)
    if kind != OFFSET_DELTA or not 0 < back <= offset or not most:
        raise ValueError("no commit")
    return _patched(_unpacked(pack, offset - back, most - 1), _inflated(pack[after : after + MAX_SMALL]))


def _behind(data: bytes, place: int) -> int:
    """The place behind a number, of which all bytes but the last have the highest bit."""
    while data[place] & 0x80:
        place += 1
    return place + 1


def _patched(base: bytes, delta: bytes) -> bytes:
    """Apply a git delta: the result consists of pieces of ``base`` and of new pieces."""
    parts: list[bytes] = []
    place = _behind(delta, _behind(delta, 0))  # two sizes
    while place < len(delta):
        order = delta[place]
        place += 1
        if order & 0x80:
            numbers = [0] * 7
            for bit in range(7):
                if order >> bit & 1:
                    numbers[bit], place = delta[place], place + 1
            start, size = int.from_bytes(numbers[:4], "little"), int.from_bytes(numbers[4:], "little") or 0x10000
            parts.append(base[start : start + size])
        else:
            parts.append(delta[place : place + order])
            place += order
        if not order or sum(map(len, parts)) > MAX_SMALL:
            raise ValueError("no commit")
    return b"".join(parts)


def _inflated(data: bytes) -> bytes:
    return zlib.decompressobj().decompress(data, MAX_SMALL)
