"""However a submission is packed, an honest solution in it is found, or its student stands on the list.

A fixed sample of generated packages here; ``GRADER_LONG=1`` makes two thousand.
"""

from __future__ import annotations

import io
import os
import random
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.intake.candidate import MAX_ID_BYTES, TAKEN, folded, safe_id
from grader.intake.discover import discover
from grader.intake.folder import read_folder
from grader.intake.reader import Reader
from grader.intake.submission import Submission
from grader.selftest.submissions import EXPECTED, HANDED_IN, write_folder, zipped

PACKAGES = 2000 if os.environ.get("GRADER_LONG") else 150
Tree = dict[str, bytes]
NAMES = (
    "王芳",
    "Zoë Müller",
    "=1+1",
    "+1+1",
    "-rf",
    "a b",
    "ledger.sqlite3",
    "summary.json",
    "HTML",
    "ada",
    "ADA",
    "x" * 90,
)


def tarred(files: Tree, mode: Any) -> bytes:
    """The bytes of a tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return buffer.getvalue()


def packed(files: Tree, chance: random.Random) -> tuple[str, bytes]:
    """An archive of some kind, with the suffix that goes with it."""
    kind = chance.choice(["zip", "tar.gz", "tgz", "tar.bz2", "tar.xz", "tar"])
    if kind == "zip":
        buffer = io.BytesIO()
        method = chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return kind, buffer.getvalue()
    return kind, tarred(files, {"tgz": "w:gz", "tar": "w"}.get(kind, f"w:{kind[4:]}"))


# ── What students do to a solution; each step takes a tree and gives another ────────────────────────────────────────


def in_a_folder(tree: Tree, chance: random.Random) -> Tree:
    """Below a folder, or two."""
    top = chance.choice(["homework", "A2 final", "王芳_作业二", "a2/src_backup", "Desktop/a2"])
    return {f"{top}/{name}": data for name, data in tree.items()}


def with_clutter(tree: Tree, chance: random.Random) -> Tree:
    """Beside what tools leave behind."""
    clutter = {
        "__MACOSX/._norm.py": b"\0",
        ".git/config": b"x",
        "src/__pycache__/norm.cpython-311.pyc": b"\0",
        "data/big.bin": bytes(100_000),
        ".DS_Store": b"\0",
        "README.md": b"x",
        "submission.pdf": b"%PDF",
    }
    if chance.random() < 0.2:
        clutter |= {f".venv/lib/x{number}.py": b"" for number in range(2500)}
    if chance.random() < 0.2:
        clutter |= {"env/pyvenv.cfg": b"", **{f"env/lib/norm{number}.py": b"" for number in range(2500)}}
    return tree | dict(chance.sample(sorted(clutter.items()), min(len(clutter), 4))) | tree


def in_an_archive(tree: Tree, chance: random.Random) -> Tree:
    """Packed once more."""
    kind, data = packed(tree, chance)
    return {f"{chance.choice(['a2', '作业', 'my work', 'submission (1)'])}.{kind}": data}


def in_several_archives(tree: Tree, chance: random.Random) -> Tree:
    """An archive for each part, helper modules with each."""
    parts = [path for path in sorted(tree) if not path.endswith("__init__.py")]
    chance.shuffle(parts)
    half = len(parts) // 2 or 1
    result: Tree = {}
    for number, names in enumerate((parts[:half], parts[half:]), 1):
        if names:
            kind, data = packed({name: tree[name] for name in names}, chance)
            result[f"task{number}.{kind}"] = data
    return result


def with_other_line_ends(tree: Tree, chance: random.Random) -> Tree:
    """As Windows writes them, with a byte order mark now and then."""
    mark = b"\xef\xbb\xbf" if chance.random() < 0.5 else b""
    return {name: mark + data.replace(b"\n", b"\r\n") if name.endswith(".py") else data for name, data in tree.items()}


def in_another_encoding(tree: Tree, chance: random.Random) -> Tree:
    """With a coding line that says which, or without."""
    encoding = chance.choice(["gbk", "big5", "latin-1", "utf-16", "utf-8"])
    said = f"# -*- coding: {encoding} -*-\n" if encoding != "utf-16" and chance.random() < 0.8 else ""
    comment = "# 均方根\n" if encoding != "latin-1" else "# Größe\n"
    return {
        name: (said + comment + data.decode("utf-8-sig")).encode(encoding) if name.endswith("norm.py") else data
        for name, data in tree.items()
    }


def loose(tree: Tree, chance: random.Random) -> Tree:
    """Without their folders."""
    del chance
    return {Path(name).name: data for name, data in tree.items() if name.startswith("src/") and name.endswith(".py")}


def renamed(tree: Tree, chance: random.Random) -> Tree:
    """One of them called otherwise."""
    other = chance.choice(["norm_final.py", "norm-1.py", "norm (2).py", "my_norm.py", "Norm.py", "answer.py"])
    return {str(Path(name).with_name(other)) if name.endswith("norm.py") else name: data for name, data in tree.items()}


STEPS: tuple[Callable[[Tree, random.Random], Tree], ...] = (
    *(in_a_folder, with_clutter, in_an_archive, in_several_archives, with_other_line_ends, in_another_encoding),
    *(loose, renamed),
)


def package(seed: int) -> tuple[str, Tree]:
    """A name, and what its student handed in: one to four steps over an honest solution."""
    chance = random.Random(seed)
    tree: Tree = {name: text.encode() for name, text in HANDED_IN.items()}
    for step in chance.sample(STEPS, chance.randint(1, 4)):
        if any(name in EXPECTED for name in tree) or step in (in_a_folder, with_clutter, in_an_archive):
            tree = step(tree, chance)
    return f"{chance.choice(NAMES)}{seed}", tree


def honest(submission: Submission) -> bool:
    """Whether every file that is asked for is there as it was written, but for lines above it."""
    return all(submission.files.get(path, "").replace("\r\n", "\n").endswith(text) for path, text in HANDED_IN.items())


def listed(submission: Submission) -> bool:
    """Whether a person is told."""
    return bool(submission.reason or submission.concerns)


@pytest.mark.process
def test_every_honest_package_is_read_whole_or_named(tmp_path: Path) -> None:
    whole = 0
    with Reader() as reader:
        for seed in range(PACKAGES):
            name, tree = package(seed)
            folder = tmp_path / f"{seed}"
            write_folder(folder / name, dict(tree))
            (candidate,) = reader.discover([folder], "folders", expected=EXPECTED)
            submission = reader.read(candidate)
            assert honest(submission) or listed(submission), (seed, sorted(tree), submission)
            whole += honest(submission)
    assert whole > PACKAGES / 2


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"src.7z": b"7z"}, "A 7z archive, src.7z: ask for a zip."),
        ({"a2.rar": b"Rar!"}, "A rar archive, a2.rar: ask for a zip."),
        ({"a2.ipynb": b"{}"}, "A notebook, a2.ipynb: ask for the Python files of src/."),
        ({"text.html": b"I could not."}, "A text typed in online, or a link, text.html: ask for a zip of src/."),
    ],
    ids=["7z", "rar", "notebook", "text"],
)
def test_what_was_sent_instead_is_named(files: Tree, said: str, tmp_path: Path) -> None:
    submission = read_folder(write_folder(tmp_path / "ada", dict(files)), "ada", expected=EXPECTED)
    assert said in (submission.reason or "")


@pytest.mark.parametrize(
    "other", ["norm_final.py", "my_norm.py", "answer.py"], ids=["with_a_suffix", "with_a_prefix", "by_what_it_defines"]
)
def test_a_file_that_may_be_renamed_is_offered_and_not_used(other: str, tmp_path: Path) -> None:
    files = {**HANDED_IN, f"src/modeling/{other}": HANDED_IN["src/modeling/norm.py"]}
    del files["src/modeling/norm.py"]
    submission = read_folder(write_folder(tmp_path / "ada", dict(files)), "ada", expected=EXPECTED)
    assert "src/modeling/norm.py" not in submission.files
    (concern,) = submission.concerns
    assert concern.code == "renamed"
    assert f"'src/modeling/{other}' may be it" in concern.text
    assert concern.text in submission.notices


def test_an_import_by_a_bare_name_is_named(tmp_path: Path) -> None:
    files = {**HANDED_IN, "src/modeling/norm.py": "import sys\nsys.path.append('..')\nfrom functional import apply\n"}
    submission = read_folder(write_folder(tmp_path / "ada", dict(files)), "ada", expected=EXPECTED)
    (concern,) = submission.concerns
    assert (concern.code, concern.text[:46]) == ("own_import", "src/modeling/norm.py:3 imports functional by its"[:46])


def test_an_import_that_has_a_second_choice_is_none(tmp_path: Path) -> None:
    text = "try:\n    from ..functional import apply\nexcept ImportError:\n    from functional import apply\n"
    submission = read_folder(
        write_folder(tmp_path / "ada", {**HANDED_IN, "src/modeling/norm.py": text}), "ada", expected=EXPECTED
    )
    assert submission.concerns == ()


# ── Ids ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

OURS = ("ledger.sqlite3", "ledger.sqlite3-wal", "summary.json", "grades.csv", "html", "HTML", "checks.csv", "junit.xml")
LONG = ("王" * 120, "x" * 251, "é" * 200, "王" * 83 + ".zip")


@pytest.mark.parametrize("name", [*OURS, *LONG, "CON", "nul", "..", "", "\ud800"], ids=ascii)
def test_no_name_makes_an_id_that_is_ours_or_too_long(name: str) -> None:
    own = safe_id(name)
    assert own
    assert not TAKEN.fullmatch(own)
    assert len(own.encode()) <= MAX_ID_BYTES


def test_long_names_that_begin_alike_stay_apart() -> None:
    assert safe_id("王" * 120 + "1") != safe_id("王" * 120 + "2")


def test_ids_that_a_file_system_may_take_for_one_are_told_apart(tmp_path: Path) -> None:
    names = ("Ada", "ada", "ADA", unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"))
    write_folder(tmp_path, {f"{name}.zip": zipped(dict(HANDED_IN)) for name in names})
    ids = [candidate.id for candidate in discover([tmp_path], expected=EXPECTED)]
    assert len({folded(own) for own in ids}) == len(names)


# ── What else lies in a class folder ────────────────────────────────────────────────────────────────────────────────


def classroom(folder: Path) -> Iterator[tuple[str, str]]:
    """What intake says of each in a class with links and a pipe in it."""
    with Reader() as reader:
        for candidate in reader.discover([folder], expected=EXPECTED):
            yield candidate.id, reader.read(candidate).reason or ""


@pytest.mark.process
def test_links_and_pipes_in_a_class_folder_are_refused_by_name(tmp_path: Path) -> None:
    write_folder(tmp_path, {"ada.zip": zipped(dict(HANDED_IN)), "bo/src/functional.py": "x = 1\n"})
    (tmp_path / "eve.zip").symlink_to(tmp_path / "ada.zip")
    (tmp_path / "kim").symlink_to(tmp_path / "bo")
    os.mkfifo(tmp_path / "pipe.zip")
    said = dict(classroom(tmp_path))
    assert (said["ada"], said["bo"]) == ("", "")
    assert said["eve"].startswith("eve.zip is a link, and may lead to somebody else's work.")
    assert said["kim"].startswith("kim is a link")
    assert said["pipe"].startswith("pipe.zip is neither a file nor a folder")
