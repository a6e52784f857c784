"""However a solution is packed, it is found whole and has full marks, or its student stands on the list; never neither.

A fixed sample of generated packages here; ``GRADER_LONG=1`` makes two thousand. Each text that intake makes of them is
judged once.
"""

from __future__ import annotations

import io
import itertools
import random
import re
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from grader.assignment import ASSIGNMENT
from grader.core.intake.candidate import Candidate
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.selftest import LONG
from grader.selftest.submissions import write_folder, zipped

Tree = Mapping[str, bytes]
SOLUTION = {path: text.encode() for path, text in ASSIGNMENT.solution().items()}
STUBS = {path: text.encode() for path, text in ASSIGNMENT.stubs().items()}
NORM = "src/modeling/norm.py"
NAMES = (
    *("王芳", "Zoë Müller", "=1+1", "+1+1", "-rf", "a b", "ledger.sqlite3", "summary.json", "HTML", "ada", "ADA"),
    *("x" * 90, "王" * 60, "[bold]", "\x1b[2Jred", "a\u202eb", "a\nb", "con", "<b>", "王芳".encode("gbk")),
)
FOLDERS = (
    *("homework", "A2 final", "王芳_作业二", "a2/src_backup", "Desktop/a2", "乗\\b", "src", "SRC", "tests"),
    "a2.zip",
)
KINDS = ("zip", "zip", "zip", "tar.gz", "tgz", "tar.bz2", "tar.xz", "tar")
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def packed(files: Tree, chance: random.Random) -> tuple[str, bytes]:
    kind = chance.choice(KINDS)
    if kind == "zip":
        return kind, zipped(files, chance.choice(METHODS))
    buffer = io.BytesIO()
    mode: Any = {"tgz": "w:gz", "tar": "w"}.get(kind, f"w:{kind[4:]}")
    with tarfile.open(fileobj=buffer, mode=mode) as tar:
        for name, data in files.items():
            header = tarfile.TarInfo(chance.choice(["", "./"]) + name)
            header.size = len(data)
            tar.addfile(header, io.BytesIO(data))
    return kind, buffer.getvalue()


# ── What students do to a solution; each step takes a tree and gives another ────────────────────────────────────────


def in_a_folder(tree: Tree, chance: random.Random) -> Tree:
    top = chance.choice(FOLDERS)
    return {f"{top}/{name}": data for name, data in tree.items()}


def with_clutter(tree: Tree, chance: random.Random) -> Tree:
    clutter = {
        "__MACOSX/._norm.py": b"\0",
        ".git/config": b"x",
        "src/__pycache__/norm.cpython-311.pyc": b"\0",
        "data/big.bin": bytes(100_000),
        ".DS_Store": b"\0",
        "README.md": b"x",
        "submission.pdf": b"%PDF",
        "tests/test_norm.py": b"import torch\n",
        "notebooks/norm.ipynb": b"{}",
        "src/modeling/.ipynb_checkpoints/norm-checkpoint.py": STUBS[NORM],
    }
    added = dict(chance.sample(sorted(clutter.items()), 4))
    if chance.random() < 0.1:
        added |= {f".venv/lib/x{number}.py": b"" for number in range(2500)}
    if chance.random() < 0.1:
        added |= {"env/pyvenv.cfg": b"", **{f"env/lib/norm{number}.py": b"" for number in range(2500)}}
    return {**added, **tree}


def in_an_archive(tree: Tree, chance: random.Random) -> Tree:
    kind, data = packed(tree, chance)
    return {f"{chance.choice(['a2', '作业', 'my work', 'submission (1)'])}.{kind}": data}


