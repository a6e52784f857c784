"""Zips that lie: nothing is ever extracted, and whatever the bytes, a submission comes back."""

from __future__ import annotations

import io
import random
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from grader.core.intake import archives
from grader.core.intake.archives import START_BYTES
from grader.core.intake.candidate import Candidate
from grader.core.intake.submission import MAX_FILE_BYTES, is_source_path
from grader.selftest.submissions import read_archive as read
from grader.selftest.submissions import zipped

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"
FILES = {NORM: "x = 1\n", FUNCTIONAL: "y = 2\n" * 50}
GOOD = zipped(FILES)
METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


@pytest.fixture(autouse=True)
def nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts in an empty folder, beside which nothing may appear either."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["here"]


@pytest.mark.parametrize(
    "name",
    ["../norm.py", "../../src/modeling/norm.py", "/src/modeling/norm.py", "..\\src\\norm.py", "C:\\src\\norm.py"],
    ids=["up", "up_twice", "absolute", "backslashes", "drive"],
)
def test_a_name_that_leads_elsewhere_is_a_name_and_no_place(name: str) -> None:
    """What such an entry holds may serve as the file that it is called after; a path it never becomes."""
    submission = read(zipped({name: "x = 1\n"}))
    assert all(is_source_path(path) for path in submission.files)
    assert not Path(name).exists()


def test_the_file_inside_src_goes_before_one_outside() -> None:
    assert read(zipped({NORM: "x = 1\n", "../norm.py": "other = 1\n"})).files == {NORM: "x = 1\n"}


with_entry = partial(zipped, {NORM: "x = 1\n"}, zipfile.ZIP_STORED)


def test_an_entry_without_a_name_is_passed_over() -> None:
    """``ZipInfo.is_dir`` of Python 3.11 stumbles over it."""
    assert read(with_entry((zipfile.ZipInfo(""), ""))).files == {NORM: "x = 1\n"}


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")  # zipfile says what is done on purpose here
@pytest.mark.parametrize("second", [NORM, NORM.replace("/", "\\")], ids=["same", "backslashes"])
def test_an_entry_that_stands_twice_makes_the_zip_unreadable(second: str) -> None:
    assert read(with_entry((second, "x = 2\n"))).reason == "The archive lists a file twice; repack it."


def test_a_link_in_a_zip_is_left_out() -> None:
    link = zipfile.ZipInfo(FUNCTIONAL)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    submission = read(with_entry((link, "/etc/passwd")))
    assert submission.files == {NORM: "x = 1\n"}
    assert f"{FUNCTIONAL} is a link; submit the file itself; it was left out." in submission.notices


def test_an_encrypted_entry_says_so_and_costs_itself_only() -> None:
    encrypted = bytearray(GOOD)
    encrypted[GOOD.index(b"PK\x01\x02") + 8] |= 1  # the flag of the first entry in the list at the end
    submission = read(bytes(encrypted))
    assert submission.files.keys() == {FUNCTIONAL}
    assert f"{NORM} is encrypted; submit a zip without a password" in " ".join(submission.notices)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"no zip at all", GOOD[: len(GOOD) // 2]], ids=["empty", "pk", "text", "cut"]
)
def test_what_is_no_zip_says_so(data: bytes) -> None:
    assert read(data).reason == "The zip cannot be read: File is not a zip file."


def test_a_size_in_the_archive_is_not_believed() -> None:
    """An entry of 2 MiB that claims to have one byte."""
    honest = zipped({NORM: b"#" * (2 * MAX_FILE_BYTES), FUNCTIONAL: "x = 1\n"})
    lie = honest.replace(struct.pack("<I", 2 * MAX_FILE_BYTES), struct.pack("<I", 1))
    assert lie != honest
    assert NORM not in read(lie).files or len(read(lie).files[NORM]) <= 1


def test_a_path_that_cannot_be_opened_gives_a_reason(tmp_path: Path) -> None:
    assert "No such file" in str(Candidate("gone", tmp_path / "here" / "gone.zip").read().reason)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_packing_is_read_up_to_any_limit(method: str) -> None:
    """The first bytes say what kind of file it is; bzip2 gives none before it has a whole block."""
    long = random.Random(0).randbytes(MAX_FILE_BYTES + START_BYTES)
    data = zipped({**FILES, "long.bin": long}, METHODS[method])
    assert read(data).files == FILES
    entry = archives.zip_files(partial(io.BytesIO, data))["long.bin"]
    for limit in (0, START_BYTES, MAX_FILE_BYTES):
        assert entry(limit) == long[: limit + 1]


@pytest.mark.parametrize(("method", "header"), [("deflated", 0), ("lzma", 9)])
def test_a_damaged_entry_costs_itself_only(method: str, header: int) -> None:
    """For LZMA, zipfile passes on ``LZMAError``, which is no ``OSError`` and no ``ValueError``."""
    data = bytearray(zipped(FILES, METHODS[method]))
    start = data.index(b"src/functional.py") + len("src/functional.py") + header
    data[start : start + 8] = b"\xff" * 8
    submission = read(bytes(data))
    assert submission.files == {NORM: "x = 1\n"}
    assert "src/functional.py is damaged" in " ".join(submission.notices)


def tar_of(names: list[str]) -> bytes:
    """A packed tar of empty folders and files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name in names:
            header = tarfile.TarInfo(name)
            header.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(header)
    return buffer.getvalue()


@pytest.mark.parametrize("pack", [lambda names: zipped(dict.fromkeys(names, b"")), tar_of], ids=["zip", "tar"])
def test_listed_folders_count_among_the_names_of_an_archive(
    pack: Callable[[list[str]], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty ones cost an archive next to nothing: a packed tar of 60 kB may list 44,000."""
    monkeypatch.setattr(archives, "MAX_LISTED", 3)
    assert "contains more than" not in (read(pack(["a/", "b/", NORM])).reason or "")
    assert read(pack(["a/", "b/", "c/", NORM])).reason == (
        "The archive contains more than 100000 files and folders; submit src/ only."
    )
