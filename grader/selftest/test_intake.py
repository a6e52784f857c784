"""Folders and zips become text in memory, whatever students make of them; what is refused costs itself only."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from grader.grading import reference_files
from grader.intake.archive import read_archive
from grader.intake.folder import read_folder
from grader.intake.submission import (
    EXPECTED,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    Submission,
)
from grader.selftest.submissions import write_folder, zipped

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"
LOOSE = {"norm.py": NORM, "vocab_emb.py": EXPECTED[3], "pos_emb.py": EXPECTED[2], "functional.py": FUNCTIONAL}


def from_folder(tmp_path: Path, files: dict[str, str | bytes]) -> Submission:
    """What intake makes of a folder with those files."""
    return read_folder(write_folder(tmp_path / "someone", files), "someone")


def from_zip(files: dict[str, str | bytes]) -> Submission:
    """What intake makes of a zip with those files."""
    return read_archive(io.BytesIO(zipped(files)), "someone")


def noticed(submission: Submission) -> str:
    """All notices as one text."""
    return " ".join(submission.notices)


def test_folder_and_zip_give_the_same_submission(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = dict(reference_files())
    assert from_folder(tmp_path, files) == from_zip(files) == Submission("someone", reference_files())


def test_only_python_below_src_is_taken(tmp_path: Path) -> None:
    more = {"README.md": "x", "src/data.csv": "1", "tests/test_norm.py": "x", "src/tools/helper.py": "y = 1\n"}
    submission = from_folder(tmp_path, {**reference_files(), **more})
    assert submission.files.keys() - reference_files().keys() == {"src/tools/helper.py"}
    assert submission.notices == ()


@pytest.mark.parametrize("prefix", ["homework", "my homework/a2", "a2/src_backup"])
def test_a_nested_top_folder_is_seen_through(tmp_path: Path, prefix: str) -> None:
    files: dict[str, str | bytes] = {f"{prefix}/{path}": text for path, text in reference_files().items()}
    for submission in (from_folder(tmp_path, files), from_zip(files)):
        assert dict(submission.files) == reference_files()
        assert submission.notices == (f"Found inside the folder {prefix!r}.",)


def test_the_src_with_the_most_expected_files_is_the_one(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"new/{path}": text for path, text in reference_files().items()}
    submission = from_folder(tmp_path, {"old/src/functional.py": "old = 1\n", **files})
    assert dict(submission.files) == reference_files()


def test_loose_files_are_put_in_their_places(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {name: reference_files()[path] for name, path in LOOSE.items()})
    assert dict(submission.files) == {path: reference_files()[path] for path in EXPECTED}
    assert f"'norm.py' was taken as {NORM}." in submission.notices


@pytest.mark.parametrize("name", ["norm-1.py", "norm (2).py", "norm(1).py", "Norm.py", "norm copy.py", "norm_copy.py"])
def test_a_renamed_copy_is_recognised(tmp_path: Path, name: str) -> None:
    submission = from_folder(tmp_path, {name: "x = 1\n"})
    assert submission.files == {NORM: "x = 1\n"}
    assert f"{name!r} was taken as {NORM}." in submission.notices


@pytest.mark.parametrize("name", ["norms.py", "norm.txt", "norm-final.py", "my_norm.py", "norm.py.bak"])
def test_other_names_are_not_guessed_at(tmp_path: Path, name: str) -> None:
    assert from_folder(tmp_path, {name: "x = 1\n"}).reason is not None


def test_a_forgotten_file_is_noticed(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = dict(reference_files())
    del files[NORM]
    submission = from_folder(tmp_path, files)
    assert submission.notices == (f"{NORM} is missing.",)
    assert submission.reason is None


def test_an_empty_folder_has_nothing_to_grade(tmp_path: Path) -> None:
    reason = from_folder(tmp_path, {"notes.txt": "x"}).reason
    assert reason == f"None of {', '.join(EXPECTED)} is in the submission."


@pytest.mark.parametrize("clutter", ["__MACOSX/src/modeling/._norm.py", ".git/src/functional.py", "src/.cache/x.py"])
def test_clutter_is_passed_over(tmp_path: Path, clutter: str) -> None:
    files: dict[str, str | bytes] = {**reference_files(), clutter: b"\0\1"}
    assert from_folder(tmp_path, files) == from_zip(files) == Submission("someone", reference_files())


def test_the_only_zip_in_a_folder_is_opened(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {"handed in.zip": zipped(reference_files())})
    assert dict(submission.files) == reference_files()


def test_of_two_zips_none_is_chosen(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {name: zipped(reference_files()) for name in ("a.zip", "b.zip")})
    assert submission.reason is not None


@pytest.mark.parametrize("target", ["inside", "outside"])
def test_a_link_to_a_file_is_not_followed(tmp_path: Path, target: str) -> None:
    outside = tmp_path / "secret.py"
    outside.write_text("secret = 1\n")
    folder = write_folder(tmp_path / "someone", reference_files())
    (folder / FUNCTIONAL).unlink()
    (folder / FUNCTIONAL).symlink_to(outside if target == "outside" else folder / NORM)
    submission = read_folder(folder, "someone")
    assert FUNCTIONAL not in submission.files
    assert f"{FUNCTIONAL} is not a regular file (a link, perhaps)" in noticed(submission)
    assert "secret" not in "".join(submission.files.values())


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write_folder(tmp_path / "elsewhere", {"norm.py": "secret = 1\n", "more/secret.py": "secret = 2\n"})
    folder = write_folder(tmp_path / "someone", {FUNCTIONAL: "x = 1\n"})
    (folder / "src" / "modeling").symlink_to(tmp_path / "elsewhere")
    assert read_folder(folder, "someone").files == {FUNCTIONAL: "x = 1\n"}


def test_a_submission_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    write_folder(tmp_path / "other", reference_files())
    (tmp_path / "someone").symlink_to(tmp_path / "other")
    assert read_folder(tmp_path / "someone", "someone").reason == "The folder cannot be opened: Not a directory."


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "someone", {NORM: "x = 1\n"})
    os.mkfifo(folder / FUNCTIONAL)
    submission = read_folder(folder, "someone")
    assert submission.files == {NORM: "x = 1\n"}
    assert f"{FUNCTIONAL} is not a regular file" in noticed(submission)


def test_a_folder_by_the_name_of_a_file_is_no_file(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {NORM: "x = 1\n", f"{FUNCTIONAL}/inside.txt": "x"})
    assert submission.files == {NORM: "x = 1\n"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"# Dr\xfccken\n", "is not UTF-8 (byte 4)"),
        (b"x = 1\0\n", "contains NUL bytes"),
        (b"#" * (MAX_FILE_BYTES + 1), "is larger than 1 MiB"),
        ("x = 1\n".encode("utf-16"), "contains NUL bytes"),
    ],
    ids=["latin_1", "nul", "too_large", "utf_16"],
)
def test_a_file_that_is_no_source_costs_itself_only(tmp_path: Path, data: bytes, problem: str) -> None:
    files: dict[str, str | bytes] = {**reference_files(), NORM: data}
    for submission in (from_folder(tmp_path, files), from_zip(files)):
        assert f"{NORM} {problem}" in noticed(submission)
        assert submission.files == {path: text for path, text in reference_files().items() if path != NORM}


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {f"src/m{number}.py": "" for number in range(MAX_FILES + 1)})
    assert submission.reason == f"{MAX_FILES + 1} Python files under src/; at most {MAX_FILES} are taken."


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"data/{number}.csv": "" for number in range(MAX_ENTRIES + 1)}
    assert from_zip(files).reason == f"The archive holds {MAX_ENTRIES + 1} files; hand in src/ only."
    assert from_folder(tmp_path, files).reason == f"More than {MAX_ENTRIES} files and folders; hand in src/ only."


def test_a_zip_in_the_place_of_a_folder_is_not_opened_twice(tmp_path: Path) -> None:
    """A zip inside the zip stays closed: one level is what a learning platform adds."""
    inner = zipped({"again.zip": zipped(reference_files())})
    assert from_folder(tmp_path, {"a.zip": inner}).reason is not None
    assert zipfile.is_zipfile(io.BytesIO(inner))
