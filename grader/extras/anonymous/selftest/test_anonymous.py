"""Anonymous pages: no byte of them says whose they are, and the assistant can look it up."""

from __future__ import annotations

import random
import stat
import string
from pathlib import Path

import pytest

from grader.core.grades.graded import FILE as DECISIONS
from grader.core.intake.origin import Origin, Student
from grader.core.messages import as_data, quoted, say
from grader.core.results.files import write_json
from grader.core.results.outcome import FRAME, RAISED, Outcome
from grader.core.results.report import Attention, Report, Summary
from grader.followup.anonymous import FILE, pseudonyms
from grader.selftest.class_reports import MESSAGES, drawn, graded, ungraded, write
from grader.selftest.class_reports import case as case_of
from grader.selftest.term import command, refused, run

HEADER = "# Author: {name}, student number {id}, {email}"
FAMILY = "欧阳司马诸葛夏侯"


def somebody(rng: random.Random) -> Student:
    """A student whose name, number and address stand on no page by chance."""
    irish = ("O'", "")
    letters = "".join(rng.sample(string.ascii_lowercase, 9)).capitalize()
    first = rng.choice([f"Zq{letters}", rng.choice(FAMILY) + rng.choice("珺璟彧翀") + rng.choice("淼焱垚")])
    name = f"{first} {rng.choice(irish)}Xw{letters[::-1]}"
    return Student(id=str(rng.randint(10**9, 10**10)), name=name, email=f"{letters}.{rng.randint(10, 99)}@uni.example")


def signed(number: int, rng: random.Random) -> tuple[Report, list[str]]:
    """A report that names its student wherever a report has room for text, and everything that may not be shown."""
    team = tuple(somebody(rng) for _ in range(rng.choice([1, 1, 2])))
    first = team[0]
    identifier = f"{first.name.split()[0]}_{number}_{first.id}".replace(" ", "_")
    helper = f"src/{first.name.split()[0].lower()}_helpers.py"
    header = HEADER.format(name=first.name, id=first.id, email=first.email)
    outcome = rng.choice([one for one in Outcome if one not in (Outcome.PASSED, Outcome.GRADER_ERROR)])
    kind = rng.choice(["ValueError", f"{first.name.split()[0]}Error"])
    messages = {
        Outcome.FAILED: quoted(f"shape [2, 3], 4 of 6 values are wrong; said by {first.name.upper()} ({first.id})"),
        Outcome.TIMED_OUT: say("no answer within {time} s", time=f"10 s for {first.email}"),
        Outcome.MEMORY_EXCEEDED: quoted(f"memory use exceeded the limit of 512 MiB of {identifier}"),
    }
    crash = say(RAISED, exception=kind, message=header).then(
        say(FRAME, path=helper, line=3, function=first.name, code="raise"),
        say(FRAME, path="src/attention.py", line=54, function="forward", code=header),
    )
    origin = Origin(source="canvas", students=team, late=True, submitted_at=f"2031-05-0{1 + number % 9}T03:14:15+00:00")
    if rng.random() < 0.2:
        whole = ungraded(identifier, "unreadable", quoted(f"{first.name}.zip cannot be read: {header}"))
        whole = whole.model_copy(update={"submission": whole.submission.model_copy(update={"origin": origin})})
    else:
        whole = graded(identifier, {"attention_causal": outcome}, origin=origin)
        case = case_of("some_case", outcome, messages.get(outcome, crash))
        whole = whole.with_properties(
            lambda prop: prop.model_copy(update={"cases": [case]}) if prop.outcome is outcome else prop
        )
    notice = quoted(f"{first.name} attention.py was read as src/attention.py: {header}")
    info = whole.submission.model_copy(update={"notices": [str(notice)], "notice_parts": [as_data(notice)]})
    how = whole.provenance.model_copy(update={"command": f"grader grade {identifier}.zip"})
    secrets = [identifier, helper, "Author", "03:14", "student number"]
    secrets += [part for one in team for part in (one.id, one.email, one.email.split("@")[0], *one.name.split())]
    return whole.model_copy(update={"submission": info, "provenance": how}), secrets