def in_several_archives(tree: Tree, chance: random.Random) -> Tree:
    """An archive for each half, of which none may hold the files of packages."""
    parts = sorted(tree)
    chance.shuffle(parts)
    result = {}
    for number, names in enumerate((parts[: len(parts) // 2], parts[len(parts) // 2 :]), 1):
        kind, data = packed({name: tree[name] for name in names}, chance)
        result[f"task{number}.{kind}"] = data
    return result


def with_other_line_ends(tree: Tree, chance: random.Random) -> Tree:
    """As Windows writes them, with a byte order mark now and then."""
    mark = b"\xef\xbb\xbf" if chance.random() < 0.5 else b""
    return {
        name: mark + data.removeprefix(mark).replace(b"\n", b"\r\n") if name.endswith(".py") else data
        for name, data in tree.items()
    }


def in_another_encoding(tree: Tree, chance: random.Random) -> Tree:
    """With a coding line that says which, or without."""
    encoding = chance.choice(["gbk", "big5", "latin-1", "utf-16", "utf-8"])
    said = f"# -*- coding: {encoding} -*-\n" if encoding != "utf-16" and chance.random() < 0.8 else ""
    comment = "# 均方根\n" if encoding != "latin-1" else "# Größe\n"
    return {
        name: (said + comment + data.decode("utf-8-sig")).encode(encoding)
        if data and name.endswith("norm.py")
        else data
        for name, data in tree.items()
    }


def loose(tree: Tree, chance: random.Random) -> Tree:
    """Without their folders; of one name, a platform numbers the second and the third."""
    del chance
    result: dict[str, bytes] = {}
    for name, data in tree.items():
        path = PurePosixPath(name)
        numbered = (f"{path.stem}{f'-{number}' if number else ''}{path.suffix}" for number in itertools.count())
        result[next(path for path in numbered if result.get(path, data) == data)] = data
    return result


def renamed(tree: Tree, chance: random.Random) -> Tree:
    others = ("norm_final.py", "norm-1.py", "norm (2).py", "my_norm.py", "Norm.py", "answer.py", "norm.PY")
    other = chance.choice([*others, "norm.py.txt", "norm.txt"])
    return {
        str(PurePosixPath(name).with_name(other)) if name.endswith("norm.py") else name: data
        for name, data in tree.items()
    }


def beside_the_handout(tree: Tree, chance: random.Random) -> Tree:
    """The stubs as they were handed out are there, too: packed or not, above the solution, beside it or below."""
    kind, data = packed(STUBS, chance)
    unpacked = ({f"{top}{path}": text for path, text in STUBS.items()} for top in ("", "a2/", "z/old/"))
    return {**chance.choice([{f"handout.{kind}": data}, *unpacked]), **tree}


def with_an_empty_file(tree: Tree, chance: random.Random) -> Tree:
    """The upload of one file has failed, and another one of it has not."""
    name = next((name for name in tree if name.endswith("norm.py")), None)
    return tree if name is None else {**tree, name: b"", f"{chance.choice(['retry', 'again'])}/norm.py": tree[name]}


STEPS: tuple[Callable[[Tree, random.Random], Tree], ...] = (
    *(in_a_folder, with_clutter, in_an_archive, in_several_archives, with_other_line_ends, in_another_encoding),
    *(loose, renamed, beside_the_handout, with_an_empty_file),
)


def package(seed: int) -> Tree:
    """What a student handed in: one to five steps over an honest solution."""
    chance = random.Random(seed)
    tree: Tree = SOLUTION
    for step in chance.sample(STEPS, chance.randint(1, 5)):
        if any(name.endswith(".py") for name in tree) or step in (in_a_folder, with_clutter, in_an_archive):
            tree = step(tree, chance)
    return tree


def write_class(folder: Path, seeds: range) -> Path:
    """Write a class of packages, a folder or an archive for each, or an export; each name ends in its seed."""
    chance = random.Random(seeds.start)
    way = chance.choice(["folders", "archives", "canvas", "canvas_zip", "moodle"])
    everything: dict[str, bytes] = {}
    for seed in seeds:
        tree, name = package(seed), chance.choice(NAMES)
        called = name.decode("gbk") if isinstance(name, bytes) else name
        if way == "folders":
            everything |= {f"{called}-{seed}/{path}": data for path, data in tree.items()}
        elif way == "archives":
            kind, data = packed(tree, chance)
            everything[f"{called}-{seed}.{kind}"] = data
        elif way == "moodle":
            top = f"{called}_{seed}_assignsubmission_file"
            everything |= {f"{top}/{path}": data for path, data in tree.items()}
        else:  # Canvas takes files, no folders
            kind, data = packed(tree, chance)
            everything[f"{called}_{seed}_{seed}99_work.{kind}"] = data
    if way == "canvas_zip":
        return write_folder(folder, {"submissions.zip": zipped(everything)}) / "submissions.zip"
    return write_folder(folder, everything)


pytestmark = [pytest.mark.process, pytest.mark.covered]

PACKAGES = 2000 if LONG else 40
CLASS = 20


def read(folder: Path, reader: Reader) -> dict[int, Submission]:
    found: dict[int, Submission] = {}
    for start in range(0, PACKAGES, CLASS):
        seeds = range(start, start + CLASS)
        candidates = reader.discover([write_class(folder / f"{start}", seeds)], expected=ASSIGNMENT.rubric.expected)
        by_seed = {_seed(candidate): candidate for candidate in candidates}
        assert len(candidates) == len({candidate.id for candidate in candidates})
        assert sorted(by_seed) == [*seeds], "one submission for each"
        found |= {seed: reader.read(candidate) for seed, candidate in by_seed.items()}
    return found


def _seed(candidate: Candidate) -> int:
    name = candidate.origin.students[0].id if candidate.origin else candidate.called
    return int(re.findall(r"\d+", name)[-1])


def test_every_honest_package_has_full_marks_or_is_named(tmp_path: Path, grader: Judge) -> None:
    with Reader() as reader:
        found = read(tmp_path, reader)
    scores: dict[str, float] = {}
    ends: Counter[str] = Counter()
    for seed, submission in sorted(found.items()):
        said = (submission.reason or "", *submission.notices)
        assert all(text.isprintable() for text in said)
        if submission.reason is not None:
            ends["unreadable"] += 1
            continue
        if submission.sha256 not in scores:
            report = grader.grade(submission)
            scores[submission.sha256] = (report.score or 0) + (report.bonus or 0)
        full = scores[submission.sha256] == ASSIGNMENT.rubric.max_score + ASSIGNMENT.rubric.max_bonus
        assert full or submission.concerns, (seed, sorted(package(seed))[:20], submission.notices)
        ends["full" if full else next(iter(submission.concerns.values()))] += 1
    print(f"{PACKAGES} packages, {len(scores)} texts judged: {dict(ends)}")
    assert ends["full"] > PACKAGES / 2
