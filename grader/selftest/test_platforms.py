"""What learning platforms export is recognised by its names, from a zip and from a folder alike, however hostile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.core.extras import extra
from grader.core.intake import reading
from grader.core.intake.candidate import Candidate, safe_id
from grader.core.intake.discover import PLATFORMS, IntakeError, Listing
from grader.core.intake.discover import discover as discover_any
from grader.core.intake.origin import MAX_TEXT, Origin, Student, clean
from grader.extras.gradescope import extension as gradescope
from grader.selftest.submissions import EXPECTED, HANDED_IN, write_folder, zipped

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"
discover = partial(discover_any, expected=EXPECTED)
both = pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])


def found(tmp_path: Path, files: Mapping[str, str | bytes], packed: bool, source: str | None = None) -> list[Candidate]:
    if packed:
        (tmp_path / "export.zip").write_bytes(zipped(files))
    else:
        write_folder(tmp_path / "export", files)
    return discover([tmp_path / ("export.zip" if packed else "export")], source)


def origins(candidates: list[Candidate]) -> dict[str, Origin | None]:
    """Whose each of them is, by id."""
    return {candidate.id: candidate.origin for candidate in candidates}


def students(*triples: tuple[str, str, str]) -> tuple[Student, ...]:
    """People by id, name and address."""
    return tuple(Student(id=one, name=name, email=email) for one, name, email in triples)


@both
def test_canvas_files_are_told_apart_by_user(tmp_path: Path, packed: bool) -> None:
    names = ("lovelaceada_12_100_norm.py", "lovelaceada_12_101_functional.py", "王芳_LATE_13_102_my_1_2_norm.py")
    files = {**dict.fromkeys(names, "x = 1\n"), "boole_14_text.html": "I could not.", "kant_15_link.html": "http://x"}
    candidates = found(tmp_path, files, packed)
    assert origins(candidates) == {
        "boole_14": Origin(source="canvas", students=students(("14", "boole", "")), late=False),
        "kant_15": Origin(source="canvas", students=students(("15", "kant", "")), late=False),
        "lovelaceada_12": Origin(source="canvas", students=students(("12", "lovelaceada", "")), late=False),
        "王芳_13": Origin(source="canvas", students=students(("13", "王芳", "")), late=True),
    }
    ada = next(candidate for candidate in candidates if candidate.id == "lovelaceada_12").read()
    assert ada.files == {NORM: "x = 1\n", FUNCTIONAL: "x = 1\n"}
    assert "None of src/functional.py" in (candidates[0].read().reason or "")


@both
def test_anonymous_canvas_files_keep_their_ids_and_no_name(tmp_path: Path, packed: bool) -> None:
    """Somebody called Anon in an export with names is as late as anybody else."""
    files = {"LATE_anon_Ab3xZ_100_norm.py": "x = 1\n", "anon_77777_101_norm.py": "x = 2\n"}
    files["anon_LATE_8_102_norm.py"] = "x = 3\n"
    candidates = found(tmp_path, files, packed)
    assert origins(candidates) == {
        "anon_8": Origin(source="canvas", students=students(("8", "", "")), late=True),
        "anon_77777": Origin(source="canvas", students=students(("77777", "", "")), late=False),
        "anon_Ab3xZ": Origin(source="canvas", students=students(("Ab3xZ", "", "")), late=True),
    }
    assert [candidate.read().files for candidate in candidates] == [{NORM: f"x = {n}\n"} for n in (2, 3, 1)]


@both
@pytest.mark.parametrize("inside", [False, True], ids=["files", "zips"])
def test_of_a_canvas_file_handed_in_again_the_latest_counts(tmp_path: Path, packed: bool, inside: bool) -> None:
    """By attachment id, of which 9 is less than 10, and not by name."""
    versions: list[str | bytes] = ["x = 1\n", "x = 2\n", "x = 3\n"]
    if inside:
        versions = [zipped({NORM: text}) for text in versions]
    stem, end = ("submission", "zip") if inside else ("norm", "py")
    names = (f"ada_12_8_{stem}.{end}", f"ada_12_9_{stem}-1.{end}", f"ada_12_10_{stem}-2.{end}")
    submission = found(tmp_path, dict(zip(names, versions, strict=True)), packed)[0].read()
    assert submission.files == {NORM: "x = 3\n"}
    assert f"'{stem}-1.{end}' was submitted more than once; the latest counts." in submission.notices


def test_of_loose_copies_the_highest_number_counts(tmp_path: Path) -> None:
    files = {f"ada/{name}": f"x = {number}\n" for number, name in enumerate(["norm.py", "norm-2.py", "norm-10.py"])}
    assert discover([write_folder(tmp_path, files)])[0].read().files == {NORM: "x = 2\n"}


@both
@pytest.mark.parametrize("end", ["", "_"], ids=["now", "before_4_1"])
def test_moodle_folders_are_told_apart_by_participant(tmp_path: Path, packed: bool, end: str) -> None:
    plugin = f"assignsubmission_file{end}"
    files: dict[str, str | bytes] = {
        f"Ada O'Neil, Jr_12_{plugin}/src/modeling/norm.py": "x = 1\n",
        "Ada O'Neil, Jr_12_assignsubmission_onlinetext/onlinetext.html": "hello",
        f"Participant_13_{plugin}/hw/{NORM}": "x = 2\n",
        f"s1_王芳_14_{plugin}/submission.zip": zipped({NORM: "x = 3\n"}),
    }
    candidates = found(tmp_path, files, packed)
    assert origins(candidates) == {
        "Ada_O_Neil_Jr_12": Origin(source="moodle", students=students(("12", "Ada O'Neil, Jr", ""))),
        "Participant_13": Origin(source="moodle", students=students(("13", "", ""))),
        "s1_王芳_14": Origin(source="moodle", students=students(("14", "s1_王芳", ""))),
    }
    assert [candidate.read().files for candidate in candidates] == [{NORM: f"x = {n}\n"} for n in (1, 2, 3)]


@both
def test_flat_moodle_files_are_told_apart_by_participant(tmp_path: Path, packed: bool) -> None:
    """Also a file that its sender called as if it were another participant's."""
    files = {f"Ada_12_assignsubmission_file_{name}": "x = 1\n" for name in ("norm.py", "functional.py")}
    files["Eve_13_assignsubmission_file_Ada_12_assignsubmission_file_norm.py"] = "x = 2\n"
    ada, eve = found(tmp_path, files, packed)
    assert ada.read().files == {NORM: "x = 1\n", FUNCTIONAL: "x = 1\n"}
    assert (eve.id, eve.read().files) == ("Eve_13", {})


