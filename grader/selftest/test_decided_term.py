"""Thirty submissions from three platforms, with everything that people decide: each uploaded number derived twice."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.cli import app as cli
from grader.cli import decide, diff, export, grade, report, show
from grader.decisions.file import read
from grader.selftest import exports
from grader.selftest.exports import Someone, gradebook, worksheet, write_zip
from grader.selftest.second_opinion import EXCUSED, Grades, second_opinion
from grader.selftest.submissions import write_folder
from grader.selftest.term import run, with_policy

POLICY = """\
due = 2026-10-02T20:00:00Z
grace_minutes = 15
late_penalty = { per_day = 0.1, flat = 0.05 }
bonus_cap = 15
thresholds = { pass = 50, merit = 90 }
"""
PLATFORMS = ("canvas", "moodle", "gradescope")
KINDS = ("good", "late", "duplicated", "wrong", "late", "hostile", "late", "empty", "duplicated", "good")
PROPERTIES = {"attention_causal": 30, "swiglu_gate": 12, "attention_heads": 40}
pytestmark = [pytest.mark.process, pytest.mark.slow]


def people(platform: str) -> list[Someone]:
    """Ten who handed in, of every kind, and one who did not; numbers are the platform's own."""
    first = 20 * PLATFORMS.index(platform)
    names = [f"{exports.NAMES[number % 6]} {first + number}" for number in range(10)]
    found = [Someone(first + number, *each) for number, each in enumerate(zip(names, KINDS, strict=True))]
    return [*found, Someone(first + 10, f"Absent, Anton {first}", "absent")]


def graded(folder: Path, platform: str) -> Path:
    """The class of a platform, graded into a folder of its own."""
    everyone = people(platform)
    given = write_zip(folder / f"{platform}.zip", getattr(exports, platform)(everyone))
    options: list[str | Path] = ["--every-attempt"]
    if platform != "gradescope":
        listed = gradebook(everyone) if platform == "canvas" else worksheet(everyone)
        write_folder(folder, {f"{platform}.csv": listed})
        options += ["--roster", folder / f"{platform}.csv"]
    run("grade", given, "--out", folder / platform, "--device", "cpu", *options)
    return folder / platform


def decide_about(out: Path, everyone: list[Someone], rng: random.Random) -> None:
    """Decisions of every kind, some about the same thing, some taken back; who and what is drawn."""
    able = [one for one in everyone if one.kind in ("good", "wrong", "duplicated")]
    able = [one for one in able if out.name != "gradescope" or one.kind != "duplicated"]  # there, two submissions
    late, again = ([one for one in everyone if one.kind == kind] for kind in ("late", "duplicated"))

    def decided(who: str, *options: str) -> None:
        run("decide", out, who, *options, "--why", "We have talked about it.", "--who", "kim")

    for one in rng.sample(able, 3):
        prop, most = rng.choice([*PROPERTIES.items()])
        decided(one.user, "--override", prop, "--points", str(rng.randint(0, most)))
    decided(rng.choice(able).name, "--override", "score", "--points", "66.5")
    decided(rng.choice(able).user, "--override", "bonus", "--points", str(rng.randint(0, 15)))
    decided(next(one.user for one in everyone if one.kind == "hostile"), "--override", "score", "--points", "41")
    if "canvas" not in out.name:  # Canvas flags lateness, and gives no time to compare with
        decided(late[0].user, "--due", rng.choice(["2026-10-02T22:30Z", "2026-10-03T12:00Z"]))
    decided(late[1].user, "--late-days", str(rng.randint(0, 2)))
    excused, back = rng.sample(able, 2)
    decided(excused.user, "--excuse")
    decided(back.user, "--excuse")
    decided(back.user, "--withdraw", "excuse")
    decided(everyone[-1].user if out.name != "gradescope" else everyone[0].user, "--comment", "Come and see me.")
    if out.name != "gradescope":  # whose export does not have those who handed in nothing
        decided(able[0].user, "--team", everyone[-1].name)
    else:
        decided("*", "--attempt", "best")
        decided(again[0].user, "--attempt", rng.choice(["last", f"submission_{10 * again[0].number + 1}"]))


