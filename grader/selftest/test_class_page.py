"""Every number on the class page is counted again, from the reports as they lie on the disk."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from grader.core.results.report import Practice
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.selftest.class_reports import drawn, write
from grader.selftest.html_page import Element, parse
from grader.selftest.term import run

Written = list[dict[str, Any]]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated class of 40, graded."""
    practice = {"student00": Practice(points=7.5, max_points=10)}
    return write(tmp_path_factory.mktemp("class"), drawn(40), practice)


@pytest.fixture(scope="module")
def written(out: Path) -> Written:
    """Its reports as plain JSON."""
    return [json.loads(path.read_text()) for path in sorted(out.glob("*/report.json"))]


@pytest.fixture(scope="module")
def graded(written: Written) -> Written:
    return [report for report in written if report["status"] == "graded"]


@pytest.fixture(scope="module")
def page(out: Path) -> Element:
    run("report", out, "--lang", "en")
    return parse((out / "html" / "index.html").read_text())


def lines(page: Element, section: str) -> list[Element]:
    """The rows of the section's table, without its head."""
    return page.one("div", **{"aria-labelledby": section}).one("tbody").all("tr")


def rows(page: Element, section: str) -> list[list[str]]:
    """The cells of each."""
    return [[cell.text for cell in row.all("th", "td")] for row in lines(page, section)]


def values(page: Element, section: str, column: int) -> list[float | None]:
    """What a column is sorted by."""
    texts = [row.all("th", "td")[column].attributes.get("data-value") for row in lines(page, section)]
    return [None if text is None else float(text) for text in texts]


