"""What the doctor finds on this machine, and how it says so."""

from __future__ import annotations

import pytest

from grader.core.sandbox import started as starting
from grader.core.sandbox.limits import LAYERS
from grader.extras.doctor import commands as examined
from grader.extras.doctor.commands import Finding
from grader.selftest.term import command, run

pytestmark = pytest.mark.process


def test_the_doctor_names_every_layer_with_what_it_does_or_its_remedy() -> None:
    subjects = {line.split()[1] for line in run("doctor").stdout.splitlines() if line[:1] in "✓–"}
    assert {"python", "torch", "device", "isolation", "imports"} <= subjects
    assert subjects - {"python", "torch", "device", "isolation", "imports"} <= set(LAYERS)


def test_the_doctor_tries_what_student_code_imports_and_ends_with_1_if_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here a worker may open nothing of Python, and the fork server has read nothing for it."""
    closed = "from grader.core.sandbox import importer, lockdown; "
    closed += "importer.places = lambda: (); lockdown.readable_paths = list; "
    monkeypatch.setattr(starting, "START", "import sys; sys.path.insert(0, sys.argv[1]); " + closed + starting.START)
    result = command("doctor")
    assert isinstance(result.exception, SystemExit), "not a fault of ours"
    assert result.exit_code == 1
    if "✓ landlock" not in " ".join(result.stdout.split()):
        pytest.skip("without Landlock nothing can be closed")
    (found, remedy) = result.stdout.splitlines()[-2:]
    assert found.startswith("✗ imports")
    assert "pdb (No module named 'pdb')" in found
    assert "torch.onnx" in found
    assert remedy.strip() == "install Python and torch into a folder that every user can read, such as /opt"


def test_a_layer_that_others_make_up_for_does_not_make_a_machine_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding("namespaces", False, "bwrap is not installed", "install bubblewrap", needed=False)]
    monkeypatch.setattr(examined, "examine", lambda: found)
    result = command("doctor")
    assert (result.exit_code, result.stdout[:1]) == (0, "–")


def test_a_machine_that_lacks_what_is_needed_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Finding("torch", True, "2.13.0")
    monkeypatch.setattr(examined, "examine", lambda: [Finding("python", False, "3.10.1", "use Python 3.11"), good])
    result = command("doctor")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert (result.exit_code, lines[0], lines[1]) == (1, ["✗", "python", "3.10.1"], ["use", "Python", "3.11"])
    assert lines[2] == ["✓", "torch", "2.13.0"]
