"""A bundle holds what students need and nothing else; leaks are found wherever and however they were planted."""

from __future__ import annotations

import html
import json
import struct
import subprocess
import zipfile
from base64 import b64encode
from importlib import import_module
from pathlib import Path

import pytest

from grader import REPOSITORY
from grader.assignment.corpus.practice import PRACTICE
from grader.core.messages import UserError
from grader.core.results.files import write_zip
from grader.core.rubric import LANGUAGES
from grader.lab.commands import RELEASED
from grader.lab.release.bundle import RUBRIC, STUDENTS_RUBRIC, ReleaseRefused, bundle, with_figures, write_repository
from grader.lab.release.leaks import leaks
from grader.selftest.submissions import write_folder
from grader.selftest.term import command, run

ROTATE = (REPOSITORY / "ref/functional.py").read_text()
HIDDEN = (REPOSITORY / "grader/assignment/hidden/test_functional.py").read_text()
DRAWS = (REPOSITORY / "grader/assignment/hidden/test_parallel_vocab_emb_parameters.py").read_text()
STUB = (REPOSITORY / "src/functional.py").read_text()
RENAMED = """
def turn(x, c, s):
    c, s = (t.to(x.device).unsqueeze(1) for t in (c, s))
"""


@pytest.fixture
def built(tmp_path: Path) -> dict[str, Path]:
    """A rendered handout and released notebooks, small ones."""
    folders = {f"notebooks/{lang}": f"notebooks/{lang}/{RELEASED}" for lang in LANGUAGES}
    folders |= {name: name for name in ("handout", "handbook")}
    for folder in folders.values():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "page.html").write_text("<p>Nothing to hide.</p>")
    return {name: tmp_path / folder for name, folder in folders.items()}


@pytest.fixture
def signatures(tmp_path: Path) -> Path:
    """Signatures of no mistake at all."""
    return write_folder(tmp_path / "signatures", {"signatures.json": '{"causes":{},"hints":{}}'})


def notebook(*sources: str, kind: str = "code") -> str:
    return json.dumps({"cells": [{"cell_type": kind, "source": source.splitlines(True)} for source in sources]})


@pytest.mark.process
@pytest.mark.covered
@pytest.mark.usefixtures("built", "signatures")
def test_a_bundle_without_notebooks_mentions_no_handbook(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("release", out, "--build", tmp_path, "--no-notebooks")
    (path,) = out.glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        readme = archive.read(f"{path.stem}/README.md").decode()
    assert not [name for name in names if "handbook" in name or name.startswith(f"{path.stem}/notebooks")]
    assert "handbook/" not in readme
    assert "## Why it works" not in readme
    assert "## 中文" in readme


@pytest.mark.slow
def test_nothing_that_is_handed_out_gives_a_solution_away(rendered: Path) -> None:
    """Nor do the models and the shown implementations of the practice; of its hidden ones, each would."""
    kinds, tests = (".md", ".html", ".js"), REPOSITORY / "tests"
    pages = [path for top in (REPOSITORY / "handout", rendered) for path in top.rglob("*") if path.suffix in kinds]
    code = [path for folder in ("", "models", "practice") for path in (tests / folder).glob("*.py")]
    assert len(pages) >= 4 * 7
    named = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in (*pages, *code)}
    assert list(leaks(named)) == []
    hidden = {f"practice/{name}.py": text.encode() for name, text in {**PRACTICE.right, **PRACTICE.wrong}.items()}
    assert {line.partition(":")[0] for line in leaks(hidden)} == hidden.keys()