METADATA = """---
submission_5:
  :submitters:
  - :name: Ada "A", Lovelace
    :sid: '007'
    :email: a@x
  - :name: "Bo\\nX\\e[31m"
    :sid: 13
    :email:
  :created_at: 2026-09-01 20:00:00.123456000 +08:00
submission_6:
  :submitters: []
"""


@both
@pytest.mark.parametrize("top", ["", "assignment_9_export/"], ids=["inside", "above"])
def test_gradescope_groups_are_one_submission_of_several_students(tmp_path: Path, packed: bool, top: str) -> None:
    files = {f"{top}submission_{number}/norm.py": f"x = {number}\n" for number in (5, 6, 7)}
    candidates = found(tmp_path, {**files, f"{top}submission_metadata.yml": METADATA}, packed)
    group = students(("007", 'Ada "A", Lovelace', "a@x"), ("13", "Bo X [31m", ""))
    assert origins(candidates) == {
        "submission_5": Origin(source="gradescope", students=group, submitted_at="2026-09-01T12:00:00+00:00"),
        "submission_6": Origin(source="gradescope"),
        "submission_7": Origin(source="gradescope"),
    }
    assert [candidate.read().files for candidate in candidates] == [{NORM: f"x = {n}\n"} for n in (5, 6, 7)]
    assert "Owner unknown: Gradescope names no submitter." in candidates[1].read().notices


def test_of_two_gradescope_submissions_of_one_group_the_later_counts(tmp_path: Path) -> None:
    entry = "submission_{}:\n  :submitters:\n  - :sid: '1'\n  :created_at: 2026-09-0{} 10:00:00 Z\n"
    metadata = "".join(entry.format(number, day) for number, day in ((1, 2), (2, 3), (3, 1)))
    files = {f"submission_{number}/norm.py": "" for number in (1, 2, 3)}
    (candidate,) = found(tmp_path, {**files, "submission_metadata.yml": metadata}, packed=False)
    assert candidate.id == "submission_2"
    assert "submission_1 is an earlier submission of the same students; it is left out." in candidate.notices


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("- a\n- b\n", "contains no submissions"),
        ("submission_5: [", "submission_metadata.yml: while parsing"),
        (b"\xff\xfe\x00", "submission_metadata.yml: "),
        ("a: &a {x: 1}\nb: {<<: [*a, *a]}\n", "could not determine a constructor"),
        ("submission_5: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
        ("submission_5: 7\n", "names no submitter"),
        ("submission_5:\n  :submitters: [1, {':name': [2]}]\n  :created_at: 99999\n", ""),
        ("[" * 100_000, "is nested more than 100 deep"),
    ],
    ids=["list", "cut_off", "bytes", "merge_keys", "python_objects", "number", "wrong_types", "deep"],
)
def test_broken_gradescope_metadata_stop_nothing(tmp_path: Path, metadata: str | bytes, problem: str) -> None:
    files = {"submission_5/norm.py": "x = 1\n", "submission_metadata.yml": metadata}
    (candidate,) = found(tmp_path, files, packed=True)
    submission = candidate.read()
    assert submission.files == {NORM: "x = 1\n"}
    assert problem in " ".join(submission.notices)
    assert candidate.origin is not None
    assert all(student == Student() for student in candidate.origin.students)


