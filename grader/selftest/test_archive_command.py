"""``grader archive``: the same bytes each time, everything back, damage named by file, and nothing hostile opened."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from grader.cli.app import app
from grader.cli.submissions import candidates_of
from grader.intake.reader import Reader
from grader.results.database import opened
from grader.results.sources import note, noted
from grader.selftest.reports import report, write_class
from grader.selftest.small.grader.assignment import ASSIGNMENT
from grader.selftest.submissions import write_folder, zipped
from grader.tools.archive import manifest, opening, write

LOST = "reports/ada/report.json"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A graded class of three: a folder, a zip and an empty folder, with a decision and a link."""
    work = write_folder(tmp_path / "class", {"bo.zip": zipped(ASSIGNMENT.solution())})
    write_folder(
        work / "ada",
        {
            **ASSIGNMENT.solution(),
            ".git/HEAD": "ref: refs/heads/main\n",
            "caf\u00e9.txt": "x",
            "src\\norm.py": "y",
            "A.py": "1",
            "a.py": "2",
        },
    )
    (work / "chen").mkdir()
    (work / "ada" / "elsewhere").symlink_to("/etc")
    folder = write_class(tmp_path / "out", report("ada", name="Ada"), report("bo"), report("chen"))
    (folder / "decisions.toml").write_text("# nothing was decided\n")
    (folder / "html").mkdir()
    (folder / "html" / "index.html").write_text("a page")
    note(folder, [work], None, None)
    return folder


def archive(*arguments: object) -> Result:
    """``grader archive``."""
    return CliRunner().invoke(app, ["archive", *map(str, arguments)])


def made(out: Path, name: str = "class.zip") -> Path:
    """An archive of a class."""
    file = out.parent / name
    result = archive(out, file)
    assert result.exit_code == 0, result.output
    return file


def content(folder: Path) -> dict[str, bytes]:
    """Every file, with its bytes."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def refusal(result: Result) -> str:
    """The one line that a command ended with."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    line = result.stderr.splitlines()[-1]
    assert line.startswith("grader: ")
    return line


def test_the_same_class_gives_the_same_bytes(out: Path) -> None:
    one = made(out).read_bytes()
    for path in out.rglob("*.json"):
        os.utime(path, (1, 1))
    assert made(out, "again.zip").read_bytes() == one


def test_everything_comes_back_and_commands_work_on_it(out: Path) -> None:
    file = made(out)
    before = content(out)
    (out.parent / "class").rename(out.parent / "moved")
    back = out.parent / "back"
    result = archive("--open", file, back)
    assert result.exit_code == 0, result.output
    assert "every digest is right" in result.stdout
    after = content(back)
    assert {name: after[name] for name in before if name.startswith(("ada", "bo", "chen", "decisions", "summary"))} == {
        name: data for name, data in before.items() if not name.startswith(("html", "sources", "ledger"))
    }
    assert after["ledger.sqlite3"] == before["ledger.sqlite3"]
    handed_in = {name.partition("class/")[2]: data for name, data in after.items() if "class/" in name}
    assert handed_in == content(out.parent / "moved")
    assert (back / "submissions" / "1" / "class" / "chen").is_dir()
    assert after["rubric.toml"] == (ASSIGNMENT.folder / "rubric.toml").read_bytes()
    for command in (["show"], ["report"], ["export", "--to", "csv"]):
        ended = CliRunner().invoke(app, [command[0], str(back), *command[1:]])
        assert ended.exit_code == 0, ended.output


@pytest.mark.process
def test_an_archive_of_what_was_opened_is_the_same_one(out: Path) -> None:
    file, back = made(out), out.parent / "back"
    assert archive("--open", file, back).exit_code == 0
    assert made(back, "again.zip").read_bytes() == file.read_bytes()
    with Reader() as reader:
        found = candidates_of(back, None, reader)
        assert [*found] == ["ada", "bo", "chen"]
        assert reader.read(found["bo"]).files.keys() == ASSIGNMENT.solution().keys()


def test_what_could_not_be_opened_again_is_not_written(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MAX_FILE_BYTES", 100)
    assert "class.zip: could not be opened again: " in refusal(archive(out, out.parent / "class.zip"))
    assert not (out.parent / "class.zip").exists()


def test_links_are_left_out_and_named(out: Path) -> None:
    result = archive(out, out.parent / "class.zip")
    assert "links or devices that were left out: 1 (submissions/1/class/ada/elsewhere" in result.stderr


def changed(
    file: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None], links: tuple[str, ...] = ()
) -> Path:
    """The archive with other content; the manifest is written anew."""
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    listed = json.loads(files.pop("manifest.json"))
    change(files, listed)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**files, "manifest.json": json.dumps(listed).encode()}.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFLNK if name in links else stat.S_IFREG) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return file


