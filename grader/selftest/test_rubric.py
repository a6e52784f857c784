"""A rubric that contradicts itself is refused, by the loader and in one line by every command."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from grader.__main__ import app
from grader.core.assignment import Assignment
from grader.core.messages import UserError
from grader.core.rubric import RubricError, load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import write_folder
from grader.selftest.term import lab_tool, refused
from grader.specimens.students import SampleStudent, files_of
from tests.harness import page
from tests.harness import rubric as public
from tests.harness.terminal import end_with

RUBRIC_PATH = ASSIGNMENT.folder / "rubric.toml"


MALFORMED = {  # the text to replace, its replacement, and the error
    "twice": ('id = "attention_causal"\n', 'id = "attention_heads"\n', "duplicate id 'attention_heads' .2 times."),
    "task_twice": ('id = "task2"\n', 'id = "task1"\n', "duplicate id 'task1' .2 times."),
    "unknown_property": ('properties = ["attention_causal"]', 'properties = ["x"]', "_sees_later_tokens' .*'x'"),
    "no_file": ('file = "src/attention.py"\n', "", "tasks.task1.file: Field required"),
    "points_no_number": ("points = 40\n", "points = []\n", "task1.properties.attention_heads.points: Input should"),
    "points_in_quotes": ("points = 40\n", 'points = "40"\n', "attention_heads.points: Input should be a valid number"),
    "bonus_in_quotes": ("bonus = true\n", 'bonus = "no"\n', "task2.bonus: Input should be a valid boolean"),
    "points_endless": ("points = 40\n", "points = inf\n", "attention_heads.points: Input should be a finite number"),
    "empty_file": ('"src/attention.py"\n', '""\n', "tasks.task1.file: it is empty"),
    "empty_title": ('"every head attends by itself, with scaled scores"', '" "', "heads.title.en: it is empty"),
    "path_as_id": ('id = "attention_heads"\n', 'id = "../x"\n', "tasks.task1.properties.../x.id: String should match"),
    "name_twice": ('"SwiGLU"]\n', '"CausalSelfAttention"]\n', "duplicate name 'CausalSelfAttention' .2 times."),
    "no_language": ('zh = "小', 'fr = "小', "title.zh: Field required"),
    "no_toml": ("points = 40\n", "points 40\n", r"Expected '=' .*line \d+"),
    "points_of_98": ("points = 40\n", "points = 38\n", "the tasks without bonus total 98 points; they must total 100"),
    "no_misconceptions": ("[[misconceptions]]", "[[mistakes]]", "misconceptions: Field required"),
    "unknown_file": ('"src/attention.py"\n', '"src/gone.py"\n', "task1 .*'src/gone.py'; there is no .*ref/gone.py"),
    "elsewhere": ('"src/attention.py"\n', '"attention.py"\n', "task1 .*'attention.py', which is not below src/"),
    "unknown_name": ('"SwiGLU"]\n', '"SwiGLU"]\nfiles = { Gate = "src/swiglu.py" }\n', "task2 gives a file for 'Gate'"),
}


@pytest.fixture
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A rubric with one of these faults."""
    old, new, _ = MALFORMED[getattr(request, "param", "points_of_98")]
    text = RUBRIC_PATH.read_text(encoding="utf-8")
    assert old in text
    write_folder(tmp_path, {"ref/attention.py": "", "ref/swiglu.py": ""})
    return write_folder(tmp_path / "grader" / "assignment", {"rubric.toml": text.replace(old, new)}) / "rubric.toml"


@pytest.mark.parametrize(
    ("broken", "named"), [(name, case[2]) for name, case in MALFORMED.items()], ids=MALFORMED, indirect=["broken"]
)
def test_a_malformed_rubric_is_refused_with_its_file_and_place(broken: Path, named: str) -> None:
    with pytest.raises(RubricError, match=f"^{re.escape(str(broken))}: .*{named}"):
        load_rubric(broken, ASSIGNMENT.root / "ref")


@pytest.mark.parametrize("command", [c.name or c.callback.__name__ for c in app.registered_commands if c.callback])
def test_every_command_refuses_a_broken_rubric_in_one_line(
    broken: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(lambda _: load_rubric(broken)))
    assert_one_line(refused(command), broken)


def test_a_name_that_no_task_asks_for_is_told_in_one_line() -> None:
    """As of a variant that is left after its task was deleted."""
    with pytest.raises(UserError, match=r"^rubric\.toml: no task has CausalMask\. "):
        ASSIGNMENT.rubric.file_of("CausalMask")


def test_a_stub_of_a_task_that_was_deleted_is_passed_over() -> None:
    files = files_of(ASSIGNMENT, SampleStudent("ada", "Left all as it was.", stubs=("src/gone.py", "src/swiglu.py")))
    assert b"TODO(task 2)" in files["src/swiglu.py"]
    assert "src/gone.py" not in files


TOOLS = ("bench", "gallery", "missing", "mutants", "site.handout")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # the engine's own tests may import it, too
def test_every_tool_that_reads_the_rubric_refuses_a_broken_one_in_one_line(
    broken: Path, tool: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Assignment, "rubric", property(lambda _: load_rubric(broken)))
    code, out, err = lab_tool(capsys, tool)
    assert (code, out) == (2, "")
    assert_one_line(err, broken)


@pytest.mark.parametrize("broken", ["no_file", "no_toml", "points_in_quotes"], indirect=True)
@pytest.mark.parametrize("command", ["__main__", "submit"])
def test_students_commands_refuse_a_broken_rubric_in_one_line(
    broken: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(import_module("tests.harness.rubric").load.__wrapped__, "__defaults__", ((broken,),))
    import_module("tests.harness.rubric").load.cache_clear()
    monkeypatch.setattr("os._exit", sys.exit)
    with pytest.raises(SystemExit, match="2"):
        end_with(import_module(f"tests.{command}").main)
    import_module("tests.harness.rubric").load.cache_clear()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert_one_line(printed.err, broken)


def assert_one_line(printed: str, broken: Path) -> None:
    """Whether that is a single line, which begins with the file, or with the command and the file."""
    assert printed.removeprefix("grader: ").startswith(f"{broken}: ")
    assert len(printed.splitlines()) == 1
    assert len(printed) > len(f"{broken}: ") + 20


def test_points_in_tenths_are_a_hundred_together_also_in_a_file_from_windows(tmp_path: Path) -> None:
    """Added up as numbers of a computer they are a little less."""
    text = RUBRIC_PATH.read_text(encoding="utf-8")
    for points, tenths in ((40, 30.9), (30, 33.3), (30, 35.8)):
        text = text.replace(f"points = {points}\n", f"points = {tenths}\n", 1)
    marked = f"\ufeff{text}"  # as an editor on Windows saves it
    path = write_folder(tmp_path / "grader" / "assignment", {"rubric.toml": marked}) / "rubric.toml"
    assert f"{load_rubric(path).max_score:g}" == "100"
    each = [prop.points for prop in public.load((path,)).tasks[0].properties]
    assert (page._score(sum(each), 100), page._score(each[0], 30.9)) == ("100 / 100", "30.9 / 30.9")