def test_clones_are_called_by_what_stands_behind_the_slug(tmp_path: Path) -> None:
    files = {f"a2-submissions/a2-{name}/{path}": "" for name in ("ada", "bo") for path in (NORM, ".git/config")}
    write_folder(tmp_path, files)
    for path in (tmp_path, tmp_path / "a2-submissions"):
        assert [(one.id, one.origin and one.origin.students) for one in discover([path])] == [
            ("a2-ada", students(("ada", "", ""))),
            ("a2-bo", students(("bo", "", ""))),
        ]


def test_a_clone_among_folders_makes_no_class_of_clones(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ada/.git/config": "", f"ada/{NORM}": "", f"bo/{NORM}": ""})
    assert origins(discover([tmp_path])) == {"ada": None, "bo": None}


def test_a_zip_of_one_clone_is_one_submission(tmp_path: Path) -> None:
    (candidate,) = found(tmp_path, {f"a2/{NORM}": "x = 1\n", "a2/.git/config": ""}, packed=True)
    assert (candidate.id, candidate.origin, candidate.read().files) == ("export", None, {NORM: "x = 1\n"})


def test_from_forces_what_would_be_taken_for_something_else(tmp_path: Path) -> None:
    files = {f"{name}_12_3_x/{NORM}": f"name = {name!r}\n" for name in ("ada", "bo")}
    assert len(found(tmp_path, files, packed=True)) == 1
    candidates = found(tmp_path, files, packed=True, source="folders")
    assert [one.read().files for one in candidates] == [{NORM: "name = 'ada'\n"}, {NORM: "name = 'bo'\n"}]
    with pytest.raises(IntakeError, match=r"not a moodle export\. Omit --from to detect the source"):
        found(tmp_path, files, packed=True, source="moodle")


@both
def test_hostile_names_become_ids_that_lead_nowhere(tmp_path: Path, packed: bool) -> None:
    names = [
        "..\n\x1b[2J;rm -rf_12_3_norm.py",
        "=cmd|' c'_13_4_norm.py",
        "\u202egnp_14_5_norm.py",
        '王,芳"_15_6_norm.py',
    ]
    candidates = found(tmp_path, dict.fromkeys(names, "x = 1\n"), packed)
    assert sorted(one.id for one in candidates) == ["2J_rm_-rf_12", "cmd_c_13", "gnp_14", "王_芳_15"]
    assert all(one.read().files == {NORM: "x = 1\n"} for one in candidates)
    assert all(one.origin and one.origin.students[0].name.isprintable() for one in candidates)


def test_links_in_an_unpacked_export_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret = 1\n")
    folder = write_folder(tmp_path / "export", {"ada_12_3_norm.py": "x = 1\n"})
    (folder / "ada_12_4_functional.py").symlink_to(tmp_path / "secret.py")
    (folder / "submission_metadata.yml").symlink_to(tmp_path / "secret.py")
    candidates = discover([folder], "canvas")
    assert candidates[0].read().files == {NORM: "x = 1\n"}
    write_folder(folder, {"submission_1/norm.py": ""})
    (only,) = [candidate for candidate in discover([folder], "gradescope") if candidate.id == "submission_1"]
    why = "Owner unknown: submission_metadata.yml: is not a regular file"
    assert only.notices[0].startswith(why)


def undeclared(files: Mapping[bytes, str]) -> bytes:
    """A zip whose names are those bytes, in an encoding that it does not declare."""
    stand_ins = {chr(ord("A") + number) * len(name): name for number, name in enumerate(files)}
    data = zipped(dict(zip(stand_ins, files.values(), strict=True)))
    for stand_in, name in stand_ins.items():
        data = data.replace(stand_in.encode(), name)
    return data


@pytest.mark.parametrize(
    ("name", "encoding", "read"),
    [
        ("2023004_李明", "gbk", "2023004_李明"),
        ("陈玥（最终版）", "gb18030", "陈玥（最终版）"),
        ("喆", "gbk", "喆"),
        ("李明\\乗", "gbk", "李明/乗"),  # the second byte of 乗 is that of a backslash
        ("李明", "utf-8", "李明"),
        ("Müller", "cp437", "Müller"),
        ("José Núñez", "cp437", "José Núñez"),
        ("Ångström", "latin-1", r"\xc5ngstr\xf6m"),
        ("Łukasz\\b", "cp852", r"\x9dukasz/b"),
    ],
    ids=["gbk", "gb18030", "rare", "backslashes", "utf_8", "dos", "two_accents", "windows", "polish"],
)
def test_a_name_in_an_encoding_that_a_zip_does_not_declare_is_read_or_escaped(
    name: str, encoding: str, read: str, tmp_path: Path
) -> None:
    files = {f"{name}/{path}".encode(encoding): text for path, text in HANDED_IN.items()}
    (tmp_path / "someone.zip").write_bytes(undeclared(files))
    (candidate,) = discover([tmp_path / "someone.zip"])
    submission = candidate.read()
    assert dict(submission.files) == HANDED_IN
    assert submission.notices == (f"Found inside the folder {read!r}.",)


def test_students_whose_folders_have_chinese_names_keep_them(tmp_path: Path) -> None:
    files = {f"{name}/{NORM}".encode("gbk"): f"name = {name!r}\n" for name in ("李明", "王芳")}
    (tmp_path / "class.zip").write_bytes(undeclared(files))
    candidates = discover([tmp_path / "class.zip"], "folders")
    assert [one.id for one in candidates] == ["李明", "王芳"]
    assert [one.read().files for one in candidates] == [{NORM: f"name = {name!r}\n"} for name in ("李明", "王芳")]


@both
def test_a_students_thousands_of_files_cost_that_student_only(tmp_path: Path, packed: bool) -> None:
    many = {f"Bo_13_assignsubmission_file/{number}.py": "" for number in range(2001)}
    ada, bo = found(tmp_path, {f"Ada_12_assignsubmission_file/{NORM}": "x = 1\n", **many}, packed)
    assert ada.read().files == {NORM: "x = 1\n"}
    assert "submit src/ only" in (bo.read().reason or "")


def test_a_zip_whose_list_of_files_is_damaged_gives_a_reason(tmp_path: Path) -> None:
    data = zipped({"ada_12_3_norm.py": "x = 1\n"})
    (tmp_path / "export.zip").write_bytes(data.replace(b"PK\x01\x02", b"PK\x09\x09"))
    (candidate,) = discover([tmp_path / "export.zip"])
    assert (candidate.id, candidate.origin) == ("export", None)
    assert (candidate.read().reason or "").startswith("The zip cannot be read: ")


def test_a_zip_in_an_export_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_ARCHIVE_BYTES", 50)
    (candidate,) = found(tmp_path, {"ada_12_3_hw.zip": zipped({NORM: "x = 1\n"})}, packed=True)
    assert (candidate.read().reason or "").startswith("hw.zip is larger than ")


def test_metadata_have_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradescope, "MAX_METADATA_BYTES", 50)
    files = {"submission_5/norm.py": "x = 1\n", "submission_metadata.yml": METADATA}
    (candidate,) = found(tmp_path, files, packed=True)
    assert "submission_metadata.yml: is larger than " in candidate.notices[0]