@pytest.mark.slow
def test_the_bundle_holds_the_public_parts_and_nothing_else(
    built: dict[str, Path], signatures: Path, tmp_path: Path
) -> None:
    files = bundle(built, signatures)
    tops = [".gitignore", "Makefile", "README.md", "handbook", "handout", "notebooks", "pyproject.toml", "src", "tests"]
    assert {path.split("/")[0] for path in files} == {*tops}
    texts = ("handbook/", "handout/", "notebooks/", "src/")
    assert sum(not path.startswith(texts) for path in files) <= 41  # a student finds a way through as many
    assert not any(word in files[STUDENTS_RUBRIC] for word in (b"misconceptions", b"hint", b"policy", b"library"))
    assert files["src/functional.py"].decode() == STUB
    assert {"tests/practice/test_mine.py", "tests/practice/implementations.py"} <= files.keys()
    rubric = import_module("tests.harness.rubric")  # untyped, as students are to read it
    copy = tmp_path / "rubric.toml"
    copy.write_bytes(files[STUDENTS_RUBRIC])
    assert rubric.load((copy,)) == rubric.load((REPOSITORY / RUBRIC,)), "The tests read the same in it."


LINE = "    return (input * cos + rotated_half * sin).to(input.dtype)"
CASES = next(line for line in DRAWS.splitlines() if line.startswith("@in_turns(") and "0.25" in line)
OWN_NAMES = """
class Norm:
    def forward(self, x):
        return (out.flatten(-2) * self.weight.to(x.device)).to(x.dtype)
"""


def beside_cells(**parts: object) -> str:
    """A notebook whose one cell says nothing in its source."""
    return json.dumps({"cells": [{"cell_type": "code", "source": ["1 + 1"], **parts}]})


PLANTS = {
    "a solved stub": ("src/functional.py", ROTATE),
    "one line of it": ("src/functional.py", STUB + "\n    return (input * cos + rotated_half * sin).to(input.dtype)\n"),
    "commented out": ("src/functional.py", STUB + "\n    #   return (input*cos + rotated_half*sin).to(input.dtype)\n"),
    "renamed": ("src/helper.py", RENAMED),
    "fenced in a page": ("handout/en/task4.md", f"Like so:\n```python\n{RENAMED}```\n"),
    "marked up": ("handout/en/task4.html", "<b>return</b> (input * cos + <i>rotated_half</i> * sin).to(input.dtype)"),
    "in a cell": ("notebooks/n.ipynb", notebook("1 + 1", RENAMED)),
    "in a text cell": ("notebooks/n.ipynb", notebook(f"```python\n{RENAMED}```\n", kind="markdown")),
    "a hidden test": ("tests/test_more.py", HIDDEN),
    "a hidden test's cases": ("handout/en/task4.html", f"<pre><code>{html.escape(CASES)}</code></pre>"),
    "other names and attributes": ("src/helper.py", OWN_NAMES),
    "in an output": ("notebooks/n.ipynb", beside_cells(outputs=[{"output_type": "stream", "text": [LINE]}])),
    "in a cell's metadata": ("notebooks/n.ipynb", beside_cells(metadata={"answer": LINE})),
    "in a notebook's metadata": ("notebooks/n.ipynb", json.dumps({"cells": [], "metadata": {"answer": LINE}})),
    "in a label": ("handout/en/task4.html", f'<svg aria-label="{html.escape(LINE)}"></svg>'),
    "in a comment of a page": ("handout/en/task4.html", f"<!-- {LINE} -->"),
    "in a picture": ("handout/en/task4.svg", f"<svg><desc>{html.escape(LINE)}</desc></svg>"),
    "in a picture's text": ("handout/en/task4.md", f"![{LINE}](task4.svg)"),
    "in a script's comment": ("handout/en/task4.html", f"<script>let a = 1; // {LINE}</script>"),
    "as a script's statement": ("handout/en/task4.html", f"<script>\n  {LINE.strip()};\n</script>"),
    "in a script's string": ("handout/en/task4.html", f"<script>const text = `a\n{LINE}`;</script>"),
    "in a script's strings": ("handout/en/task4.html", f"<script>say({LINE[:30]!r} +\n{LINE[30:]!r});</script>"),
    "renamed in a script": ("handout/en/task4.html", f"<script>const text = {json.dumps(RENAMED)};</script>"),
    "escaped in a script": (
        "handout/en/task4.html",
        f"<script>const text = '{LINE[:6]}{''.join(f'{chr(92)}u{ord(letter):04x}' for letter in LINE[6:])}';</script>",
    ),
    "in a file of scripts": ("handout/touch/turn.js", f"const text = '{LINE}';\n"),
    "coloured in a page": ("handbook/en/5.html", f"<pre><span>{html.escape(RENAMED)}</span></pre>"),
    "drawn": ("handbook/en/5.html", f'<img src="data:image/svg+xml;base64,{b64encode(LINE.encode()).decode()}">'),
    "in an archive": ("handout/more.zip", "PK"),
    "the grader": ("grader/assignment/rubric.toml", ""),
    "the reference's folder": ("notebooks/ref/norm.py", ""),
    "git's history": ("src/.git/config", ""),
    "nbgrader's database": ("notebooks/gradebook.db", ""),
    "byte code": ("src/functional.cpython-311.pyc", ""),
}


