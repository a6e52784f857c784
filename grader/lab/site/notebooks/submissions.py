"""Reads submitted notebooks, and makes them safe for nbgrader: metadata from the source, no outputs."""

from __future__ import annotations

import contextlib
import dis
import re
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from types import CodeType

import nbformat
from nbformat import NotebookNode

from grader.core.intake.candidate import Candidate
from grader.core.intake.discover import FOLDERS, IntakeError
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import without_clutter

MAX_BYTES = 20 * 2**20  # of one notebook with its figures


class NotANotebook(Exception):
    """The file is not a notebook; the text gives the reason."""


def discover(reader: Reader, folder: Path) -> dict[str, Candidate]:
    """The students, one for each folder or zip, by id, sorted; the ids are the same as in the grader's reports."""
    with contextlib.suppress(IntakeError):  # nothing there is a submission
        found = reader.discover([folder], FOLDERS)
        return {one.id: one for one in found if one.path.is_dir() or one.path.suffix.lower() == ".zip"}
    return {}


def notebook(candidate: Candidate, name: str) -> tuple[list[str], bytes]:
    """The names of a student's notebooks, without folders, and the content of one; nothing if it is not among them.

    Called in the reading process: an archive may unpack to gigabytes. Of files with the same name, the first counts.

    Raises:
        NotANotebook: If the submission has been refused.
        Exception: Any, if the zip is damaged or hostile.
    """
    if candidate.reason:
        raise NotANotebook(str(candidate.reason))
    files = candidate.files()
    names = [path for path in without_clutter(files) if path.endswith(".ipynb")]
    found = {PurePosixPath(path).name: files[path] for path in reversed(names)}
    return [*found], found[name](MAX_BYTES) if name in found else b""


def readied(data: bytes, source: NotebookNode, given: Collection[str]) -> NotebookNode:
    """The student's notebook as nbgrader gets it.

    The student's cells keep their text and order. Their metadata are replaced by those of the ``source`` cell with the
    same ``grade_id``, so that a student's metadata cannot stop nbgrader or change what a cell is worth. If two cells
    have the same ``grade_id``, the second becomes an ordinary cell. A cell ``given`` with the notebook that no exercise
    needs is shown in the feedback, but not run: those of notebook 6 train models for two minutes.

    Raises:
        NotANotebook: If the bytes are not a notebook, or more than ``MAX_BYTES``.
    """
    if len(data) > MAX_BYTES:
        raise NotANotebook(f"larger than {MAX_BYTES // 2**20} MiB; clear the outputs")
    try:
        theirs = nbformat.reads(data.decode("utf-8-sig"), as_version=4)
        cells = [(str(cell.cell_type), str(cell.source), _grade_id(cell)) for cell in theirs.cells]
    except Exception as error:  # nbformat may raise any exception for a damaged or hostile file
        raise NotANotebook(f"not a notebook: {error!r:.200}") from None
    ours = {cell.metadata.nbgrader.grade_id: cell for cell in source.cells if "nbgrader" in cell.metadata}
    twins = [ours.pop(grade_id, None) for _, _, grade_id in cells]
    kinds = [twin.cell_type if twin else kind for (kind, _, _), twin in zip(cells, twins, strict=True)]
    code = [number for number, kind in enumerate(kinds) if kind == "code"]
    # nbgrader restores the text of a check, with its hidden tests.
    run = {n: twins[n].source if twins[n] and twins[n].metadata.nbgrader.grade else cells[n][1] for n in code}
    shown = unneeded(run, [number for number in code if not twins[number] and cells[number][1] in given])
    ready = NotebookNode(cells=[], metadata=source.metadata, nbformat=4, nbformat_minor=5)
    for number, ((_, text, _), twin) in enumerate(zip(cells, twins, strict=True)):
        kind = "code" if number in run and number not in shown else "markdown"
        text = f"```python\n{text}\n```" if number in shown else text
        cell = {"cell_type": kind, "id": f"cell-{number}", "source": text, "metadata": twin.metadata if twin else {}}
        outputs: dict[str, object] = {"outputs": [], "execution_count": None} if kind == "code" else {}
        ready.cells.append(nbformat.from_dict(cell | outputs))
    return ready


def _grade_id(cell: NotebookNode) -> str:
    mark = cell.metadata.get("nbgrader", {})
    return str(mark.get("grade_id", "")) if isinstance(mark, dict) else ""


_WORD = re.compile(r"\w+")
_BY_TEXT = {"eval", "exec", "get_ipython", "globals", "locals", "vars"}  # functions that may use a name given as text


def unneeded(cells: dict[int, str], given: Collection[int]) -> set[int]:
    """The numbers of those given cells that define no name which a later cell uses, the ones left out apart.

    Any cell that did not come with the notebook counts as used: it is a check, or the student's own.
    """
    wanted, left_out = set[str](), set[int]()
    for number, text in reversed(cells.items()):
        used, defined = _names(text)
        if number in given and not wanted & defined:
            left_out.add(number)
        else:
            wanted |= used
    return left_out


def _names(text: str) -> tuple[set[str], set[str]]:
    """The names that a cell uses before it defines them, and those that it defines."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about the student's code
            code = compile(text, "cell", "exec", dont_inherit=True)
    except Exception:  # a mistake, nested too deeply, or a command of IPython: it may use any name
        return set(_WORD.findall(text)), set()
    used, defined = set[str](), set[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_NAME":
            defined.add(instruction.argval)
        elif instruction.opname == "LOAD_NAME" and instruction.argval not in defined:
            used.add(instruction.argval)
    used |= set(_globals(code)) - defined
    return used | set(_WORD.findall(text)) if used & _BY_TEXT else used, defined


def _globals(code: CodeType) -> Iterator[str]:
    """What the functions in a cell use of the cells around it."""
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        for instruction in dis.get_instructions(inner):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield instruction.argval
        yield from _globals(inner)
