"""Which paths are submissions and what they are called; odd packing is seen through, and what is in doubt is named."""

from __future__ import annotations

import gzip
import os
import pickle
import re
import tarfile
import unicodedata
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from grader.core.intake.candidate import MAX_ID_BYTES, TAKEN, Candidate, on_disk, safe_id
from grader.core.intake.discover import IntakeError
from grader.core.intake.discover import discover as discover_any
from grader.core.intake.submission import MAX_ENTRIES, MAX_FILES
from grader.core.messages import Message
from grader.core.results.views import in_words
from grader.selftest.submissions import EXPECTED, HANDED_IN, from_folder, write_folder, zipped

Tree = dict[str, str | bytes]
discover = partial(discover_any, expected=EXPECTED)
NORM = "src/modeling/norm.py"
OTHERS = {path: text for path, text in HANDED_IN.items() if path != NORM}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"src.7z": b"7z"}, "src.7z cannot be graded: ask for a zip."),
        ({"a2.ipynb": b"{}"}, "a2.ipynb cannot be graded: ask for the Python files of src/."),
        ({"answer.txt": b"I could not."}, "answer.txt cannot be graded: ask for the Python files of src/."),
        ({"a\x1b[2J\n.7z": b"7z"}, "a [2J .7z cannot be graded: ask for a zip."),
        ({"a2.rar": b"7z\xbc\xaf\x27\x1c"}, "a2.rar cannot be graded: ask for a zip."),
        ({"a2.zip": b"Rar!\x1a\x07"}, "a2.zip is a rar file; ask for a zip; it was left out."),
        ({"text.html": b"I could not."}, "text.html cannot be graded: ask for the Python files of src/."),
        ({"work.gz": gzip.compress(b"x = 1")}, "work.gz cannot be graded: ask for a zip."),  # packed, and no archive
        ({"work.zip": zipped({})}, "work.zip is an empty archive"),
    ],
    ids=["7z", "notebook", "text", "for_terminals", "rar", "rar_as_zip", "typed_in", "gz", "empty"],
)
def test_what_was_sent_instead_is_named(files: Tree, said: str, tmp_path: Path) -> None:
    assert said in (from_folder(tmp_path, files).reason or "")


def test_of_many_kinds_each_is_a_sentence(tmp_path: Path) -> None:
    names = [*(f"{number}.rar" for number in range(4)), "b.pdf", "c.doc", "d.doc"]
    reason = from_folder(tmp_path, dict.fromkeys(names, b"x")).reason or Message()
    assert reason.endswith("b.pdf cannot be graded: ask for the Python files of src/. And 2 more.")
    assert in_words(reason, None, "zh").endswith("b.pdf 无法评分：请要求提交 src/ 的 Python 文件。另有 2 个。")


@pytest.mark.parametrize(
    ("files", "chinese"),
    [
        ({"a2.zip": b"PK"}, "a2.zip 无法读取（它不是 zip 文件）；已忽略它。"),
        ({NORM: b"\xff\xfe"}, f"{NORM} 是 UTF-16 或 UTF-32 编码，Python 不读取；请保存为 UTF-8；已忽略它。"),
        ({"norm_v2.py": HANDED_IN[NORM]}, f"缺少 {NORM}；'norm_v2.py' 可能就是它（其中定义了 Norm）。如果是，请改名。"),
    ],
    ids=["no_zip", "encoding", "renamed"],
)
def test_a_reason_is_told_in_chinese_from_its_parts(files: Tree, chinese: str, tmp_path: Path) -> None:
    sent = pickle.dumps(from_folder(tmp_path, files))  # as the reading process does
    assert chinese in in_words(pickle.loads(sent).reason, None, "zh")


@pytest.mark.parametrize("count", [MAX_FILES + 1, MAX_ENTRIES + 1], ids=["files_of_src", "python_files"])
def test_an_archive_that_holds_too_much_is_left_out_by_its_name(count: int, tmp_path: Path) -> None:
    inner = zipped({f"src/{number}.py": b"" for number in range(count)})
    (concern,) = from_folder(tmp_path, {"inner.zip": inner, "loose.py": b"x = 1"}).concerns
    assert re.fullmatch(r"inner\.zip: .*Python files.*; it was left out\.", concern)


@pytest.mark.parametrize(
    "other",
    ["norm_final.py", "my_norm.py", "answer.py", "norm.py.txt", "norm.txt", "norm.py~", "tasks.txt", "norm", "Norm-1"],
)
def test_a_file_that_may_be_renamed_is_offered_and_not_used(other: str, tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {**OTHERS, f"src/modeling/{other}": HANDED_IN[NORM]})
    assert "src/modeling/norm.py" not in submission.files
    (concern,) = submission.concerns
    assert submission.concerns[concern] == "renamed"
    assert f"'src/modeling/{other}' may be that file" in concern


