"""Library calls are found through aliases, and what is no such call is left alone."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from grader.core.rubric import load_rubric
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.similarity.library import MAX_CHARACTERS, Unparsed, first_of_each, library_use

RUBRIC_PATH = ASSIGNMENT.folder / "rubric.toml"

FIRST, *OTHERS_TASKS = ASSIGNMENT.rubric.tasks
TASKS = (FIRST.model_copy(update={"library": ("Layer", "layer")}), *OTHERS_TASKS)
RUBRIC = ASSIGNMENT.rubric.model_copy(update={"tasks": TASKS})


def names(text: str) -> list[tuple[int, str]]:
    """Where what is used, in a file with that text."""
    return [(use.line, use.name) for use in library_use("src/a.py", text, RUBRIC)]


USES = {
    "a module by its path": ("import torch\nn = torch.nn.Layer(8)", [(2, "Layer")]),
    "a function by its path": ("import torch\ny = torch.layer(x, (8,))", [(2, "layer")]),
    "an alias of a package": ("import torch.nn.functional as Fn\ny = Fn.layer(x)", [(2, "layer")]),
    "an alias of a class, where it gets it": ("from torch.nn import Layer as R\nn = R(8)", [(1, "Layer")]),
    "a star": ("from torch.nn import *\nn = Layer(8)", [(2, "Layer")]),
    "getattr with a literal": ('import torch\ny = getattr(torch, "layer")(x)', [(2, "layer")]),
    "getattr upon getattr": ('import torch\ny = getattr(getattr(torch, "nn"), "Layer")', [(2, "Layer")]),
    "a name for a name": (
        "import torch\nf = g.layer\ng = torch.nn\nh: object = g.functional\ny = h.layer(x)",
        [(2, "layer"), (5, "layer")],
    ),
    "a walrus": ("from torch import nn\nif (m := nn): y = m.Layer(8)", [(2, "Layer")]),
    "import_module": ('import importlib\ny = importlib.import_module("torch.nn").Layer', [(2, "Layer")]),
    "__import__": ('y = __import__("torch.nn").nn.Layer(8)', [(1, "Layer")]),
    "a base class": ("from torch import nn\nclass E(nn.Layer): pass", [(2, "Layer")]),
    "an overload of an operator": ("import torch\ny = torch.ops.aten.layer.default(x)", [(2, "layer")]),
    "an alternative constructor": ("from torch import nn\ne = nn.Layer.from_pretrained(t)", [(2, "Layer")]),
    "what is kept in an object": ("import torch\nself.nn = torch.nn\nself.nn.Layer(8)", [(3, "Layer")]),
    "a path of any length": ("import torch\ntorch.a.b.c.d.e.f.g.h.i.Layer", [(2, "Layer")]),
    "one beside a function of one's own": (
        "def layer(x):\n    return torch.nn.functional.layer(x)",
        [(2, "layer")],
    ),
    "another library": ("import transformers.models.llama as m", [(1, "transformers.models.llama")]),
    "a part of another library": ("from torchtune.modules import Rotary", [(1, "torchtune.modules")]),
    "another library by a literal": ('m = __import__("einops")', [(1, "einops")]),
    "the course's own solution": ("from ref.swiglu import SwiGLU", [(1, "ref.swiglu")]),
}


@pytest.mark.parametrize(("text", "expected"), USES.values(), ids=USES)
def test_a_library_call_is_found(text: str, expected: list[tuple[int, str]]) -> None:
    assert names(text) == expected


OTHERS = {
    "a class of one's own": "class Layer: pass\nn = Layer()",
    "a class of one's own beside a star": "from torch.nn import *\nclass Layer(Module): pass\nn = Layer()",
    "a method of one's own": "self.layer(x)",
    "a function of one's own in another file": "from . import a\nfrom src import b\na.layer(x)\nb.layer(x)",
    "a name that is assigned": "layer = 3\ndef f(Layer):\n    return Layer * layer",
    "the function that looks up rows": "from torch.nn import functional as F\nF.embedding(ids, table)",
    "a name in a text": 'text = "torch.nn.Layer"  # torch.layer',
    "a computed name": "import torch\ngetattr(torch, name)\ngetattr(torch)\ngetattr(torch, 3)",
    "Python's own library": "import math, importlib\nfrom functools import cache\nm = importlib.import_module('math')",
    "one's own files": "from .a import Layer\nfrom . import Layer\nfrom src.a import rms\nfrom .x import *",
    "a call of nothing": "(lambda: 1)()\nx[0]()\n__import__()\n__import__(name)",
    "an annotation": "import torch\nx: torch.Tensor\na.b: int = 3",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_is_no_library_call_is_left_alone(text: str) -> None:
    assert names(text) == []


def test_a_finding_says_where_and_which_task() -> None:
    (use,) = library_use("src/attention.py", "import torch\n\n  \nn = torch.nn.Layer(8)  # short\n", RUBRIC)
    assert (use.path, use.line, use.task, use.code) == (
        "src/attention.py",
        4,
        "task1",
        "n = torch.nn.Layer(8)  # short",
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


def test_very_many_imports_from_one_long_name_stay_small() -> None:
    """Each name with the module before it would take 160 MB."""
    text = f"from {'m' * 40_000} import {','.join(['a'] * 4_000)}"
    tracemalloc.start()
    library_use("a.py", text, ASSIGNMENT.rubric)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


def test_a_strange_escape_is_no_warning() -> None:
    assert names('x = "\\d"\ny = 1is 2') == []


def test_thousands_of_imports_are_one_place_and_calls_for_a_task_another() -> None:
    imports = "".join(f"import lib{n}\n" for n in range(3000))
    found = first_of_each(
        library_use("src/a.py", f"{imports}import torch\na = b = torch.nn.Layer\nc = torch.nn.Layer", RUBRIC)
    )
    assert [(use.line, use.name, use.more) for use in found] == [(1, "lib0", 2999), (3002, "Layer", 1)]
