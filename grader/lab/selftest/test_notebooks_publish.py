"""The handbook for the public: every page can be linked, cited, found and opened; and the commands of the notebooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from typer.testing import CliRunner, Result

from grader import REPOSITORY
from grader.lab.site.notebooks import __main__ as cli
from grader.lab.site.notebooks import course, handbook, publish, sources
from grader.selftest.small_notebook import NAME, blank, executed, reference, small_walkthrough

pytestmark = pytest.mark.process  # git tells when a page was changed

SITE = publish.Site("https://ada.github.io/rope")
ELSEWHERE = publish.Site("https://rope.example.org")
SOLUTION = "<summary>After my attempt: a solution</summary>"


class Pages(dict[str, str]):
    """The pages by name, and the folder of the book."""

    book: Path


@pytest.fixture(name="pages", scope="module")
def _pages(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Pages:
    """The pages of the small notebook, for a site or for the course."""
    tmp_path, site = tmp_path_factory.mktemp("published"), getattr(request, "param", SITE)
    with small_walkthrough(tmp_path / "source"):
        released = {}
        for language in sources.LANGUAGES:
            path = executed(tmp_path / "build", language, reference())
            released[language] = tmp_path / "released" / language
            sources.build(language, released[language])
            (released[language] / path.name).write_text(nbformat.writes(blank(reference())), encoding="utf-8")
        paths = handbook.write(tmp_path / "build", tmp_path / "book", sources.LANGUAGES, site)
        names = [path.relative_to(tmp_path / "book").as_posix() for path in paths]
        if site:
            publish.write(site, tmp_path / "book", paths, released)
    found = Pages({name: (tmp_path / "book" / name).read_text(encoding="utf-8") for name in names})
    found.book = tmp_path / "book"
    return found


def test_a_page_with_solutions_has_the_same_bytes_every_time(pages: Pages, tmp_path: Path) -> None:
    path = pages.book.parent / "build" / "en" / "executed" / f"{NAME}.ipynb"
    with small_walkthrough(tmp_path / "source"):
        one, other = (handbook.page(path, "en", solved=True).content for _ in range(2))
    assert one == other
    assert SOLUTION in one


def test_every_page_has_its_address_its_twin_a_description_and_a_picture(pages: dict[str, str]) -> None:
    assert [*pages] == ["index.html", "zh/index.html", f"en/{NAME}.html", f"zh/{NAME}.html"]
    for name, page in pages.items():
        address = f"{SITE.address}/{name.removesuffix('index.html')}"
        assert re.findall(r'<link rel="canonical" href="([^"]+)">', page) == [address]
        alternates = dict(re.findall(r'<link rel="alternate" hreflang="(\w+)" href="([^"]+)">', page))
        assert [*alternates] == ["zh", "en"] if name.startswith("zh") else ["en", "zh"]
        assert address in alternates.values()
        properties = dict(re.findall(r'<meta property="([\w:]+)" content="([^"]*)">', page))
        assert properties["og:url"] == address
        assert properties["og:image"] == f"{SITE.address}/preview.png"
        assert len(properties["og:description"]) > 10
        assert properties["og:description"] in page
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", properties["article:modified_time"])
        assert "@misc{position-encodings," in page
        assert f'<a rel="license" href="{SITE.address}/LICENSE">' in page


def test_a_page_leads_to_its_notebook_in_colab_and_to_its_source(pages: dict[str, str]) -> None:
    page = pages[f"en/{NAME}.html"]
    assert f"colab.research.google.com/github/ada/rope/blob/gh-pages/notebooks/en/{NAME}.ipynb" in page
    assert f"https://github.com/ada/rope/edit/main/notebooks/source/{NAME}.py" in page
    assert "colab" not in pages["index.html"]


@pytest.mark.parametrize("pages", [ELSEWHERE], indirect=True)
def test_a_site_that_names_no_repository_links_none(pages: dict[str, str]) -> None:
    assert not any(word in page for page in pages.values() for word in ("colab.research", "/edit/main"))


@pytest.mark.parametrize(("pages", "shown"), [(SITE, 2), (None, 0)], indirect=["pages"], ids=["public", "course"])
def test_solutions_are_shown_to_the_public_alone(pages: dict[str, str], shown: int) -> None:
    page = pages[f"en/{NAME}.html"]
    assert page.count(SOLUTION) == shown
    assert "# A solution" not in page, "Its summary says so."
    assert ("x + x + x" in re.sub(r"<[^>]+>", "", page)) == bool(shown)
    assert "Texts double too." not in page, "Hidden tests are shown to nobody."
    assert ("canonical" in page) == bool(shown)


def test_the_map_and_the_feed_are_read_by_programs(pages: Pages) -> None:
    places = [one.text for one in ElementTree.parse(pages.book / "sitemap.xml").iter() if one.tag.endswith("loc")]
    assert places == [SITE.of(name) for name in pages]
    feed = ElementTree.parse(pages.book / "feed.xml").getroot()
    entries = [one for one in feed if one.tag.endswith("entry")]
    assert 1 <= len(entries) <= 20
    titles = [one.text for entry in entries for one in entry if one.tag.endswith("title")]
    assert titles == [change.what for change in publish.changes()[:20]]


def test_what_colab_opens_fetches_its_modules_and_has_no_solution(pages: Pages) -> None:
    for language in sources.LANGUAGES:
        folder = pages.book / "notebooks" / language
        text = (folder / f"{NAME}.ipynb").read_text(encoding="utf-8")
        fetch = nbformat.reads(text, as_version=4).cells[1].source
        names = json.loads(re.search(r"for name in (\[.*\])", fetch)[1])  # type: ignore[index]
        assert names == [path.name for path in sorted(folder.glob("*.py"))] == ["checks.py"]
        assert f"{SITE.address}/notebooks/{language}/" in fetch
        assert "return x + x" not in text


def test_the_workflow_publishes_the_branch_that_colab_reads() -> None:
    text = (REPOSITORY / ".github" / "workflows" / "handbook.yml").read_text(encoding="utf-8")
    assert re.findall(r"- run: make (\S+)", text) == ["notebooks", "handbook"]
    assert text.count(f" {publish.BRANCH}\n") == 2, "The branch is made, and pushed."
    targets = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert "$(if $(SITE),--site" in targets


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [*map(str, arguments)])


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything that the commands write goes there."""
    for name in ("BUILD", "HANDBOOK", "SITE", "GRADED"):
        monkeypatch.setattr(cli, name, tmp_path / name.lower())
    return tmp_path


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