PIECES = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["_LATE", "_1", "_23_4_", "anon_", "LATE_", "_assignsubmission_file", "_onlinetext", "norm-1.py"]),
    st.sampled_from(["submission_7", "submission_metadata.yml", "_text.html", "/", "..", ".zip", "9" * 5000, "\ud800"]),
)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=6).map("".join), max_size=8))
def test_whatever_the_names_each_is_claimed_once_and_ids_can_be_written(names: list[str]) -> None:
    for split in (platform.submissions for platform in map(extra, PLATFORMS) if platform):
        listing = Listing(Path(__file__).parent)
        vars(listing)["names"] = tuple(sorted({name.partition("/")[0] + "/" * ("/" in name) for name in names}))
        found = split(listing)
        claimed = [name for one in found for name in one.claimed]
        assert len(claimed) == len(set(claimed))
        assert all(re.fullmatch(r"[\w.@+-]{1,100}", safe_id(one.id)) for one in found)
        assert all(one.origin and one.origin.model_dump_json().encode() for one in found)


def test_a_name_is_one_line_of_printable_text() -> None:
    assert clean("  A\tb\nc\x00\u202e\ud800 王 ") == "A b c 王"
    assert clean(12) == "12"
    assert {clean(None), clean(True), clean([]), clean({})} == {""}
    assert len(clean("x" * 1000)) == MAX_TEXT
