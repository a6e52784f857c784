"""Which paths are submissions, and what they are called."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from grader.core.intake.discover import IntakeError
from grader.core.intake.discover import discover as discover_any
from grader.selftest.submissions import EXPECTED, HANDED_IN, write_folder, zipped

NORM = "src/modeling/norm.py"
discover = partial(discover_any, expected=EXPECTED)


def ids(*paths: Path) -> list[str]:
    return [candidate.id for candidate in discover(paths)]


def test_a_folder_of_folders_and_zips_is_a_class(tmp_path: Path) -> None:
    write_folder(tmp_path, {f"bo/{NORM}": "x = 1\n", "Ada.ZIP": zipped(HANDED_IN), "notes.txt": "x"})
    write_folder(tmp_path, {".git/src/x.py": "", "__MACOSX/x": ""})
    assert ids(tmp_path) == ["Ada", "bo"]


LOOSE = ("2023004_x_norm.py", "2023005_y_vocab", "2023006_functional.txt", "collect.py")
NO_WORK = ("notes.txt", "README", "roster.csv", "Norm.pdf")


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("exported", [False, True], ids=["class", "canvas"])
def test_a_single_file_beside_submissions_is_listed_and_not_read(tmp_path: Path, packed: bool, exported: bool) -> None:
    """Nothing says whose it is, so a person has to; what staff keeps there is passed over."""
    files = {f"ada_12_3_{Path(path).name}" if exported else f"ada/{path}": text for path, text in HANDED_IN.items()}
    files |= dict.fromkeys((*LOOSE, *NO_WORK), "x = 1\n")
    write_folder(tmp_path / "class", dict(files))
    (tmp_path / "class.zip").write_bytes(zipped(files))
    found = discover([tmp_path / ("class.zip" if packed else "class")], None if exported else "folders")
    submissions = {candidate.id: candidate.read() for candidate in found}
    whole = submissions.pop("ada_12" if exported else "ada")
    assert dict(whole.files) == HANDED_IN
    assert submissions.keys() == {Path(name).stem for name in LOOSE}
    assert submissions["2023004_x_norm"].reason == (
        "2023004_x_norm.py is a single file outside every submission. Move it into its student's folder."
    )


@pytest.mark.parametrize("student", [f"{{}}/{NORM}", "{}/norm.py", "{}.zip"], ids=["src", "loose", "zip"])
def test_a_stray_file_under_an_expected_name_does_not_make_one_submission_of_a_class(
    tmp_path: Path, student: str
) -> None:
    content = zipped(HANDED_IN) if student.endswith("zip") else "x = 1\n"
    write_folder(tmp_path, {student.format(name): content for name in ("ada", "bo")})
    write_folder(tmp_path, {"norm (1).py": "x = 1\n"})
    assert ids(tmp_path) == ["ada", "bo", "norm_1"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"modeling/norm.py": "x = 1\n", "old/norm.py": "x = 2\n", "older/norm.py": "x = 3\n"},
        {"vocab.py": "x = 1\n", "old.zip": b"", "older.zip": b""},
        {"old/src/functional.py": "x = 1\n", "data/1.csv": "1", "notes/a.txt": ""},
    ],
    ids=["alone", "its_own_folders", "as_many_files", "one_older_version"],
)
def test_a_folder_with_loose_files_is_one_submission_with_whatever_older_versions(
    tmp_path: Path, more: dict[str, str | bytes]
) -> None:
    assert ids(write_folder(tmp_path / "ada", {"functional.py": "x = 1\n", **more})) == ["ada"]


def test_the_current_folder_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_folder(tmp_path / "ada", HANDED_IN))
    assert ids(Path()) == ["ada"]


def test_submissions_of_one_name_are_told_apart(tmp_path: Path) -> None:
    write_folder(tmp_path, {f"{place}/ada/{NORM}": "" for place in ("one", "two", "three")})
    assert ids(*(tmp_path / place for place in ("one", "two", "three"))) == ["ada", "ada-2", "ada-3"]


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("Zoë Müller", "Zoë_Müller"),
        ("王芳", "王芳"),
        ("a\nb;rm -rf", "a_b_rm_-rf"),
        ("ada@uni.edu", "ada@uni.edu"),
        ("..--..", "submission"),
        (";", "submission"),
        ("ada.part", "ada_part_"),
        ("canvas-feedback.zip.zip", "canvas-feedback_zip_"),
        ("x" * 150, "x" * 91 + "-a09244d5"),
    ],
    ids=["umlauts", "chinese", "shell", "address", "dots", "nothing_left", "unfinished", "our_zip", "long"],
)
def test_an_id_holds_nothing_that_a_file_system_or_a_terminal_stumbles_over(
    tmp_path: Path, name: str, identifier: str
) -> None:
    assert ids(write_folder(tmp_path / name, HANDED_IN)) == [identifier]


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "gone", "no such file or folder. Give a submission, a folder of submissions, or a zip."),
        ({"notes.txt": "x"}, "notes.txt", "not a zip archive. Give a folder or a .zip file."),
        ({"empty/notes.txt": "x"}, "empty", "no submission found. Expected src/, or one folder or zip"),
        ({"class/2023004_x_norm.py": "x = 1\n"}, "class", "no submission found. Expected src/"),
    ],
    ids=["gone", "no_zip", "nothing_in_it", "single_files_alone"],
)
def test_a_path_without_a_submission_is_refused_by_name(
    tmp_path: Path, files: dict[str, str | bytes], path: str, message: str
) -> None:
    write_folder(tmp_path, files)
    with pytest.raises(IntakeError, match=f"{path}: {message}"):
        discover([tmp_path / path])
