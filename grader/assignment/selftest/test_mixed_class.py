"""Bombs, hangs, forgeries and perfect work in one class, through the command, with two judges at a time.

``GRADER_LONG=1`` puts every attack there is into the class.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.assignment.corpus.attacks import archives, bombs
from grader.lab.processes import descendants, memory_mib
from grader.lab.verify.attacks import known
from grader.selftest import LONG
from grader.selftest.submissions import write_folder, zipped
from grader.specimens.attacks import CLAIM

pytestmark = [
    pytest.mark.process,
    pytest.mark.covered,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory, and says how much there is"),
]

MOST_MIB = 2560  # of all processes together; a hostile submission may have two workers at a time
PATIENCE_S = 60
PR_SET_CHILD_SUBREAPER = 36
PACKED: tuple[Callable[[Path], Path], ...] = (
    bombs.bzip2_bomb,
    bombs.tarball_with_an_endless_name,
    bombs.folder_of_pipes,
)
ONLY = None if LONG else "task1"  # which all of these are about
CODE = ("resources.fills_the_memory", "resources.hangs_in_c", "judges.message_that_is_a_tensor")


@pytest.fixture
def adopting() -> Iterator[None]:
    """Processes whose parent has died become children of this one, so that they can be counted."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def hostile_class(folder: Path, scratch: Path) -> list[str]:
    """Write the class; gives the ids of the perfect ones, who sit between the others."""
    for number, build in enumerate(archive_attacks() if LONG else PACKED):
        (scratch / f"{number}").mkdir(parents=True)
        path = build(scratch / f"{number}")
        path.rename(folder / f"b{number:03}{''.join(path.suffixes)}")
    code = [name for name in known(ASSIGNMENT) if not name.startswith(("bombs", "archives", "devices"))]
    for number, name in enumerate(code if LONG else CODE):
        write_folder(folder / f"c{number:03}_{name}", dict(known(ASSIGNMENT)[name].build(scratch).files))
    perfect = ["a_first", "b001_neighbour", "c001_neighbour", "z_last"]
    write_folder(folder, {f"{name}.zip": zipped(ASSIGNMENT.solution()) for name in perfect})
    (folder / "d_link.zip").symlink_to(folder / "a_first.zip")
    os.mkfifo(folder / "d_pipe.zip")
    return perfect


def archive_attacks() -> list[Callable[[Path], Path]]:
    own = [value for module in (bombs, archives) for value in vars(module).values() if hasattr(value, CLAIM)]
    return [build for build in own if "folder" in inspect.signature(build).parameters]


@pytest.mark.usefixtures("adopting")
def test_perfect_neighbours_of_hostile_work_have_full_marks_and_nothing_is_left(tmp_path: Path) -> None:
    here, out, temporary = tmp_path / "class", tmp_path / "out", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    perfect = hostile_class(here, tmp_path / "scratch")
    before = sorted(here.rglob("*"))
    running = {*descendants(os.getpid())}
    command = [sys.executable, "-m", "grader", "grade", str(here), "--out", str(out), "--jobs", "2", "--device", "cpu"]
    options = ["--lang", "en", "--request-s", "1", "--submission-s", "3", *(("--only", ONLY) if ONLY else ())]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([*command, *options], cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL) as grading:
        peak = 0.0
        while grading.poll() is None:
            peak = max(peak, memory_mib({*descendants(os.getpid())} - running))
            time.sleep(0.4)  # the kernel goes through all pages for that, which takes a tenth of a second itself
    assert grading.returncode == 0
    end = time.monotonic() + PATIENCE_S
    while (left := {*descendants(os.getpid())} - running) and time.monotonic() < end:
        for pid in left:
            with contextlib.suppress(ChildProcessError):  # no orphan, or not ended yet
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.1)
    assert left == set()
    lines = {line["id"]: line for line in json.loads((out / "summary.json").read_text())["submissions"]}
    rubric = ASSIGNMENT.rubric.only(ONLY)
    most = (rubric.max_score, rubric.max_bonus)
    print(f"{len(lines)} submissions, at most {peak:.0f} MiB")
    assert {name: (lines[name]["score"], lines[name]["bonus"]) for name in perfect} == dict.fromkeys(perfect, most)
    assert {line["status"] for line in lines.values()} == {"graded", "unreadable"}
    assert peak < MOST_MIB
    assert sorted(here.rglob("*")) == before
    assert [*temporary.iterdir()] == []
    assert {path.name for path in out.iterdir()} == {*lines, "summary.json", "sources.json", "ledger.sqlite3"}
