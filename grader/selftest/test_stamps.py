"""A stamp tells without reading that a submission has not changed: every change shows in it, or else there is none."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.intake import stamp as stamps
from grader.intake.candidate import Candidate
from grader.intake.origin import Part
from grader.intake.stamp import SECOND_NS, SETTLED_S, stamp, worth_a_stamp
from grader.messages import quoted
from grader.selftest.submissions import write_folder, zipped

FILE = "src/norm.py"
BEFORE, AFTER = "a = 1\n", "a = 2\n"  # of the same size
DAYS_AGO = 1_700_000_000_123_456_789


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder ``ada``, and beside it the same with other content in ``other``; both as old as each other."""
    for name, text in (("ada", BEFORE), ("other", AFTER)):
        write_folder(tmp_path / name, {FILE: text, "src/__init__.py": "", "notes.txt": "n"})
        (tmp_path / f"{name}.zip").write_bytes(zipped({FILE: text}))
        for path in (tmp_path / name / FILE, tmp_path / f"{name}.zip"):
            os.utime(path, ns=(DAYS_AGO, DAYS_AGO))
    return tmp_path


def folder(place: Path) -> Candidate:
    """The submission in the folder."""
    return Candidate("ada", place / "ada")


def archive(place: Path) -> Candidate:
    """The submission in the zip."""
    return Candidate("ada", place / "ada.zip", among_others=True)


def stamped(candidate: Candidate) -> str:
    """The stamp of something that nobody is at work with; returns when the disk's clock has gone on."""
    tick(candidate.path.parent)
    found = stamp(candidate, settled_s=0)
    tick(candidate.path.parent)
    return found


def tick(place: Path) -> None:
    """Wait until a change has another time than any before."""
    probe = place / "probe"
    probe.touch()
    before, end = probe.stat().st_ctime_ns, time.monotonic() + 60
    while probe.stat().st_ctime_ns <= before + SECOND_NS // 1000:
        assert time.monotonic() < end
        probe.touch()


def copied(place: Path) -> None:
    """``cp -p``: the content changes, and time and size are those of before."""
    shutil.copy2(place / "other" / FILE, place / "ada" / FILE)


def synchronised(place: Path) -> None:
    """``rsync -a``: a new file with the same times takes the place of the old one."""
    shutil.copy2(place / "other" / FILE, place / "ada" / "new")
    (place / "ada" / "new").replace(place / "ada" / FILE)


