"""The same code in other files: packages, helpers, imports, encodings, line ends, and what people leave behind.

A style takes the text of the submission's files, by path, and returns text or bytes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Final

Files = dict[str, str]
FileStyle = Callable[[Files], dict[str, str | bytes]]

NORM, VOCAB, ROPE = (f"src/modeling/{name}.py" for name in ("norm", "vocab_emb", "pos_emb"))
ROTATION, PACKAGE, ROOT = "src/functional.py", "src/modeling/__init__.py", "src/__init__.py"
NAMES: Final = {
    NORM: ("GroupRMSNorm",),
    VOCAB: ("VocabEmbedding", "ParallelVocabEmbedding"),
    ROPE: ("NTKAwareRoPE",),
    ROTATION: ("apply_rotary_pos_emb",),
}
FUTURE: Final = "from __future__ import annotations\n\n"

STYLES: dict[str, FileStyle] = {}


def style(function: FileStyle) -> FileStyle:
    """Add a function to ``STYLES``, under its name."""
    STYLES[function.__name__.replace("_", " ")] = function
    return function


def each(files: Files, change: Callable[[str], str]) -> dict[str, str | bytes]:
    """The files with the text of the four that count changed."""
    return {path: change(text) if path in NAMES else text for path, text in files.items()}


def before(files: Files, text: str, after: str = "") -> dict[str, str | bytes]:
    """The files with ``text`` before the code of the four that count, and ``after`` behind it."""
    return each(files, lambda code: f"{text}{code}{after}")


def moved(files: Files, path: str, to: str, reference: str) -> Files:
    """The files with one of them moved to ``to``; where it was, ``reference`` brings its names back."""
    text = files[path].replace("from ..functional", "from src.functional").replace("from .. import", "from src import")
    return {**files, to: text, path: reference}


@style
def plain(files: Files) -> dict[str, str | bytes]:  # noqa: D103 - the names of these functions say it
    return {**files}


@style
def windows(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {path: text.replace("\n", "\r\n").encode() for path, text in files.items()}


@style
def byte_order_mark(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {path: b"\xef\xbb\xbf" + text.encode() for path, text in files.items()}


@style
def tabs(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return each(files, lambda text: re.sub("^(    )+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.M))


@style
def gbk(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {path: f"# -*- coding: gbk -*-\n# 作业二：归一化与嵌入\n{text}".encode("gbk") for path, text in files.items()}


@style
def coding_line(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return before(files, "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# vim: set ts=4 :\n")


@style
def other_scripts(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return before(files, "# 先归一化，再嵌入 —— naïve, à revoir ✓ 🚀\nπ = 3.14159\nбаза: int = 10_000\n")


@style
def main_block(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return before(files, "", '\n\nif __name__ == "__main__":\n    import sys\n\n    print(torch.__version__)\n    sys.exit(0)\n')


@style
def leftover_tests(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return before(files, "", "\n\ndef test_it():\n    assert torch.ones(2).sum() == 2\n\n\ntests = [test_it]\ntest_it()\n")


@style
def prints_and_logs(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    noise = 'import logging\nimport sys\nimport warnings\n\nlog = logging.getLogger(__name__)\nlog.warning("loaded %s", __file__)\n'
    noise += 'print("hello", __name__)\nprint("psst", file=sys.stderr)\nwarnings.warn("work in progress")\n'
    talk = '\\1print("in", input.shape, flush=True)\n\\1log.info("%s", input.dtype)\n\\1'
    return each(files, lambda text: noise + re.sub(r"^( +)(?=gz, eps =|seq_len = input)", talk, text, flags=re.M))


@style
def unused_imports(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    names = ("abc", "collections", "copy", "doctest", "json", "os", "pdb", "pprint", "random", "sys", "time", "unittest")
    return before(files, "".join(f"import {name}\n" for name in names) + "from typing import *\nfrom math import *\n")


@style
def exported(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {path: f"{text}\n\n__all__ = {list(NAMES.get(path, ()))}\n" for path, text in files.items() if path in NAMES} | {
        PACKAGE: "from .norm import *\nfrom .vocab_emb import *\nfrom .pos_emb import *\n",
        ROOT: "from .functional import *\nfrom .modeling import *\n",
    }


@style
def future_annotations(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    lines = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from collections.abc import Sequence\n\n\n"
    return before(files, f'"""My solution."""\n\n{FUTURE}{lines}', "\n\ndef mean(xs: Sequence[float]) -> float:\n    return sum(xs) / len(xs)\n")


@style
def seeds_and_constants(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    lines = "import random\n\nimport torch\n\nSEED, EPS, BASE = 42, 1e-5, 10000\nDEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
    return before(files, lines + "random.seed(SEED)\ntorch.manual_seed(SEED)\nDTYPES = {torch.float16, torch.bfloat16}\n\n")


@style
def no_comments(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return each(files, lambda text: ast.unparse(ast.parse(text)))


@style
def untidy(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return each(files, lambda text: "\n\n\f\n" + re.sub("^( +return .*)$", "\\1 ;  ", text, flags=re.M).rstrip() + "  # end")


@style
def empty_packages(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {**files, PACKAGE: "", ROOT: ""}


@style
def no_packages(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    return {path: text for path, text in files.items() if path in NAMES}


@style
def one_file(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    imports = re.compile(r"^(from \.\.functional import|from src\.functional import|from \.\. import|import src\.).*\n", re.M)
    aliases = "from src.functional import apply_rotary_pos_emb\nfrom src.functional import apply_rotary_pos_emb as rotate\nimport src.functional\nfrom src import functional\n"
    layers = aliases + "\n\n".join(imports.sub("", files[path]) for path in (NORM, VOCAB, ROPE))
    return {**files, "src/modeling/layers.py": layers} | {
        path: f"from .layers import {', '.join(NAMES[path])}\n" for path in (NORM, VOCAB, ROPE)
    }


@style
def one_module_for_all(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    norm = files[NORM] + "\n\n" + files[VOCAB]
    return {**files, NORM: norm, VOCAB: "from . import norm\n\nVocabEmbedding = norm.VocabEmbedding\nParallelVocabEmbedding = norm.ParallelVocabEmbedding\n"}


@style
def private_modules(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    files = moved(files, NORM, "src/modeling/_norm.py", "from ._norm import GroupRMSNorm as GroupRMSNorm  # noqa\n")
    files = moved(files, ROPE, "src/impl/rope.py", "from ..impl.rope import *\n")
    return {**moved(files, VOCAB, "src/impl/rows/emb.py", "from src.impl.rows.emb import ParallelVocabEmbedding, VocabEmbedding\n")}


@style
def packages_of_layers(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    files = moved(files, NORM, "src/modeling/layers/norm.py", "from .layers import GroupRMSNorm\n")
    files = moved(files, VOCAB, "src/modeling/layers/vocab.py", "from .layers import VocabEmbedding, ParallelVocabEmbedding\n")
    names = "from .norm import GroupRMSNorm\nfrom .vocab import VocabEmbedding, ParallelVocabEmbedding\n\n__all__ = [n for n in dir() if n[0] != '_']\n"
    return {**files, "src/modeling/layers/__init__.py": names}


@style
def subclassed(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    shell = "from . import _norm\n\n\nclass GroupRMSNorm(_norm.GroupRMSNorm):\n    \"\"\"See _norm.\"\"\"\n"
    return {**moved(files, NORM, "src/modeling/_norm.py", shell)}


@style
def renamed(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    text = files[NORM].replace("GroupRMSNorm", "GroupedNorm").replace("normalise", "нормировать")
    return {**files, NORM: f"{text}\n\nGroupRMSNorm: type = GroupedNorm\n"}


@style
def fallbacks(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    text = "try:\n    import apex_of_nowhere\nexcept ImportError:\n    apex_of_nowhere = None\n\ntry:\n    from .helpers import *\nexcept ImportError:\n    pass\n\n"
    return before(files, text, '\n\nif apex_of_nowhere is not None:\n    raise RuntimeError("unexpected")\n')


@style
def own_vocabulary(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    kit = """
import contextvars
import dataclasses
import enum
import inspect
import typing

