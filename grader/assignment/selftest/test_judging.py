"""How many processes a verdict takes, and what it is where processes disagree."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.assignment import ASSIGNMENT
from grader.core.judge.judge import Judge
from grader.core.judge.time_left import TimeLeft
from grader.core.results.report import Report
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import Worker
from grader.core.sandbox.launch import Zygote
from grader.core.settings import Settings
from grader.selftest.at_work import without_times
from grader.selftest.borrowed import ADDRESS
from grader.selftest.fixtures import Judges
from grader.selftest.submissions import submission, write_folder
from grader.selftest.warm import WarmPython
from grader.specimens.variants import variants_of

VOCAB = "src/modeling/vocab_emb.py"
ROTATION = "src/functional.py"
CRASHES = "import nothing_of_this_name\n"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Zygote]:
    """One entry for each worker that is started; none is given up for being slow, as on a busy machine it may be."""
    monkeypatch.setattr(TimeLeft, "silence_s", 60.0)
    workers: list[Zygote] = []
    start = Zygote.start

    def counted(zygote: Zygote, files: Mapping[str, str]) -> Worker:
        workers.append(zygote)
        return start(zygote, files)

    monkeypatch.setattr(Zygote, "start", counted)
    return workers


WITH_MISTAKES = {
    **ASSIGNMENT.solution(),
    VOCAB: ASSIGNMENT.solution()[VOCAB]
    + "\ndef forward(self, input_ids):\n    return self.table[input_ids * 0].double()\n"
    "\nVocabEmbedding.forward = forward\n",
}


def test_two_workers_are_enough_for_right_work(started: list[Zygote], grader: Judge) -> None:
    """The second one answers the sample."""
    report = grader.grade(submission(ASSIGNMENT.solution()))
    assert (report.score, report.bonus) == (report.max_score, report.max_bonus)
    assert len(started) == 2


@pytest.mark.parametrize(
    ("files", "processes"), [(ASSIGNMENT.stubs(), 3), (WITH_MISTAKES, 4)], ids=["stubs", "mistakes"]
)
def test_failing_properties_share_a_process(
    files: Mapping[str, str], processes: int, started: list[Zygote], judges: Judges
) -> None:
    """One for the replay, one for what fails, one when a test reads what its piece does, and one for the sample."""
    judges(judging()).grade(submission(ASSIGNMENT.solution()))
    started.clear()
    report = judges(judging()).grade(submission(files))
    assert sum(outcome != "passed" for outcome in outcomes(report).values()) > 1
    assert len(started) <= processes


def test_the_process_of_the_sample_names_the_mistake(started: list[Zygote], grader: Judge) -> None:
    """One each: the replay, the law of eps and what fails, a failure without a name, the sample and the probe."""
    (variant,) = (one for one in variants_of(ASSIGNMENT) if one.name.endswith("eps_beside_the_root"))
    report = grader.grade(submission(variant.files))
    assert report.properties["norm_eps_inside_sqrt"].misconception == variant.hint
    assert len(started) == 4


def test_a_stub_takes_nothing_from_what_is_written_beside_it(grader: Judge) -> None:
    """A rotation beside the stub of its module has all of its points, those about gradients through both included."""
    files = {**ASSIGNMENT.solution(), "src/modeling/pos_emb.py": ASSIGNMENT.stubs()["src/modeling/pos_emb.py"]}
    found = outcomes(grader.grade(submission(files)))
    rotary = {name: outcome for name, outcome in found.items() if name.startswith("rotary_")}
    assert rotary
    assert {*rotary.values()} == {"passed"}
    assert {outcome for name, outcome in found.items() if name.startswith("rope_")} == {"not_implemented"}


def test_a_crash_at_import_is_one_cause_for_all_properties(started: list[Zygote], grader: Judge) -> None:
    """One process for the replay, one for each task of three that the replay reads, and one that lengths are tried in.

    One of these confirms the replay.
    """
    report = grader.grade(submission({path: CRASHES + text for path, text in ASSIGNMENT.solution().items()}))
    assert set(outcomes(report).values()) == {"crashed"}
    assert len(started) == 5


def test_a_module_beside_a_rotation_that_cannot_be_imported_needs_no_process_for_each_property(
    started: list[Zygote], grader: Judge
) -> None:
    files = ASSIGNMENT.solution()
    report = grader.grade(submission({**files, ROTATION: CRASHES + files[ROTATION]}))
    assert report.score == report.max_score
    assert len(started) <= 5


def test_what_is_excused_by_properties_that_pass_is_asked_for_with_these_alone(
    started: list[Zygote], grader: Judge
) -> None:
    """Growth that forgets the base fails one case, which the properties of the base would pay for; they all pass."""
    (variant,) = (one for one in variants_of(ASSIGNMENT) if one.name.endswith("growth_forgets_the_base"))
    report = grader.grade(submission(variant.files))
    lost = {prop: outcome for prop, outcome in outcomes(report).items() if outcome != "passed"}
    assert lost == {"rope_smallest_even_ratio": "failed"}
    assert len(started) <= 5


def judging(plain: bool = False) -> Settings:
    """Task 2, where all is asked for request by request, or only what does not pass."""
    return Settings(ASSIGNMENT, device="cpu", only="task2", plain=plain)


def test_plainly_there_is_another_for_each_property(started: list[Zygote], judges: Judges, rubric: Rubric) -> None:
    report = judges(judging(plain=True)).grade(submission(ASSIGNMENT.solution()))
    assert report.score == report.max_score
    assert len(started) == 2 + len(rubric.only("task2").properties)


def graded(judge: Judge, forward: str, reset: str = "") -> Report:
    """The report on a module with this forward, and this after a reset; in its file each import counts one up."""
    text = ASSIGNMENT.solution()[VOCAB] + (
        "\n\ntorch.imports = getattr(torch, 'imports', 0) + 1\n\n"
        f"def forward(self, input_ids):\n    {forward}\n\nVocabEmbedding.forward = forward\n"
        "reset = VocabEmbedding.reset_parameters\n\n"
        f"def again(self):\n    reset(self)\n    {reset or 'pass'}\n\nVocabEmbedding.reset_parameters = again\n"
    )
    return judge.grade(submission({**ASSIGNMENT.solution(), VOCAB: text}))


def outcomes(report: Report) -> dict[str, str]:
    return {name: str(prop.outcome) for name, prop in report.properties.items()}


def test_who_guesses_twice_gets_the_worse_of_both(judges: Judges) -> None:
    """Wrong from the second import on, right in each new process; the first property is first in one order only."""
    forward = "return self.table[input_ids] if torch.imports < 2 else self.table[input_ids] * 2"
    reports = [graded(judges(judging(plain)), forward) for plain in (False, True)]
    assert outcomes(reports[0])["vocab_lookup"] == "inconsistent"
    honest = graded(judges(judging()), "return self.table[input_ids] * 2")
    assert reports[0].score is not None
    assert honest.score is not None
    assert reports[0].score <= honest.score
    assert without_times(reports[0]) == without_times(reports[1])


def test_who_is_right_only_later_is_found_by_the_sample(judges: Judges) -> None:
    forward = "return self.table[input_ids] if torch.imports > 1 else self.table[input_ids] * 2"
    reset = "self.table.data.mul_(1 if torch.imports > 1 else 2)"
    reports = [graded(judges(judging(plain)), forward, reset) for plain in (False, True)]
    assert {prop for prop, outcome in outcomes(reports[0]).items() if outcome != "passed"} == {
        "vocab_lookup",
        "vocab_init_and_reset",
    }
    assert without_times(reports[0]) == without_times(reports[1])


def test_what_fails_in_a_used_process_alone_is_shown_to_a_person(judges: Judges) -> None:
    """The process that serves again fails as the replay does, but first it is new, and differs."""
    once = "\nif getattr(torch, 'is_taken', False):\n    raise RuntimeError('twice')\ntorch.is_taken = True\n"
    text = ASSIGNMENT.solution()[VOCAB] + once
    report = judges(judging()).grade(submission({**ASSIGNMENT.solution(), VOCAB: text}))
    assert set(outcomes(report).values()) == {"inconsistent"}


def test_a_draw_that_nothing_seeds_is_charged_once(grader: Judge) -> None:
    """Its numbers depend on how many were drawn before in the process: no case may be asked for only by what it got."""
    never_seeded = "\ndef draw(self):\n    nn.init.normal_({})\n\n{}.reset_parameters = draw\n"
    text = ASSIGNMENT.solution()[VOCAB] + never_seeded.format("self.shard", "ParallelVocabEmbedding")
    report = grader.grade(submission({**ASSIGNMENT.solution(), VOCAB: text}))
    assert {
        name: outcome for name, outcome in outcomes(report).items() if outcome not in ("passed", "not_assessed")
    } == {"shard_seed": "failed"}


READY = """
import sys
sys.path.insert(0, sys.argv[1])
from grader.assignment import ASSIGNMENT
from grader.core.judge.judge import Judge
from grader.core.settings import Settings
from grader.selftest import borrowed  # so the judge borrows a fork server that is ready
judge = Judge(Settings(ASSIGNMENT, device="cpu"))
print("sympy" in sys.modules)
judge.close()
"""


def test_a_judge_is_ready_without_what_torch_imports_for_symbols(tmp_path: Path, run: WarmPython) -> None:
    """As ``backward(gradient)`` makes it do: five hundred modules, and a third of the time of torch itself."""
    write_folder(tmp_path, {"ready.py": READY})
    assert run(tmp_path, "ready", str(REPOSITORY), given=f"{ADDRESS}={os.environ[ADDRESS]}").stdout == "False\n"


@pytest.mark.process
def test_a_command_that_judges_nothing_does_not_import_torch() -> None:
    """It takes two seconds; so neither the commands nor the assignment and its corpus may need it at their start."""
    code = "import sys, grader.__main__, grader.specimens.students; print('torch' in sys.modules)"
    started = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert started.stdout == "False\n"
