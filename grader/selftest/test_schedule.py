"""Whatever happens to judges, every submission gets one report, the one that it deserves, and no process is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.core.intake.submission import Submission
from grader.core.judge.judge import Judge
from grader.core.results.database import reading
from grader.core.results.report import Report
from grader.core.run import executors
from grader.core.run.executors import ATTEMPTS, LocalExecutor
from grader.core.run.schedule import GradingFailed, grade_all
from grader.core.sandbox.launch import Zygote
from grader.core.sandbox.limits import Limits
from grader.core.settings import CannotGrade, Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.processes import descendants
from grader.selftest import LONG, faulty
from grader.selftest.at_work import LEAVE_S, SLOW, at_work, finished, started, without_times
from grader.selftest.faulty import Trap, survivors
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, edited, submission, write_folder
from grader.selftest.term import run

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]

SETTINGS = Settings(ASSIGNMENT, device="cpu", only="task1", limits=Limits(submission_s=16))
FILES = {"right": ASSIGNMENT.solution(), "wrong": edited(SEES_LATER_TOKENS), "slow": edited(SLOW)}
FAULTS = {  # in the middle of a submission of this kind
    "judge_killed": ("wrong", faulty.die),
    "judge_stalled": ("right", faulty.stall),
    "judge_mistaken": ("wrong", faulty.stumble),
    "fork_server_killed": ("wrong", faulty.kill_the_fork_server),
    "worker_killed": ("slow", faulty.kill_the_first_worker),
    "server_killed": ("right", faulty.kill_the_server_of_judges),
}
PATIENCE = {"START_S": 100, "MARGIN_S": 1, "LOAD": 1}  # 17 s for a property, which takes a third of one


@dataclass(frozen=True)
class Disturbed:
    """A class that was graded while judges failed, and its traps."""

    reports: list[Report]
    traps: dict[str, Trap]
    left: list[int]

    def of(self, identifier: str) -> Report:
        """The report of one submission; there is just one."""
        (report,) = (report for report in self.reports if report.submission.id == identifier)
        return report


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Disturbed:
    """One run in which every kind of fault happens."""
    logs = tmp_path_factory.mktemp("logs")
    traps = [Trap(name, FILES[kind], fault=fault, log=logs / name) for name, (kind, fault) in FAULTS.items()]
    traps += [Trap("hopeless", FILES["right"], fault=faulty.die, log=logs / "hopeless", times=99)]
    plain = [Submission(f"plain_{kind}", FILES[kind]) for kind in ("right", "wrong")]
    reports, seen = [], set()
    others = descendants(os.getpid())  # fork servers that other tests keep warm
    with LocalExecutor(2) as executor, pytest.MonkeyPatch.context() as patch:
        for name, value in PATIENCE.items():
            patch.setattr(executors, name, value)
        for report in grade_all([plain[0], *traps, plain[1]], SETTINGS, executor):
            reports.append(report)
            seen.update(descendants(os.getpid())[1:])
    ours = {
        pid for pid in seen.difference(others) if "forkserver" not in _command(pid) and "tracker" not in _command(pid)
    }
    return Disturbed(reports, {trap.id: trap for trap in traps}, survivors(ours, LEAVE_S))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def undisturbed(judges: Judges) -> Judge:
    return judges(SETTINGS)


@pytest.mark.parametrize(
    ("name", "source"),
    [("plain_right", "right"), ("plain_wrong", "wrong"), *((name, kind) for name, (kind, _) in FAULTS.items())],
)
def test_a_fault_of_ours_leaves_no_trace(disturbed: Disturbed, undisturbed: Judge, name: str, source: str) -> None:
    expected = undisturbed.grade(Submission(name, FILES[source]))
    assert expected.status == "graded"
    assert without_times(disturbed.of(name)) == without_times(expected)


def test_each_fault_did_happen_and_took_a_second_attempt(disturbed: Disturbed) -> None:
    """A worker that is killed while it is asked ahead costs no attempt: what it was asked is asked again plainly."""
    attempts = {name: trap.attempts for name, trap in disturbed.traps.items()}
    assert attempts.pop("worker_killed") in (1, 2)
    assert attempts == dict.fromkeys(attempts, 2) | {"hopeless": ATTEMPTS}


def test_a_submission_over_which_judges_die_gets_a_report_that_says_so(disturbed: Disturbed) -> None:
    report = disturbed.of("hopeless")
    assert (report.status, report.score, report.bonus, report.tasks) == ("grader_error", None, None, [])
    assert report.reason == "the judge process died"
    assert report.environment == disturbed.of("plain_right").environment


def test_reports_come_as_they_finish(disturbed: Disturbed) -> None:
    """Those that need no second attempt come before the one that is given up."""
    order = [report.submission.id for report in disturbed.reports]
    assert max(order.index("plain_right"), order.index("plain_wrong")) < order.index("hopeless")


def test_no_judge_is_left_after_the_last_report(disturbed: Disturbed) -> None:
    assert disturbed.left == []


def test_settings_that_fit_no_judge_stop_everything() -> None:
    layers = ("namespaces", "user", "landlock", "seccomp")
    settings = Settings(
        ASSIGNMENT, device="cpu", only="task1", required_level=SETTINGS.required_level.NAMESPACES, without=layers
    )
    with LocalExecutor(1) as executor, pytest.raises(CannotGrade, match="weaker than required"):
        list(grade_all([Submission("right", FILES["right"])], settings, executor))


def test_judges_that_do_not_start_stop_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "START_S", 0.0)
    failed = "3 judges in a row failed without a submission: the judge process stalled"
    with LocalExecutor(1) as executor, pytest.raises(GradingFailed, match=failed):
        list(grade_all([Submission("right", FILES["right"])], SETTINGS, executor))


# ── The command, and what becomes of its processes ──────────────────────────────────────────────────────────────────


@pytest.fixture
def running(tmp_path: Path, own_fork_servers: None) -> Iterator[subprocess.Popen[str]]:
    """The command at work, just after it has written its first report."""
    del own_fork_servers
    with at_work(tmp_path, "--jobs", 2) as process:
        while not finished(tmp_path):  # it is written just after the line that says so
            time.sleep(0.01)
        yield process


def test_ctrl_c_ends_everything_at_once(running: subprocess.Popen[str], tmp_path: Path) -> None:
    family = descendants(running.pid)
    assert len(family) > 5  # two judges with their fork servers, and what multiprocessing needs
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(LEAVE_S) == 130
    assert survivors(family, LEAVE_S) == []
    _, errors = running.communicate()
    reports = finished(tmp_path)
    assert errors.splitlines()[-1] == f"grader: stopped; {len(reports)} of 6 reports are in {tmp_path / 'out'}."
    assert [line for line in errors.splitlines() if not line.startswith(("[", "grader: "))] == []
    assert {report.score for report in reports} == {100}
    assert len(reports) <= 1 + 2 * 2  # at most one more that each judge had finished, and one that it was at


@pytest.mark.usefixtures("judged")
def test_a_killed_command_leaves_no_process_and_the_next_goes_on(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    while len(finished(tmp_path)) < 2:  # by the second one, the first is in the ledger
        time.sleep(0.01)
    family = descendants(running.pid)
    running.kill()
    assert survivors(family, LEAVE_S) == []
    with reading(tmp_path / "out") as ledger:
        kept = [name for (name,) in ledger.execute("SELECT submission FROM latest")]
    times = {name: (tmp_path / "out" / name / "report.json").stat().st_mtime_ns for name in kept}
    again = run("grade", tmp_path / "class", "--out", tmp_path / "out", "--device", "cpu", "--only", "task1")
    assert kept
    assert f"{len(kept)} of 6 already graded and kept" in again.stderr
    assert [report.score for report in finished(tmp_path)] == [100] * 6
    assert times == {name: (tmp_path / "out" / name / "report.json").stat().st_mtime_ns for name in kept}
    assert (tmp_path / "out" / "summary.json").exists()


@pytest.mark.usefixtures("own_fork_servers")
def test_ctrl_c_while_judges_start_is_as_quick_and_quiet(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_folder(tmp_path / "class" / name, ASSIGNMENT.solution())
    with started(tmp_path, "--jobs", 1) as process:
        while len(family := descendants(process.pid)) < 3:  # the fork server of multiprocessing imports torch now
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=LEAVE_S)
    assert (process.returncode, errors) == (130, f"grader: stopped; 0 of 3 reports are in {tmp_path / 'out'}.\n")
    assert survivors(family, LEAVE_S) == []  # it sees that it is alone when it has imported


# ── Strangers that kill, long runs, closed outputs ────────────────────────────────────────────────────────────────────

GRADINGS = 200 if LONG else 8
WAIT = {"src/work.py": "import time\ndef wait():\n    time.sleep(60)\n"}
LOAD = ("load", {"module": "src.work", "name": "wait"})
CALL = ("call", {"target": "wait", "arguments": []})


def test_a_worker_that_a_stranger_kills_is_not_the_students_crash(zygote: Zygote) -> None:
    worker = zygote.start(WAIT)
    assert worker.request([LOAD], 10) == {"value": None}
    os.kill(descendants(zygote._process.pid)[-1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker was killed from outside"):
        worker.request([CALL], 10)


def test_many_gradings_leave_nothing_and_report_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process, descriptor or file is left, with failures and crashes among them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # so that Python looks at TMPDIR again
    edit = ("        projected =", "        if len(input) == 3: __import__('os')._exit(3)\n        projected =")
    bad = submission(edited(SEES_LATER_TOKENS, (ATTENTION, *edit)))
    with contextlib.closing(Judge(Settings(ASSIGNMENT, device="cpu", only="task1"))) as grader:
        grader.grade(bad)
        before = belongings()
        reports = [without_times(grader.grade(bad)) for _ in range(GRADINGS)]
        assert belongings() == before
    assert reports == [reports[0]] * GRADINGS
    assert "crashed" in repr(reports[0])
    assert list(tmp_path.iterdir()) == []


def test_the_command_grades_with_real_judges_without_an_open_output_and_with_long_temporary_names(
    tmp_path: Path,
) -> None:
    """The kernel takes 107 bytes for the name of a socket, and multiprocessing makes its sockets in that folder."""
    temporary = tmp_path / ("long" * 30)
    temporary.mkdir()
    write_folder(tmp_path / "class" / "ada", ASSIGNMENT.solution())
    write_folder(tmp_path / "class" / "bo", edited(SEES_LATER_TOKENS))
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-W", "ignore", "-m", "grader.selftest.command"]
    command += ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "out")]
    command += ["--device", "cpu", "--only", "task1", "--jobs", "1", "--lang", "zh"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    result = subprocess.run(command, cwd=REPOSITORY, env=environment, stderr=subprocess.PIPE, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert sum(line.startswith("[") for line in result.stderr.splitlines()) == 2
    assert list(temporary.iterdir()) == []
    report = Report.model_validate_json((tmp_path / "out" / "bo" / "report.json").read_bytes())
    assert (report.score, report.max_score, report.max_bonus) == (70, 100, 0)
    mistake = ASSIGNMENT.rubric.misconception("attention_sees_later_tokens")
    assert report.tasks[0].properties[1].hint == mistake.hint["zh"]
    assert report.provenance.command.endswith("--jobs 1 --lang zh")


def belongings() -> dict[int, int]:
    """This process and its descendants, and how many descriptors each has open."""
    return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in descendants(os.getpid())}