DEPTH: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=0)


class Mode(enum.Enum):
    PLAIN = enum.auto()


class Layer(typing.Protocol):
    def forward(self, input): ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    arguments: dict = dataclasses.field(default_factory=dict)
    mode: Mode = Mode.PLAIN


class Trace(typing.NamedTuple):
    name: str
    depth: int


def configured(cls: type[Layer]) -> type[Layer]:
    build, names = cls.__init__, [*inspect.signature(cls.__init__).parameters][1:]

    def __init__(self, *args, **kwargs):
        token = DEPTH.set(DEPTH.get() + 1)
        try:
            object.__setattr__(self, "config", Config(arguments={**dict(zip(names, args)), **kwargs}))
            object.__setattr__(self, "trace", Trace(name=cls.__name__, depth=DEPTH.get()))
            build(self, *args, **kwargs)
        finally:
            DEPTH.reset(token)

    cls.__init__ = __init__
    return cls
"""
    decorated = "from src.utils import configured\n\n"
    changed = each(files, lambda text: decorated + re.sub("^class (Group|Vocab|NTK)", "@configured\nclass \\1", text, flags=re.M))
    return {**changed, "src/utils/__init__.py": "from .kit import configured as configured\n", "src/utils/kit.py": kit}


@style
def helpers_elsewhere(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    text = files[NORM]
    start, end = text.index("\ndef normalise("), text.index("\nclass GroupRMSNorm(")
    head, helper = text[: text.index("\nimport") if False else start], text[start:end]
    helpers = {"src/ops/__init__.py": "", "src/ops/norms.py": head + helper}
    return {**files, **helpers, NORM: f"{head}\nfrom ..ops import norms\n\nnormalise = norms.normalise\n{text[end:]}"}


@style
def late_helpers(files: Files) -> dict[str, str | bytes]:  # noqa: D103
    changed = {**moved(files, ROTATION, "src/kernels/rotary.py", "")}
    return changed | {
        ROTATION: "def apply_rotary_pos_emb(input, cos, sin):\n    from .kernels import rotary\n\n    return rotary.apply_rotary_pos_emb(input, cos, sin)\n"
    }