def properties(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {prop["id"]: prop for task in report["tasks"] for prop in task["properties"]}


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """The textbook's sum of products of deviations over the root of the product of sums of squares."""
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    square = sum((x - x_mean) ** 2 for x in xs) * sum((y - y_mean) ** 2 for y in ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / math.sqrt(square) if square else None


def test_the_figures_on_top_count_submissions_by_status(page: Element, written: Written) -> None:
    figures = page.one("dl", **{"class": "figures"})
    shown = {div.one("dt").text: int(div.one("dd").text) for div in figures.all("div")}
    status = [report["status"] for report in written]
    assert shown == {
        "Submissions": len(written),
        "graded": status.count("graded"),
        "unreadable": status.count("unreadable"),
        "grader error": status.count("grader_error"),
    }


@pytest.mark.parametrize(("name", "width", "most"), [("score", 10, 100), ("bonus", 2, 20)], ids=["score", "bonus"])
def test_the_bars_of_points_count_submissions(page: Element, graded: Written, name: str, width: int, most: int) -> None:
    points = [report[name] for report in graded]
    counts = [sum(low <= value < low + width for value in points) for low in range(0, most, width)]
    check_plot(page, name, [*counts, points.count(most)], points)
    assert [int(low) for low in ticks(page, name)] == [*range(0, most, width), most]


def test_the_bars_of_seconds_count_submissions(page: Element, graded: Written) -> None:
    seconds = [report["provenance"]["duration_s"] for report in graded]
    lows = [float(low) for low in ticks(page, "duration")]
    counts = [sum(low <= value < high for value in seconds) for low, high in pairwise(lows)]
    check_plot(page, "duration", counts, seconds)


def plot(page: Element, name: str) -> Element:
    return next(one for one in page.all("figure") if one.one("title").attributes["id"] == f"{name}-title")


def ticks(page: Element, name: str) -> list[str]:
    return [one.text for one in plot(page, name).all("text") if (one.attributes.get("class") or "").startswith("tick")]


def check_plot(page: Element, name: str, counts: Sequence[int], points: Sequence[float]) -> None:
    """Labels and heights of bars, the description for those who do not see them, and the caption."""
    figure, shown = plot(page, name), [count for count in counts if count]
    labels = [int(text.text) for text in figure.all("text") if "class" not in text.attributes]
    assert labels == shown
    heights = [float(bar.attributes["height"] or "") for bar in figure.all("rect")]
    assert heights == pytest.approx([140 * count / max(counts) for count in shown], abs=0.05)
    described = figure.one("desc").text.rstrip(";").split(";")
    assert [int(part.rpartition(":")[2]) for part in described] == shown
    middle = f"mean {sum(points) / len(points):.1f}, median {median(points):.1f}"
    assert f"{middle}, lowest {round(min(points), 1):g}, highest {round(max(points), 1):g}" in figure.text


def test_every_property_has_its_pass_rate_and_discrimination(page: Element, graded: Written) -> None:
    names = [*properties(graded[0])]
    shown = rows(page, "properties")
    assert [row[0].split()[-1] for row in shown] == names
    rates, weights = values(page, "properties", 1), values(page, "properties", 2)
    for name, row, rate, weight in zip(names, shown, rates, weights, strict=True):
        assessed = [report for report in graded if properties(report)[name]["outcome"] != "not_assessed"]
        passed = [properties(report)[name]["outcome"] == "passed" for report in assessed]
        others = [report["score"] + report["bonus"] - properties(report)[name]["points"] for report in assessed]
        expected = pearson([float(holds) for holds in passed], others)
        assert rate == pytest.approx(sum(passed) / len(assessed))
        assert row[1] == f"{100 * sum(passed) / len(assessed):.0f} % {sum(passed)} of {len(assessed)}"
        assert weight == (None if expected is None else pytest.approx(expected))
        assert row[2] == ("\N{EN DASH}" if expected is None else f"{expected:.2f}")
        assert row[3] == f"{properties(graded[0])[name]['max_points']:g}"


def test_every_misconception_has_its_count(page: Element, graded: Written) -> None:
    holders: dict[str, set[str]] = {}
    for report in graded:
        for prop in properties(report).values():
            if prop["misconception"]:
                holders.setdefault(prop["misconception"], set()).add(report["submission"]["id"])
    shown = {row[0].split()[-1]: int(row[1].split()[0]) for row in rows(page, "misconceptions")}
    assert shown == {name: len(ids) for name, ids in holders.items()}
    assert shown.keys() == {mistake.id for mistake in ASSIGNMENT.rubric.misconceptions}
    assert [*shown.values()] == sorted(shown.values(), reverse=True)
    assert values(page, "misconceptions", 1) == [*shown.values()]


def test_every_outcome_has_its_counts(page: Element, graded: Written) -> None:
    met = [[prop["outcome"] for prop in properties(report).values()] for report in graded]
    shown = {row[0].split()[-1]: (int(row[1]), int(row[2])) for row in rows(page, "time")}
    outcomes = {name for some in met for name in some}
    assert shown == {
        name: (sum(some.count(name) for some in met), sum(name in some for some in met)) for name in sorted(outcomes)
    }


def test_what_was_not_graded_is_listed_with_its_reason(page: Element, written: Written) -> None:
    expected = {report["submission"]["id"]: report["reason"] for report in written if report["status"] != "graded"}
    assert {row[0]: row[2] for row in rows(page, "not-graded")} == expected


def test_devices_and_isolation_are_counted(page: Element, written: Written) -> None:
    graded = [report["environment"] for report in written if report["status"] == "graded"]
    used = [(", ".join(one["devices"]), one["isolation"]) for one in graded]
    shown = {(row[0], row[1]): int(row[2]) for row in rows(page, "environment")}
    assert shown == {pair: used.count(pair) for pair in set(used)}
    assert len(shown) == 2
    assert "Submissions were graded in different environments" in page.text


def test_every_student_has_a_row_with_all_points(page: Element, written: Written) -> None:
    shown = rows(page, "students")
    assert len(shown) == len(written)
    for report, row in zip(written, shown, strict=True):
        identifier = report["submission"]["id"]
        practice = "7.5" if identifier == "student00" else ""
        assert row == [identifier, *_name(report), *_points(report), practice]


def _name(report: Mapping[str, Any]) -> list[str]:
    origin = report["submission"]["origin"]
    return [origin["students"][0]["name"] + (" (late)" if origin["late"] else "")] if origin else [""]


def _points(report: Mapping[str, Any]) -> list[str]:
    if report["status"] != "graded":
        return [report["status"].replace("_", " "), "", *("" for _ in ASSIGNMENT.rubric.tasks)]
    return [
        f"{points:g}" for points in (report["score"], report["bonus"], *(task["score"] for task in report["tasks"]))
    ]


def test_searching_finds_students_by_what_they_lost(page: Element, graded: Written) -> None:
    found = {row.all("a")[0].text: (row.attributes["data-text"] or "").split() for row in lines(page, "students")}
    for report in graded:
        words = found[report["submission"]["id"]]
        for name, prop in properties(report).items():
            assert (name in words) == (prop["points"] < prop["max_points"])
            assert prop["misconception"] is None or prop["misconception"] in words


def test_the_terminal_shows_the_same_numbers(out: Path, page: Element) -> None:
    told = run("show", out, "--lang", "en").stdout.splitlines()
    words = [line.split() for line in told]
    for row in rows(page, "properties"):
        rate, _, passed, _, assessed = row[1].split()
        passes = [passed, "of", assessed]
        assert [row[0].split()[-1], row[3], *passes, f"{rate}%", row[2].replace("\N{EN DASH}", "-")] in words
    for row in rows(page, "misconceptions"):
        count, hint = row[1].split()[0], " ".join(row[0].split()[:3])
        held = [number for number, line in enumerate(told) if line.split()[:1] == [count]]
        assert any(hint in told[number + 1] for number in held)  # below the count and the mistake's names
    for name in ("score", "bonus"):
        caption = plot(page, name).one("figcaption").text
        assert any(line.startswith(name) and caption.split(": ")[1].split(", lowest")[0] in line for line in told)