def unpacked(place: Path) -> None:
    """``tar -x`` over what is there."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(place / "other" / FILE, FILE)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as tar:
        tar.extractall(place / "ada", filter="fully_trusted")


def edited(place: Path) -> None:
    """Other bytes in the same file, and its time set back."""
    (place / "ada" / FILE).write_text(AFTER)
    os.utime(place / "ada" / FILE, ns=(DAYS_AGO, DAYS_AGO))


def restored(place: Path) -> None:
    """The folder is put back from a backup, with everything in it."""
    shutil.copytree(place / "ada", place / "backup")
    shutil.rmtree(place / "ada")
    (place / "backup").rename(place / "ada")


def linked(place: Path) -> None:
    """A link takes the place of a file."""
    (place / "ada" / FILE).unlink()
    (place / "ada" / FILE).symlink_to(place / "other" / FILE)


def exchanged(place: Path) -> None:
    """Another folder takes its name."""
    (place / "ada").rename(place / "old")
    (place / "other").rename(place / "ada")


CHANGES: dict[str, Callable[[Path], object]] = {
    "copied over": copied,
    "synchronised": synchronised,
    "unpacked over": unpacked,
    "edited, and set back": edited,
    "put back from a backup": restored,
    "made unreadable": lambda place: (place / "ada" / FILE).chmod(0),
    "added": lambda place: (place / "ada" / "src" / "more.py").touch(),
    "added to the notes": lambda place: (place / "ada" / "readme").mkdir(),
    "taken away": lambda place: (place / "ada" / "notes.txt").unlink(),
    "in other letters": lambda place: (place / "ada" / FILE).rename(place / "ada" / "src" / "Norm.py"),
    "a link in its place": linked,
    "a pipe beside it": lambda place: os.mkfifo(place / "ada" / "pipe"),
    "another folder in its place": lambda place: (
        (place / "ada").rename(place / "x"),
        (place / "other").rename(place / "ada"),
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_folder_has_another_stamp_or_none(place: Path, change: Callable[[Path], object]) -> None:
    before = stamped(folder(place))
    assert before == stamped(folder(place)) != ""
    change(place)
    assert stamped(folder(place)) != before


def test_a_replaced_archive_of_the_same_size_and_time_has_another_stamp(place: Path) -> None:
    before = stamped(archive(place))
    assert before == stamped(archive(place)) != ""
    old, new = (place / "ada.zip").stat(), (place / "other.zip").stat()
    assert (old.st_size, old.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
    (place / "other.zip").replace(place / "ada.zip")
    assert stamped(archive(place)) != before


def test_a_new_commit_in_a_clone_shows_in_its_files_only(place: Path) -> None:
    """What is in ``.git`` is not graded; when the last commit was made is asked whenever submissions are looked for."""
    write_folder(place / "ada", {".git/HEAD": "ref: refs/heads/main\n"})
    before = stamped(folder(place))
    write_folder(place / "ada", {".git/refs/heads/main": "0" * 40})
    assert stamped(folder(place)) == before
    write_folder(place / "ada", {FILE: AFTER})
    assert stamped(folder(place)) != before


def test_a_class_that_moves_keeps_its_stamps(place: Path) -> None:
    (place / "class").mkdir()
    (place / "ada").rename(place / "class" / "ada")
    before = stamped(Candidate("ada", place / "class" / "ada"))
    (place / "class").rename(place / "fall")
    assert stamped(Candidate("ada", place / "fall" / "ada")) == before != ""


def test_each_part_of_an_export_has_its_own_stamp(place: Path) -> None:
    parts = [Part(below="src/"), Part(files={"norm.py": FILE}), Part(files={"norm.py": "src/other.py"})]
    found = {stamped(replace(archive(place), part=part)) for part in parts}
    assert len(found - {""}) == len(parts)
    flat = Candidate("ada", place / "ada", part=Part(files={"mine.txt": "notes.txt"}))
    assert stamped(flat) not in ("", stamped(replace(flat, notices=(quoted("handed in again"),))))
    assert stamped(replace(flat, part=Part(files={"norm.py": FILE}))) == ""  # below a folder that could become a link


def test_what_has_just_changed_has_no_stamp(place: Path) -> None:
    """It could change once more within one tick of the disk's clock."""
    assert SETTLED_S > 1  # longer than any tick of a disk that tells more than seconds
    assert stamp(folder(place)) == stamp(archive(place)) == ""
    assert stamp(folder(place), settled_s=0) != ""


def test_what_was_changed_in_the_future_has_no_stamp(place: Path) -> None:
    tomorrow = time.time_ns() + 86_400 * SECOND_NS
    os.utime(place / "ada" / FILE, ns=(tomorrow, tomorrow))
    assert stamped(folder(place)) == ""


def test_on_a_disk_that_counts_in_seconds_nothing_has_a_stamp(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exactly = stamps._noted
    monkeypatch.setattr(
        stamps, "_noted", lambda *one: (*exactly(*one)[:-1], exactly(*one)[-1] // SECOND_NS * SECOND_NS)
    )
    assert stamp(folder(place), settled_s=-SETTLED_S) == ""


def test_where_there_are_too_many_files_there_is_no_stamp(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "MAX_FILES", 5)  # three files in two folders
    assert stamped(folder(place)) != ""
    (place / "ada" / "one more").touch()
    assert stamped(folder(place)) == ""


def test_only_a_whole_submission_with_nothing_to_tell_is_worth_a_stamp(tmp_path: Path) -> None:
    solution = ASSIGNMENT.solution()

    def worth(files: dict[str, str]) -> bool:
        shutil.rmtree(tmp_path / "one", ignore_errors=True)
        candidate = Candidate("one", write_folder(tmp_path / "one", files), expected=ASSIGNMENT.rubric.expected)
        return worth_a_stamp(candidate.read(), candidate)

    missing, *_ = ASSIGNMENT.rubric.expected
    assert worth(solution)
    assert worth({f"inside/{path}": text for path, text in solution.items()})  # a notice, and nothing to look at
    assert not worth({path: text for path, text in solution.items() if path != missing})
    assert not worth(solution | {"src/more.py": "\0"})
    assert not worth({"cy.zip": "no zip"})


def test_a_zip_of_a_class_can_have_stamps(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as file:
        file.writestr("ada/src/norm.py", BEFORE)
    assert stamped(Candidate("ada", tmp_path / "class.zip", part=Part(below="ada/"))) != ""
