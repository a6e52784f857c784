"""``grader reproduce``: the same outcome again, the calls that lead to it, and a debugger that is locked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner, Result

from grader import PACKAGE, REPOSITORY
from grader.__main__ import app
from grader.core.judge.faults import told_frame
from grader.core.judge.judge import Judge
from grader.core.messages import quoted
from grader.core.results.outcome import CaseResult, Outcome
from grader.core.results.written import SOURCES, note
from grader.core.sandbox.limits import Level, Limits
from grader.core.sandbox.started import OURS, files_of
from grader.core.settings import Settings, conditions
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.reproduce import DEBUGGING
from grader.extras.reproduce.bench import Exchange, Reproduction
from grader.extras.reproduce.shown import _frames, brief
from grader.followup.submissions import settings_of
from grader.selftest.reports import unreadable, write_class
from grader.selftest.submissions import ATTENTION, SEES_LATER_TOKENS, SWIGLU, edited, submission, write_folder
from grader.selftest.warm import WarmPython

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("reads_here")]

CRASHES = (SWIGLU, "nn.functional.silu", "nn.functional.sillu")
FORGETS = (ATTENTION, "def forward(self, input: Tensor) -> Tensor:", "calls = []\n\n    def forward(self, input):")
TWICE = "        self.calls.append(1)\n        if len(self.calls) > 1:\n            return input\n        projected = "


@pytest.fixture(scope="module")
def folder(grader: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class and its reports: one sees later tokens, one crashes, one is wrong from the second call on."""
    top = tmp_path_factory.mktemp("reproduce")
    kim = {path: text.replace("        projected = ", TWICE) for path, text in edited(FORGETS).items()}
    everyone = {"ada": ASSIGNMENT.solution(), "cleo": edited(SEES_LATER_TOKENS), "dan": edited(CRASHES), "kim": kim}
    for name, files in everyone.items():
        write_folder(top / "class" / name, files)
    reports = [grader.grade(submission(files, name)) for name, files in everyone.items()]
    write_class(top / "out", *reports, unreadable("eve"))
    note(top / "out", [top / "class"], None, None)
    return top


def reproduce(folder: Path, *arguments: object, typed: str = "") -> Result:
    return CliRunner().invoke(app, ["reproduce", f"{folder}/out", *map(str, arguments), "--lang", "en"], input=typed)


def parts(result: Result) -> dict[str, str]:
    assert result.exit_code == 0, result.output
    return {line[:12].strip(): line[12:] for line in result.stdout.splitlines() if line[:12].strip()}


def test_the_case_ends_as_the_report_says(folder: Path) -> None:
    result = reproduce(folder, "cleo")
    told = parts(result)
    assert told["report"].startswith("failed: output for 2 tokens with queries of zeros: shape [3, 2, 16], 48 of 96")
    assert told["report"].startswith(told["now"])
    assert "module_1 = CausalSelfAttention(hidden_size=16, heads=2)" in result.stdout
    assert re.search(r"output_1 = module_1\(<float32 \[3, 2, 16\]: .*…>\)\n +→ <float32 \[3, 2, 16\]: ", result.stdout)
    assert told["frames"].startswith("none: ")


def test_an_exception_is_shown_with_the_students_own_frames(folder: Path) -> None:
    told = parts(reproduce(folder, "dan", "gate"))
    assert told["now"] == "crashed: AttributeError: module 'torch.nn.functional' has no attribute 'sillu'"
    assert re.fullmatch(rf"{SWIGLU}:\d+ in forward: .*sillu.*", told["frames"])


def test_of_several_exceptions_the_frames_are_those_of_the_one_that_is_told() -> None:
    """After a crash a case may ask for more, such as sizes that a constructor has to refuse."""
    files = {SWIGLU: "first\nsecond\n"}
    (told,) = told_frame([SWIGLU, 1, "forward"], files)
    errors = ({"error": {"frames": [[SWIGLU, line, "forward"]]}} for line in (1, 2))
    exchanges = [*(Exchange(0, True, [], error) for error in errors), Exchange(0, True, [], None)]
    crash = CaseResult("gate", "one", Outcome.CRASHED, quoted("ValueError: no").then(told))
    assert _frames(Reproduction(crash, exchanges, True), files) == [f"{SWIGLU}:1 in forward: first"]