def folder(tmp_path: Path, rng: random.Random, count: int) -> tuple[Path, list[str]]:
    """A class in which everything is signed: reports, reasons for attention, decisions."""
    reports, secrets = zip(*(signed(number, rng) for number in range(count)), strict=True)
    out = write(tmp_path, reports)
    path = out / "summary.json"
    whole = Summary.model_validate_json(path.read_bytes())
    codes = rng.choices(["left_out", "doubtful", "renamed", "unreadable", "near_zero"], k=count)
    about = [
        Attention.model_validate({"id": was.submission.id, "code": code, "text": f"of {was.submission.notices[0]}"})
        for was, code in zip(reports, codes, strict=True)
        if code != "near_zero"
    ]
    write_json(path, whole.model_copy(update={"attention": about}))
    assert reports[0].submission.origin
    first = reports[0].submission.origin.students[0]
    for options in (["--comment", f"Dear {first.name}"], ["--late-days", "1", "--why", f"{first.name} was ill"]):
        run("decide", out, first.id, *options, "--who", "Quimby")
    return out, [*(text for each in secrets for text in each), "Quimby", "was ill"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_byte_says_who_anybody_is(tmp_path: Path, seed: int, language: str) -> None:
    out, secrets = folder(tmp_path / "out", random.Random(seed), 12)
    result = run("report", out, "--anonymous", "--lang", language, "--out", tmp_path / "pages")
    paths = [path for path in (tmp_path / "pages").rglob("*") if path.is_file()]
    assert len(paths) == 12 + 1
    for path in paths:
        everything = f"{path.relative_to(tmp_path)}\n{path.read_text(encoding='utf-8')}".casefold()
        assert [text for text in secrets if text.casefold() in everything] == [], path
    assert not [text for text in secrets if text.casefold() in result.output.casefold()]
    if language == "en":
        run("report", out, "--lang", "en", "--out", tmp_path / "open")
        shown = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "open").rglob("*.html"))
        assert sum(text in shown for text in secrets) > len(secrets) / 2  # what the other pages do say


def test_what_helps_to_mend_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = say(RAISED, exception="ValueError", message="by Ada").then(
        say(FRAME, path="src/ada.py", line=3, function="go", code="x"),
        say(FRAME, path="src/attention.py", line=54, function="forward", code="y"),
    )
    monkeypatch.setitem(MESSAGES, Outcome.CRASHED, crash)
    ada = graded("ada", {"attention_causal": Outcome.CRASHED, "attention_heads": Outcome.FAILED})
    out = write(tmp_path / "out", [ada])
    run("report", out, "--anonymous", "--lang", "en")
    (page,) = (out / "html" / "anonymous" / "students").iterdir()
    shown = page.read_text(encoding="utf-8")
    assert "<pre>ValueError\n  src/attention.py:54</pre>" in shown
    assert "4 of 6 elements wrong" in shown


def test_pseudonyms_stay_and_cannot_be_computed_without_the_key(tmp_path: Path) -> None:
    ids = [f"student{number}" for number in range(400)]
    first = pseudonyms(tmp_path, ids)
    assert pseudonyms(tmp_path, ids[::-1]) == first
    assert len({*first.values()}) == len(ids)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    (tmp_path / FILE).unlink()
    assert not {*pseudonyms(tmp_path, ids).values()} & {*first.values()}


def test_the_order_of_the_class_page_tells_nothing(tmp_path: Path) -> None:
    out = write(tmp_path / "out", drawn(20))
    command("report", out, "--anonymous")
    text = (out / "html" / "anonymous" / "index.html").read_text(encoding="utf-8")
    places = [
        text.rindex(f"{name}.html") for name in sorted(pseudonyms(out, [f"student{n:02}" for n in range(20)]).values())
    ]
    assert places == sorted(places)


def test_the_assistant_can_look_up_who_it_is(tmp_path: Path) -> None:
    out = write(tmp_path / "out", [graded("ada"), graded("bo")])
    assert "--anonymous` creates them." in refused("show", out, "--pseudonyms")
    command("report", out, "--anonymous")
    names = pseudonyms(out, ["ada", "bo"])
    assert sorted(command("show", out, "--pseudonyms").stdout.split()) == sorted([*names, *names.values()])
    assert command("show", out, names["bo"]).stdout.startswith("bo: ")
    assert command("show", out, "anon-").exit_code == 2  # a part of a pseudonym is nobody's name
    command("decide", out, names["bo"], "--excuse", "--why", "ill", "--who", "kim")
    assert 'student = "bo"' in (out / DECISIONS).read_text(encoding="utf-8")
    (out / FILE).write_text("{}")
    assert f"{out / FILE}: key: Field required. Restore the file" in refused("report", out, "--anonymous")


def test_a_team_has_numbers_where_its_grades_differ(tmp_path: Path) -> None:
    team = Origin(source="gradescope", students=(Student(id="1", name="Ada Zq"), Student(id="2", name="Bo Xw")))
    out = write(tmp_path / "out", [graded("both", origin=team)])
    command("decide", out, "1", "--excuse", "--why", "ill", "--who", "kim")
    command("report", out, "--anonymous", "--lang", "en")
    name = pseudonyms(out, ["both"])["both"]
    page = (out / "html" / "anonymous" / "students" / f"{name}.html").read_text(encoding="utf-8")
    assert f"{name} (1): " in page
    assert "Ada" not in page
