"""Grading on a dask cluster of real processes, with TLS as ``docs/cluster.md`` has it; Slurm by stand-ins."""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from grader import REPOSITORY
from grader.core.intake.submission import Submission
from grader.core.messages import quoted
from grader.core.results.report import Report
from grader.core.run.executors import Executor, open_executor
from grader.core.run.schedule import grade_all
from grader.core.sandbox.limits import Limits
from grader.core.settings import CannotGrade, Settings
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.lab.processes import descendants
from grader.selftest import LONG, faulty
from grader.selftest.at_work import LEAVE_S, SLOW, at_work, finished, without_times
from grader.selftest.faulty import Trap, survivors
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import SEES_LATER_TOKENS, edited, write_folder

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
    pytest.mark.skipif(find_spec("distributed") is None, reason="the extra 'cluster' is not installed"),
]

BORROWING = {"DASK_DISTRIBUTED__WORKER__PRELOAD": "['grader.selftest.borrowed']"}  # for every worker
SINGLE = ("--nthreads", "1", "--no-nanny")
PATIENCE_S = 300  # for a worker to import torch and find its scheduler, on a busy machine


class DaskProcesses:
    """A scheduler and its workers."""

    def __init__(self, place: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        """Start the scheduler. All processes get ``options``, such as those of TLS, and write into ``place``."""
        self._place, self._options = place, options
        self._environment = os.environ | {"PYTHONWARNINGS": "ignore"} | BORROWING | (environment or {})
        self._contact = place / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.workers: list[subprocess.Popen[bytes]] = []
        while not (self._contact.exists() and self._contact.read_text().endswith("}")):
            if self.scheduler.poll() is not None:
                raise RuntimeError(f"dask's scheduler ended at once: {(place / 'scheduler.log').read_text()}")
            time.sleep(0.05)
        self.address = str(json.loads(self._contact.read_text())["address"])

    def start_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """Start one more worker, with one thread and no nanny unless the options say otherwise."""
        self.workers.append(self._start("worker", "--host", "127.0.0.1", *(options or SINGLE)))
        return self.workers[-1]

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self._contact)]
        command += ["--no-dashboard", *self._options, *options]
        if kind == "worker":
            command += ["--local-directory", str(self._place), "--death-timeout", str(PATIENCE_S)]
        with (self._place / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=REPOSITORY, env=self._environment, stdout=log, stderr=log)

    def close(self) -> None:
        """End all processes: first by SIGTERM, so that nannies end their workers, then by SIGKILL."""
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


SETTINGS = Settings(ASSIGNMENT, device="cpu", only="task1", limits=Limits(submission_s=60))


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskProcesses]:
    """A scheduler and a worker as people start it, under a nanny, with less memory than a judge takes."""
    with closing(DaskProcesses(tmp_path_factory.mktemp("dask"))) as processes:
        processes.start_worker("--nthreads", "2", "--memory-limit", "450MiB")
        yield processes


@pytest.fixture
def executor(dask: DaskProcesses) -> Iterator[Executor]:
    with open_executor(dask.address, 1) as executor:
        yield executor


@pytest.fixture(scope="module")
def expected(judges: Judges) -> Callable[[Submission], dict[str, Any]]:
    """The report of the same grader in this process, which nothing happens to."""
    return lambda submission: without_times(judges(SETTINGS).grade(submission))


def sent(executor: Executor, fn: Callable[..., Any], *args: object) -> Future[Any]:
    future: Future[Any] = vars(executor)["_executor"].submit(fn, *args)
    return future


def someone(identifier: str, *edits: tuple[str, str, str]) -> Submission:
    return Submission(identifier, edited(*edits))


def test_reports_are_those_of_this_machine_even_where_judges_die(
    executor: Executor, expected: Callable[[Submission], dict[str, Any]], tmp_path: Path
) -> None:
    """Also: a worker under a nanny may have children, and its limit of memory says nothing about them."""
    trap = Trap("trap", edited(), fault=faulty.die, log=tmp_path / "log")
    submissions = [someone("wrong", SEES_LATER_TOKENS), trap, Submission("nothing", reason=quoted("is empty"))]
    reports = {report.submission.id: report for report in grade_all(submissions, SETTINGS, executor)}
    assert trap.attempts == 2
    plain = [someone("wrong", SEES_LATER_TOKENS), someone("trap"), Submission("nothing", reason=quoted("is empty"))]
    assert {name: without_times(report) for name, report in reports.items()} == {
        submission.id: expected(submission) for submission in plain
    }


