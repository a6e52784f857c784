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
        breaks: Ids of the rubric's properties that must lose their points; empty if valid.
        also: Ids of further properties that may lose their points, because the fault affects them, too.
        hint: Id of the misconception that the feedback should name, or ids with spaces between, where several
            properties break; None where the rubric has none that fits.
        description: What is wrong, or why it is valid, in one line.
        files: The whole submission, from path to text.
    """

    name: str
    piece: str
    valid: bool
    breaks: frozenset[str]
    also: frozenset[str]
    hint: str | None
    description: str
    files: Mapping[str, str] = field(repr=False)

    @property
    def hints(self) -> frozenset[str]:
        """The ids in ``hint``."""
        return frozenset((self.hint or "").split())


@dataclass(frozen=True)
class _Claim:
    """The arguments of a decorator, kept as an attribute of the code below it."""

    target: str  # "Piece" or "Piece.attribute"
    valid: bool
    breaks: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    hint: str | None = None
    over: type | None = None
    helpers: Mapping[str, Code] = field(default_factory=dict)


def wrong(
    target: str, *, breaks: str, also: str = "", hint: str | None = None, over: type | None = None
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
    return marked(CLAIM, _Claim(target, False, broken, frozenset(also.split()) - broken, hint, over))


def valid(
    target: str, *, over: type | None = None, helpers: Mapping[str, Code] | None = None
) -> Callable[[CodeT], CodeT]:
    """Mark a replacement that meets the contract; see :func:`wrong`.

    ``helpers`` are functions that are put into files of their own, by the path of the file.
    """
    return marked(CLAIM, _Claim(target, True, over=over, helpers=helpers or {}))


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


def _variant(prefix: str, code: Code, claim: _Claim, base: Mapping[str, str], rubric: Rubric) -> Variant:
    piece = claim.target.partition(".")[0]
    home = rubric.file_of(piece)
    files = dict(base)
    for path, helper in claim.helpers.items():
        files[path] = f"import torch\n\n\n{source_of(helper)}"
    for replaced, replacement in ((piece, claim.over), (claim.target, code)):
        if replacement is not None:
            files[home] += f"\n\n{source_of(replacement)}\n\n{replaced} = {replacement.__name__}\n"
    return Variant(
        name=f"{prefix}.{re.sub('(?<!^)(?=[A-Z])', '_', code.__name__).lower()}",
        piece=piece,
        valid=claim.valid,
        breaks=claim.breaks,
        also=claim.also,
        hint=claim.hint,
        description=(inspect.getdoc(code) or "").partition("\n")[0],
        files=files,
    )


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