@pytest.mark.parametrize(("path", "text"), PLANTS.values(), ids=PLANTS)
def test_a_planted_leak_is_found_with_its_place(path: str, text: str, some_secrets: Path) -> None:
    found = list(leaks({path: text.encode(), "src/harmless.py": STUB.encode()}, some_secrets))
    assert found
    assert all(line.startswith(path) for line in found), found


def weights(
    numbers: bytes = struct.pack("<4e", 0.5, -1, 2, 0), name: str = "table", first: int = 0, **texts: str
) -> bytes:
    """A safetensors file with one tensor of 16-bit numbers, from the byte ``first`` on."""
    size = len(numbers) - first
    entry = {"dtype": "F16", "shape": [size // 2], "data_offsets": [first, first + size]}
    header = json.dumps({"__metadata__": texts, name: entry}).encode()
    return len(header).to_bytes(8, "little") + header + numbers


PLANTS_IN_WEIGHTS = {
    "in the header": weights(answer=LINE),
    "as code in the header": weights(answer=RENAMED),
    "as a tensor's name": weights(name=LINE),
    "after the tensors": weights() + LINE.encode(),
    "before the tensors": weights(LINE.encode() + bytes(2), first=len(LINE)),
    "in the bytes of numbers": weights(LINE.encode() + bytes(len(LINE) % 2)),
    "in something else": b"PK" + LINE.encode(),
}


@pytest.mark.parametrize("data", PLANTS_IN_WEIGHTS.values(), ids=PLANTS_IN_WEIGHTS)
def test_a_leak_in_weights_is_found(data: bytes, some_secrets: Path) -> None:
    assert [*leaks({"tests/models/small.safetensors": weights(source="Opticks")}, some_secrets)] == []
    found = list(leaks({"tests/models/small.safetensors": data}, some_secrets))
    assert found
    assert all(line.startswith("tests/models/small.safetensors:") for line in found), found


def test_the_cases_of_a_hidden_test_are_secret_and_how_they_begin_is_not(tmp_path: Path) -> None:
    cases = '@pytest.mark.parametrize(\n    ("eps", "size"), [(1e-6, 4), (1e-3, 8)]\n)\ndef test_eps(): ...\n'
    write_folder(tmp_path / "grader/assignment/hidden", {"test_eps.py": cases})
    first, second = (line.encode() for line in cases.splitlines()[:2])
    assert [*leaks({"tests/test_mine.py": first}, tmp_path)] == []
    (line,) = leaks({"handout/page.md": second}, tmp_path)
    assert line == "handout/page.md:1: the same line as grader/assignment/hidden/test_eps.py:2"


def test_what_cannot_be_read_is_not_let_through(some_secrets: Path) -> None:
    (line,) = leaks({"src/norm.py": LINE.encode("utf-16")}, some_secrets)
    assert line == "src/norm.py: cannot be inspected"


def test_solutions_of_notebooks_are_secret_too(tmp_path: Path) -> None:
    source = "### BEGIN SOLUTION\nanswer = sorted(numbers, key=lambda n: -n)[: len(numbers) // 2]\n### END SOLUTION\n"
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "0.py").write_text(source)
    copied = notebook("mine = sorted(given, key=lambda k: -k)[: len(given) // 2]")
    (line,) = leaks({"notebooks/0.ipynb": copied.encode()}, tmp_path)
    assert line == "notebooks/0.ipynb, cell 1:1: the same statement as notebooks/0.py:2"


def test_hidden_tests_are_secret_in_chinese_too(tmp_path: Path) -> None:
    hidden = 'assert half([4, 1, 3, 2]) == [4, 3], "{}"'
    (tmp_path / "notebooks").mkdir()
    script = tmp_path / "notebooks" / "0.py"
    script.write_text("### BEGIN HIDDEN TESTS\n" + hidden.format("The larger half.") + "\n### END HIDDEN TESTS\n")
    script.with_suffix(".toml").write_text('"The larger half." = "较大的一半。"', encoding="utf-8")
    copied = notebook(hidden.format("较大的一半。"))
    assert [*leaks({"notebooks/zh/0.ipynb": copied.encode()}, tmp_path)]


@pytest.mark.slow
@pytest.mark.usefixtures("signatures")
def test_a_leak_stops_the_release_and_nothing_is_written(built: dict[str, Path], tmp_path: Path) -> None:
    (built["notebooks/en"] / "n.ipynb").write_text(notebook(RENAMED))
    result = command("release", tmp_path / "out", "--build", tmp_path)
    assert result.exit_code == 2
    assert "notebooks/en/n.ipynb, cell 1:3: the same statement as ref/functional.py:" in result.stderr
    assert result.stderr.startswith("grader: nothing was released; remove these from the bundle:\n")
    assert list((tmp_path / "out").iterdir()) == []


def test_released_notebooks_show_figures_and_no_other_output() -> None:
    svg, told = "<svg><text>late</text></svg>", {"output_type": "stream", "name": "stdout", "text": ["42"]}
    drawn = {"data": {"image/svg+xml": [svg], "image/png": "iVBORw0KGgo="}, "output_type": "display_data"}
    words = {"id": "b", "cell_type": "markdown", "source": ["b"]}
    released, executed = (
        {"cells": [{"id": "a", "cell_type": "code", "source": ["1 + 1"], "outputs": outputs}, words]}
        for outputs in ([], [told, drawn])
    )
    shown = with_figures(json.dumps(released).encode(), json.dumps(executed).encode(), {"late": "晚"}.__getitem__)
    (figure,) = json.loads(shown)["cells"][0].pop("outputs")
    assert figure["data"] == {"image/svg+xml": "<svg><text>晚</text></svg>"}
    assert "42" not in shown.decode()


def test_what_has_not_been_built_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="Run `make release`, which builds all of them"):
        bundle({"handout": tmp_path / "handout"}, tmp_path)


