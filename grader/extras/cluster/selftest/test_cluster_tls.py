"""TLS as ``grader/docs/cluster.md`` describes it, and Slurm by stand-ins that run a job's script as a local process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from grader import REPOSITORY
from grader.core.results.report import Report
from grader.core.run.executors import open_executor
from grader.core.settings import CannotGrade
from grader.selftest import LONG
from grader.selftest.dask_processes import BORROWING, DaskProcesses
from grader.selftest.faulty import survivors
from grader.selftest.submissions import edited, write_folder

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

pytestmark = pytest.mark.process

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
    with DaskProcesses(tmp_path, "--protocol", "tls", environment={"DASK_CONFIG": str(ours)}) as dask:
        dask.start_worker()
        assert dask.address.startswith("tls://")
        graded = command(tmp_path, dask.address, DASK_CONFIG=str(ours))
        assert (graded.returncode, score(tmp_path)) == (0, 100), graded.stderr
        with pytest.raises(CannotGrade, match=r"no certificate is configured\. See grader/docs/cluster\.md"):
            open_executor(dask.address, 1)
        for address, certificate in ((dask.address, theirs), (dask.address.replace("tls:", "tcp:"), ours)):
            given = yaml.safe_load((certificate / "tls.yaml").read_text(encoding="utf-8"))
            with (
                config.set(config.merge(config.config, given)),
                pytest.raises(CannotGrade, match=f"^--executor {re.escape(address)}: [^\n]+$"),
            ):
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
