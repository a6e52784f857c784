"""``grader watch``: half-written uploads are waited for, what arrives is graded, and the end is clean."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader.cli import watch as command
from grader.cli.app import app
from grader.intake.submission import Submission
from grader.judge.judge import Judge
from grader.results.report import Report
from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import ATTENTION, REPOSITORY, SEES_LATER_TOKENS, edited, write_folder, zipped
from grader.settings import CannotGrade
from grader.tools.watch import public
from grader.tools.watch.page import public_pages
from grader.tools.watch.public import PublicResult, PublicTests
from grader.tools.watch.quiet import Pace, changes, seen

PACE = Pace(every_s=1, settle_s=2, most_s=5)
Do = Callable[[], object]


class World:
    """A clock that moves while somebody sleeps, and what happens at which second."""

    def __init__(self, happens: dict[int, Do], end: int) -> None:
        """Nothing has happened yet; at ``end``, the time is up."""
        self.now, self._happens, self._end = 0.0, happens, end

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        if self.now >= self._end:
            raise KeyboardInterrupt
        self._happens.pop(int(self.now), lambda: None)()


def looks(folder: Path, happens: dict[int, Do], end: int = 30) -> list[float]:
    """When the folder was found to have come to rest."""
    world, found = World(happens, end), []
    with contextlib.suppress(KeyboardInterrupt):
        for _ in changes(folder, PACE, lambda: world.now, world.sleep):
            found.append(world.now)
    return found


def test_what_is_there_is_graded_at_once_and_only_once(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("x")
    assert looks(tmp_path, {}) == [0]


def test_an_upload_is_waited_for_until_it_no_longer_grows(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    growing: dict[int, Do] = {second: lambda: grow(file) for second in (4, 5, 7)}
    assert looks(tmp_path, growing) == [0, 9]


def test_a_folder_that_never_rests_is_graded_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    growing: dict[int, Do] = {second: lambda: grow(file) for second in range(4, 40)}
    assert looks(tmp_path, growing, end=20) == [0, 9, 15]


def grow(file: Path) -> None:
    """Add to a file, as an upload does."""
    file.write_text(f"{file.read_text() if file.exists() else ''}more")


@pytest.mark.parametrize("what", ["touched", "removed", "folder"])
def test_every_kind_of_change_is_seen(tmp_path: Path, what: str) -> None:
    write_folder(tmp_path, {"ada/src/a.py": "x"})
    changed: dict[str, Do] = {
        "touched": lambda: (tmp_path / "ada/src/a.py").write_text("y"),
        "removed": lambda: shutil.rmtree(tmp_path / "ada"),
        "folder": lambda: (tmp_path / "bo").mkdir(),
    }
    assert looks(tmp_path, {4: changed[what]}) == [0, 6]


def test_what_changes_while_somebody_is_at_work_is_found_afterwards(tmp_path: Path) -> None:
    world, found = World({}, 30), []
    with contextlib.suppress(KeyboardInterrupt):
        for _ in changes(tmp_path, PACE, lambda: world.now, world.sleep):
            found.append(world.now)
            if len(found) == 1:
                (tmp_path / "late.zip").write_text("x")
    assert found == [0, 2]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(seen(tmp_path)) == 1


@pytest.fixture
def in_process(grader: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grading without judge processes."""

    def grade_all(submissions: Iterable[Submission], *_: object) -> Iterator[Report]:
        return (grader.grade(submission) for submission in submissions)

    monkeypatch.setattr(command, "grade_all", grade_all)
    monkeypatch.setattr(command, "grade_submission", lambda _: None)


def watched(
    folder: Path, steps: list[Do], monkeypatch: pytest.MonkeyPatch, *options: str, looked: Do = lambda: None
) -> Result:
    """``grader watch`` while these things happen, each followed by a look and by ``looked``; then a Ctrl-C."""

    def happening(*_: object, **__: object) -> Iterator[None]:
        for step in steps:
            step()
            yield
            looked()
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "changes", happening)
    arguments = ["watch", str(folder / "drop"), "--out", str(folder / "out"), "--device", "cpu", "--lang", "en"]
    return CliRunner().invoke(app, [*arguments, *options])