def test_signatures_that_have_not_been_made_are_asked_for(built: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ReleaseRefused, match="Run `make signatures` first"):
        bundle(built, tmp_path / "none")


@pytest.mark.process
def test_the_same_files_give_the_same_zip_and_the_same_commit(tmp_path: Path) -> None:
    files = {"README.md": "Grüße\n".encode(), STUDENTS_RUBRIC: b"x = 1\n"}
    commits = {write_repository(files, tmp_path / "repository") for _ in range(2)}
    assert len(commits) == 1
    for name in ("one.zip", "two.zip"):
        write_zip(files, tmp_path / name, "a2")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["a2/README.md", f"a2/{STUDENTS_RUBRIC}"]
    status = ["git", "-C", str(tmp_path / "repository"), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, text=True, check=True).stdout == ""


def test_a_repository_replaces_no_folder_but_an_earlier_bundle(tmp_path: Path) -> None:
    """As where the course's own repository has the assignment's name."""
    write_folder(tmp_path / "a2", {"ref/functional.py": ROTATE})
    with pytest.raises(UserError, match="not empty, and not written by this command"):
        write_repository({}, tmp_path / "a2")
    assert (tmp_path / "a2/ref/functional.py").exists()


def test_a_zip_in_the_making_takes_nobodys_place(tmp_path: Path) -> None:
    """The folder of reports may hold a student's folder of any name, as earlier versions gave it."""
    work = write_folder(tmp_path / "canvas-feedback.zip.part", {"report.json": "{}"})
    write_zip({"a.txt": b"x"}, tmp_path / "canvas-feedback.zip")
    assert (work / "report.json").read_text() == "{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["canvas-feedback.zip", work.name]