def uploaded(path: Path, key: str, value: str) -> Grades:
    """The cells that a platform is given, by the student's id."""
    with path.open(encoding="utf-8", newline="") as file:
        cells = {row[key].rpartition(" ")[2]: row[value] for row in csv.DictReader(file)}
    return {own: cell if cell == EXCUSED else float(cell) if cell else None for own, cell in cells.items() if own}


def upload(out: Path, folder: Path) -> Grades:
    """The final upload of a platform."""
    options: Mapping[str, tuple[str | Path, ...]] = {
        "canvas": ("--template", folder / "canvas.csv", "--assignment-id", "77"),
        "moodle": ("--template", folder / "moodle.csv"),
    }
    columns = {"canvas": ("ID", "Small (77)"), "moodle": ("Identifier", "Grade"), "gradescope": ("SID", "Total Score")}
    run("export", out, "--to", out.name, *options.get(out.name, ()), "--accept-drops")
    return uploaded(out / f"{out.name}.csv", *columns[out.name])


@pytest.mark.parametrize("seed", [1, 2])
def test_every_number_that_is_uploaded_is_derived_twice(
    judged: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    del judged
    with_policy(POLICY, tmp_path, monkeypatch, grade, export, decide, report, show, diff)
    rng = random.Random(seed)
    for platform in PLATFORMS:
        out = graded(tmp_path, platform)
        decide_about(out, people(platform), rng)
        before = (out / "decisions.toml").read_bytes()
        derived, sent = second_opinion(out, tmp_path / "rubric.toml"), upload(out, tmp_path)
        assert sent.keys() <= derived.keys()
        blank = {own: grade for own, grade in derived.items() if own not in sent}
        assert {*blank.values()} <= {None}, platform  # Canvas gets no row for those
        for student, cell in sent.items():
            wanted = derived[student]
            excused_there = platform == "canvas"  # the others have no word for it
            assert cell == (None if wanted == EXCUSED and not excused_there else wanted), (platform, student)
        assert sum(isinstance(cell, float) for cell in sent.values()) >= 5
        run("grade", tmp_path / f"{platform}.zip", "--out", out, "--fresh", "--device", "cpu", "--every-attempt",
            *(("--roster", tmp_path / f"{platform}.csv") if platform != "gradescope" else ()))  # fmt: skip
        assert (out / "decisions.toml").read_bytes() == before
        assert upload(out, tmp_path) == sent  # a regrade changes nothing of it
        run("report", out)
        assert len(read(out)) >= 12
        excused = CliRunner().invoke(cli.app, ["decide", str(out)]).stdout.count("Excused:")
        assert excused >= 1


def test_other_files_make_a_decision_stale_and_a_mistake_waits_until_all_is_graded(
    judged: None, tmp_path: Path
) -> None:
    del judged
    (ada, _) = exports.class_of(1)
    out, given = tmp_path / "out", tmp_path / "given.zip"
    write_zip(given, exports.canvas([ada]))
    run("grade", given, "--out", out)
    run("decide", out, ada.user, "--override", "attention_causal", "--points", "12", "--why", "Half of it.")
    write_zip(given, exports.canvas([Someone(0, ada.name, "wrong")]))
    told = run("grade", given, "--out", out).stdout.splitlines()
    (line,) = [line for line in told if "stale_decision" in line]
    assert line.endswith(
        f"decisions.toml:5: {ada.user}: attention_causal: other files were handed in and "
        "the grader said “passed, 30 of 30”, and says “failed, 0 of 30” now"
    )
    (out / "decisions.toml").write_text("[[decision]]\nstudent = 3\n")
    result = CliRunner().invoke(cli.app, ["grade", str(given), "--out", str(out)])
    assert (result.exit_code, (out / "summary.json").exists()) == (2, True)
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"grader: {out / 'decisions.toml'}:1: student: Input should be a valid string.")
    assert last.endswith("Everything is graded; grades cannot be shown or exported before that is mended.")
