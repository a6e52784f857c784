"""What a file defines is read from its syntax tree: comments define nothing, a star import perhaps all."""

from __future__ import annotations

import pytest

from grader.core.intake.layout import STUB, defined, lacking
from grader.shared.source_rules import LONGEST_PARSED

DEFINES_NORM = {
    "class": "class Norm: ...\n",
    "function": "async def Norm(): ...\n",
    "assignment": "Norm: type = make()\n",
    "several": "Other, (Norm, *_) = make()\n",
    "condition": "try:\n    from ._fast import Norm\nexcept ImportError:\n    if True:\n        class Norm: ...\n",
    "loop": "for Norm in (): ...\n",
    "besides a comprehension": "Norm = [Norm for Norm in ()]\n",
    "class besides a comprehension": "class Norm: ...\nmore = {Norm for Norm in ()}\n",
    "global": "def make():\n    global Norm\n    Norm = 1\nmake()\n",
}
MAY_DEFINE_NORM = {
    "import": "from ._norm import Norm\n",
    "alias": "import torch as Norm\n",
    "star": "from ._vocab.whole import *\n",
    "getattr": "def __getattr__(name): return make(name)\n",
    "globals": "globals().update(made())\n",
    "exec": "exec(text)\n",
    "another module": "import sys\nsys.modules[__name__] = made()\n",
}
NO_NORM = {
    "comment": "# class Norm\n",
    "string": '"""class Norm: ..."""\n',
    "use": "print(Norm)\n",
    "method": "class Other:\n    def Norm(self): ...\n",
    "local": "def make():\n    Norm = 1\n    return [Norm for Norm in ()]\n",
    "longer name": "class NormOfMine: ...\n",
    "comprehension": "names = [Norm for Other, (Norm, *_) in ()]\n",  # which Python 3.12 runs within its module
}


@pytest.mark.parametrize("text", DEFINES_NORM.values(), ids=DEFINES_NORM)
def test_whatever_binds_a_name_at_the_top_level_defines_it(text: str) -> None:
    assert defined(text, ["Norm", "Other_"]) == ["Norm"]
    assert lacking(text, ["Norm", "Other_"]) is None


@pytest.mark.parametrize("text", MAY_DEFINE_NORM.values(), ids=MAY_DEFINE_NORM)
def test_a_file_that_passes_a_name_on_or_may_do_so_neither_lacks_nor_makes_it(text: str) -> None:
    assert defined(text, ["Norm"]) == []
    assert lacking(text, ["Norm"]) is None


@pytest.mark.parametrize("text", NO_NORM.values(), ids=NO_NORM)
def test_a_mention_is_no_definition(text: str) -> None:
    assert defined(text, ["Norm"]) == []
    assert lacking(text, ["Norm", "Other_"]) == "{path} does not define Norm or Other_"


def test_only_a_statement_that_raises_makes_a_stub() -> None:
    assert (
        lacking("class Norm:\n    def forward(self):\n        raise NotImplementedError('Task 1')\n", ["Norm"]) == STUB
    )
    assert lacking("class Norm:\n    '''Raises NotImplementedError without CUDA.'''\n", ["Norm"]) is None


@pytest.mark.parametrize("rest", ["def (", "\0", "x = '\\d'\n" + "#" * LONGEST_PARSED], ids=["syntax", "nul", "long"])
def test_without_a_tree_the_text_is_searched(rest: str) -> None:
    assert defined(f"class Norm: ...\n{rest}", ["Norm"]) == ["Norm"]
    assert lacking(f"class Norm: ...\n{rest}", ["Norm"]) is None
    assert lacking(rest, ["Norm"]) == "{path} does not define Norm"
