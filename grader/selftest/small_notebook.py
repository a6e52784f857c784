"""A notebook of two exercises that runs in a moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from grader.lab.site.notebooks import execute, sources

SCRIPT = '''# %% [markdown] lang="en"
# # 0 · Small
#
# The sum of two equal numbers is $x + x = 2x$.

# %% [markdown] lang="zh"
# # 0 · 小
#
# 两个相等的数之和是 $x + x = 2x$。

# %%
from checks import quiet

# %% [markdown] lang="en"
# Write `double`.
#
# Hint: Add it to itself.

# %% [markdown] lang="zh"
# 写出 `double`。
#
# 提示：加上它自己。

# %% nbgrader={"grade_id": "double", "solution": true}
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION

# %% nbgrader={"grade_id": "double_laws", "grade": true, "points": 2}
with quiet():
    assert double(1) == 2, "One and one make two."
    ### BEGIN HIDDEN TESTS
    assert double("ab") == "abab", "Texts double too."
    ### END HIDDEN TESTS

# %% [markdown] lang="en"
# Write `triple`.
#
# Hint: Double it first.
#
# Hint: One more is missing.

# %% [markdown] lang="zh"
# 写出 `triple`。
#
# 提示：先加倍。
#
# 提示：还差一个。

# %% nbgrader={"grade_id": "triple", "solution": true}
def triple(x):
    """Three times x."""
    ### BEGIN SOLUTION
    return x + x + x
    ### END SOLUTION

# %% nbgrader={"grade_id": "triple_laws", "grade": true, "points": 1}
with quiet():
    assert triple(1) == 3, "Three ones make three."
    ### BEGIN HIDDEN TESTS
    assert triple(2) == 6, "Three twos make six."
    ### END HIDDEN TESTS
'''
WORDS = """"Twice x." = "x 的两倍。"
"Three times x." = "x 的三倍。"
"One and one make two." = "一加一等于二。"
"Texts double too." = "文字也能加倍。"
"Three ones make three." = "三个一是三。"
"Three twos make six." = "三个二是六。"
"""
NAME = "0_small"


@contextmanager
def small_walkthrough(folder: Path) -> Iterator[None]:
    """Put the small notebook in the place of the walk-through."""
    folder.mkdir(parents=True)
    write(folder)
    for name in ("checks.py", "title.toml", "references.toml", "preview.png"):
        (folder / name).write_bytes((sources.SOURCES / name).read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SOURCES", folder)
        yield


def write(folder: Path, script: str = SCRIPT, words: str = WORDS) -> Path:
    """Write a script and its table of words; gives the script."""
    path = folder / f"{NAME}.py"
    path.write_text(script, encoding="utf-8")
    path.with_suffix(".toml").write_text(words, encoding="utf-8")
    return path


def reference() -> NotebookNode:
    """The notebook as its author wrote it."""
    return sources.read(sources.scripts()[0], "en")


def blank(notebook: NotebookNode) -> NotebookNode:
    """The notebook as students get it."""
    return execute.cleared(notebook)


def cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """One cell of an exercise."""
    cells: list[NotebookNode] = notebook.cells
    return next(one for one in cells if one.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def executed(folder: Path, language: str, notebook: NotebookNode, name: str = NAME) -> Path:
    """Write a notebook where a build leaves it once it has been run; gives its path."""
    path = folder / language / "executed" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    return path
