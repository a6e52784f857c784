"""One decision for all whom it concerns, and several graders beside each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import Result

from grader.core.grades.model import FILE, FOLDER
from grader.core.results.outcome import Outcome
from grader.extras.decisions.file import read
from grader.selftest.reports import FAILED, PASSED, USUAL, report, write_class
from grader.selftest.term import command, run

WHY = ("--why", "The text allowed it.")
BETTER = USUAL | {"mean": (PASSED, 4.0)}
WORSE = USUAL | {"eps": (FAILED, 6.0)}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three who lost the mean by the same mistake, one of them eps as well, and one who lost nothing."""
    names = {"ada": USUAL, "bo": WORSE, "cy": USUAL, "di": BETTER}
    return write_class(tmp_path / "out", *(report(one, ended, name=one.title()) for one, ended in names.items()))


def decide(out: Path, *arguments: str, code: int = 0) -> Result:
    result = command("decide", out, *arguments)
    assert result.exit_code == code, result.output
    return result


def grades(out: Path) -> dict[str, str]:
    rows = [line.split() for line in command("show", out).stdout.splitlines()[1:5]]
    return {row[0]: row[-2] for row in rows}


def test_all_with_a_mistake_get_the_points_but_those_left_out_or_decided_about(out: Path) -> None:
    decide(out, "cy", "--override", "mean", "--points", "1", *WHY)
    told = decide(out, "--all-with", "mean:eps_outside", "--points", "3", "--except", "Bo", *WHY).stdout
    assert told.splitlines() == [
        "cy: already decided, unchanged",
        "Ada (ada): 11 → 14",
        str(out / FILE),
        "1 decisions; --undo takes them back.",
    ]
    told = decide(out, "--all-with", "mean", "--points", "2", *WHY).stdout
    assert "Bo (bo): 5 → 7" in told
    assert grades(out) == {"ada": "9", "bo": "2", "cy": "7", "di": "10"}
    assert [entry.decision.student for entry in read(out)] == ["c-cy", "c-ada", "c-bo"]  # each can be withdrawn alone


def test_nobody_gets_points_for_another_cause_or_for_what_nobody_wrote(tmp_path: Path) -> None:
    """Of three who lost the same property, one crashed, and one never wrote it."""
    endings = {"ada": FAILED, "bo": Outcome.CRASHED, "cy": Outcome.MISSING}
    each = (report(one, USUAL | {"mean": (ended, 4.0)}, name=one.title()) for one, ended in endings.items())
    out = write_class(tmp_path / "out", *each)
    refused = decide(out, "--all-with", "mean", "--points", "3", *WHY, code=2).stderr
    assert "name one mistake, or mean:* for all. Mistakes: eps_outside (1), not recognised (1)." in refused
    decide(out, "--all-with", "mean:*", "--points", "3", *WHY)
    assert [entry.decision.student for entry in read(out)] == ["c-ada", "c-bo"]


def test_undo_takes_back_the_whole_group_and_leaves_the_file_as_it_was(out: Path) -> None:
    decide(out, "di", "--comment", "Well done.", "--who", "kim")
    before, earned = (out / FILE).read_bytes(), grades(out)
    decide(out, "--all-with", "mean", "--points", "4", *WHY)
    assert grades(out) != earned
    told = decide(out, "--undo").stdout
    assert told.endswith("Decisions taken back: 3.\n")
    assert ((out / FILE).read_bytes(), grades(out)) == (before, earned)
    decide(out, "--undo")
    assert read(out) == []
    assert "nothing to undo" in decide(out, "--undo", code=2).stderr


def test_what_somebody_has_edited_since_is_not_undone(out: Path) -> None:
    decide(out, "ada", "--override", "mean", "--points", "3", *WHY)
    text = (out / FILE).read_text().replace("points = 3", "points = 3.0")
    (out / FILE).write_text(text)
    assert "edited by hand; withdraw it instead" in decide(out, "--undo", code=2).stderr
    assert (out / FILE).read_text() == text


