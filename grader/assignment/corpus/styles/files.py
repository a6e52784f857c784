"""The same code in other files: packages, helpers, imports, encodings, line ends, and what people leave behind.

A style takes the text of the submission's files, by path, and returns text or bytes. ``STYLES`` has them all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from .axes import table

Files = dict[str, str]
Laid = dict[str, str | bytes]

TEXTS: Final = table("files")
NORM, VOCAB, ROPE = (f"src/modeling/{name}.py" for name in ("norm", "vocab_emb", "pos_emb"))
ROTATION, PACKAGE, ROOT = "src/functional.py", "src/modeling/__init__.py", "src/__init__.py"
NAMES: Final = {
    NORM: "GroupRMSNorm",
    VOCAB: "VocabEmbedding, ParallelVocabEmbedding",
    ROPE: "NTKAwareRoPE",
    ROTATION: "apply_rotary_pos_emb",
}
NAMED: Final = "".join(f"from .{path[13:-3]} import {NAMES[path]}\n" for path in (NORM, VOCAB, ROPE))


def each(change: Callable[[str], str], files: Files) -> Laid:
    """The files with the text of the four that count changed."""
    return {path: change(text) if path in NAMES else text for path, text in files.items()}


def moved(files: Files, path: str, to: str, reference: str) -> Files:
    """The files with one of them moved to ``to``; where it was, ``reference`` brings its names back."""
    text = files[path].replace("from ..functional", "from src.functional").replace("from .. import", "from src import")
    return {**files, to: text, path: reference}


def around(texts: Mapping[str, str], files: Files) -> Laid:
    """Text before and behind the code of every file."""
    return each(lambda code: f"{texts.get('before', '')}{code}{texts.get('after', '')}", files)


def untidy(text: str) -> str:
    return "\n\f\n" + re.sub("^( +return .*)$", "\\1 ;  ", text, flags=re.M).rstrip() + "  # end"


def prints(text: str) -> str:
    talk = '\\1print("in", input.shape, flush=True)\n\\1assert input is not None\n\\1'
    return re.sub(r"^( +)(?=gz, eps =|seq_len = input)", talk, text, flags=re.M)


def exported(files: Files) -> Laid:
    stars = {path: f"{text}\n\n__all__ = {NAMES[path].split(', ')}\n" for path, text in files.items() if path in NAMES}
    package = "".join(f"from .{name} import *\n" for name in ("norm", "vocab_emb", "pos_emb"))
    return {**stars, PACKAGE: package, ROOT: "from .functional import *\nfrom .modeling import *\n"}


def one_file(files: Files) -> Laid:
    layers = "\n\n".join(files[path] for path in (NORM, VOCAB, ROPE))
    names = {path: f"from .layers import {NAMES[path]}\n" for path in (NORM, VOCAB, ROPE)}
    return {**files, "src/modeling/layers.py": layers, **names}


def two_in_one(files: Files) -> Laid:
    rows = "from . import norm\n\nVocabEmbedding = norm.VocabEmbedding\n"
    rows += "ParallelVocabEmbedding = getattr(norm, 'ParallelVocabEmbedding')\n"
    return {**files, NORM: f"{files[NORM]}\n\n{files[VOCAB]}", VOCAB: rows}


def private_modules(files: Files) -> Laid:
    files = moved(files, NORM, "src/modeling/_norm.py", "from ._norm import GroupRMSNorm as GroupRMSNorm\n")
    files = moved(files, ROPE, "src/impl/rope.py", "from ..impl.rope import *\n")
    return {**moved(files, VOCAB, "src/impl/rows/emb.py", f"from src.impl.rows.emb import {NAMES[VOCAB]}\n")}


def packages_of_layers(files: Files) -> Laid:
    files = moved(files, NORM, "src/modeling/layers/norm.py", f"from .layers import {NAMES[NORM]}\n")
    files = moved(files, VOCAB, "src/modeling/layers/vocab.py", f"from .layers import {NAMES[VOCAB]}\n")
    names = f"from .norm import {NAMES[NORM]}\nfrom .vocab import {NAMES[VOCAB]}\n\n__all__ = [n for n in dir() if n[0] != '_']\n"
    return {**files, "src/modeling/layers/__init__.py": names}


def subclassed(files: Files) -> Laid:
    shell = 'from . import _norm\n\n\nclass GroupRMSNorm(_norm.GroupRMSNorm):\n    """See _norm."""\n'
    return {**moved(files, NORM, "src/modeling/_norm.py", shell)}


def renamed(files: Files) -> Laid:
    text = files[NORM].replace("GroupRMSNorm", "GroupedNorm").replace("normalise", "нормировать")
    return {**files, NORM: f"{text}\n\nGroupRMSNorm: type = GroupedNorm\n"}


def helpers_elsewhere(files: Files) -> Laid:
    head, normalise, rest = re.split(r"(?=^def normalise|^class GroupRMSNorm)", files[NORM], flags=re.M)
    helpers = {"src/ops/__init__.py": "", "src/ops/norms.py": head + normalise}
    return {**files, **helpers, NORM: f"{head}\nfrom ..ops import norms\n\nnormalise = norms.normalise\n\n\n{rest}"}


def late_helpers(files: Files) -> Laid:
    late = "def apply_rotary_pos_emb(input, cos, sin):\n    from .kernels import rotary\n\n"
    late += "    return rotary.apply_rotary_pos_emb(input, cos, sin)\n"
    return {**moved(files, ROTATION, "src/kernels/rotary.py", late)}


def decorated_classes(files: Files) -> Laid:
    decorator = "from src.utils import configured\n\n"
    classes = re.compile("^(?=class (?:Group|Vocab|Parallel|NTK))", re.M)
    utils = {"src/utils/__init__.py": "from .kit import configured as configured\n", "src/utils/kit.py": TEXTS["kit"]}
    return {**each(lambda text: decorator + classes.sub("@configured\n", text), files), **utils}


STYLES: Final[dict[str, Callable[[Files], Laid]]] = {
    **{name: partial(around, texts) for name, texts in TEXTS["around"].items()},
    "windows": lambda files: {path: text.replace("\n", "\r\n").encode() for path, text in files.items()},
    "byte order mark": lambda files: {path: b"\xef\xbb\xbf" + text.encode() for path, text in files.items()},
    "gbk": lambda files: {path: f"# -*- coding: gbk -*-\n# 作业二\n{files[path]}".encode("gbk") for path in files},
    "tabs": partial(each, lambda text: re.sub("^(    )+", lambda one: "\t" * (len(one[0]) // 4), text, flags=re.M)),
    "no comments": partial(each, lambda text: ast.unparse(ast.parse(text))),
    "untidy": partial(each, untidy),
    "prints": partial(each, prints),
    "exported": exported,
    "empty packages": lambda files: {**files, PACKAGE: "", ROOT: ""},
    "no packages": lambda files: {path: files[path] for path in NAMES},
    "one file": one_file,
    "two in one": two_in_one,
    "private modules": private_modules,
    "packages of layers": packages_of_layers,
    "subclassed": subclassed,
    "renamed": renamed,
    "helpers elsewhere": helpers_elsewhere,
    "late helpers": late_helpers,
    "decorated classes": decorated_classes,
}
