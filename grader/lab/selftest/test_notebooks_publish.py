"""The handbook for the public: every page can be linked, cited, found and opened. The course's shows no solution."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

from grader import REPOSITORY
from grader.lab.site.notebooks import handbook, publish, sources
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
            publish.write(site, tmp_path / "book", names, "Hands", released)
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


def test_the_preview_is_a_picture_of_the_size_that_the_page_says() -> None:
    picture = (sources.SOURCES / "preview.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (1200, 630)


def test_the_workflow_publishes_the_branch_that_colab_reads() -> None:
    text = (REPOSITORY / ".github" / "workflows" / "handbook.yml").read_text(encoding="utf-8")
    assert re.findall(r"- run: make (\S+)", text) == ["notebooks", "handbook"]
    assert text.count(f" {publish.BRANCH}\n") == 2, "The branch is made, and pushed."
    targets = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert "$(if $(SITE),--site" in targets
