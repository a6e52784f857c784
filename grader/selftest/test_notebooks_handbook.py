"""The handbook: mathematics and pictures without a network, and no answer given away."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

import nbformat

from grader.tools.notebooks import handbook, pictures, sources

from .small_notebook import NAME, reference, small_walkthrough

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def written(folder: Path) -> dict[str, str]:
    """The handbook of the small notebook, with a figure in it, by page."""
    with small_walkthrough(folder / "source"):
        for language in sources.LANGUAGES:
            notebook = reference()
            figure = nbformat.v4.new_output("display_data", {"image/png": PIXEL})
            notebook.cells[1].outputs = [figure]
            notebook.cells[0].source += "\n\nSee [next](1_more.ipynb), `$HOME`, and\n\n$$\n\\sqrt{x_1} < *y*\n$$\n"
            path = folder / "build" / language / "executed" / f"{NAME}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(nbformat.writes(notebook), encoding="utf-8")
        pages = handbook.write(folder / "build", folder / "book", sources.LANGUAGES)
    return {path.relative_to(folder / "book").as_posix(): path.read_text(encoding="utf-8") for path in pages}


def test_the_handbook_needs_no_network_and_gives_nothing_away(tmp_path: Path) -> None:
    pages = written(tmp_path)
    assert [*pages] == ["index.html", f"en/{NAME}.html", f"zh/{NAME}.html"]
    for page in pages.values():
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//|@import|<script[^>]""", page) == []
    page = pages[f"en/{NAME}.html"]
    assert f'src="data:image/png;base64,{PIXEL}"' in page
    assert "One and one make two." in page
    assert "Texts double too." not in page
    assert "x + x + x" not in re.sub(r"<[^>]+>", "", page)


def test_formulas_are_mathml_and_dollars_in_code_stay(tmp_path: Path) -> None:
    page = written(tmp_path)[f"en/{NAME}.html"]
    assert page.count("<math ") == 2
    assert "<msqrt><mrow><msub><mi>x</mi><mn>1</mn></msub></mrow></msqrt>" in page
    assert "<em>" not in page
    assert "<code>$HOME</code>" in page


def test_pages_lead_to_each_other(tmp_path: Path) -> None:
    pages = written(tmp_path)
    assert f'href="../zh/{NAME}.html"' in pages[f"en/{NAME}.html"]
    assert 'href="1_more.html"' in pages[f"en/{NAME}.html"]
    assert all(f'href="{language}/{NAME}.html"' in pages["index.html"] for language in sources.LANGUAGES)


SVG = (
    '<svg><text style="font-weight: 700; font-size: 10.5px" x="1">Off by 4.1 &amp; more</text>'
    '<text style="font-size: 9.5px">the key</text></svg>'
)


@pytest.mark.parametrize(
    ("language", "words", "alt", "said"),
    [
        ("en", {}, "Off by 4.1 &amp; more", "the key"),
        ("zh", {"Off by {x:.1f} & more": "差 {x:.1f} 以上", "the key": "键"}, "差 4.1 以上", "键"),
    ],
)
def test_a_figure_has_a_text_for_those_who_do_not_see_it(
    language: str, words: dict[str, str], alt: str, said: str
) -> None:
    notebook = reference()
    notebook.cells[1].outputs = [nbformat.v4.new_output("display_data", {"image/png": PIXEL, pictures.SVG: SVG})]
    pictures.show(notebook, language, words)
    image = notebook.cells[1].outputs[0].data["text/html"]
    assert f'alt="{alt}"' in image
    encoded = re.search(r"base64,([^\"]*)", image)
    assert encoded is not None
    assert f">{said}</text>" in base64.b64decode(encoded[1]).decode()


def test_a_text_in_a_figure_is_translated_with_what_stands_in_it() -> None:
    translate = pictures.translator(
        {"{found}; {n} more": "{found}；还有 {n} 个", "lost {a}": "丢了 {a}", "all": "全部"}
    )
    assert translate("lost 3; 4 more") == "丢了 3；还有 4 个"
    assert translate("lost 3; 4 more; 5 more") == "丢了 3；还有 4 个；还有 5 个"
    assert [translate("all"), translate("none")] == ["全部", "none"]


def test_formulas_have_a_font_and_code_that_draws_is_folded(tmp_path: Path) -> None:
    page = written(tmp_path)[f"en/{NAME}.html"]
    assert "url(data:font/woff;base64,d09GR" in page
    assert 'math { font-family: "Handbook Math"' in page
    drawing = '<div class="highlight"><pre>' + handbook._DRAWS + "</pre></div>"
    assert handbook._folded(drawing, "en").startswith("<details")
    assert not handbook._folded("<pre></pre>", "en").startswith("<details")


def test_the_map_says_how_long_the_whole_and_the_short_way_take() -> None:
    books = [[sources.read(script, language) for language in sources.LANGUAGES] for script in sources.scripts()]
    times = [english.cells[0].metadata for english, _ in books]
    assert sum(time["minutes"] for time in times) == 515
    assert sum(time["short_minutes"] for time in times) == 120
    for both in books:
        flags = [handbook._short(notebook) for notebook in both]
        assert flags[0] == flags[1]
        assert {any(flags[0])} == {notebook.cells[0].metadata["short_minutes"] > 0 for notebook in both}
