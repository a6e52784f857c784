"""Whatever command is killed, and at whichever write: no decision is lost, and the next command works.

The test runs this module, ``python -m grader.selftest.test_kills FOLDER``: commands, each killed at each of its writes
in turn. A write is the opening of a file to write to it (the kill comes before it, and after it), a
rename, a deletion, a new folder, a flush to the disk, or a statement that the ledger is given: whatever lies between
two of them cannot change what a kill leaves behind. Each time, the folder is a fresh copy; a child runs the command
and kills itself at the n-th write, and this process then looks at what is left.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from grader import REPOSITORY
from grader.__main__ import app
from grader.core.cli import grade
from grader.core.cli.terminal import choose
from grader.core.grades.graded import FILE
from grader.core.intake.origin import Origin, Student
from grader.core.intake.submission import Submission
from grader.core.results.database import LEDGER
from grader.core.results.outcome import Outcome
from grader.core.results.report import Report, Summary
from grader.core.results.written import note
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.file import read
from grader.selftest import LONG
from grader.selftest.class_reports import graded
from grader.selftest.commands import compile_templates_once, read_commands_once
from grader.selftest.reports import write_class
from grader.selftest.submissions import write_folder
from grader.selftest.term import read_here, run

BY_HAND = """
[[decision]]
student = "bo"
excuse = true
who = "lee"
when = 2026-10-05T10:00:00+08:00
why = "ill"
"""
REASON = ("--why", "Fair.", "--who", "kim")
COMMANDS = (  # with how many decisions each makes
    (2, ("decide", "WORK/out", "ada", "--override", "swiglu_gate", "--points", "3", "--late-days", "1", *REASON)),
    (1, ("appeal", "WORK/out", "ada", "--write", "--who", "kim", "--lang", "en")),
    (0, ("report", "WORK/out", "--lang", "en")),
    (0, ("report", "WORK/out", "--anonymous", "--lang", "en")),
    (0, ("export", "WORK/out", "--to", "csv", "--accept-drops")),
    (0, ("return", "WORK/out", "--to", "mail", "--accept-blanks", "--accept-drops")),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two students, one decision in the ledger already, and one that was written by hand since."""
    lost = {"ada": {"attention_causal": Outcome.FAILED}, "bo": {}}
    people = {name: Student(id=name, name=name.title(), email=f"{name}@x.org") for name in lost}
    origins = {name: Origin(source="canvas", students=(person,)) for name, person in people.items()}
    pristine = tmp_path / "pristine"
    out = write_class(pristine / "out", *(graded(name, some, origin=origins[name]) for name, some in lost.items()))
    for name in people:
        write_folder(pristine / "class" / name, ASSIGNMENT.solution())
    note(out, [pristine / "class"], None, None)
    run("decide", out, "ada", "--comment", "See me.", "--who", "kim")
    run("report", out)
    with (out / FILE).open("a") as file:
        file.write(BY_HAND)
    return tmp_path


