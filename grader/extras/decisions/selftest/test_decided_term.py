"""A term: 120 students of three platforms, all that people decide, an appeal, other points; each number derived twice.

Real judges look at each distinct submission once (all of them with ``GRADER_LONG``); everything else is as in a term.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.core.results.database import LEDGER
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.file import files_in, read
from grader.selftest import LONG, exports
from grader.selftest.exports import Someone, gradebook, worksheet, write_zip
from grader.selftest.second_opinion import EXCUSED, Grades, check_cells, second_opinion, uploaded
from grader.selftest.submissions import ATTENTION, write_folder
from grader.selftest.term import command, run, with_policy

POLICY = """\
due = 2026-10-02T20:00:00Z
grace_minutes = 15
late_penalty = { per_day = 0.1, flat = 0.05 }
bonus_cap = 15
thresholds = { pass = 50, merit = 90 }
"""
PLATFORMS = ("canvas", "moodle", "gradescope")
SIZE = 40  # students on each
GROUPS = 7 if LONG else 2  # decisions for a whole group, on each platform
KINDS = ("good", "late", "duplicated", "wrong", "late", "hostile", "late", "empty", "duplicated", "good")
# Minutes: within grace, a day, ten days, four weeks.
LATE = (1, 15, 16, 60, 180, 1440, 1455, 1456, 1620, 4320, 14400, 40320)
PROPERTIES = {"attention_causal": 30, "swiglu_gate": 12, "attention_heads": 40}
OTHER_POINTS = {"points = 40": "points = 44", "points = 30": "points = 28"}  # still 100 in sum
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.usefixtures("judged")]


def people(platform: str) -> list[Someone]:
    """Forty students of every kind, one in a team and one who is absent; numbers are the platform's own."""
    first = 2 * SIZE * PLATFORMS.index(platform)
    kinds = [KINDS[number % len(KINDS)] for number in range(SIZE - 1)]
    kinds[10] = "mate"
    late = iter(LATE)
    found = [
        Someone(at, f"{exports.NAMES[number % 6]} {at}", kind, next(late) if kind == "late" else None)
        for number, (at, kind) in enumerate(enumerate(kinds, first))
    ]
    return [*found, Someone(first + SIZE - 1, f"Absent, Anton {first}", "absent")]


def given(folder: Path, platform: str) -> list[str | Path]:
    roster = ("--roster", folder / f"{platform}.csv") if platform != "gradescope" else ()
    return [folder / f"{platform}.zip", "--out", folder / platform, "--device", "cpu", "--every-attempt", *roster]


def graded(folder: Path, platform: str, chinese: bool) -> Path:
    everyone = people(platform)
    write_zip(folder / f"{platform}.zip", getattr(exports, platform)(everyone))
    if platform != "gradescope":
        listed = gradebook(everyone) if platform == "canvas" else worksheet(everyone, chinese=chinese)
        write_folder(folder, {f"{platform}.csv": listed})
    run("grade", *given(folder, platform))
    return folder / platform


def decide_about(out: Path, everyone: list[Someone], rng: random.Random) -> None:
    """Decisions of every kind, some about the same thing, some taken back; who and what is drawn."""
    able = [one for one in everyone[:30] if one.kind in ("good", "wrong", "duplicated")]
    able = [one for one in able if out.name != "gradescope" or one.kind != "duplicated"]  # there, two submissions
    late, again = ([one for one in everyone if one.kind == kind] for kind in ("late", "duplicated"))

    def decided(who: str, *options: str) -> None:
        grader = rng.choice(["kim", "lee"])  # each in a file of their own
        run("decide", out, who, *options, "--why", "We have talked about it.", "--as", grader)

    for one in rng.sample(able, 3):
        prop, most = rng.choice([*PROPERTIES.items()])
        decided(one.user, "--override", prop, "--points", str(rng.randint(0, most)))
    decided(rng.choice(able).name, "--override", "score", "--points", "66.5")
    decided(rng.choice(able).user, "--override", "bonus", "--points", str(rng.randint(0, 15)))
    decided(next(one.user for one in everyone if one.kind == "hostile"), "--override", "score", "--points", "41")
    if "canvas" not in out.name:  # Canvas flags lateness, and gives no time to compare with
        for one in rng.sample(late, 2):
            decided(one.user, "--due", rng.choice(["2026-10-02T22:30Z", "2026-10-03T12:00Z", "2026-10-12T20:00Z"]))
    for one in rng.sample(late, 2):
        decided(one.user, "--late-days", str(rng.randint(1, 2)))
    excused, back = rng.sample(able, 2)
    decided(excused.user, "--excuse")
    decided(back.user, "--excuse")
    decided(back.user, "--withdraw", "excuse")
    decided(everyone[-1].user if out.name != "gradescope" else everyone[0].user, "--comment", "Come and see me.")
    if out.name != "gradescope":  # whose export knows teams, and nobody who handed in nothing
        decided(everyone[9].user, "--team", everyone[10].name)
        decided(able[0].user, "--team", everyone[-1].name)
    else:
        decided("*", "--attempt", "best")
        decided(again[0].user, "--attempt", rng.choice(["last", f"submission_{10 * again[0].number + 1}"]))


