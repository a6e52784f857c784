"""``python -m tests.submit``, behind ``make submit``: check ``src/`` and pack it for submission.

Checks files, syntax, imports and names; ``make test`` checks whether the code is right. Packs nothing if a check
fails, unless --anyway is given: a broken file costs only the points of its own tasks.
"""

import ast
import re
import sys
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from .harness import rubric
from .harness.feedback import refused_text, why_not_imported
from .harness.rubric import MINE, ROOT, SOURCE
from .harness.shared import source_rules
from .harness.student import apart, import_packages, module_of, source_files
from .harness.terminal import Language, command, end_with, pad, painter, parser, say, width

MOMENT = (1980, 1, 1, 0, 0, 0)  # the time of every file in the zip, so that the same work gives the same bytes
IMPORT_LIMIT_S = 60


def main() -> int:
    """Print the state of each file, write the zip, and return 0 only if it was written."""
    asked = rubric.load().names_in
    options = parser("tests.submit", __doc__)
    options.add_argument("--out", type=Path, default=Path("submission.zip"), help="the zip to write")
    options.add_argument("--anyway", action="store_true", help="pack even if something is wrong")
    arguments = options.parse_args()
    language = arguments.lang
    missing = {file: _missing(file, language) for file in asked if not (ROOT / file).is_file()}
    found = dict.fromkeys(asked, "") | _probe(language) | problems(language) | missing
    paint, columns = painter(), max(map(width, found))
    for file, problem in found.items():
        mark, colour, told = _told(file, problem, language)
        print(f"  {paint(mark, colour)} {pad(file, columns)}  {told}")
    print()
    if any(found.values()) and not arguments.anyway:
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
    others = len(files) - sum((ROOT / file) in files for file in asked)
    print(say(language, "packed", zip=arguments.out, files=len(files), others=others))
    if practised:
        print(say(language, "packed_practice", file=MINE.relative_to(ROOT).as_posix()))
    return 0


def pack(files: list[Path], out: Path) -> None:
    """Write the zip to a temporary file, then rename it, so that it is never half written."""
    part = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), MOMENT), path.read_bytes())
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


# ── Looking ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _told(file: str, problem: str, language: Language) -> tuple[str, str, str]:
    """Mark, colour and sentence of a file: why it would earn no points, what is still to write, or its length."""
    if problem:
        return "✗", "red", problem
    text = source_rules.decoded((ROOT / file).read_bytes())
    nodes = source_rules.nodes_of(text)
    raised = [node for node in nodes if isinstance(node, ast.Raise) and node.exc is not None]
    if todos := sorted(node.lineno for node in raised if "NotImplementedError" in ast.unparse(node.exc)):
        return "…", "yellow", say(language, "todo_lines", lines=tuple(todos))
    return "✓", "green", say(language, "lines", count=len(text.splitlines()))


def _missing(file: str, language: Language) -> str:
    """That a file is missing, and which other file in src/ defines what it should: its name may be misspelled."""
    definition = re.compile(rf"^(?:class|def) (?:{'|'.join(rubric.load().names_in[file])})\b", re.MULTILINE)
    others = (path for path in source_files() if path.relative_to(ROOT).as_posix() not in rubric.load().names_in)
    found = next((path for path in others if definition.search(path.read_text("utf-8", "replace"))), None)
    if found is None:
        return say(language, "missing_file")
    return say(language, "misnamed_file", called=found.relative_to(ROOT).as_posix(), file=file)


def _probe(language: Language) -> dict[str, str]:
    """Import the files in a process of its own, which their code may end or hang; return the problems by file."""
    try:
        told = [*apart(_import_problems, language, start_s=IMPORT_LIMIT_S, next_s=IMPORT_LIMIT_S)]
    except TimeoutError:
        return dict.fromkeys(rubric.load().names_in, say(language, "too_long", seconds=IMPORT_LIMIT_S))
    return told[0] if told else dict.fromkeys(rubric.load().names_in, say(language, "exits"))


def _import_problems(tell: Callable[[dict[str, str]], None], language: Language) -> None:
    """Import each file by itself, so that a broken file is no problem of other files; tell the problems by file."""
    import_packages()
    found = {}
    for file, names in rubric.load().names_in.items():
        try:
            module = import_module(module_of(file))
            if absent := tuple(name for name in names if not hasattr(module, name)):
                found[file] = say(language, "not_defined", names=absent)
        except (Exception, SystemExit) as error:
            place, message = why_not_imported(error, language)
            found[file] = f"{message} ({place})" if place else message
    tell(found)


# ── What the grader would not take, although it may work here ─────────────────────────────────────────────────────────

FORBIDDEN = {
    "starts": re.compile(
        r"\b(Thread|Timer|ThreadPool|ThreadPoolExecutor|ProcessPoolExecutor|Popen|start_new_thread"
        r"|os\.fork|os\.system|subprocess\.\w+|multiprocessing\.\w+)\("
    ),
    "uses_files": re.compile(
        r"\b(open|os\.mkdir|os\.makedirs|mkdir|write_text|write_bytes|read_text|read_bytes|torch\.save|torch\.load"
        r"|FileHandler|basicConfig(?=\([^)]*filename))\("
    ),
}


def problems(language: Language) -> dict[str, str]:
    """From each file with a problem to one sentence that names the problem and what to do."""
    files = {path.relative_to(ROOT).as_posix(): path for path in source_files()}
    found = {file: refused for file in files if (refused := refused_text(file, language))}
    texts = {file: "" if file in found else source_rules.decoded(path.read_bytes()) for file, path in files.items()}
    for file, line, name, relative in source_rules.own_imports(texts):
        found.setdefault(file, say(language, "own_import", file=file, line=line, name=name, relative=relative))
    version = ".".join(map(str, source_rules.OLDEST_PYTHON))
    for file, text in texts.items():
        if newer := source_rules.newer_syntax(text):
            line, what = newer
            found.setdefault(file, say(language, "newer_syntax", file=file, line=line, what=what, version=version))
    return dict(sorted(found.items()))


def warnings(language: Language) -> dict[str, str]:
    """From each file that may not run where it is graded to why: other packages, threads, processes, files."""
    found: dict[str, list[str]] = {}
    for path in source_files():
        file, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")
        if names := other_packages(text):
            found.setdefault(file, []).append(say(language, "other_packages", names=names))
        for key, pattern in FORBIDDEN.items():
            if call := pattern.search(text):
                line = text.count("\n", 0, call.start()) + 1
                found.setdefault(file, []).append(say(language, key, what=call[1], file=file, line=line))
    return {file: " ".join(sentences) for file, sentences in found.items()}


def other_packages(text: str) -> tuple[str, ...]:
    """Imported packages other than Python's own, torch and ``src``, which the grader may not have installed."""
    found = {name.partition(".")[0] for _, name in source_rules.imported(source_rules.nodes_of(text))}
    return tuple(sorted(found - {*sys.stdlib_module_names, "torch", SOURCE.name}))


if __name__ == "__main__":
    end_with(main)
