"""Library calls are found through aliases, and what is no such call is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.assignment import RUBRIC_PATH, load_rubric
from grader.grading import reference_files
from grader.selftest.submissions import stubs
from grader.selftest.variants import all_variants
from grader.similarity.code import MAX_CHARACTERS
from grader.similarity.library import Unparsed, library_use

RUBRIC = load_rubric()


def names(text: str) -> list[tuple[int, str]]:
    """Where what is used, in a file with that text."""
    return [(use.line, use.name) for use in library_use("src/a.py", text, RUBRIC)]


USES = {
    "a module by its path": ("import torch\nn = torch.nn.RMSNorm(8)", [(2, "torch.nn.RMSNorm")]),
    "a function by its path": ("import torch\ny = torch.rms_norm(x, (8,))", [(2, "torch.rms_norm")]),
    "an alias of a package": (
        "import torch.nn.functional as Fn\ny = Fn.rms_norm(x)",
        [(2, "torch.nn.functional.rms_norm")],
    ),
    "a package imported by its path": ("import torch.nn\ny = torch.nn.RMSNorm", [(2, "torch.nn.RMSNorm")]),
    "an alias of a class": (
        "from torch.nn import RMSNorm as R\nn = R(8)",
        [(1, "torch.nn.RMSNorm"), (2, "torch.nn.RMSNorm")],
    ),
    "a star": ("from torch.nn import *\nn = RMSNorm(8)", [(2, "torch.nn.RMSNorm")]),
    "getattr with a literal": ('import torch\ny = getattr(torch, "rms_norm")(x)', [(2, "torch.rms_norm")]),
    "getattr upon getattr": ('import torch\ny = getattr(getattr(torch, "nn"), "RMSNorm")', [(2, "torch.nn.RMSNorm")]),
    "a name for a name": (
        "import torch\nf = g.rms_norm\ng = torch.nn\nh: object = g.functional\ny = h.rms_norm(x)",
        [(2, "torch.nn.rms_norm"), (5, "torch.nn.functional.rms_norm")],
    ),
    "a walrus": ("from torch import nn\nif (m := nn): y = m.RMSNorm(8)", [(2, "torch.nn.RMSNorm")]),
    "import_module": (
        'import importlib\ny = importlib.import_module("torch.nn").RMSNorm',
        [(2, "torch.nn.RMSNorm")],
    ),
    "__import__": ('y = __import__("torch.nn").nn.RMSNorm(8)', [(1, "torch.nn.RMSNorm")]),
    "a base class": ("from torch import nn\nclass E(nn.Embedding): pass", [(2, "torch.nn.Embedding")]),
    "an overload of an operator": (
        "import torch\ny = torch.ops.aten.rms_norm.default(x)",
        [(2, "torch.ops.aten.rms_norm")],
    ),
    "an alternative constructor": (
        "from torch import nn\ne = nn.Embedding.from_pretrained(t)",
        [(2, "torch.nn.Embedding")],
    ),
    "another library": ("import transformers.models.llama as m", [(1, "transformers.models.llama")]),
    "a part of another library": ("from torchtune.modules import Rotary", [(1, "torchtune.modules")]),
    "another library by a literal": ('m = __import__("einops")', [(1, "einops")]),
    "the course's own solution": ("from ref.modeling.norm import GroupRMSNorm", [(1, "ref.modeling.norm")]),
}


@pytest.mark.parametrize(("text", "expected"), USES.values(), ids=USES)
def test_a_library_call_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert names(text) == expected


OTHERS = {
    "a class of one's own": "class RMSNorm: pass\nn = RMSNorm()",
    "a class of one's own beside a star": "from torch.nn import *\nclass RMSNorm(Module): pass\nn = RMSNorm()",
    "a method of one's own": "self.rms_norm(x)\nself.norm.RMSNorm()",
    "somebody else's attribute": "import math\nmath.rms_norm(x)",
    "the function that looks up rows": "from torch.nn import functional as F\nF.embedding(ids, table)",
    "a name in a text": 'text = "torch.nn.RMSNorm"  # torch.rms_norm',
    "a computed name": "import torch\ngetattr(torch, name)\ngetattr(torch)\ngetattr(torch, 3)",
    "Python's own library": "import math, importlib\nfrom functools import cache\nm = importlib.import_module('math')",
    "one's own files": "from .a import RMSNorm\nfrom . import RMSNorm\nfrom src.a import rms\nfrom .x import *",
    "a call of nothing": "(lambda: 1)()\nx[0]()\n__import__()\n__import__(name)",
    "what is kept in an object": "import torch\nself.nn = torch.nn\nself.nn.RMSNorm(8)",
    "an annotation": "import torch\nx: torch.Tensor\na.b: int = 3",
    "a name that is too long": "import torch\ntorch.a.b.c.d.e.f.g.h.i.RMSNorm",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_library_call_is_left_alone(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize("files", [reference_files(), stubs()], ids=["reference", "stubs"])
def test_reference_and_stubs_use_no_library_for_a_task(files: dict[str, str]) -> None:
    assert [use for path, text in files.items() for use in library_use(path, text, RUBRIC)] == []


def test_variants_that_lean_on_a_library_are_found_and_no_others() -> None:
    found = {
        variant.name
        for variant in all_variants()
        if any(library_use(path, text, RUBRIC) for path, text in variant.files.items())
    }
    spelled = re.compile(r"\bnn\.(?:RMSNorm|Embedding|functional\.rms_norm)[()]")  # as variants do, without aliases
    assert found == {v.name for v in all_variants() if any(map(spelled.search, v.files.values()))}
    assert any("library_rms_norm_on_groups" in name for name in found)


def test_a_finding_says_where_and_which_task() -> None:
    (use,) = library_use("src/modeling/norm.py", "import torch\n\n  \nn = torch.nn.RMSNorm(8)  # short\n", RUBRIC)
    assert (use.path, use.line, use.task, use.code) == (
        "src/modeling/norm.py",
        4,
        "task1",
        "n = torch.nn.RMSNorm(8)  # short",
    )
    (foreign,) = library_use("src/a.py", "import einops" + " " * 300 + "# far away", RUBRIC)
    assert foreign.task == ""
    assert foreign.code == "import einops" + " " * 107


def test_what_the_rubric_lists_counts(tmp_path: Path) -> None:
    text = RUBRIC_PATH.read_text(encoding="utf-8").replace('["torch"]', '["torch", "einops"]')
    (tmp_path / "rubric.toml").write_text(text, encoding="utf-8")
    assert library_use("src/a.py", "import einops", load_rubric(tmp_path / "rubric.toml")) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:", "syntax error in line 1"),
        ("x = " + "-" * 90_000 + "1", "nested too deeply"),
        ("x = 1\0", "null bytes|syntax error"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("x = 1\n" * MAX_CHARACTERS, "600000 characters"),
    ],
    ids=["syntax", "depth", "NUL", "surrogate", "length"],
)
def test_what_has_no_syntax_tree_is_said(text: str, reason: str) -> None:
    with pytest.raises(Unparsed, match=reason):
        library_use("src/a.py", text, RUBRIC)


def test_a_strange_escape_is_no_warning() -> None:
    assert names('x = "\\d"\ny = 1is 2') == []