def decide_together(out: Path, folder: Path, everyone: list[Someone], rng: random.Random) -> int:
    """Decisions for all who made one mistake, each but the last taken back; every one is derived twice.

    Returns:
        How many there were.
    """
    mistake = "attention_causal:attention_sees_later_tokens"
    spared = [one for one in everyone if one.kind == "wrong"][-1]  # who appeals instead
    whole = grades_of(out)
    for number in range(GROUPS):
        points, grader = str(rng.randint(1, 29)), rng.choice(["kim", "lee"])
        told = run(
            *("decide", out, "--all-with", mistake, "--points", points, "--except", spared.user),
            *("--why", "The text allowed it.", "--as", grader),
        ).stdout
        assert int(re.findall(r"Decisions made: (\d+); --undo", told)[0]) > 0
        assert grades_of(out) == second_opinion(out, folder / "rubric.toml") != whole
        if number < GROUPS - 1:
            run("decide", out, "--undo", "--as", grader)
            assert grades_of(out) == whole
    return GROUPS


def grades_of(out: Path) -> Grades:
    """The grades that hold, by the command line."""
    command("export", out, "--to", "csv", "--accept-drops", "--accept-stale")
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    excused = {row["student_id"] for row in rows if row["reason"].startswith("excused")}
    found: Grades = {row["student_id"]: float(row["grade"]) if row["grade"] else None for row in rows}
    return found | dict.fromkeys(excused, EXCUSED)


def refused_in_part(folder: Path, platform: str) -> None:
    """One task alone is graded, which goes nowhere; then the whole again."""
    run("grade", *given(folder, platform), "--only", ASSIGNMENT.rubric.tasks[0].id)
    options = ["--template", str(folder / f"{platform}.csv")] * (platform != "gradescope")
    for name, *more in (["export", "--to", platform, *options, "--assignment-id", "77"], ["report"]):
        refused = command(name, folder / platform, *more)
        assert (refused.exit_code, "--partial" in refused.stderr) == (2, True)
    run("grade", *given(folder, platform))


