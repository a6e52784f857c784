"""What is handed in is read in a process with little memory and time: a bomb costs its own submission, and is named."""

from __future__ import annotations

import bz2
import io
import os
import signal
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment import ASSIGNMENT
from grader.core.intake import reading_process as reading
from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import IntakeError
from grader.core.intake.reading_process import MEMORY_MIB, Reader
from grader.core.intake.submission import Expected
from grader.selftest import LONG
from grader.selftest.submissions import write_folder, zipped

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")]

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"
BOMB_BYTES = 192 << 20


@pytest.fixture(scope="module")
def shared() -> Iterator[Reader]:
    """One reader for all tests of this file, as for all submissions of a class."""
    with Reader() as reader:
        yield reader


def peak_mib(reader: Reader) -> int:
    """The most memory that the process has had."""
    status = Path(f"/proc/{reader.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10


def entry(name: str, method: int, packed: bytes, unpacked: bytes = b"") -> bytes:
    """A zip with one entry whose packed bytes are given, which claims to unpack to something small."""
    fields = (method, 0, 0, zlib.crc32(unpacked), len(packed), max(len(unpacked), 1), len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 63, 0, *fields) + name.encode()
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, 0, *fields, 0, 0, 0, 0, 0) + name.encode()
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local + packed), 0)
    return local + packed + central + end


@cache
def packed_by_bzip2() -> bytes:
    """A hundred bytes that unpack to ``BOMB_BYTES``, which are never there."""
    packer, block = bz2.BZ2Compressor(), b"#" * (1 << 20)
    return b"".join(packer.compress(block) for _ in range(BOMB_BYTES >> 20)) + packer.flush()


def a_tarball(name: str, size: int) -> bytes:
    """A packed tar whose one file is as long as that, and a source behind it."""
    header = tarfile.TarInfo(name)
    header.size = size
    source = tarfile.TarInfo(NORM)
    source.size = 6
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    block = b"#" * (1 << 20)
    packed = packer.compress(header.tobuf()) + b"".join(packer.compress(block) for _ in range(size >> 20))
    return packed + packer.compress(source.tobuf() + b"x = 1\n".ljust(512, b"\0") + bytes(1024)) + packer.flush()


def a_tar_by_xz(name: str, preset: Literal[6, 9] = 6) -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w:xz", preset=preset) as archive:
        header = tarfile.TarInfo(name)
        header.size = 6
        archive.addfile(header, io.BytesIO(b"x = 1\n"))
    return tar.getvalue()


def list_of(number: int) -> bytes:
    """A zip that lists so many files, and holds none."""
    fields = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 63, 63, *[0] * 7, 14, *[0] * 6)
    directory = b"".join(fields + b"src/x%06d.py" % index for index in range(number))
    return directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, len(directory), 0, 0)


BOMBS: dict[str, Callable[[], bytes]] = {
    "bzip2": lambda: entry(FUNCTIONAL, zipfile.ZIP_BZIP2, packed_by_bzip2()),
    "lzma_dictionary_of_4_gib": lambda: entry(
        FUNCTIONAL, zipfile.ZIP_LZMA, struct.pack("<HHBI", 9, 5, 93, 2**32 - 1) + b"\0" * 99
    ),
    "inner_zip": lambda: zipped({"work.zip": entry(FUNCTIONAL, zipfile.ZIP_BZIP2, packed_by_bzip2())}),
    "zip_that_unpacks_to_a_zip": lambda: entry("work.zip", zipfile.ZIP_BZIP2, packed_by_bzip2()),
    "tarball_source": lambda: a_tarball(FUNCTIONAL, BOMB_BYTES),
    "many_names": lambda: list_of(150_000),
}


def tar_by_xz_with_a_huge_dictionary() -> bytes:
    """A packed tar whose header announces a dictionary of 4 GiB, which a decoder sets aside before it reads on."""
    data = bytearray(a_tar_by_xz(FUNCTIONAL))
    block = slice(12, 12 + (data[12] + 1) * 4)  # the header of the only block: its size, flags, the filter, a checksum
    data[block.start + 4] = 40
    data[block.stop - 4 : block.stop] = struct.pack("<I", zlib.crc32(data[block.start : block.stop - 4]))
    return bytes(data)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_costs_its_own_submission_and_says_what_it_is(shared: Reader, bomb: str, tmp_path: Path) -> None:
    (tmp_path / "mallory.zip").write_bytes(BOMBS[bomb]())
    write_folder(tmp_path, {"neighbour.zip": zipped(ASSIGNMENT.solution())})
    mallory, neighbour = (shared.read(candidate) for candidate in shared.discover([tmp_path]))
    assert peak_mib(shared) < BOMB_BYTES >> 20  # it was never unpacked as a whole
    assert FUNCTIONAL not in mallory.files
    said = " ".join((mallory.reason or "", *mallory.notices))
    assert any(
        words in said for words in ("larger than", "is damaged", "MiB", "contains more than", "crashed the reader")
    ), said
    assert dict(neighbour.files) == ASSIGNMENT.solution()


