"""The time of a clone's last commit is read without asking git, and nothing in a clone can hurt whoever reads it."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.core.intake.discover import Listing, discover
from grader.extras.clones import extension as clones
from grader.extras.clones.extension import committed_at
from grader.selftest.submissions import write_folder, zipped

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="makes repositories with git"),
    pytest.mark.process,
]
LAST = 1_790_000_000
WHEN = "2026-09-21T14:13:20+00:00"
Git = Callable[..., str]


def git_in(place: Path) -> Git:
    """``git`` in a folder, with an author and a time."""
    base = {"HOME": str(place.parent), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    base |= {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*arguments: str, when: int = LAST) -> str:
        dates = {"GIT_AUTHOR_DATE": f"{when} +0800", "GIT_COMMITTER_DATE": f"{when} +0800"}
        command = ["git", "-C", str(place), *arguments]
        return subprocess.run(command, check=True, env=base | dates, capture_output=True, text=True).stdout

    return run


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with twenty commits a minute apart."""
    place = write_folder(tmp_path_factory.mktemp("git") / "clone", {"norm.py": "x = 1\n"})
    git = git_in(place)
    git("init", "--initial-branch=main")
    git("add", ".")
    for number in reversed(range(20)):
        git("commit", "--allow-empty", "-m", "much the same message every time", when=LAST - 60 * number)
    return place


@pytest.fixture
def git(twenty: Path, tmp_path: Path) -> Git:
    """Git in the folder ``a2-ada``, a copy of that clone."""
    return git_in(Path(shutil.copytree(twenty, tmp_path / "a2-ada")))


def when(tmp_path: Path) -> str | None:
    """The time of the clone."""
    return committed_at(Listing(tmp_path / "a2-ada"))


@pytest.mark.parametrize(
    "then",
    [
        [],
        [["gc"]],
        [["repack", "-adf", "--depth=50", "--window=50"], ["pack-refs", "--all"]],
        [["checkout", "--detach"]],
    ],
    ids=["loose", "packed", "deltas", "detached"],
)
def test_the_last_commit_tells_the_time(git: Git, tmp_path: Path, then: list[list[str]]) -> None:
    for command in then:
        git(*command)
    assert when(tmp_path) == WHEN


def test_every_commit_of_a_pack_is_read_however_it_is_written(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of them as differences to others."""
    whole, patched = clones._patched, set()

    def noted(base: bytes, delta: bytes) -> bytes:
        patched.add(delta)
        return whole(base, delta)

    monkeypatch.setattr(clones, "_patched", noted)
    git("repack", "-adf", "--depth=50", "--window=50")
    for number, commit in enumerate(git("rev-list", "main").split()):
        (tmp_path / "a2-ada" / ".git" / "HEAD").write_text(commit)
        assert when(tmp_path) == datetime.fromtimestamp(LAST - 60 * number, UTC).isoformat()
    assert patched


def test_a_clone_in_a_class_has_a_time_and_so_has_one_in_a_zip(git: Git, tmp_path: Path) -> None:
    del git
    (found,) = discover([tmp_path], "clones")
    assert found.origin is not None
    assert found.origin.submitted_at == WHEN
    files = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in (tmp_path / "a2-ada").rglob("*")
        if path.is_file()
    }
    (tmp_path / "clones.zip").write_bytes(zipped(files))
    (packed,) = discover([tmp_path / "clones.zip"], "clones")
    assert packed.origin == found.origin


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": "ref: refs/heads/../../../../etc/passwd"},
        {".git/HEAD": "ref: refs/heads/main"},
        {".git/HEAD": "ref: refs/heads/main", ".git/packed-refs": f"{'0' * 40} refs/heads/other"},
        {".git/HEAD": b"\xff\xfe"},
        {".git/HEAD": "0" * 40},
        {".git/HEAD": "0" * 40, f".git/objects/00/{'0' * 38}": b"no zlib"},
        {".git/HEAD": "0" * 40, f".git/objects/00/{'0' * 38}": zlib.compress(bytes(1 << 24))},
        {".git/HEAD": "0" * 40, ".git/objects/pack/a.idx": b"\xfftOc\0\0\0\2", ".git/objects/pack/a.pack": ""},
        {".git/HEAD": "0" * 40, ".git/objects/pack/a.idx": b"\xfftOc\0\0\0\2" + b"\xff" * 5000},
    ],
    ids=["way_out", "no_branch", "unborn", "bytes", "no_object", "no_zlib", "bomb", "cut_off", "endless"],
)
def test_what_is_no_repository_has_no_time(tmp_path: Path, files: dict[str, str | bytes]) -> None:
    write_folder(tmp_path / "a2-ada", files)
    assert when(tmp_path) is None


def test_deltas_that_go_round_or_nowhere_have_no_time() -> None:
    for pack in (b"\x60\x00", b"\x60\x01" * 100, b"\x90", b""):
        with pytest.raises((ValueError, IndexError, zlib.error)):
            clones._unpacked(pack, 0)


def test_a_repository_behind_a_link_is_not_read(git: Git, tmp_path: Path) -> None:
    del git
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").symlink_to(tmp_path / "a2-ada" / ".git")
    assert committed_at(Listing(tmp_path / "other")) is None