@pytest.mark.process
def test_a_kill_at_any_write_loses_no_decision(folder: Path) -> None:
    arguments = [sys.executable, "-W", "ignore", "-m", __name__, str(folder)]
    done = subprocess.run(arguments, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr[-3000:]


WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.symlink")
SAID = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT", "CREATE", "PRAGMA journal_mode")
KILLED = -signal.SIGKILL


def all_right(submissions: Iterable[Submission], *_: object) -> Iterator[Report]:
    for one in submissions:
        report = graded(one.id)
        info = report.submission.model_copy(update={"sha256": one.sha256})
        yield report.model_copy(update={"submission": info})


def kill_at(number: int, folder: Path) -> None:
    """From now on, kill this process just before its n-th write below a folder."""
    left, fsync, connect, opening = number, os.fsync, sqlite3.connect, io.open

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if _inside(arguments[0], folder) and isinstance(arguments[2], int) and arguments[2] & WRITING:
                step()
        elif event in CHANGING and any(_inside(path, folder) for path in arguments):
            step()

    def flushed(file: Any) -> None:
        step()
        fsync(file)

    def connected(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        if str(folder) in str(arguments[0]):
            connection.set_trace_callback(lambda statement: step() if statement.startswith(SAID) else None)
        return connection

    def opened(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        stream = opening(file, mode, *arguments, **options)
        if not mode.startswith("r") and (isinstance(file, int) or _inside(file, folder)):
            step()  # what was there is gone, and nothing is written yet
        return stream

    vars(os)["fsync"] = flushed
    vars(io)["open"] = vars(builtins)["open"] = opened
    sqlite3.connect = connected  # type: ignore[assignment]
    sys.addaudithook(hook)


def _inside(path: object, folder: Path) -> bool:
    return isinstance(path, str | os.PathLike) and Path(path).is_relative_to(folder)


def killed(number: int, work: Path, command: Sequence[str]) -> bool:
    """Whether the command was killed before it ended."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        kill_at(number, work)
        try:
            app(command, standalone_mode=False)
        except BaseException as error:
            print(f"{command}: {error!r}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, KILLED):
        raise AssertionError(f"{command} at write {number}: exit status {status}")
    return status == KILLED


def look(out: Path, before: Sequence[str], new: int, reports: dict[str, bytes]) -> bool:
    """Check that nothing that people decided is lost; returns whether what was new has been written."""
    now = [entry.decision.identity for entry in read(out)]
    assert now[: len(before)] == [*before], "a decision is lost"
    assert len(now) - len(before) in (0, new), "decisions that were made together are torn apart"
    Summary.model_validate_json((out / "summary.json").read_bytes())
    assert reports == {path.parent.name: path.read_bytes() for path in out.glob("*/report.json")}
    listed = run("decide", out).stdout.splitlines()
    with closing(sqlite3.connect(out / LEDGER)) as ledger:
        rows = ledger.execute("SELECT change, decision FROM decisions ORDER BY id").fetchall()
    assert rows == [("made", identity) for identity in now], "the history is not that of the file"
    assert len(listed) == len(now)
    return len(now) > len(before)


def kill_everywhere(folder: Path, new: int, command: Sequence[str]) -> None:
    """Kill a command at each of its writes; of one that decides, some come before the decision is safe, and some after.

    One that decides nothing is killed at every fourth one, or with ``GRADER_LONG=1`` at each.
    """
    pristine, work = folder / "pristine", folder / "work"
    before = [entry.decision.identity for entry in read(pristine / "out")]
    reports = {path.parent.name: path.read_bytes() for path in (pristine / "out").glob("*/report.json")}
    step = 1 if new or LONG else 4
    number, written, ended = 1 - step, [], False
    words = [text.replace("WORK", str(work)) for text in command]
    shutil.copytree(pristine, work)
    run(*words)  # so that each child finds imported and compiled what the command needs
    while not ended:
        number += step
        shutil.rmtree(work)
        shutil.copytree(pristine, work)
        ended = not killed(number, work, words)
        try:
            written.append(look(work / "out", before, new, reports))
        except AssertionError as error:
            raise AssertionError(f"{command} killed at write {number}: {error}") from error
    run("export", work / "out", "--to", "csv", "--accept-drops", "--accept-stale")
    shutil.rmtree(work)
    assert written == sorted(written), "a decision that was safe is gone after a later kill"
    kills, safe = number - 1, sum(written)
    assert kills >= 3, command
    assert (2 <= safe <= kills) if new else not safe, command


if __name__ == "__main__":
    choose(ASSIGNMENT)
    read_commands_once()
    compile_templates_once()
    read_here(pytest.MonkeyPatch())
    vars(grade)["grade_all"] = all_right
    for new_decisions, command in COMMANDS:
        kill_everywhere(Path(sys.argv[1]), new_decisions, command)