def test_a_task_that_is_cancelled_ends_its_judge_and_frees_its_thread(dask: DaskProcesses, executor: Executor) -> None:
    before = set(descendants(dask.workers[0].pid))
    with closing(grade_all((someone(f"s{n}", SLOW) for n in range(9)), SETTINGS, executor)) as graded:
        next(graded)
        judges = set(descendants(dask.workers[0].pid)) - before
    assert sent(executor, os.getpid).result(LEAVE_S) in before
    assert survivors(judges, LEAVE_S) == []


def test_a_future_never_says_that_it_runs(dask: DaskProcesses, executor: Executor) -> None:
    """So the schedule counts on ``cancel()`` alone, which has to reach a task that runs."""
    before = set(descendants(dask.workers[0].pid))
    future = sent(executor, time.sleep, 0.5)
    while not future.done():
        assert not future.running()
        time.sleep(0.02)
    assert set(descendants(dask.workers[0].pid)) <= before  # those of the test before may still be leaving


def test_a_worker_with_another_grader_is_named(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = importlib.import_module("grader.extras.cluster.executor")
    monkeypatch.setattr(cluster, "__version__", "9.9.9")
    with pytest.raises(CannotGrade, match=r"the worker at tcp://127\..* runs grader .*, this machine 9\.9\.9\."):
        list(grade_all([someone("ada")], SETTINGS, executor))


@pytest.mark.parametrize(
    "how", [signal.SIGINT, signal.SIGKILL] if LONG else [signal.SIGKILL], ids=signal.Signals.__str__
)
def test_a_command_that_ends_leaves_no_judge_at_work(
    dask: DaskProcesses, executor: Executor, tmp_path: Path, how: signal.Signals
) -> None:
    list(grade_all([someone("ada")], SETTINGS, executor))  # which starts multiprocessing's servers
    before = set(descendants(dask.workers[0].pid))
    with at_work(tmp_path, "--executor", dask.address) as process:
        assert set(descendants(dask.workers[0].pid)) - before
        process.send_signal(how)
        _, errors = process.communicate(timeout=LEAVE_S)
    if how == signal.SIGINT:
        assert process.returncode == 130
        stopped = f"grader: stopped; {len(finished(tmp_path))} of 6 reports are in {tmp_path / 'out'}."
        assert [line for line in errors.splitlines() if not line.startswith("[")] == [stopped]
    end = time.monotonic() + LEAVE_S
    while (left := set(descendants(dask.workers[0].pid)) - before) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == set()


PAGE = (REPOSITORY / "grader" / "docs" / "cluster.md").read_text(encoding="utf-8")
SBATCH = """#!/bin/sh
echo "sbatch $*" >> {log}
if [ "$1" = --test-only ]; then {verdict}; fi
cp "$1" {place}/job.sh
setsid sh {place}/job.sh >> {place}/job.log 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo "scancel $*" >> {log}
kill -- -"$1"
(sleep 2; kill -s KILL -- -"$1") >/dev/null 2>&1 &  # as Slurm does, after half a minute
"""


def configured(folder: Path) -> Path:
    folder.mkdir()
    certificate, configuration = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[0] for kind in ("sh", "yaml"))
    subprocess.run(["sh", "-ec", certificate], cwd=folder, check=True, capture_output=True)
    (folder / "tls.yaml").write_text(configuration.replace("/home/me", str(folder)))
    return folder


