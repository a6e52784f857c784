"""``grader decide`` for one, for all whom it concerns, by several graders; and how commands follow what was decided."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from grader.core.cli.terminal import chosen, read_graded
from grader.core.grades.graded import FILE, FOLDER
from grader.core.results.database import LEDGER, opened
from grader.core.results.outcome import Outcome
from grader.extras.decisions.file import read
from grader.selftest.reports import FAILED, PASSED, USUAL, report, unreadable, write_class
from grader.selftest.term import command, refused, run, with_policy

BY_HAND = """
[[decision]]
student = "Ada"
override = "mean"
points = 3
who = "kim"
when = 2026-10-05T10:00:00+08:00
why = "Fair."
"""
REASON = ("--why", "Fair.", "--who", "kim")
WHY = ("--why", "The text allowed it.")
BETTER = USUAL | {"mean": (PASSED, 4.0)}
WORSE = USUAL | {"eps": (FAILED, 6.0)}
THREE = (report("ada", name="Ada"), report("bo", WORSE, name="Bo Li"), unreadable("cy"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three students: 11 points, 5 and none."""
    return write_class(tmp_path / "out", *THREE)


def decided(*arguments: str | Path) -> str:
    """What ``grader decide`` prints; it must end well."""
    return run("decide", *arguments).stdout


def exported(out: Path, *options: str) -> dict[str, dict[str, str]]:
    run("export", out, "--to", "csv", *options)
    return {row["submission"]: row for row in csv.DictReader(io.StringIO((out / "grades.csv").read_text()))}


def history(out: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(out / LEDGER)) as ledger:
        return ledger.execute("SELECT change, student, what, who, before IS NOT NULL FROM decisions").fetchall()


def test_a_decision_is_written_down_and_every_command_follows_it(out: Path) -> None:
    report_before = (out / "ada" / "report.json").read_bytes()
    assert decided(out, "ada", "--override", "mean", "--points", "3", *REASON).splitlines() == [
        "Ada (ada): 11 → 14",
        str(out / FILE),
    ]
    assert (out / "ada" / "report.json").read_bytes() == report_before
    row = exported(out)["ada"]
    assert (row["score"], row["grade"], row["mean"], row["task1"]) == ("9", "14", "3", "9")
    assert row["remark"] == "“mean”: 3 points. Reason: Fair."
    assert row["decided_by"].startswith("kim, ")
    assert command("show", out).stdout.splitlines()[1].split() == ["ada", "Ada", "9", "5", "9", "5"]
    assert "“mean”: 3 points. Reason: Fair. (kim, " in command("show", out, "ada").stdout
    assert json.loads((out / "summary.json").read_bytes())["submissions"][0]["score"] == 6  # what the grader said


def test_a_team_says_which_rows_it_reaches(out: Path) -> None:
    told = decided(out, "ada", "--team", "Li, Bo", *REASON)
    assert "ada → row c-ada, Ada: 11\nada → row c-bo, Bo Li: has several submissions (ada, bo)" in told


def test_a_whole_task_is_overridden(out: Path) -> None:
    told = decided(out, "ada", "--override", "task1", "--points", "7.5", *REASON)
    assert told.splitlines()[0] == "Ada (ada): 11 → 12.5"
    assert (exported(out)["ada"]["task1"], exported(out)["ada"]["mean"]) == ("7.5", "0")


def test_pages_tell_the_student_why_and_not_who(out: Path) -> None:
    decided(out, "bo", "--excuse", "--comment", "Get well soon!", *REASON)
    run("report", out, "--lang", "en")
    student = (out / "html" / "students" / "bo.html").read_text()
    assert "Excused: no grade, and no penalty. Reason: Fair." in student
    assert "Get well soon!" in student
    assert "kim" not in student
    assert "kim" in (out / "html" / "index.html").read_text()
    assert "Decided" not in (out / "html" / "students" / "ada.html").read_text()


def test_points_that_the_grader_did_not_give_are_marked_on_the_page(out: Path) -> None:
    decided(out, "bo", "--override", "eps", "--points", "6", *REASON)
    decided(out, "ada", "--override", "eps", "--points", "2", *REASON)
    command("report", out, "--lang", "en")
    raised, lowered = ((out / "html" / "students" / f"{name}.html").read_text() for name in ("bo", "ada"))
    assert "eps is right (by staff decision)" in raised
    assert '<p class="outcome">by staff decision</p>' in lowered