def test_what_fails_only_behind_others_is_run_behind_them(folder: Path) -> None:
    result = reproduce(folder, "kim", "attention_heads")
    assert "passes alone; fails after the other cases" in result.stdout
    assert parts(result)["now"].startswith("failed: ")


def test_the_debugger_stops_in_the_students_frame_and_is_locked(folder: Path, tmp_path: Path) -> None:
    typed = f"p tuple(input.shape)\n!open({str(tmp_path / 'x')!r}, 'w')\n!print('\\x1b[2J')\nq\n"
    result = reproduce(folder, "cleo", "--pdb", typed=typed)
    assert result.exit_code == 0, result.output
    assert f"> {ATTENTION}(" in result.stdout
    assert "(3, 2, 16)" in result.stdout
    assert "*** PermissionError" in result.stdout
    assert not (tmp_path / "x").exists()
    assert "\x1b" not in result.stdout


def test_the_container_shows_every_file_of_ours_that_the_debugger_imports(run: WarmPython) -> None:
    """Also where bubblewrap is missing: there, no container would fail for lack of one."""
    imported = run.imported(REPOSITORY, "grader.core.sandbox.zygote", DEBUGGING)
    shown = [PACKAGE / name for name in (*OURS, *files_of(DEBUGGING))]
    assert [file for file in imported if not any(map(file.is_relative_to, shown))] == []
    assert all(path.exists() for path in shown)


def test_the_debugger_stops_where_an_exception_was_raised(folder: Path) -> None:
    result = reproduce(folder, "dan", "gate", "--pdb", typed="p type(self).__name__\n")  # and then no more input
    assert result.exit_code == 0, result.output
    assert re.search(rf"> {SWIGLU}\(\d+\)forward\(\)\n-> .*sillu", result.stdout)
    assert "'SwiGLU'" in result.stdout


def test_files_that_have_changed_are_named(folder: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "cleo", edited(SEES_LATER_TOKENS, (SWIGLU, "import torch", "import math, torch")))
    result = reproduce(folder, "cleo", "--submissions", tmp_path / "cleo")
    assert result.exit_code == 0, result.output
    assert f"cleo: the files changed since grading ({SWIGLU}): " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["ada"], "ada: every property passed, so there is no failing case."),
        (["cleo", "heads"], "attention_heads: passed, so there is no failing case. cleo lost attention_causal."),
        (["cleo", "nothing"], "nothing: no such property. cleo lost attention_causal."),
        (["eve"], "eve: unreadable, so no case was run. The zip cannot be read."),
        (["cleo", "--submissions", "gone"], "gone: no such file or folder. Pass their current location"),
    ],
    ids=["full", "passed", "unknown", "unreadable", "moved"],
)
def test_what_cannot_be_done_is_one_line(folder: Path, arguments: list[str], line: str) -> None:
    result = reproduce(folder, *arguments)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"grader: {line}")


def test_a_folder_without_a_note_asks_for_the_place(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_class(out, unreadable("eve"))
    assert not (out / SOURCES).exists()
    (out / "cleo").mkdir()
    (out / "cleo" / "report.json").write_bytes((folder / "out" / "cleo" / "report.json").read_bytes())
    result = reproduce(tmp_path, "cleo")
    assert result.stderr.startswith(f"grader: {out}: no record of where its submissions are. Pass their location with")


def test_the_settings_of_a_grading_come_back() -> None:
    own = Settings(
        ASSIGNMENT, "cpu", seed=7, limits=Limits(request_s=3), required_level=Level.SECCOMP, without=("user",)
    )
    assert settings_of(conditions(own), ASSIGNMENT) == own


def test_values_are_told_in_a_few_words() -> None:
    assert brief({"a": [1, 2.5, None], "b": float("inf")}) == "{'a': [1, 2.5, None], 'b': float(\"inf\")}"
    assert brief(torch.arange(9.0).reshape(3, 3)) == "<float32 [3, 3]: 0, 1, 2, 3, 4, 5, 6, 7, …>"
    assert brief("gpu:0") == "'cuda'"
