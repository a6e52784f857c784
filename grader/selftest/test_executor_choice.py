"""``--executor``: one line for each way in which there is none."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path

import pytest

from grader.core.run.executors import LocalExecutor, open_executor
from grader.core.settings import CannotGrade
from grader.selftest.submissions import edited, write_folder
from grader.selftest.term import refused

CHOICES = "local, tcp://HOST:PORT, tls://HOST:PORT or slurm"


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        ("cloud", f"--executor cloud: not an executor. Choose {CHOICES}."),
        ("http://127.0.0.1:8786", f"--executor http://127.0.0.1:8786: not an executor. Choose {CHOICES}."),
        ("tcp://127.0.0.1", "--executor tcp://127.0.0.1: no host and port. Use the form tls://"),
        ("tcp://:8786", "--executor tcp://:8786: no host and port."),
        ("tls://here:port", "--executor tls://here:port: no host and port."),
        ("tls://127.0.0.1:8786", "--executor tls://127.0.0.1:8786: no certificate is configured."),
    ],
)
def test_what_cannot_be_an_executor_is_named(choice: str, problem: str) -> None:
    if choice.startswith("t"):
        pytest.importorskip("distributed")
    with pytest.raises(CannotGrade, match=re.escape(problem)):
        open_executor(choice, 1)


def test_the_default_is_this_machine() -> None:
    with open_executor("local", 3) as executor:
        assert isinstance(executor, LocalExecutor)
        assert executor.slots == 3 + 1


@pytest.mark.process
def test_the_command_ends_with_one_line_if_no_scheduler_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from grader.extras.cluster import connect

    monkeypatch.setattr(connect, "CONNECT_S", 0.5)
    ada, address = write_folder(tmp_path / "ada", edited()), f"tcp://127.0.0.1:{unused_port()}"
    line = refused("grade", ada, "--out", tmp_path / "out", "--executor", address)
    assert line.startswith(f"grader: --executor {address}: no scheduler answered within 0.5 s. Start it with")


@pytest.mark.parametrize(("choice", "module"), [("tcp://127.0.0.1:1", "distributed"), ("slurm", "dask_jobqueue")])
def test_a_missing_extra_comes_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, choice: str, module: str
) -> None:
    for name in ("executor", "connect"):
        monkeypatch.delitem(sys.modules, f"grader.extras.cluster.{name}", raising=False)
    for name in (module, f"{module}.{choice}"):  # an earlier test may have imported it
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CannotGrade, match=rf'{module} is not installed\. .* pip install -e "\.\[grader,cluster\]"'):
        open_executor(choice, 1)


def test_plain_tcp_to_another_machine_comes_with_a_warning() -> None:
    pytest.importorskip("distributed")
    from grader.extras.cluster.connect import warning

    assert warning("tcp://127.0.0.1:1", "127.0.0.1") == warning("tcp://localhost:1", "localhost") == ""
    assert warning("tls://10.0.0.7:8786", "10.0.0.7") == ""
    for host in ("10.0.0.7", "grading.example.org"):
        assert "anyone who reaches the scheduler or a worker can run code there" in warning(f"tcp://{host}:8786", host)
