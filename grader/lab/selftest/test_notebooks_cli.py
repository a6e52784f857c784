"""The commands of the notebooks: what an author and an assistant read, and the codes that scripts get."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grader.lab.site.notebooks import __main__ as cli
from grader.lab.site.notebooks import course, sources
from grader.selftest.small_notebook import NAME, small_walkthrough


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [*map(str, arguments)])


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that the commands write goes there."""
    for name in ("BUILD", "HANDBOOK", "SITE", "GRADED"):
        monkeypatch.setattr(cli, name, tmp_path / name.lower())
    return tmp_path


@pytest.mark.process
def test_an_author_reads_what_is_wrong(in_folder: Path) -> None:
    with small_walkthrough(in_folder / "source"):
        good = run("check", "0")
        script = in_folder / "source" / f"{NAME}.py"
        script.write_text(script.read_text(encoding="utf-8").replace("Twice x.", "Double x."), encoding="utf-8")
        bad = run("check", "0")
        none = run("check", "7")
    assert good.exit_code == 0, good.output
    assert "[1/1] en 0_small: " in good.stdout
    assert f"figures: {in_folder}/build/zh/executed/0_small-*.png" in good.stdout
    assert good.stdout.endswith("✓ no problem found\n")
    assert bad.exit_code == 1
    assert "✗ 0_small (en): no 'Twice x.' in the code, which the table translates" in bad.stdout
    assert (none.exit_code, none.stderr.count("\n")) == (2, 1)


@pytest.mark.process
def test_a_build_executes_once_and_says_where_the_release_is(in_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nbgrader itself is tried elsewhere; here a copy of the sources stands for a release that leaks."""

    def prepare(language: str, folder: Path) -> None:
        sources.build(language, folder / course.SOURCE)
        sources.build(language, folder / course.RELEASE)

    monkeypatch.setattr(course, "prepare", prepare)
    with small_walkthrough(in_folder / "source"):
        first, again, book = run("build"), run("build"), run("handbook")
        public = run("handbook", "--site", "https://ada.github.io/rope/")
    assert "[1/1] zh 0_small: " in first.stdout
    assert "✗ release of en: 0_small.ipynb: holds the marker '### BEGIN SOLUTION'" in first.stdout
    assert first.exit_code == 1
    assert "[1/1] zh 0_small: unchanged" in again.stdout
    assert book.exit_code == 0, book.output
    assert (in_folder / "handbook" / "index.html").exists()
    assert public.exit_code == 0, public.output
    assert f"4 pages for https://ada.github.io/rope, with solutions: {in_folder / 'site'}" in public.stdout
    course_page, public_page = (
        (in_folder / name / "en" / f"{NAME}.html").read_text(encoding="utf-8") for name in ("handbook", "site")
    )
    assert ("After my attempt" in course_page, "After my attempt" in public_page) == (False, True)
    assert (in_folder / "site" / "notebooks" / "zh" / f"{NAME}.ipynb").exists()


def test_a_site_without_an_address_ends_with_one_line(in_folder: Path) -> None:
    result = run("handbook", "--site", "ada.github.io")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "expected an address such as https://" in result.stderr
    assert not (in_folder / "site").exists()


def test_a_folder_without_students_ends_with_one_line(in_folder: Path) -> None:
    (in_folder / "empty").mkdir()
    result = run("grade", in_folder / "empty")
    assert result.exit_code == 2
    assert result.stderr == (
        f"grader: {in_folder / 'empty'}: no submission found. Expected a folder or a zip for each student.\n"
    )
