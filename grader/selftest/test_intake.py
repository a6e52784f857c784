"""Folders and zips become text in memory, whatever students make of them; what counts as source, what it defines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.core.intake import candidate
from grader.core.intake.candidate import MAX_MESSAGE, Candidate
from grader.core.intake.layout import STUB, defined, lacking
from grader.core.intake.submission import MAX_ENTRIES, MAX_FILES, Submission, is_source_path
from grader.selftest.submissions import EXPECTED, HANDED_IN, from_folder, read_archive, write_folder, zipped
from grader.shared.source_rules import LONGEST_PARSED, MAX_FILE_BYTES, decoded, newer_syntax, nodes_of

NORM, FUNCTIONAL = "src/modeling/norm.py", "src/functional.py"


def from_zip(files: Mapping[str, str | bytes]) -> Submission:
    return read_archive(zipped(files), EXPECTED)


def noticed(submission: Submission) -> str:
    return " ".join(submission.notices)


def test_only_python_below_src_is_taken(tmp_path: Path) -> None:
    more = {"README.md": "x", "src/data.csv": "1", "tests/test_norm.py": "x", "src/tools/helper.py": "y = 1\n"}
    submission = from_folder(tmp_path, {**HANDED_IN, **more})
    assert submission.files.keys() - HANDED_IN.keys() == {"src/tools/helper.py"}
    assert submission.notices == ()


@pytest.mark.parametrize("prefix", ["homework", "my homework/a2", "a2/src_backup"])
def test_a_nested_top_folder_is_seen_through(tmp_path: Path, prefix: str) -> None:
    files: dict[str, str | bytes] = {f"{prefix}/{path}": text for path, text in HANDED_IN.items()}
    for submission in (from_folder(tmp_path, files), from_zip(files)):
        assert dict(submission.files) == HANDED_IN
        assert submission.notices == (f"Found inside the folder {prefix!r}.",)


@pytest.mark.parametrize(
    "name", ["norm.py", "norm-1.py", "norm (2).py", "norm(1).py", "Norm.py", "norm copy.py", "norm_copy.py"]
)
def test_a_loose_file_is_put_in_its_place_also_as_a_renamed_copy(tmp_path: Path, name: str) -> None:
    submission = from_folder(tmp_path, {name: "x = 1\n"})
    assert submission.files == {NORM: "x = 1\n"}
    assert f"{name!r} was graded as {NORM}." in submission.notices


def test_an_empty_folder_has_nothing_to_grade(tmp_path: Path) -> None:
    reason = from_folder(tmp_path, {"notes.cfg": "x"}).reason
    assert reason == f"None of {', '.join(EXPECTED)} is in the submission."


@pytest.mark.parametrize("clutter", ["__MACOSX/src/modeling/._norm.py", ".git/src/functional.py", "src/.cache/x.py"])
def test_clutter_is_passed_over(tmp_path: Path, clutter: str) -> None:
    files: dict[str, str | bytes] = {**HANDED_IN, clutter: b"\0\1"}
    assert from_folder(tmp_path, files) == from_zip(files) == Submission("someone", HANDED_IN)


def test_two_zips_that_say_the_same_are_no_doubt(tmp_path: Path) -> None:
    submission = from_folder(tmp_path, {name: zipped(HANDED_IN) for name in ("a.zip", "b.zip")})
    assert dict(submission.files) == HANDED_IN
    assert submission.concerns == {}


def test_of_two_versions_in_two_zips_none_counts_and_both_are_named(tmp_path: Path) -> None:
    other = {**HANDED_IN, NORM: "x = 1\n"}
    submission = from_folder(tmp_path, {"a.zip": zipped(HANDED_IN), "b.zip": zipped(other)})
    assert submission.files.keys() == HANDED_IN.keys() - {NORM}
    (concern,) = submission.concerns
    assert submission.concerns[concern] == "doubtful"
    assert f"{NORM} exists twice, as a.zip/{NORM} and as b.zip/{NORM}, with different content" in concern


def test_a_concern_that_is_cut_keeps_its_code() -> None:
    others = {path: text for path, text in HANDED_IN.items() if path != NORM}
    submission = from_zip({**others, f"{'a' * 980}/norm.py": "x = 1\n", f"{'b' * 980}/norm.py": "y = 1\n"})
    assert {len(text): code for text, code in submission.concerns.items()} == {MAX_MESSAGE: "doubtful"}


@pytest.mark.parametrize("kind", ["link_inside", "link_outside", "pipe"])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, kind: str) -> None:
    write_folder(tmp_path, {"secret.py": "secret = 1\n"})
    folder = write_folder(tmp_path / "someone", HANDED_IN)
    place = folder / FUNCTIONAL
    place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "secret.py" if kind == "link_outside" else folder / NORM)
    submission = Candidate("someone", folder, expected=EXPECTED).read()
    assert submission.files == {path: text for path, text in HANDED_IN.items() if path != FUNCTIONAL}
    assert f"{FUNCTIONAL} is not a regular file (possibly a link)" in noticed(submission)


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    write_folder(tmp_path / "elsewhere", {"norm.py": "secret = 1\n", "more/secret.py": "secret = 2\n"})
    folder = write_folder(tmp_path / "someone", {FUNCTIONAL: "x = 1\n"})
    (folder / "src" / "modeling").symlink_to(tmp_path / "elsewhere")
    assert Candidate("someone", folder, expected=EXPECTED).read().files == {FUNCTIONAL: "x = 1\n"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"# Dr\xfccken\n", "is not UTF-8 (byte 4)"),
        (b"x = 1\0\n", "contains NUL bytes"),
        (b"#" * (MAX_FILE_BYTES + 1), "is larger than 1 MiB"),
        ("x = 1\n".encode("utf-16"), "is UTF-16 or UTF-32, which Python cannot read; save it as UTF-8"),
    ],
    ids=["latin_1", "nul", "too_large", "utf_16"],
)
def test_a_file_that_is_no_source_costs_itself_only(tmp_path: Path, data: bytes, problem: str) -> None:
    files: dict[str, str | bytes] = {**HANDED_IN, NORM: data}
    for submission in (from_folder(tmp_path, files), from_zip(files)):
        assert f"{NORM} {problem}" in noticed(submission)
        assert submission.files == {path: text for path, text in HANDED_IN.items() if path != NORM}


@pytest.mark.parametrize(
    ("folder", "count", "reason"),
    [
        ("src", MAX_FILES + 1, f"{MAX_FILES + 1} Python files under src/; the limit is {MAX_FILES}."),
        ("more", MAX_ENTRIES + 1, f"It contains {MAX_ENTRIES + 1} Python files; submit src/ only."),
    ],
    ids=["in_src", "anywhere"],
)
def test_too_many_files_are_refused(tmp_path: Path, folder: str, count: int, reason: str) -> None:
    files: dict[str, str | bytes] = {f"{folder}/m{number}.py": "" for number in range(count)}
    assert from_zip(files).reason == from_folder(tmp_path, files).reason == reason


def test_too_many_names_are_refused_and_those_in_clutter_are_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate, "MAX_LISTED", 6)
    files: dict[str, str | bytes] = {NORM: "x = 1\n", ".git/objects/pack/x": "", "docs/notes.md": ""}
    assert from_folder(tmp_path, files).files == {NORM: "x = 1\n"}
    reason = from_folder(tmp_path, {"images/x.svg": ""}).reason
    assert reason == "The folder contains more than 6 files and folders; submit src/ only."


DEFINES_NORM = {
    "class": "class Norm: ...\n",
    "function": "async def Norm(): ...\n",
    "assignment": "Norm: type = make()\n",
    "several": "Other, (Norm, *_) = make()\n",
    "condition": "try:\n    from ._fast import Norm\nexcept ImportError:\n    if True:\n        class Norm: ...\n",
    "loop": "for Norm in (): ...\n",
    "besides a comprehension": "Norm = [Norm for Norm in ()]\n",
    "class besides a comprehension": "class Norm: ...\nmore = {Norm for Norm in ()}\n",
    "global": "def make():\n    global Norm\n    Norm = 1\nmake()\n",
}
MAY_DEFINE_NORM = {
    "import": "from ._norm import Norm\n",
    "alias": "import torch as Norm\n",
    "star": "from ._vocab.whole import *\n",
    "getattr": "def __getattr__(name): return make(name)\n",
    "globals": "globals().update(made())\n",
    "exec": "exec(text)\n",
    "another module": "import sys\nsys.modules[__name__] = made()\n",
}
NO_NORM = {
    "comment": "# class Norm\n",
    "string": '"""class Norm: ..."""\n',
    "use": "print(Norm)\n",
    "method": "class Other:\n    def Norm(self): ...\n",
    "local": "def make():\n    Norm = 1\n    return [Norm for Norm in ()]\n",
    "longer name": "class NormOfMine: ...\n",
    "comprehension": "names = [Norm for Other, (Norm, *_) in ()]\n",  # which Python 3.12 runs within its module
}


@pytest.mark.parametrize("text", DEFINES_NORM.values(), ids=DEFINES_NORM)
def test_whatever_binds_a_name_at_the_top_level_defines_it(text: str) -> None:
    assert defined(text, ["Norm", "Other_"]) == ["Norm"]
    assert lacking(text, ["Norm", "Other_"]) is None


@pytest.mark.parametrize("text", MAY_DEFINE_NORM.values(), ids=MAY_DEFINE_NORM)
def test_a_file_that_passes_a_name_on_or_may_do_so_neither_lacks_nor_makes_it(text: str) -> None:
    assert defined(text, ["Norm"]) == []
    assert lacking(text, ["Norm"]) is None


@pytest.mark.parametrize("text", NO_NORM.values(), ids=NO_NORM)
def test_a_mention_is_no_definition(text: str) -> None:
    assert defined(text, ["Norm"]) == []
    assert lacking(text, ["Norm", "Other_"]) == "{path} does not define Norm or Other_"


def test_only_a_statement_that_raises_makes_a_stub() -> None:
    stub = "class Norm:\n    def forward(self):\n        raise NotImplementedError('Task 1')\n"
    assert lacking(stub, ["Norm"]) == STUB
    assert lacking("class Norm:\n    '''Raises NotImplementedError without CUDA.'''\n", ["Norm"]) is None


@pytest.mark.parametrize(
    "rest",
    ["def (", "\0", "'\ud800'", "#" * LONGEST_PARSED, f"raise {' + '.join('x' * 1000)}", f"x = {'-' * 90_000}1"],
    ids=["syntax", "nul", "surrogate", "long", "deep", "deeper"],
)
def test_without_a_tree_the_text_is_searched(rest: str) -> None:
    assert defined(f"class Norm: ...\n{rest}", ["Norm"]) == ["Norm"]
    assert lacking(f"class Norm: ...\n{rest}", ["Norm"]) is None
    assert lacking(rest, ["Norm"]) == "{path} does not define Norm"


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"\xef\xbb\xbfx = 1\n", "x = 1\n"), (b"x = 1\r\ny = 2\r", "x = 1\ny = 2\n")],
    ids=["byte_order_mark", "line_ends"],
)
def test_source_is_read_as_python_reads_it(data: bytes, text: str) -> None:
    assert decoded(data) == text


def test_a_warning_of_the_parser_is_neither_raised_nor_newer_syntax() -> None:
    """Here warnings are errors; from Python 3.12 on the first of these is printed, unless it is silenced."""
    text = "x = '\\d'\ny = 1is 2\n"
    assert nodes_of(text)
    assert newer_syntax(text) is None


def test_a_file_as_large_as_allowed_is_taken() -> None:
    assert len(decoded(b"#" * MAX_FILE_BYTES)) == MAX_FILE_BYTES


@pytest.mark.parametrize(
    "other",
    [
        *("src/a.pyc", "tests/a.py", "src/../a.py", "/src/a.py", "src/.hidden/a.py", "src/__pycache__/a.py"),
        *("src/a\n.py", f"src/{'a' * 200}.py"),
    ],
    ids=["compiled", "tests", "upwards", "absolute", "hidden", "cache", "line_break", "long"],
)
def test_a_source_path_is_plain_python_below_src(other: str) -> None:
    assert is_source_path("src/a.py")
    assert is_source_path("src/deep/er/a.py")
    assert not is_source_path(other)


def test_the_digest_tells_contents_and_places_apart() -> None:
    digests = {
        Submission("a", {NORM: "ab", FUNCTIONAL: "c"}).sha256,
        Submission("a", {NORM: "a", FUNCTIONAL: "bc"}).sha256,
        Submission("a", {FUNCTIONAL: "ab", NORM: "c"}).sha256,
    }
    assert len(digests) == 3
    assert Submission("b", {FUNCTIONAL: "c", NORM: "ab"}).sha256 in digests