def command(place: Path, executor: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Grade one submission there."""
    write_folder(place / "class" / "ada", edited())
    options = ["--out", str(place / "out"), "--device", "cpu", "--only", "task1", "--jobs", "1"]
    arguments = ["-W", "ignore", "-m", "grader.selftest.command", "grade", str(place / "class"), *options]
    arguments += ["--executor", executor, "--fresh"]
    everything = os.environ | BORROWING | environment
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, env=everything, capture_output=True, text=True, timeout=120
    )


def score(place: Path) -> float | None:
    path = place / "out" / "ada" / "report.json"
    return Report.model_validate_json(path.read_bytes()).score if path.exists() else None


def test_the_page_leads_to_a_cluster_that_lets_no_stranger_in(tmp_path: Path) -> None:
    ours, theirs = configured(tmp_path / "ours"), configured(tmp_path / "theirs")
    config = pytest.importorskip("dask.config")

    @contextmanager
    def having(folder: Path) -> Iterator[None]:
        given = yaml.safe_load((folder / "tls.yaml").read_text(encoding="utf-8"))
        with config.set(config.merge(config.config, given)):
            yield

    with closing(DaskProcesses(tmp_path, "--protocol", "tls", environment={"DASK_CONFIG": str(ours)})) as dask:
        worker = dask.start_worker()
        assert dask.address.startswith("tls://")
        with having(ours), open_executor(dask.address, 1) as executor:
            assert sent(executor, os.getpid).result(PATIENCE_S) == worker.pid
        with pytest.raises(CannotGrade, match=r"no certificate is configured\. See grader/docs/cluster\.md"):
            open_executor(dask.address, 1)
        for address, certificate in ((dask.address, theirs), (dask.address.replace("tls:", "tcp:"), ours)):
            refused = pytest.raises(CannotGrade, match=f"^--executor {re.escape(address)}: [^\n]+$")
            with having(certificate), refused:
                open_executor(address, 1)


def test_a_certificate_that_is_not_there_is_named() -> None:
    tls = {"ca-file": "/nowhere.pem", "client.cert": "/nowhere.pem", "client.key": "/nowhere.key"}
    with (
        pytest.importorskip("dask.config").set({f"distributed.comm.tls.{name}": path for name, path in tls.items()}),
        pytest.raises(CannotGrade, match=r"No such file or directory\. See grader/docs"),
    ):
        open_executor("tls://127.0.0.1:1", 1)


@pytest.mark.parametrize("certificates", ["configured", "temporary"] if LONG else ["temporary"])
def test_a_slurm_job_grades_and_is_cancelled_in_the_end(tmp_path: Path, certificates: str) -> None:
    if certificates == "temporary":
        pytest.importorskip("cryptography", reason="dask makes certificates with it")
        configuration = tmp_path / "empty"
        configuration.mkdir()
    else:
        configuration = configured(tmp_path / "ours")
    path = stand_ins(tmp_path, "exit 0")
    graded = command(tmp_path, "slurm", PATH=path, DASK_CONFIG=str(configuration), HOME=str(tmp_path))
    assert (graded.returncode, score(tmp_path)) == (0, 100), graded.stderr + (tmp_path / "job.log").read_text()
    job = (tmp_path / "job.sh").read_text()
    assert "#SBATCH -t 00:30:00" in job
    assert " tls://" in job
    assert "--no-nanny" in job
    asked, submitted, cancelled = (tmp_path / "log").read_text().splitlines()
    assert asked.startswith("sbatch --test-only ")
    assert submitted.startswith("sbatch ")
    left = survivors(members(int(cancelled.split()[-1])), 30)
    assert [Path(f"/proc/{pid}/stat").read_text() for pid in left] == []
    assert [path.name for path in tmp_path.glob(".dask-jobqueue*")] == []  # keys of workers


def test_a_job_that_slurm_refuses_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", stand_ins(tmp_path, "echo 'sbatch: error: invalid partition' >&2; exit 1"))
    refused = r"Slurm rejects such a job \(sbatch: error: invalid partition\)\. grader/docs/cluster\.md explains how to"
    with pytest.raises(CannotGrade, match=rf"^--executor slurm: {refused} [^\n]+$"):
        open_executor("slurm", 1)


def test_a_machine_without_slurm_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CannotGrade, match="sbatch not found"):
        open_executor("slurm", 1)


def stand_ins(place: Path, verdict: str) -> str:
    """A search path that begins with programs that play Slurm; ``verdict`` is what ``--test-only`` does."""
    (place / "bin").mkdir()
    for name, script in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        program = place / "bin" / name
        program.write_text(script.format(place=place, log=place / "log", verdict=verdict))
        program.chmod(0o755)
    return f"{place / 'bin'}:{os.environ['PATH']}"


def members(group: int) -> list[int]:
    stats = {int(path.parent.name): path.read_text() for path in Path("/proc").glob("[0-9]*/stat")}
    return [pid for pid, stat in stats.items() if int(stat.rpartition(")")[2].split()[2]) == group]