def test_damage_is_named_by_file_and_nothing_is_opened(out: Path) -> None:
    def damage(files: dict[str, bytes], _: dict[str, Any]) -> None:
        files[LOST] = files[LOST].replace(b"6.0", b"9.0", 1)
        del files["submissions/1/class/bo.zip"]

    back = out.parent / "back"
    line = refusal(archive("--open", changed(made(out), damage), back))
    assert f"damaged: {LOST}, submissions/1/class/bo.zip. Nothing was opened" in line
    assert not back.exists()
    assert not (out.parent / "back.part").exists()


def test_a_bit_that_fell_over_is_damage(out: Path) -> None:
    file = made(out)
    with zipfile.ZipFile(file) as archive_:
        place = archive_.getinfo(LOST).header_offset + 100
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    assert f"damaged: {LOST}. Nothing was opened" in refusal(archive("--open", file, out.parent / "back"))


def _renamed(path: str) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    def change(files: dict[str, bytes], listed: dict[str, Any]) -> None:
        files[path] = files.pop(LOST)
        next(own for own in listed["files"] if own["path"] == LOST)["path"] = path

    return change


def _unnamed(files: dict[str, bytes], _: dict[str, Any]) -> None:
    files["reports/more.json"] = b"{}"


def _twice(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    files["reports/more.json"] = files[LOST]
    listed["files"].append(dict(listed["files"][0], entry="reports/more.json"))


def _bomb(files: dict[str, bytes], listed: dict[str, Any]) -> None:
    files[LOST] = b"0" * (65 << 20)
    next(own for own in listed["files"] if own["path"] == LOST)["size"] = 65 << 20


def _elsewhere(_: dict[str, bytes], listed: dict[str, Any]) -> None:
    listed["sources"]["paths"] = ["/etc"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_renamed("../escaped"), "'../escaped', which lies outside"),
        (_renamed("reports/../../escaped"), "which lies outside"),
        (_renamed("/tmp/escaped"), "'/tmp/escaped', which lies outside"),
        (_renamed("reports//x"), "which lies outside"),
        (_renamed("elsewhere/x"), "which lies outside"),
        (_unnamed, "'reports/more.json' is in it and not in its manifest.json"),
        (_twice, "a file is named twice"),
        (_bomb, "unpack to 65 MiB, more than 200 times"),
        (_elsewhere, "'/etc', which lies outside"),
    ],
    ids=["up", "inside-up", "absolute", "empty-part", "top", "unnamed", "twice", "bomb", "sources"],
)
def test_a_hostile_archive_is_refused(
    out: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "SMALL", 64 << 20)
    line = refusal(archive("--open", changed(made(out), change), out.parent / "back"))
    assert why in line
    assert not (out.parent / "back").exists()
    assert not (out.parent / "escaped").exists()


def test_a_link_in_an_archive_is_damage(out: Path) -> None:
    file = changed(made(out), lambda *_: None, links=(LOST,))
    assert f"damaged: {LOST}. " in refusal(archive("--open", file, out.parent / "back"))


def test_what_is_no_archive_is_named(out: Path, tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("no zip")
    write_folder(tmp_path, {"other.zip": zipped({"a.txt": "x"})})
    assert "text.zip: damaged, or no zip (" in refusal(archive("--open", tmp_path / "text.zip", tmp_path / "x"))
    assert "other.zip: no archive of this grader" in refusal(archive("--open", tmp_path / "other.zip", tmp_path / "x"))
    assert "gone.zip: no such file." in refusal(archive("--open", tmp_path / "gone.zip", tmp_path / "x"))
    assert "there is something already" in refusal(archive("--open", made(out), out))


def test_what_cannot_be_archived_is_named(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "lies in the folder that is archived" in refusal(archive(out, out / "class.zip"))
    monkeypatch.setattr("grader.results.database.WAIT_S", 0)
    with opened(out):
        assert "another grader or program is at work with it" in refusal(archive(out, out.parent / "class.zip"))
    (out.parent / "class").rename(out.parent / "moved")
    assert "class: no longer there." in refusal(archive(out, out.parent / "class.zip"))
    assert archive(out, out.parent / "class.zip", "--submissions", out.parent / "moved").exit_code == 0


def test_submissions_that_have_moved_are_read_as_before(out: Path, tmp_path: Path) -> None:
    """Only their place is another one: what else grade was told still holds."""
    moved = (out.parent / "class").rename(out.parent / "moved")
    note(out, [out.parent / "class"], "folder", None, every_attempt=True)
    assert archive(out, tmp_path / "class.zip", "--submissions", moved).exit_code == 0
    assert archive("--open", tmp_path / "class.zip", tmp_path / "back").exit_code == 0
    now = noted(tmp_path / "back")
    assert now
    assert (now.every_attempt, now.source) == (True, "folder")


@pytest.mark.parametrize(("module", "name"), [(write, "json_text"), (opening, "write_json")], ids=["write", "open"])
def test_a_stop_leaves_nothing_behind(out: Path, module: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = made(out)
    before = {*out.parent.iterdir()}

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, stop)
    result = archive("--open", file, out.parent / "back") if module is opening else archive(out, out.parent / "b.zip")
    assert result.exit_code == 130
    assert {*out.parent.iterdir()} == before