def test_a_tar_packed_by_xz_at_its_best_is_read(shared: Reader, tmp_path: Path) -> None:
    """``xz -9`` asks for 65 MiB."""
    (tmp_path / "ada.tar.xz").write_bytes(a_tar_by_xz(NORM, preset=9))
    assert shared.read(Candidate("ada", tmp_path / "ada.tar.xz")).files == {NORM: "x = 1\n"}


def test_an_xz_that_asks_for_too_much_memory_is_left_out(shared: Reader, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {NORM: "x = 1\n", "work.tar.xz": tar_by_xz_with_a_huge_dictionary()}
    expected: Expected = {NORM: (), FUNCTIONAL: ()}
    submission = shared.read(Candidate("ada", write_folder(tmp_path / "ada", files), expected=expected))
    assert submission.files == {NORM: "x = 1\n"}
    assert "work.tar.xz is damaged (it does not fit into memory); it was left out." in submission.notices


def test_what_ends_the_process_is_tried_again_and_then_named(
    shared: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is killed at each attempt, as by a bug in a decompressor."""
    write_folder(tmp_path, {"ada.zip": zipped(ASSIGNMENT.solution())})
    pids = []
    send = Connection.send

    def strike(pipe: Connection, request: object) -> None:
        assert shared.pid is not None
        pids.append(shared.pid)
        os.kill(shared.pid, signal.SIGSEGV)
        send(pipe, request)

    candidate = Candidate("ada", tmp_path / "ada.zip")
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "send", strike)
        submission = shared.read(candidate)
    assert submission.reason == (
        "It crashed the reader twice (SIGSEGV); submit the Python files of src/ in a plain zip."
    )
    assert len(set(pids)) == 2
    assert dict(shared.read(candidate).files) == ASSIGNMENT.solution()


def test_what_takes_too_long_is_named(shared: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A codec that takes time with the square of what it reads, and a limit of a second."""
    source = b"# coding: punycode\n" + b"-" * 900_000 + b"99999999999999a" * 5000
    write_folder(tmp_path, {f"ada/{NORM}": source, f"ada/{FUNCTIONAL}": source})
    monkeypatch.setattr(reading, "CPU_S", 0)
    submission = shared.read(Candidate("ada", tmp_path / "ada"))
    assert "exceeds the CPU time limit" in (submission.reason or "") or FUNCTIONAL not in submission.files


def test_a_path_that_holds_nothing_is_refused_in_the_words_of_discovery(shared: Reader, tmp_path: Path) -> None:
    with pytest.raises(IntakeError, match="no such file or folder"):
        shared.discover([tmp_path / "gone"])


changes = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)


def seeds() -> list[bytes]:
    tar = a_tar_by_xz(NORM)
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    zips = [zipped({NORM: "x = 1\n" * 50}, method) for method in methods]
    return [*zips, a_tarball(FUNCTIONAL, 1 << 20), tar, zipped({"a.zip": zips[1], "b.tar.xz": tar})]


@settings(max_examples=2000 if LONG else 150)
@given(st.sampled_from(seeds()), changes, st.floats(0, 1))
def test_no_archive_ends_the_reader_or_fills_its_memory(
    shared: Reader, tmp_path: Path, archive: bytes, changes: list[tuple[float, int]], kept: float
) -> None:
    data = bytearray(archive)
    for place, byte in changes:
        data[int(place * len(data))] = byte
    for whole in (bytes(data), bytes(data[: int(kept * len(data))])):
        (tmp_path / "ada.zip").write_bytes(whole)
        before = shared.pid
        submission = shared.read(Candidate("ada", tmp_path / "ada.zip"))
        assert submission.reason or submission.files
        assert before in (None, shared.pid), f"it died: {submission.reason}"
    assert peak_mib(shared) < MEMORY_MIB
