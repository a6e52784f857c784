"""The handbook: mathematics and pictures without a network, and no answer given away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

import nbformat

from grader.tools.notebooks import handbook, sources

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
        assert re.findall(r"""(?:src|href)=["']?(?:https?:)?//|@import|<script""", page) == []
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