def test_a_file_beside_the_folder_is_seen_and_need_not_be_there(tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    before = seen(drop, tmp_path / "decisions.toml")
    (tmp_path / "decisions.toml").write_text("")
    assert len(seen(drop, tmp_path / "decisions.toml") - before) == 1


@pytest.mark.process
def test_the_pages_follow_decisions_and_whatever_else_changes_a_report(
    in_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A roster that arrives later says who ada is; a decision says how the points count."""
    del in_process
    write_folder(tmp_path / "drop" / "ada", ASSIGNMENT.solution())
    (tmp_path / "roster.csv").write_text("id,name\nada,\n")
    page, index = (tmp_path / "out" / "html" / name for name in ("students/ada.html", "index.html"))
    texts: list[tuple[str, str]] = []

    def decide() -> None:
        arguments = ["decide", str(tmp_path / "out"), "ada", "--comment", "See me.", "--who", "kim"]
        assert CliRunner().invoke(app, arguments).exit_code == 0

    steps: list[Do] = [
        lambda: None,
        lambda: (tmp_path / "roster.csv").write_text("id,name\nada,Ada Lovelace\n"),
        decide,
    ]
    result = watched(
        *(tmp_path, steps, monkeypatch, "--roster", str(tmp_path / "roster.csv")),
        looked=lambda: texts.append((page.read_text(encoding="utf-8"), index.read_text(encoding="utf-8"))),
    )
    assert result.exit_code == 0, result.output
    assert [tuple("Ada Lovelace" in text for text in both) for both in texts] == [(False, False), *2 * [(True, True)]]
    assert [tuple("See me." in text for text in both) for both in texts] == [*2 * [(False, False)], (True, True)]


@pytest.mark.process
def test_what_arrives_changes_or_goes_is_on_the_page(
    in_process: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del in_process
    drop = tmp_path / "drop"
    drop.mkdir()
    pages: list[list[str]] = []

    def looked() -> None:
        pages.append(sorted(path.stem for path in (tmp_path / "out" / "html" / "students").glob("*.html")))

    steps: list[Do] = [
        lambda: None,
        lambda: write_folder(drop / "ada", ASSIGNMENT.solution()),
        lambda: (drop / "bo.zip").write_bytes(zipped(edited(SEES_LATER_TOKENS))),
        lambda: (drop / "bo.zip").write_bytes(zipped(ASSIGNMENT.solution())),
        lambda: shutil.rmtree(drop / "ada"),
    ]
    result = watched(tmp_path, steps, monkeypatch, looked=looked)
    assert result.exit_code == 0, result.output
    assert pages == [[], ["ada"], ["ada", "bo"], ["ada", "bo"], ["bo"]]
    said = [line[9:] for line in result.stdout.splitlines() if line[2:3] == ":"]
    assert said == [
        f"watching {drop}; Ctrl-C ends it",
        "ada: 100/100, bonus 20/20",
        "bo: 70/100, bonus 20/20",
        "bo: 100/100, bonus 20/20",
        f"stopped; what was finished is in {tmp_path / 'out'}",
    ]
    assert f"waiting: {drop}: holds no submission." in result.stderr


@pytest.mark.process
def test_the_public_tests_are_asked_once_for_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Fake:
        def __init__(self, *_: object) -> None: ...

        def run(self, submission: Submission) -> PublicResult:
            asked.append(submission.id)
            return PublicResult(submission.id, "✓ <b>all</b>", 5, 5)

    monkeypatch.setattr(public, "PublicTests", Fake)
    write_folder(tmp_path / "drop" / "ada", ASSIGNMENT.solution())
    steps: list[Do] = [
        lambda: None,
        lambda: write_folder(tmp_path / "drop" / "bo", edited(SEES_LATER_TOKENS)),
        lambda: shutil.rmtree(tmp_path / "drop" / "ada"),
    ]
    result = watched(tmp_path, steps, monkeypatch, "--public")
    assert result.exit_code == 0, result.output
    assert asked == ["ada", "bo"]
    html = tmp_path / "out" / "html"
    assert [path.name for path in (html / "students").iterdir()] == ["bo.html"]
    assert "&lt;b&gt;all&lt;/b&gt;" in (html / "students" / "bo.html").read_text(encoding="utf-8")
    assert "5 / 5" in (html / "index.html").read_text(encoding="utf-8")
    assert not [*(tmp_path / "out").glob("*/report.json")]


def test_pages_are_made_in_both_languages() -> None:
    for language, title in (("en", "The public tests"), ("zh", "公开测试")):
        assert title in public_pages([], ASSIGNMENT.rubric, language)["index.html"]


def test_without_a_container_nothing_of_a_student_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "container", lambda command, **_: (command, "bwrap is not installed"))
    with pytest.raises(CannotGrade, match=r"no container can be made for that \(bwrap is not installed\)"):
        PublicTests(ASSIGNMENT, "en")


HOSTILE = """
import socket

reached = []
for what in (
    lambda: open({hidden!r}),
    lambda: open({mark!r}, "a"),
    lambda: open("src/more.py", "a"),
    lambda: socket.create_connection(("127.0.0.1", {port}), 1),
):
    try:
        what().close()
        reached.append(what)
    except OSError:
        pass
if reached:
    raise RuntimeError(f"reached {{len(reached)}}")
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")
def test_the_public_tests_run_in_a_container(tmp_path: Path) -> None:
    tests = PublicTests(ASSIGNMENT, "en")
    right = tests.run(Submission("ada", ASSIGNMENT.solution()))
    assert (right.passed, right.count) == (5, 5)
    mark, hidden = tmp_path / "mark", ASSIGNMENT.hidden / "test_attention.py"
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = HOSTILE.format(hidden=str(hidden), mark=str(mark), port=server.getsockname()[1])
        files = ASSIGNMENT.solution()
        wrong = tests.run(Submission("eve", {**files, ATTENTION: files[ATTENTION] + code}))
    assert wrong.passed == 5, wrong.text
    assert not mark.exists()
    flood = tests.run(Submission("flo", {**files, ATTENTION: "while True: print('x' * 1000)"}))
    assert flood.passed == 2  # of the other file
    assert len(flood.text) <= public.MOST_PRINTED


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["gone", "--out", "out"], "gone: no such folder. Make it, or give the one that submissions arrive in."),
        ([".", "--out", "./out"], "--out out: lies in the folder that is watched"),
    ],
    ids=["gone", "inside"],
)
def test_what_cannot_be_watched_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["watch", *arguments])
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "systemd"])
def test_a_signal_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    write_folder(tmp_path / "drop" / "ada", edited(SEES_LATER_TOKENS))
    arguments = ["watch", str(tmp_path / "drop"), "--out", str(tmp_path / "out"), "--device", "cpu", "--jobs", "1"]
    started = [sys.executable, "-W", "ignore", "-m", "grader.selftest.command", *arguments, "--lang", "en"]
    with subprocess.Popen(
        started, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            page = tmp_path / "out" / "html" / "index.html"
            while not page.exists():
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            process.send_signal(number)
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, err
    assert "ada: 70/100, bonus 20/20" in out
    assert out.splitlines()[-1].endswith(f"stopped; what was finished is in {tmp_path / 'out'}")
    assert "Traceback" not in err
