"""Decorators that turn a function or class into a whole submission.

A submission is the text of ``ref/`` under the name ``src/``. A variant appends its source to the file of the piece that
it replaces, with one assignment that replaces it::

    @wrong("Layer.forward", breaks="layer_scale", hint="scale_forgotten")
    def forgets_the_scale(self, input): ...

So the body sees only what the target file imports (``torch``, ``Tensor``, ``nn`` and the names defined there), and
imports everything else itself. A decorated class replaces the whole piece; it may derive from the piece.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from grader.core.assignment import Assignment
from grader.core.rubric import Rubric

CLAIM: Final = "__variant_claim__"

Code = Callable[..., Any]  # a function, or a class
CodeT = TypeVar("CodeT", bound=Code)


@dataclass(frozen=True)
class Variant:
    """A submission, and the result that it should get.

    Attributes:
        name: A unique name, such as ``wrong.layer.forgets_the_scale``.
        piece: The class or function that differs from ``ref/``, one of the rubric's names.
        valid: Whether the piece meets its contract, so that the submission must keep all points.
        files: The whole submission, from path to text.
        breaks: Ids of the rubric's properties that must lose their points; empty if valid.
        also: Ids of further properties that may lose their points, because the fault affects them, too.
        hint: Ids of the misconceptions that the feedback should name, separated by spaces; empty where the rubric has
            none that fits.
        description: What is wrong, or why it is valid, in one line.
    """

    name: str
    piece: str
    valid: bool
    files: Mapping[str, str] = field(repr=False)
    breaks: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    hint: str = ""
    description: str = ""

    @property
    def hints(self) -> frozenset[str]:
        """The ids in ``hint``."""
        return frozenset(self.hint.split())


def wrong(
    target: str, *, breaks: str, also: str = "", hint: str = "", over: type | None = None
) -> Callable[[CodeT], CodeT]:
    """Mark a faulty replacement.

    Args:
        target: The piece that it replaces, ``Piece`` or ``Piece.attribute``.
        breaks: Ids of the properties that must lose their points, separated by spaces.
        also: Ids of further properties that may lose their points, separated by spaces.
        hint: Ids of the misconceptions that the replacement is an example of, separated by spaces.
        over: A class of ``bases`` that replaces the piece first, so that ``target`` can name a method of that class.
    """
    broken = frozenset(breaks.split())
    more = frozenset(also.split()) - broken
    return marked(CLAIM, (target, over, {}, {"valid": False, "breaks": broken, "also": more, "hint": hint}))


def valid(
    target: str, *, over: type | None = None, helpers: Mapping[str, Code] | None = None
) -> Callable[[CodeT], CodeT]:
    """Mark a replacement that meets the contract; see :func:`wrong`.

    ``helpers`` are functions that are put into files of their own, by the path of the file.
    """
    return marked(CLAIM, (target, over, helpers or {}, {"valid": True}))


def variants_of(assignment: Assignment) -> tuple[Variant, ...]:
    """Every variant in the assignment's packages ``variants.wrong`` and ``variants.valid``, in the order of files.

    Wrong ones may be made of slips, too, by ``from_slips()`` of ``variants``.
    """
    base = assignment.solution()
    found = [
        _variant(f"{kind}.{topic}", code, claim, base, assignment.rubric)
        for kind in ("wrong", "valid")
        for topic, code, claim in claimed(assignment.part(f"corpus.variants.{kind}"), CLAIM)
    ]
    found += getattr(assignment.part("corpus.variants"), "from_slips", list)()
    return tuple(sorted(found, key=lambda variant: (variant.valid, variant.name.split(".")[1])))


def marked(name: str, claim: object) -> Callable[[CodeT], CodeT]:
    """A decorator that keeps a claim as an attribute of the code."""

    def mark(code: CodeT) -> CodeT:
        setattr(code, name, claim)
        return code

    return mark


def claimed(package: ModuleType, mark: str) -> Iterator[tuple[str, Code, Any]]:
    """The functions and classes in a package that have the attribute ``mark``, as (file name, code, attribute)."""
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for code in vars(module).values():
            claim = getattr(code, "__dict__", {}).get(mark)  # its own attribute, not one that it inherits
            if claim is not None:
                yield info.name, code, claim


def _variant(prefix: str, code: Code, claim: Any, base: Mapping[str, str], rubric: Rubric) -> Variant:
    target, over, helpers, expected = claim
    piece = target.partition(".")[0]
    home = rubric.file_of(piece)
    files = {**base, **{path: f"import torch\n\n\n{source_of(helper)}" for path, helper in helpers.items()}}
    for replaced, replacement in ((piece, over), (target, code)):
        if replacement is not None:
            files[home] += f"\n\n{source_of(replacement)}\n\n{replaced} = {replacement.__name__}\n"
    name = f"{prefix}.{re.sub('(?<!^)(?=[A-Z])', '_', code.__name__).lower()}"
    description = (inspect.getdoc(code) or "").partition("\n")[0]
    return Variant(name, piece, files=files, description=description, **expected)


def source_of(code: Code) -> str:
    """The source of a function or class, from its ``def`` or ``class`` line on."""
    return _definitions(Path(inspect.getfile(code)))[code.__name__]


@cache  # inspect.getsource would go through the file again for each of hundreds of variants
def _definitions(path: Path) -> dict[str, str]:
    """The source of each function and class of a file that is no part of another, without its decorators."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    return {
        node.name: "".join(lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
