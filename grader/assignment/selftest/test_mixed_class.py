"""Bombs, hangs, forgeries and perfect work in one class, through the command, with two judges at a time.

``GRADER_LONG=1`` puts every attack there is into the class.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.assignment import ASSIGNMENT
from grader.assignment.attacks import archives, bombs
from grader.selftest.submissions import REPOSITORY, write_folder, zipped
from grader.tools.benchmarks.measure import descendants, memory_mib
from grader.tools.verify.attacks import known, names

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory, and says how much there is"),
]

MOST_MIB = 2048  # of all processes together
PATIENCE_S = 60
PACKED = (
    *(
        bombs.bzip2_bomb,
        bombs.lzma_bomb,
        bombs.lzma_dictionary_bomb,
        bombs.bomb_that_is_a_zip,
        bombs.overlapping_entries,
    ),
    *(bombs.tarball_bomb, bombs.tarball_with_an_endless_name, bombs.list_of_three_hundred_thousand),
    *(bombs.codec_that_takes_forever, bombs.folder_of_pipes, archives.zip_with_a_link),
)
CODE = (
    "resources.fills_the_memory",
    "resources.hangs_in_c",
    "judges.message_that_is_a_tensor",
    "judges.sleeps_for_ever",
)
CODE += (
    "judges.one_byte_in_eight_dimensions",
    "verdicts.forges_a_huge_expanded_tensor",
    "resources.writes_to_address_zero",
)
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def adopting() -> Iterator[None]:
    """Processes whose parent has died become children of this one, so that they can be counted."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def hostile_class(folder: Path, scratch: Path) -> list[str]:
    """Write the class; gives the ids of the perfect ones, who sit between the others."""
    everyone = bool(os.environ.get("GRADER_LONG"))
    for number, build in enumerate(PACKED):
        (scratch / f"{number}").mkdir(parents=True)
        path = build(scratch / f"{number}")
        path.rename(folder / f"b{number:02}_{build.__name__}{''.join(path.suffixes)}")
    code = (
        [name for name in names(ASSIGNMENT) if not name.startswith(("bombs", "archives", "devices"))]
        if everyone
        else CODE
    )
    for number, name in enumerate(code):
        files = known(ASSIGNMENT)[name].build(scratch).files
        write_folder(folder / f"c{number:03}_{name}", dict(files))
    perfect = ["a_first", "b05_neighbour", "c003_neighbour", "z_last"]
    write_folder(folder, {f"{own}.zip": zipped(ASSIGNMENT.solution()) for own in perfect})
    (folder / "d_link.zip").symlink_to(folder / "a_first.zip")
    os.mkfifo(folder / "d_pipe.zip")
    return perfect


@pytest.mark.usefixtures("adopting")
def test_perfect_neighbours_of_hostile_work_have_full_marks_and_nothing_is_left(tmp_path: Path) -> None:
    here, out, temporary = tmp_path / "class", tmp_path / "out", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    perfect = hostile_class(here, tmp_path / "scratch")
    before, shared = sorted(here.rglob("*")), sorted(os.listdir("/dev/shm"))
    running = {*descendants(os.getpid())}
    command = [sys.executable, "-m", "grader", "grade", str(here), "--out", str(out), "--jobs", "2", "--device", "cpu"]
    options = ["--lang", "en", "--request-s", "2", "--submission-s", "20"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([*command, *options], cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL) as grading:
        peak = 0.0
        while grading.poll() is None:
            peak = max(peak, memory_mib({*descendants(os.getpid())} - running))
            time.sleep(0.1)
    assert grading.returncode == 0
    end = time.monotonic() + PATIENCE_S
    while (left := {*descendants(os.getpid())} - running) and time.monotonic() < end:
        with_child = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if with_child is not None and with_child.si_pid in left:
            os.waitpid(with_child.si_pid, 0)
        time.sleep(0.1)
    assert left == set()
    lines = {line["id"]: line for line in json.loads((out / "summary.json").read_text())["submissions"]}
    most = (ASSIGNMENT.rubric.max_score, ASSIGNMENT.rubric.max_bonus)
    print(f"{len(lines)} submissions, at most {peak:.0f} MiB")
    assert {own: (lines[own]["score"], lines[own]["bonus"]) for own in perfect} == dict.fromkeys(perfect, most)
    assert {line["status"] for line in lines.values()} == {"graded", "unreadable"}
    assert peak < MOST_MIB
    assert sorted(here.rglob("*")) == before
    assert [*temporary.iterdir()] == []
    assert sorted(os.listdir("/dev/shm")) == shared
    assert {path.name for path in out.iterdir()} == {*lines, "summary.json", "ledger.sqlite3"}