@pytest.mark.parametrize("name", ["ada.rar", "ada.7z", "ada.GZ"])
@pytest.mark.parametrize("exported", [False, True], ids=["class", "canvas"])
def test_a_zip_under_the_name_of_another_archive_is_a_zip(name: str, exported: bool, tmp_path: Path) -> None:
    called = f"ada_12_3_{name}" if exported else name
    write_folder(tmp_path, {called: zipped(dict(HANDED_IN)), "bo.zip": zipped(dict(HANDED_IN))})
    ada, _ = discover([tmp_path])
    submission = ada.read()
    assert (ada.id, dict(submission.files)) == ("ada_12" if exported else "ada", HANDED_IN)
    assert submission.notices == ()  # packed as most students do, which is nothing to tell


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip_within"])
def test_a_file_of_another_name_stands_for_the_one_that_staff_names(packed: bool, tmp_path: Path) -> None:
    first, *_ = HANDED_IN
    files = {f"hw/{name}" if name != first else "hw/my work.py": text for name, text in HANDED_IN.items()}
    write_folder(tmp_path / "ada", {"work.zip": zipped(files)} if packed else files)
    without = Candidate("ada", tmp_path / "ada", expected=EXPECTED)
    assert first not in without.read().files
    for name in ("my work.py", "work.zip/hw/my work.py" if packed else "hw/my work.py"):  # short, or as it was offered
        assert replace(without, taken={first: name}).read().files == HANDED_IN
    assert replace(without, taken={first: "gone.py"}).read().files == without.read().files


def test_of_two_versions_the_one_that_staff_names_counts(tmp_path: Path) -> None:
    files = {**OTHERS, "a/norm.py": "x = 1\n", "b/norm.py": HANDED_IN[NORM]}
    without = Candidate("ada", write_folder(tmp_path / "ada", dict(files)), expected=EXPECTED)
    assert NORM not in without.read().files
    named = replace(without, taken={NORM: "b/norm.py"}).read()
    assert (dict(named.files), named.concerns) == (HANDED_IN, {})


def test_a_tar_and_a_zip_within_may_have_names_of_other_kinds(tmp_path: Path) -> None:
    write_folder(tmp_path / "work", {"inner.rar": zipped(dict(HANDED_IN))})
    with tarfile.open(tmp_path / "outer.7z", "w:gz") as archive:
        archive.add(tmp_path / "work", "")
    (tmp_path / "ada").mkdir()
    (tmp_path / "outer.7z").rename(tmp_path / "ada" / "outer.7z")
    assert dict(Candidate("ada", tmp_path / "ada", expected=EXPECTED).read().files) == HANDED_IN


def test_a_file_without_its_suffix_is_offered_also_where_its_content_says_nothing(tmp_path: Path) -> None:
    """In a tar only the names of such files are kept; a submission of nothing else says what may be meant, too."""
    files = {path.removesuffix(".py"): text for path, text in HANDED_IN.items()}
    write_folder(tmp_path / "ada", dict(files))
    with tarfile.open(tmp_path / "bo.tar", "w") as archive:
        archive.add(tmp_path / "ada", "")
    for name in ("ada", "bo.tar"):
        submission = Candidate(name, tmp_path / name, expected=EXPECTED).read()
        assert [*submission.concerns.values()] == ["renamed"] * len(EXPECTED)
        assert f"{NORM} is missing; 'src/modeling/norm' may be that file" in (submission.reason or "")
        assert "If so, rename it." in (submission.reason or "")


def test_a_file_without_a_suffix_that_holds_something_else_is_not_suspected(tmp_path: Path) -> None:
    files: Tree = {"README": "See norm.\n", "data/norms": b"\0\1", "src/modeling/normal": "x = 1\n"}
    files["src/modeling/__init__.py"] = "from .norm import Norm\n"  # the package passes it on
    submission = from_folder(tmp_path, {**OTHERS, **files})
    assert submission.concerns == {}
    assert submission.notices == (f"{NORM} is missing.",)


STUB = HANDED_IN[NORM] + "raise NotImplementedError\n"
TWICE: dict[str, Tree] = {  # in place of the file, which is there twice
    "stub_and_better_below": {NORM: STUB, f"mine/{NORM}": HANDED_IN[NORM]},
    "stub_and_a_copy": {NORM: STUB, "src/modeling/norm-1.py": HANDED_IN[NORM]},
    "stub_and_another_name": {NORM: STUB, "src/modeling/mine.py": HANDED_IN[NORM]},
    "stub_and_a_zip": {NORM: STUB, "mine.zip": zipped(HANDED_IN)},
    "loose_in_two_folders": {"a/norm.py": "x = 1\n", "b/norm.py": HANDED_IN[NORM]},
    "empty": {NORM: ""},
    "nothing_of_what_is_asked_for": {NORM: "import torch\n"},
}