def lost_ledger(folder: Path, platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its ledger, and with fewer points for everyone, the folder still knows what it told the platform."""
    (folder / platform / LEDGER).unlink()
    with monkeypatch.context() as patch:
        with_policy(POLICY.replace("bonus_cap = 15", "bonus_cap = 1"), folder, patch, points=OTHER_POINTS)
        run("grade", *given(folder, platform))
        options = ["--template", str(folder / f"{platform}.csv")] * (platform != "gradescope")
        refused = command("export", folder / platform, "--to", platform, *options, "--assignment-id", "77")
        assert refused.exit_code == 2
        assert f"in {platform}.csv of an earlier export, now " in refused.stderr
    with_policy(POLICY, folder, monkeypatch, points=OTHER_POINTS)
    run("grade", *given(folder, platform))


def sent(out: Path, folder: Path, *accepted: str) -> Grades:
    """What a platform is given; each cell has been said before, and is what somebody else derives from the files."""
    options: Mapping[str, tuple[str | Path, ...]] = {
        "canvas": ("--template", folder / "canvas.csv", "--assignment-id", "77"),
        "moodle": ("--template", folder / "moodle.csv"),
    }
    derived = second_opinion(out, folder / "rubric.toml")
    told = run("export", out, "--to", out.name, *options.get(out.name, ()), *accepted).stderr
    cells = uploaded(out / f"{out.name}.csv")
    check_cells(out, folder / f"{out.name}.csv", told)
    assert cells.keys() <= derived.keys()
    assert {derived[row] for row in derived.keys() - cells.keys()} <= {None}, out.name  # Canvas gets no row for those
    for student, cell in cells.items():
        wanted = derived[student]
        excused_there = out.name == "canvas"  # the others have no word for it
        assert cell == (None if wanted == EXCUSED and not excused_there else wanted), (out.name, student)
    assert sum(isinstance(cell, float) for cell in cells.values()) > SIZE / 2
    return cells


def appealed(out: Path, someone: Someone, folder: Path) -> None:
    """Somebody whose property was lost sends a mended file, and gets its points."""
    mended = write_folder(folder / "sent", {"attention.py": ASSIGNMENT.solution()[ATTENTION]}) / "attention.py"
    told = run("appeal", out, someone.user, mended, "--write", "--who", "kim", "--lang", "en").stdout
    assert f"{PROPERTIES['attention_causal']:g} → " not in told
    assert "wrong result → passes, 0 → 30" in told
    assert read(out)[-1].decision.override == "attention_causal"


def looked_again(out: Path, refused: str, worth: Mapping[str, float]) -> None:
    """Each decision whose ground has changed is renewed, or made anew where there are fewer points to give by now."""
    stale = re.findall(r"(decisions\S*\.toml:\d+): .*: the grader's result was", refused)
    entries = {f"{entry.file}:{entry.line}": entry.decision for entry in read(out)}
    assert stale
    for line in stale:
        decision = entries[line]
        assert decision.override
        assert decision.points is not None
        if decision.points > (most := worth.get(decision.override, decision.points)):
            options = ["--override", decision.override, "--points", f"{most:g}"]
        else:
            options = ["--renew", decision.override]
        run("decide", out, decision.student, *options, "--why", "Still so.", "--who", "lee")


@pytest.mark.parametrize("seed", [1, 2, 3] if LONG else [1])
def test_every_number_that_is_uploaded_is_derived_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng, together = random.Random(seed), 0
    for platform in PLATFORMS:
        with_policy(POLICY, tmp_path, monkeypatch)
        everyone = people(platform)
        out = graded(tmp_path, platform, chinese=bool(seed % 2))
        refused_in_part(tmp_path, platform)
        decide_about(out, everyone, rng)
        together += decide_together(out, tmp_path, everyone, rng)
        published = sent(out, tmp_path, "--accept-drops")  # it was graded twice, and people have lowered grades since
        last_wrong = [one for one in everyone if one.kind == "wrong"][-1]
        appealed(out, last_wrong, tmp_path)
        mended = sent(out, tmp_path)
        assert [user for user in mended if mended[user] != published[user]] == [last_wrong.user]
        with_policy(POLICY, tmp_path, monkeypatch, points=OTHER_POINTS)
        assert "no code was run" in run("grade", *given(tmp_path, platform)).stderr
        refused = command("export", out, "--to", "csv")
        assert refused.exit_code == 3
        looked_again(out, refused.stderr, {"attention_heads": 44, "attention_causal": 28, "attention_rotary": 28})
        final = sent(out, tmp_path, "--accept-drops")
        assert final != mended
        before = {path: path.read_bytes() for path in files_in(out)}
        run("grade", *given(tmp_path, platform), "--fresh")
        assert {path: path.read_bytes() for path in files_in(out)} == before
        assert sent(out, tmp_path) == final  # a regrade changes nothing of it
        run("report", out)
        assert len(read(out)) >= 15
        assert command("decide", out).stdout.count("Excused:") >= 1
        assert {path.stem for path in (out / "decisions").iterdir()} == {"kim", "lee"}
        lost_ledger(tmp_path, platform, monkeypatch)
        assert sent(out, tmp_path, "--accept-drops") == final
    assert together == GROUPS * len(PLATFORMS)


def test_other_files_make_a_decision_stale_and_a_mistake_waits_until_all_is_graded(tmp_path: Path) -> None:
    (ada, _) = exports.class_of(1)
    out, given = tmp_path / "out", tmp_path / "given.zip"
    write_zip(given, exports.canvas([ada]))
    run("grade", given, "--out", out)
    run("decide", out, ada.user, "--override", "attention_causal", "--points", "12", "--why", "Half of it.")
    write_zip(given, exports.canvas([Someone(0, ada.name, "wrong")]))
    told = run("grade", given, "--out", out).stdout.splitlines()
    (line,) = [line for line in told if "stale_decision" in line]
    assert line.endswith(
        f"decisions.toml:5: {ada.user}: attention_causal: other files were submitted and "
        "the grader's result was “passed, 30 of 30” and is now “failed, 0 of 30”"
    )
    (out / "decisions.toml").write_text("[[decision]]\nstudent = 3\n")
    result = command("grade", given, "--out", str(out))
    assert (result.exit_code, (out / "summary.json").exists()) == (2, True)
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"grader: {out / 'decisions.toml'}:1: student: Input should be a valid string.")
    assert last.endswith("Everything is graded, but grades cannot be shown or exported until this is fixed.")
