"""Pages for everybody: by ear, by keyboard, with weak eyes, on paper; with axe-core, it checks them in a browser."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from grader.core.pages.render import HERE
from grader.core.results.report import Practice
from grader.core.results.statistics import entry
from grader.core.results.views import in_language
from grader.core.rubric import LANGUAGES, Rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.browser import Tab, needs_axe
from grader.selftest.class_reports import PlainPages, drawn
from grader.selftest.html_page import Element, parse
from grader.selftest.submissions import write_folder

HEADINGS = ("h1", "h2", "h3", "h4")
CSS = (HERE / "pages.css").read_text(encoding="utf-8")

# What is read on what (4.5 to 1), and what is only seen (3 to 1): WCAG 2.2, 1.4.3 and 1.4.11.
READ = [
    *[(ink, ground) for ink in ("ink", "faint", "link", "bad") for ground in ("paper", "warm")],
    *[(ink, "code") for ink in ("ink", "faint")],
]
SEEN = [("bar", "paper"), ("full", "paper"), ("bar", "track"), ("bad", "paper"), ("link", "paper"), ("faint", "paper")]


@pytest.fixture(scope="module")
def texts(rubric: Rubric) -> dict[str, str]:
    """Pages by a name for each: the class, and a student of every kind, in both languages."""
    found = {}
    reports = drawn(8)
    for language in LANGUAGES:
        pages, practice = PlainPages(rubric, language), Practice(points=1, max_points=10)
        found[f"class-{language}"] = pages.classroom([entry(report, practice) for report in reports])
        for report in reports:
            name = f"{report.submission.id}-{report.status}-{language}"
            found[name] = pages.student(in_language(report, ASSIGNMENT, language), beside={"practice": practice})
    return found


@pytest.fixture(scope="module")
def pages(texts: dict[str, str]) -> dict[str, Element]:
    return {name: parse(text) for name, text in texts.items()}


def test_headings_begin_with_one_and_never_skip_a_level(pages: dict[str, Element]) -> None:
    for page in pages.values():
        levels = [int(heading.tag[1]) for heading in page.all(*HEADINGS)]
        assert levels.count(1) == 1
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert all(heading.text for heading in page.all(*HEADINGS))


def test_ids_are_unique_and_everything_that_is_named_is_there(pages: dict[str, Element]) -> None:
    for page in pages.values():
        ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
        assert len(ids) == len(set(ids))
        named = [name for key in ("aria-labelledby", "for") for one in page.all() for name in _words(one, key)]
        anchors = [link.attributes["href"] or "" for link in page.all("a")]
        assert set(named) <= set(ids)
        assert {anchor[1:] for anchor in anchors if anchor.startswith("#")} <= set(ids)


def _words(element: Element, key: str) -> list[str]:
    return (element.attributes.get(key) or "").split()


def test_pictures_are_described_or_left_out_and_inputs_have_labels(pages: dict[str, Element]) -> None:
    for page in pages.values():
        for picture in page.all("svg"):
            if picture.attributes.get("aria-hidden") != "true":
                assert picture.attributes["role"] == "img"
                assert picture.one("title").text
                assert picture.one("desc").text
        labels = {label.attributes["for"] for label in page.all("label")}
        assert {box.attributes["id"] for box in page.all("input")} <= labels


def test_tables_have_heads_and_scroll_by_keyboard(pages: dict[str, Element]) -> None:
    regions = [one for page in pages.values() for one in page.all("div") if one.attributes.get("class") == "table"]
    assert len(regions) >= 6 * len(LANGUAGES)
    for region in regions:
        assert region.attributes["role"] == "region"
        assert region.attributes["tabindex"] == "0"
        heads = region.one("thead").all("th")
        assert all(head.attributes["scope"] == "col" for head in heads)
        for row in region.one("tbody").all("tr"):
            assert len(row.all("th", "td")) == len(heads)
    assert sum(len(page.all("table")) for page in pages.values()) == len(regions)


def test_everything_is_in_a_landmark(pages: dict[str, Element]) -> None:
    for page in pages.values():
        outside = [child.tag for child in page.one("body").children if isinstance(child, Element)]
        assert set(outside) <= {"header", "main", "footer", "script"}
        assert outside.count("main") == 1


def palette(scheme: str) -> dict[str, str]:
    light, dark = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    return dict(re.findall(r"--(\w+): (#\w{6})", {"light": light, "dark": dark}[scheme]))


def contrast(one: str, other: str) -> float:
    """The ratio of relative luminances, as WCAG 2.2 defines it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_apart(scheme: str) -> None:
    colours = palette(scheme)
    weak = {pair: round(contrast(*map(colours.__getitem__, pair)), 2) for pair in [*READ, *SEEN]}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < (4.5 if pair in READ else 3)} == {}


def test_every_colour_is_one_of_the_palette() -> None:
    assert set(re.findall(r"var\(--(\w+)\)", CSS)) == {*palette("light")} == {*palette("dark")}
    assert "#" not in re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)


@pytest.fixture
def classroom(texts: dict[str, str], tmp_path: Path) -> Path:
    return write_folder(tmp_path, {"page.html": texts["class-en"]}) / "page.html"


@needs_axe
def test_axe_finds_nothing(tab: Tab, texts: dict[str, str], tmp_path: Path) -> None:
    for name in ("class-en", "student00-graded-zh", "student03-grader_error-en"):
        tab.open(write_folder(tmp_path, {"page.html": texts[name]}) / "page.html")
        assert tab.violations() == []


def listed(tab: Tab) -> tuple[Element, list[Element], list[str]]:
    """The page in the browser, the rows of students that it shows, and their ids."""
    page = parse(tab.evaluate("document.documentElement.outerHTML"))
    rows = page.one("table", **{"data-searchable": ""}).one("tbody").all("tr")
    shown = [row for row in rows if "hidden" not in row.attributes]
    return page, shown, [row.all("a")[0].text for row in shown]


def sorted_by(tab: Tab, column: int) -> tuple[dict[str, str | None], list[float], list[str]]:
    """Click on the head of a column of students; returns which columns say how they are sorted, scores and ids."""
    tab.evaluate(f"document.querySelectorAll('[aria-labelledby=students] th button')[{column}].click()")
    page, rows, ids = listed(tab)
    order = {head.text: head.attributes["aria-sort"] for head in page.all("th") if "aria-sort" in head.attributes}
    scores = [float(cell) for row in rows if (cell := row.all("td")[1].attributes.get("data-value"))]
    return order, scores, ids


def test_a_click_sorts_a_table_and_another_turns_it_and_who_has_no_score_stays_last(tab: Tab, classroom: Path) -> None:
    tab.open(classroom)
    for way in ("descending", "ascending"):
        order, scores, ids = sorted_by(tab, 2)
        assert order == {"Score": way}
        assert scores == sorted(scores, reverse=way == "descending")
        assert ids[-1] == "student03"
    assert sorted_by(tab, 0)[0] == {"Submission": "ascending"}
    order, _, ids = sorted_by(tab, 0)
    assert (order, ids) == ({"Submission": "descending"}, [f"student{number:02}" for number in reversed(range(8))])


def test_the_link_beside_a_misconception_finds_who_has_it(tab: Tab, classroom: Path) -> None:
    tab.open(classroom)
    mistake = tab.evaluate("document.querySelector('a[data-find]').dataset.find")
    tab.evaluate("document.querySelector('a[data-find]').click()")
    page, rows, ids = listed(tab)
    assert ids
    assert all(mistake in (row.attributes["data-text"] or "") for row in rows)
    assert page.one("output").text == f"{len(ids)} of 8 shown"