@pytest.mark.parametrize("files", TWICE.values(), ids=TWICE)
def test_a_file_beside_which_there_is_as_good_or_better_is_never_taken_in_silence(files: Tree, tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {**OTHERS, **files})
    assert submission.files.get(NORM) != HANDED_IN[NORM]
    (concern,) = submission.concerns
    assert concern.startswith((f"{NORM} is ", f"{NORM} exists twice, ", f"{NORM} does not define Norm."))


@pytest.mark.parametrize(
    "older", [{f"old/{NORM}": STUB}, {"handout.zip": zipped({NORM: STUB})}, {"tests/norm.py": "x = 1\n"}],
    ids=["below", "packed", "of_that_name_elsewhere"],
)  # fmt: skip
def test_an_older_version_where_nobody_would_look_is_no_doubt(older: Tree, tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {**HANDED_IN, **older})
    assert dict(submission.files) == HANDED_IN
    assert submission.concerns == {}


def test_an_import_by_a_bare_name_is_named(tmp_path: Path) -> None:
    files = {**HANDED_IN, NORM: f"import sys\nsys.path.append('..')\nfrom functional import apply\n{HANDED_IN[NORM]}"}
    submission = from_folder(tmp_path, files)
    (concern,) = submission.concerns
    assert submission.concerns[concern] == "own_import"
    assert concern.startswith("src/modeling/norm.py:3 imports functional by its bare name")
    assert concern.endswith("as in: from ..functional import …")


def test_an_import_that_has_a_second_choice_is_none(tmp_path: Path) -> None:
    text = "try:\n    from ..functional import apply\nexcept ImportError:\n    from functional import apply\n"
    text += HANDED_IN[NORM]
    submission = from_folder(tmp_path, {**HANDED_IN, "src/modeling/norm.py": text})
    assert submission.concerns == {}


# ── Ids ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

OURS = (
    *("ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-journal", "summary.json", "sources.json"),
    *("decisions.toml", ".decisions.lock", "grades.csv", "checks.csv", "junit.xml", "html", "HTML"),
    *("canvas-feedback.zip", "canvas-feedback.zip.part", "ada.part", "Ada.PART", "submissions"),
)
SIGNS = ("-rf --help", "@SUM(1+1)", "_-+x", "-")
LONG = ("王" * 120, "x" * 251, "é" * 200, "王" * 83 + ".zip")


@pytest.mark.parametrize("name", [*OURS, *SIGNS, *LONG, "CON", "nul", "..", "", "\ud800"], ids=ascii)
def test_no_name_makes_an_id_that_is_ours_or_too_long_or_begins_with_a_sign(name: str) -> None:
    safe = safe_id(name)
    assert safe[0].isalnum()
    assert not TAKEN.fullmatch(safe)
    assert len(safe.encode()) <= MAX_ID_BYTES


def test_a_name_in_the_bytes_of_a_chinese_windows_is_read() -> None:
    assert safe_id(os.fsdecode("王芳".encode("gbk"))) == "王芳"


def test_ids_that_a_file_system_may_take_for_one_are_told_apart(tmp_path: Path) -> None:
    names = ("Ada", "ada", "ADA", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"))
    write_folder(tmp_path, {f"{name}.zip": zipped(dict(HANDED_IN)) for name in names})
    ids = [candidate.id for candidate in discover([tmp_path])]
    assert len({on_disk(name) for name in ids}) == len(names)


def test_links_and_pipes_in_a_class_folder_are_refused_by_name(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ada.zip": zipped(dict(HANDED_IN)), "bo/src/functional.py": "x = 1\n"})
    (tmp_path / "eve.zip").symlink_to(tmp_path / "ada.zip")
    (tmp_path / "kim").symlink_to(tmp_path / "bo")
    (tmp_path / "lee").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.zip")
    os.mkfifo(tmp_path / "queue")
    said = {one.id: one.read().reason or "" for one in discover([tmp_path])}
    assert (said["ada"], said["bo"]) == ("", "")
    assert said["eve"].startswith("eve.zip is a link, which may point to someone else's submission; submit the folder")
    assert said["kim"].startswith("kim is a link")
    assert said["lee"].startswith("lee is a link")
    assert said["pipe"].startswith("The archive is not a regular file")
    assert "queue" not in said


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
        ("x" * 150, "x" * 91 + "-a09244d5"),
    ],
    ids=["umlauts", "chinese", "shell", "address", "dots", "nothing_left", "long"],
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
