"""``grader similar``: a list that reads back, a page that needs nothing and runs nothing, one line for each mistake."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.similarity import commands, page
from grader.extras.similarity.page import COLUMNS
from grader.extras.similarity.work import WORDS
from grader.selftest.classroom import OTHER, PLAN, with_own
from grader.selftest.html_page import parse
from grader.selftest.submissions import ATTENTION, SWIGLU, write_folder
from grader.selftest.term import command, refused, run

pytestmark = pytest.mark.usefixtures("reads_here")

FOREIGN = "import einops  # </pre><b>\nimport flash_attn\n"
HOSTILE = '\n# <script>alert(1)</script>\ntext = "<img src=x onerror=alert(2)>"\n' + FOREIGN
BRIEF = "x = f(1) * g(2) - h(3) / k(4, 5) + m(6)\n"
CHINESE = WORDS.texts["short"]["zh"]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two that share a plan, one with the reference, one who has not begun, one whose files are broken."""
    folder = tmp_path_factory.mktemp("room")
    for name, files in {
        "ada": with_own(PLAN, HOSTILE, OTHER) | {ATTENTION: BRIEF},
        "bo": with_own(PLAN, HOSTILE, OTHER) | {ATTENTION: BRIEF},
        "=chen": ASSIGNMENT.solution(),
        "dana": ASSIGNMENT.stubs(),
        "eve": {ATTENTION: "def f(:"},
    }.items():
        write_folder(folder / name, files)
    return folder


@pytest.fixture(scope="module")
def out(room: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out")
    result = run("similar", room, "--out", folder, "--lang", "en")
    (folder / "stdout").write_text(result.stdout)
    (folder / "stderr").write_text(result.stderr)
    return folder


def test_the_list_reads_back(out: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((out / "similar.csv").read_text(encoding="utf-8"))))
    assert tuple(rows[0]) == COLUMNS
    assert {(row["rank"], row["first"], row["second"]) for row in rows} == {("1", "ada", "bo")}
    by_file = {row["file"]: row for row in rows}
    assert by_file["everything"]["strongest"] == "yes"
    assert (by_file["everything"]["first_share"], by_file[SWIGLU]["remark"]) == ("1.000", "")
    short = by_file[ATTENTION]
    assert (short["first_share"], short["second_share"]) == ("", "")
    assert short["remark"].startswith("too short to tell")
    parts = [int(row["first_shared"]) for row in rows if row["file"] != "everything"]
    assert sum(parts) == int(by_file["everything"]["first_shared"])


def test_the_terminal_shows_pairs_and_what_else_to_look_at(out: Path) -> None:
    lines = (out / "stdout").read_text().splitlines()
    first = r" *1  ada, bo: \d+ distinctive characters in everything, 100% of the first, 100% of the second"
    assert any(re.fullmatch(first, line) for line in lines)
    assert any("100% of what swiglu.py adds to the stub is in ref" in line for line in lines)
    (foreign,) = (line for line in lines if line.startswith("ada: ") and "is not a required library" in line)
    assert re.search(r"einops is not a required library: import einops .* \(and 1 more\)$", foreign)
    assert lines[-1].startswith("5 submissions compared, 1 pairs to look at: ")
    assert "eve: src/attention.py cannot be parsed; library calls not checked." in (out / "stderr").read_text()


def test_the_page_is_whole_and_needs_nothing(out: Path) -> None:
    text = (out / "similar.html").read_text(encoding="utf-8")
    page = parse(text)  # every element is closed
    assert page.all("script", "img", "link", "iframe") == []
    assert not re.search(r"https?:|//", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).replace("</", ""))
    ids = {one.attributes.get("id") for one in page.all()}
    links = {str(one.attributes["href"]) for one in page.all("a")}
    assert links == {"#pairs", "#pair-1"}
    assert {link[1:] for link in links} <= ids


def test_the_page_shows_hostile_lines_as_text(out: Path) -> None:
    text = (out / "similar.html").read_text(encoding="utf-8")
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(2)&gt;" in text
    assert "# &lt;/pre&gt;&lt;b&gt;" in text
    assert text.count("<mark>") > 10


def test_every_word_of_the_page_is_there_in_both_languages(room: Path, out: Path, tmp_path: Path) -> None:
    template = (Path(page.__file__).parent / "page.html.j2").read_text(encoding="utf-8")
    assert set(re.findall(r"\bw\.(\w+)", template)) | {"", "*"} == WORDS.texts.keys()
    run("similar", room, "--out", tmp_path, "--lang", "zh")
    chinese = (tmp_path / "similar.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in chinese
    assert CHINESE in chinese
    assert "无法解析；未查找库调用。" in chinese
    assert (tmp_path / "similar.csv").read_bytes() == (out / "similar.csv").read_bytes()


@pytest.mark.process
def test_two_runs_write_the_same_bytes(room: Path, out: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7"}  # which changes every fingerprint
    started = [sys.executable, "-m", "grader.selftest.command"]
    started += ["similar", str(room), "--out", str(tmp_path), "--lang", "en"]
    subprocess.run(started, cwd=REPOSITORY, env=environment, check=True)
    for name in ("similar.html", "similar.csv"):
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()


def test_only_so_many_pairs_are_shown(room: Path, tmp_path: Path) -> None:
    write_folder(room.parent / "more" / "one", with_own(PLAN) | {ATTENTION: "y = [1, 2] @ z[3:4]\n" * 2})
    result = command("similar", room, room.parent / "more", "--out", tmp_path, "--lang", "en", "--top", "2")
    assert "3 pairs to look at" in result.stdout
    text = (tmp_path / "similar.html").read_text(encoding="utf-8")
    assert "1 more in similar.csv." in text
    assert "pair-3" not in text
    none = command("similar", room, "--out", tmp_path, "--lang", "en", "--top", "0")
    assert none.exit_code == 0


def test_a_long_list_is_cut_in_the_terminal(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "SHOWN", 0)
    assert "1 pairs to look at, of which 0 are shown above" in command("similar", room, "--out", tmp_path).stdout


def test_published_answers_leave_nothing(room: Path, tmp_path: Path) -> None:
    result = command("similar", room, "--out", tmp_path, "--lang", "en", "--subtract", room / "ada")
    assert "0 pairs to look at" in result.stdout
    assert f"bo: 100% of what swiglu.py adds to the stub is in {room / 'ada'}" in result.stdout
    text = (tmp_path / "similar.html").read_text(encoding="utf-8")
    assert "No two submissions share enough" in text
    assert f"Subtracted first: the stubs, ref, {room / 'ada'}." in text


def test_mistakes_take_one_line(room: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "--lang tlh: not a language" in refused("similar", room, "--out", out, "--lang", "tlh")
    assert "--from blackboard: not a source" in refused("similar", room, "--out", out, "--from", "blackboard")
    assert "no such file or folder" in refused("similar", tmp_path / "gone", "--out", out)
    assert "--subtract" in refused("similar", room, "--out", out, "--subtract", tmp_path)
    assert "Choose a writable folder" in refused("similar", room, "--out", room / "ada" / SWIGLU)
    assert not out.exists()


def test_what_is_not_installed_is_named_with_its_remedy(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("grader.extras.similarity.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    line = refused("similar", room, "--out", tmp_path / "out")
    assert line == "grader: numpy is not installed. Install what similar needs: pip install -e '.[grader,similar]'"
