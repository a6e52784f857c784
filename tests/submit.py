"""``python -m tests.submit``, behind ``make submit``: check ``src/`` and pack it for submission.

Checks files, syntax, imports and names; ``make test`` checks whether the code is right. Packs nothing if a check
fails, unless --anyway is given: a broken file costs only the points of its own tasks.
"""

import argparse
import ast
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from .harness import rubric
from .harness.feedback import why_not_imported
from .harness.rubric import MINE, ROOT
from .harness.shared import source_rules
from .harness.student import apart, import_packages, module_of, problems, source_files, warnings
from .harness.terminal import LANGUAGES, Language, command, end_with, language_of, pad, painter, say, width

MOMENT = (1980, 1, 1, 0, 0, 0)  # the time of every file in the zip, so that the same work gives the same bytes
IMPORT_LIMIT_S = 60


@dataclass(frozen=True)
class Piece:
    """One file to hand in, with the names that it should define.

    Attributes:
        problem: Why the file would earn no points, in one sentence; empty if there is no problem.
        todos: Numbers of lines on which a stub's ``raise NotImplementedError`` is still left.
        lines: The number of lines of the file.
    """

    file: str
    problem: str = ""
    todos: tuple[int, ...] = ()
    lines: int = 0


def main() -> int:
    """Print the state of each file, write the zip, and return 0 only if it was written."""
    try:
        rubric.load()
    except rubric.RubricError as error:
        print(error, file=sys.stderr)
        return 2
    arguments = _parser().parse_args()
    language = arguments.lang
    refused = problems(language)
    found = _probe(language) | refused
    pieces = [_look_at(file, found.get(file, ""), language) for file in _expected()]
    pieces += [Piece(file, refused[file]) for file in sorted(refused.keys() - {piece.file for piece in pieces})]
    print("\n".join(_page(pieces, language)), end="\n\n")
    if any(piece.problem for piece in pieces) and not arguments.anyway:
        print(say(language, "not_packed", command=command("submit", "anyway")))
        return 1
    files, practised = source_files(), [MINE] if MINE.is_file() else []
    for file, warning in warnings(language).items():
        print(f"{file}  {warning}")
    try:
        pack([*files, *practised], arguments.out)
    except OSError as error:
        print(f"{arguments.out}: {error.strerror}")
        return 2
    others = len(files) - sum((ROOT / file) in files for file in _expected())
    print(say(language, "packed", zip=arguments.out, files=len(files), others=others))
    if practised:
        print(say(language, "packed_practice", file=MINE.relative_to(ROOT).as_posix()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.submit", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("submission.zip"), help="the zip to write")
    parser.add_argument("--anyway", action="store_true", help="pack even if something is wrong")
    parser.add_argument("--lang", choices=LANGUAGES, default=language_of(), help="language; default: the locale")
    return parser


def pack(files: list[Path], out: Path) -> None:
    """Write the zip to a temporary file, then rename it, so that it is never half written."""
    part = out.with_name(f"{out.name}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.writestr(zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), MOMENT), path.read_bytes())
    part.replace(out)


# ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _expected() -> dict[str, list[str]]:
    """The names that each file should define, by file."""
    expected: dict[str, list[str]] = {}
    for task in rubric.load().tasks:
        for name, file in task.names.items():
            expected.setdefault(file, []).append(name)
    return expected


def _look_at(file: str, problem: str, language: Language) -> Piece:
    path = ROOT / file
    if not path.is_file():
        return Piece(file, say(language, "missing_file"))
    if problem:
        return Piece(file, problem)
    text = source_rules.decoded(path.read_bytes())
    nodes = ast.walk(ast.parse(text, file))  # it could be imported
    todos = sorted(node.lineno for node in nodes if isinstance(node, ast.Raise) and _is_stub(node))
    return Piece(file, "", tuple(todos), len(text.splitlines()))


def _is_stub(node: ast.Raise) -> bool:
    return node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)


def _probe(language: Language) -> dict[str, str]:
    """Import the files in a process of its own, which their code may end or hang; return the problems by file."""
    try:
        told = [*apart(_import_problems, language, start_s=IMPORT_LIMIT_S, next_s=IMPORT_LIMIT_S)]
    except TimeoutError:
        return dict.fromkeys(_expected(), say(language, "too_long", seconds=IMPORT_LIMIT_S))
    return told[0] if told else dict.fromkeys(_expected(), say(language, "exits"))


def _import_problems(tell: Callable[[dict[str, str]], None], language: Language) -> None:
    """Import each file by itself, so that a broken file is no problem of other files; tell the problems by file."""
    import_packages()
    problems = {}
    for file, names in _expected().items():
        try:
            module = import_module(module_of(file))
            if absent := tuple(name for name in names if not hasattr(module, name)):
                problems[file] = say(language, "not_defined", names=absent)
        except (Exception, SystemExit) as error:
            place, message = why_not_imported(error, language)
            problems[file] = f"{message} ({place})" if place else message
    tell(problems)


# ── Telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _page(pieces: list[Piece], language: Language) -> list[str]:
    paint = painter()
    columns = max(width(piece.file) for piece in pieces)
    lines = []
    for piece in pieces:
        mark = paint("✗", "red") if piece.problem else paint("…", "yellow") if piece.todos else paint("✓", "green")
        todo = say(language, "todo_lines", lines=piece.todos) if piece.todos else ""
        text = piece.problem or todo or say(language, "lines", count=piece.lines)
        lines.append(f"  {mark} {pad(piece.file, columns)}  {text}")
    return lines


if __name__ == "__main__":
    end_with(main)