def test_show_lists_mistakes_as_all_with_takes_them_and_what_is_not_recognised(tmp_path: Path) -> None:
    """Of three who lost the mean, one crashed without a known mistake; nobody began the other property."""
    endings = {"ada": FAILED, "bo": FAILED, "cy": Outcome.CRASHED}
    each = (report(one, {"mean": (ended, 4.0), "eps": (Outcome.MISSING, 6.0)}) for one, ended in endings.items())
    lines = command("show", write_class(tmp_path / "out", *each)).stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if "submissions  recognised mistake" in line)
    assert lines[start + 1].split() == ["2", "mean:eps_outside"]
    assert lines[start + 3].strip() == "1  mean, not recognised"
    assert "lateness costs nothing ([policy] of the rubric)" in lines


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--all-with", "mean:other", "--points", "1", *WHY),
            "name one mistake, or mean:* for all. Mistakes: eps_outside (3).",
        ),
        (("--all-with", "means", "--points", "1", *WHY), "Mistakes: no submission failed it."),
        (("--all-with", "mean", "--points", "5", *WHY), "5 points: mean has only 4."),
        (("--all-with", "mean", "--points", "1"), "--all-with needs --points and --why"),
        (("ada", "--all-with", "mean", "--points", "1", *WHY), "--all-with needs --points and --why, and no STUDENT"),
    ],
)
def test_a_group_that_makes_no_sense_is_one_line_and_writes_nothing(
    out: Path, arguments: tuple[str, ...], line: str
) -> None:
    assert line in decide(out, *arguments, code=2).stderr
    assert read(out) == []


def test_each_grader_writes_a_file_and_all_of_them_hold(out: Path) -> None:
    told = decide(out, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim").stdout
    assert told.endswith(f"{out / FOLDER / 'kim.toml'}\n")
    decide(out, "bo", "--override", "mean", "--points", "2", *WHY, "--as", "lee")
    decide(out, "cy", "--override", "mean", "--points", "1", *WHY, "--who", "pat")
    assert sorted(path.name for path in (out / FOLDER).iterdir()) == ["kim.toml", "lee.toml"]
    assert grades(out) == {"ada": "9", "bo": "2", "cy": "7", "di": "10"}
    assert [(entry.file, entry.decision.who) for entry in read(out)] == [
        ("decisions/kim.toml", "kim"),
        ("decisions/lee.toml", "lee"),
        (FILE, "pat"),
    ]
    decide(out, "--undo", "--as", "kim")
    assert grades(out)["ada"] == "6"


def merged(out: Path, tmp_path: Path) -> None:
    """Two graders decide differently, each without the other's file, and git brings both files together."""
    decide(out, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim")
    (out / FOLDER / "kim.toml").rename(tmp_path / "kim.toml")
    (out / FILE).touch()
    decide(out, "ada", "--override", "mean", "--points", "1", *WHY, "--as", "lee")
    (tmp_path / "kim.toml").rename(out / FOLDER / "kim.toml")


def test_two_graders_who_decide_differently_are_named_and_nothing_goes_out(out: Path, tmp_path: Path) -> None:
    merged(out, tmp_path)
    refused = command("export", out, "--to", "csv")
    assert refused.exit_code == 3
    assert "decisions/lee.toml:5: c-ada: mean: kim decided otherwise in decisions/kim.toml:5" in refused.stderr
    decide(out, "ada", "--renew", "mean", "--as", "pat")  # who has read both
    run("export", out, "--to", "csv")
    assert grades(out)["ada"] == "7"


def test_who_knows_the_other_decision_may_decide_otherwise(out: Path) -> None:
    decide(out, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim")
    decide(out, "ada", "--override", "mean", "--points", "1", *WHY, "--as", "lee")
    run("export", out, "--to", "csv")


def test_a_grader_whose_name_is_no_file_is_refused(out: Path) -> None:
    refused = decide(out, "ada", "--comment", "Hm.", "--as", "../kim", code=2)
    assert "--as ../kim: use letters, digits, dots, hyphens and underscores." in refused.stderr