def test_what_people_write_never_becomes_markup_a_formula_or_a_second_line(out: Path) -> None:
    hostile = "=HYPERLINK(1)\n<script>alert('&')</script>"
    decided(out, "ada", "--comment", hostile, "--who", "kim")
    command("report", out, "--lang", "en")
    for page in ("students/ada.html", "index.html"):
        text = (out / "html" / page).read_text()
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
    assert exported(out)["ada"]["remark"].startswith("'=HYPERLINK(1) <script>")
    assert len(decided(out, "ada").splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("zoe", "--excuse", *REASON), "grader: zoe: no student matches"),
        (("--excuse", *REASON), "grader: STUDENT is missing. Give an id"),
        (("ada", "--override", "epps", "--points", "1", *REASON), "no property epps in the report (did you mean eps?)"),
        (("ada", "--override", "mean", "--points", "5", *REASON), "grader: 5 points: mean has only 4."),
        (("ada", "--override", "task1", "--points", "11", *REASON), "11 points: task1 has only 10."),
        (("ada", "--excuse"), "--excuse: no reason given. Add --why; the student reads it."),
        (("ada", "--late-days", "2"), "--late-days: no reason given."),
        (("ada", "--late-days", "0", *REASON), "--late-days 0: forgives nothing."),
        (("ada", "--team", "Zed", *REASON), "Zed: no student matches"),
        (("ada", "--team", "Zed", *REASON), "with --roster, grade knows everyone in the course"),
        (("ada", "--renew", "excuse"), "--renew excuse: no such decision in force. In force: none."),
        (("ada", "--due", "tomorrow", *REASON), "--due tomorrow: not a date or time. Use the form 2026-10-09,"),
        (("ada", "--points", "3", *REASON), "grader: --points needs --override:"),
        (("ada", *REASON), "grader: --why: no decision to explain."),
        (("--all-with", "mean:other", "--points", "1", *WHY), "or mean:* for all. Mistakes: eps_outside (2)."),
        (("--all-with", "means", "--points", "1", *WHY), "Mistakes: no submission failed it."),
        (("--all-with", "mean", "--points", "5", *WHY), "5 points: mean has only 4."),
        (("--all-with", "mean", "--points", "1"), "--all-with needs --points and --why"),
        (("ada", "--all-with", "mean", "--points", "1", *WHY), "--all-with needs --points and --why, and no STUDENT"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_writes_nothing(out: Path, arguments: tuple[str, ...], line: str) -> None:
    assert line in refused("decide", out, *arguments)
    assert not (out / FILE).exists()


def test_a_file_that_was_saved_on_windows_is_read_and_added_to(out: Path) -> None:
    (out / FILE).write_bytes(b"\xef\xbb\xbf" + BY_HAND.replace("\n", "\r\n").encode())
    decided(out, "ada", "--late-days", "2", *REASON)
    assert len(decided(out).splitlines()) == 2
    decided(out, "--undo")
    assert len(decided(out).splitlines()) == 1


def test_without_options_all_decisions_are_listed(out: Path) -> None:
    assert decided(out) == "no decisions.\n"
    decided(out, "ada", "--late-days", "2", *REASON)
    decided(out, "bo", "--excuse", *REASON)
    decided(out, "bo", "--attempt", "last", *REASON)  # of one, so that it changes nothing yet
    decided(out, "*", "--attempt", "best", *REASON)
    assert [line.split(":")[0] for line in decided(out).splitlines()] == ["ada", "bo", "bo", "*"]
    assert len(decided(out, "bo").splitlines()) == 2


def test_a_day_ends_at_midnight_where_the_deadline_is(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_policy("due = 2026-10-02T23:59:00+08:00\n", out, monkeypatch)
    decided(out, "ada", "--due", "2026-10-09", *REASON)
    decided(out, "bo", "--due", "20261010", *REASON)
    told = [line for line in (out / FILE).read_text().splitlines() if line.startswith("due = ")]
    assert told == ["due = 2026-10-09T23:59:59+08:00", "due = 2026-10-10T23:59:59+08:00"]


def test_comments_are_renewed_together_and_a_reason_goes_with_what_it_is_for(out: Path) -> None:
    decided(out, "ada", "--comment", "One.", "--late-days", "1", *REASON)
    decided(out, "ada", "--comment", "Two.", "--who", "kim")
    assert "One. (kim" in decided(out, "ada")
    write_class(out, report("ada", files="1", name="Ada"))
    assert decided(out, "ada").count("Needs another look: other files were submitted.") == 2
    decided(out, "ada", "--renew", "comment")
    assert "Needs another look" not in decided(out, "ada")


def test_what_is_written_by_hand_counts_and_its_ground_is_remembered(out: Path) -> None:
    (out / FILE).write_text(BY_HAND)
    assert exported(out)["ada"]["grade"] == "14"
    assert history(out) == [("made", "Ada", "mean", "kim", 0)]
    write_class(out, report("ada", USUAL | {"mean": (PASSED, 4.0)}, name="Ada"))
    said = "Ada: mean: the grader's result was “failed, 0 of 4” and is now “passed, 4 of 4”"
    refused = command("export", out, "--to", "csv")
    assert refused.exit_code == 3
    assert f"{FILE}:2: {said}" in refused.stderr
    assert "decisions that need another look: 1 (--accept-stale" in refused.stderr.splitlines()[-1]
    assert exported(out, "--accept-stale")["ada"]["grade"] == "14"
    (one,) = read_graded(out).attention(())
    assert (one.id, one.code, one.text) == ("ada", "stale_decision", f"{FILE}:2: {said}")
    decided(out, "ada", "--renew", "mean", "--why", "Still.", "--who", "lee")
    assert exported(out)["ada"]["grade"] == "14"
    assert read_graded(out).attention([one]) == []
    assert history(out)[1:] == [("made", "c-ada", "mean", "lee", 0)]


def test_an_edit_by_hand_is_in_the_history_with_what_was_before(out: Path) -> None:
    (out / FILE).write_text(BY_HAND)
    command("show", out)
    (out / FILE).write_text(BY_HAND.replace("points = 3", "points = 2"))
    command("show", out)
    (out / FILE).write_text("")
    command("show", out)
    assert history(out) == [
        ("made", "Ada", "mean", "kim", 0),
        ("made", "Ada", "mean", "kim", 1),
        ("removed", "Ada", "mean", "kim", 1),
        ("removed", "Ada", "mean", "kim", 1),
    ]
    assert exported(out)["ada"]["grade"] == "11"


def test_a_file_that_is_gone_is_missed(out: Path) -> None:
    decided(out, "bo", "--excuse", *REASON)
    (out / FILE).unlink()
    result = command("export", out, "--to", "csv")
    assert result.exit_code == 2
    assert f"{out / FILE}: is missing, but the ledger records 1 decisions from it. Restore it" in result.stderr


@pytest.mark.parametrize("words", [("show",), ("report",), ("export", "--to", "csv"), ("decide",)])
def test_a_mistake_in_the_file_stops_every_command_in_one_line(out: Path, words: tuple[str, ...]) -> None:
    (out / FILE).write_text(BY_HAND.replace("points = 3", "point = 3"))
    assert refused(words[0], out, *words[1:]).startswith(f"grader: {out / FILE}:2: point: ")


def test_somebody_who_is_unknown_is_said_and_blocks_an_export_only(out: Path) -> None:
    (out / FILE).write_text(BY_HAND.replace('"Ada"', '"Adda"'))
    shown = command("show", out)
    assert (shown.exit_code, shown.stderr) == (0, f"{FILE}:2: Adda: mean: no student matches (did you mean ada?)\n")
    assert command("export", out, "--to", "csv").exit_code == 3


def test_while_a_run_goes_on_decisions_are_made_and_entered_later(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.core.results.database.WAIT_S", 0)
    with opened(out):
        decided(out, "ada", "--late-days", "1", *REASON)
    assert "late_days = 1" in (out / FILE).read_text()
    command("show", out)
    assert history(out) == [("made", "c-ada", "late_days", "kim", 0)]


def test_the_diff_shows_what_was_decided_and_who_crosses_a_threshold(
    out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = write_class(tmp_path / "now", *THREE)
    with_policy("thresholds = { pass = 13 }\n", tmp_path, monkeypatch)
    decided(now, "ada", "--override", "mean", "--points", "3", *REASON)
    decided(now, "bo", "--comment", "Come and see me.", "--who", "kim")
    tally, *lines = command("diff", out, now).stdout.splitlines()
    assert tally == "mean is right: lost by 0, gained by 1"
    assert lines[:5] == [
        "More points: 1",
        "  ada: 11 → 14 (+3)",
        "    grade of Ada: 11 → 14; reaches “pass” (13)",
        "    mean is right: wrong result, 0 → 3",
        lines[4],
    ]
    assert lines[4].startswith("      decided: “mean”: 3 points. Reason: Fair. (kim, ")
    assert lines[5:7] == ["The same points, but different decisions: 1", "  bo: 5 (+0)"]
    assert lines[7].startswith("      decided: Come and see me. (kim, ")
    back = command("diff", now, out).stdout
    assert "no longer reaches “pass” (13)" in back
    assert "decision withdrawn: Come and see me." in back


@pytest.mark.parametrize("typed", ["Li, Bo", "Bo Li", "li bo", "Bó Lí"])
def test_a_name_is_found_in_either_order_and_without_accents(tmp_path: Path, typed: str) -> None:
    """A gradebook of Canvas says "Li, Bo"; people type what they know."""
    out = write_class(tmp_path / "out", report("ada", name="Ada"), report("bo", name="Li, Bo"))
    run("show", out, typed, "--lang", "en")
    assert decided(out, typed, "--late-days", "1", *REASON)
    assert 'student = "c-bo"' in (out / FILE).read_text()  # what lasts
    assert [line.split(":")[0] for line in decided(out).splitlines()] == ["bo"]


@pytest.fixture
def mates(tmp_path: Path) -> Path:
    """Three who lost the mean by the same mistake, one of them eps as well, and one who lost nothing."""
    names = {"ada": USUAL, "bo": WORSE, "cy": USUAL, "di": BETTER}
    return write_class(tmp_path / "out", *(report(one, ended, name=one.title()) for one, ended in names.items()))


def grades(mates: Path) -> dict[str, str]:
    rows = [line.split() for line in command("show", mates).stdout.splitlines()[1:5]]
    return {row[0]: row[-2] for row in rows}


def test_nothing_is_lost_of_an_option_given_twice(out: Path) -> None:
    """Several misnamed files are as many decisions, and so are several overrides, each with its points."""
    files = ("src/attention.py=a.py", "src/swiglu.py=b.py")
    decided(out, "cy", "--file", files[0], "--file", files[1], *REASON)
    both = ("--override", "mean", "--points", "3", "--override", "eps", "--points", "5")
    decided(out, "ada", *both, "--comment", "One.", "--comment", "Two.", *REASON)
    made = [entry.decision for entry in read(out)]
    assert [one.file for one in made[:2]] == [*files]
    assert [(one.override, one.points, one.comment) for one in made[2:]] == [
        ("mean", 3, None), ("eps", 5, None), (None, None, "One."), (None, None, "Two."),
    ]  # fmt: skip
    assert "--points: 1 values." in refused("decide", out, "ada", "--override", "eps", *both[:4], *REASON)
    decided(out, "ada", "--withdraw", "mean", "--withdraw", "eps", *REASON)
    assert exported(out, "--accept-stale")["ada"]["grade"] == "11"


def test_all_with_a_mistake_get_the_points_but_those_left_out_or_decided_about(mates: Path) -> None:
    decided(mates, "cy", "--override", "mean", "--points", "1", *WHY)
    told = decided(mates, "--all-with", "mean:eps_outside", "--points", "3", "--except", "Bo", *WHY)
    assert told.splitlines() == [
        "cy: already decided, unchanged",
        "Ada (ada): 11 → 14",
        str(mates / FILE),
        "Decisions made: 1; --undo takes them back.",
    ]
    told = decided(mates, "--all-with", "mean", "--points", "2", *WHY)
    assert "Bo (bo): 5 → 7" in told
    assert grades(mates) == {"ada": "9", "bo": "2", "cy": "7", "di": "10"}
    assert [entry.decision.student for entry in read(mates)] == ["c-cy", "c-ada", "c-bo"]  # each can be withdrawn alone


def test_nobody_gets_points_for_another_cause_or_for_what_nobody_wrote(tmp_path: Path) -> None:
    """Of three who lost the same property, one crashed, and one never wrote it."""
    endings = {"ada": FAILED, "bo": Outcome.CRASHED, "cy": Outcome.MISSING}
    each = (report(one, USUAL | {"mean": (ended, 4.0)}, name=one.title()) for one, ended in endings.items())
    mates = write_class(tmp_path / "out", *each)
    told = refused("decide", mates, "--all-with", "mean", "--points", "3", *WHY)
    assert "name one mistake, or mean:* for all. Mistakes: eps_outside (1), not recognised (1)." in told
    decided(mates, "--all-with", "mean:*", "--points", "3", *WHY)
    assert [entry.decision.student for entry in read(mates)] == ["c-ada", "c-bo"]


def test_undo_takes_back_the_whole_group_and_leaves_the_file_as_it_was(mates: Path) -> None:
    decided(mates, "di", "--comment", "Well done.", "--who", "kim")
    before, earned = (mates / FILE).read_bytes(), grades(mates)
    decided(mates, "--all-with", "mean", "--points", "4", *WHY)
    assert grades(mates) != earned
    told = decided(mates, "--undo")
    assert "Decisions taken back: 3 (c-ada: mean, " in told
    assert ((mates / FILE).read_bytes(), grades(mates)) == (before, earned)
    decided(mates, "--undo")
    assert read(mates) == []
    assert "nothing to undo" in refused("decide", mates, "--undo")


def test_what_somebody_has_edited_since_is_not_undone(mates: Path) -> None:
    decided(mates, "ada", "--override", "mean", "--points", "3", *WHY)
    text = (mates / FILE).read_text().replace("points = 3", "points = 3.0")
    (mates / FILE).write_text(text)
    assert "edited by hand; withdraw it instead" in refused("decide", mates, "--undo")
    assert (mates / FILE).read_text() == text


def test_show_lists_mistakes_as_all_with_takes_them_and_what_is_not_recognised(tmp_path: Path) -> None:
    """Of three who lost the mean, one crashed without a known mistake; nobody began the other property."""
    endings = {"ada": FAILED, "bo": FAILED, "cy": Outcome.CRASHED}
    each = (report(one, {"mean": (ended, 4.0), "eps": (Outcome.MISSING, 6.0)}) for one, ended in endings.items())
    lines = command("show", write_class(tmp_path / "out", *each)).stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if "submissions  recognised mistake" in line)
    assert lines[start + 1].split() == ["2", "mean:eps_outside"]
    assert lines[start + 3].strip() == "1  mean, not recognised"
    assert "lateness costs nothing ([policy] of the rubric)" in lines


def test_each_grader_writes_a_file_and_all_of_them_hold(mates: Path) -> None:
    told = decided(mates, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim")
    assert told.endswith(f"{mates / FOLDER / 'kim.toml'}\n")
    decided(mates, "bo", "--override", "mean", "--points", "2", *WHY, "--as", "lee")
    decided(mates, "cy", "--override", "mean", "--points", "1", *WHY, "--who", "pat")
    assert sorted(path.name for path in (mates / FOLDER).iterdir()) == ["kim.toml", "lee.toml"]
    assert grades(mates) == {"ada": "9", "bo": "2", "cy": "7", "di": "10"}
    assert [(entry.file, entry.decision.who) for entry in read(mates)] == [
        ("decisions/kim.toml", "kim"),
        ("decisions/lee.toml", "lee"),
        (FILE, "pat"),
    ]
    decided(mates, "--undo", "--as", "kim")
    assert grades(mates)["ada"] == "6"


def merged(mates: Path, tmp_path: Path) -> None:
    """Two graders decide differently, each without the other's file, and git brings both files together."""
    decided(mates, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim")
    (mates / FOLDER / "kim.toml").rename(tmp_path / "kim.toml")
    (mates / FILE).touch()
    decided(mates, "ada", "--override", "mean", "--points", "1", *WHY, "--as", "lee")
    (tmp_path / "kim.toml").rename(mates / FOLDER / "kim.toml")


def test_two_graders_who_decide_differently_are_named_and_nothing_goes_out(mates: Path, tmp_path: Path) -> None:
    merged(mates, tmp_path)
    refused = command("export", mates, "--to", "csv")
    assert refused.exit_code == 3
    assert "decisions/lee.toml:5: c-ada: mean: kim decided otherwise in decisions/kim.toml:5" in refused.stderr
    decided(mates, "ada", "--renew", "mean", "--as", "pat")  # who has read both
    run("export", mates, "--to", "csv")
    assert grades(mates)["ada"] == "7"


def test_who_knows_the_other_decision_may_decide_otherwise(mates: Path) -> None:
    decided(mates, "ada", "--override", "mean", "--points", "3", *WHY, "--as", "kim")
    decided(mates, "ada", "--override", "mean", "--points", "1", *WHY, "--as", "lee")
    run("export", mates, "--to", "csv")


def test_a_grader_whose_name_is_no_file_is_refused(mates: Path) -> None:
    told = refused("decide", mates, "ada", "--comment", "Hm.", "--as", "../kim")
    assert "--as ../kim: use letters, digits, dots, hyphens and underscores." in told


def test_who_replaces_the_decision_of_another_person_reads_which(mates: Path) -> None:
    decided(mates, "ada", "--override", "mean", "--points", "3", *WHY, "--who", "kim")
    (ruling,) = read(mates)
    again = decided(mates, "ada", "--override", "mean", "--points", "2", *WHY, "--who", "lee")
    what = ruling.for_student(chosen().rubric, "en")
    assert f"ada: replaces the decision of kim {ruling.decision.when.isoformat()}: {what}\n" in again
    assert "3" in what
    own = decided(mates, "ada", "--override", "mean", "--points", "1", *WHY, "--who", "lee")
    assert "replaces the decision" not in own
