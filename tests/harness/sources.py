"""Finds files in ``src/`` that the grader would refuse or could not run, by the same rules as the grader's."""

import ast
import re
import sys
from pathlib import Path

from . import source_rules
from .messages import Language, say
from .student import ROOT, SOURCE

STARTING = re.compile(
    r"\b(Thread|Timer|ThreadPool|ThreadPoolExecutor|ProcessPoolExecutor|Popen|start_new_thread"
    r"|os\.fork|os\.system|subprocess\.\w+|multiprocessing\.\w+)\("
)


def source_files() -> list[Path]:
    """Every Python file below ``src/``, helper modules included."""
    return sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts and path.is_file())


def problems(language: Language) -> dict[str, str]:
    """From each file with a problem to one sentence that names the problem and what to do."""
    files = {path.relative_to(ROOT).as_posix(): path for path in source_files()}
    modules = source_rules.modules_of(files)
    found = {}
    for file, path in files.items():
        try:
            text = source_rules.decoded(path.read_bytes())
        except source_rules.Refused as refusal:
            found[file] = say(language, f"source_{refusal.code}", **refusal.fields)
            continue
        problem = next(source_rules.own_imports(text, modules), None) or source_rules.newer_syntax(text)
        if problem is not None:
            fields = dict(problem.fields) | {"version": ".".join(map(str, source_rules.OLDEST_PYTHON))}
            if problem.code == "own_import":
                fields["relative"] = source_rules.relative_name(fields["name"], file, files)
            found[file] = say(language, problem.code, file=file, line=problem.line, **fields)
    return found


def warnings(language: Language) -> dict[str, str]:
    """From each file that may not run where it is graded to what is the matter: other packages, threads, processes."""
    found: dict[str, list[str]] = {}
    for path in source_files():
        file, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="replace")
        if names := other_packages(text):
            found.setdefault(file, []).append(say(language, "other_packages", names=", ".join(names)))
        if start := STARTING.search(text):
            line = text.count("\n", 0, start.start()) + 1
            found.setdefault(file, []).append(say(language, "starts", what=start[1], file=file, line=line))
    return {file: " ".join(sentences) for file, sentences in found.items()}


def other_packages(text: str) -> list[str]:
    """Imported packages other than Python's own, torch and ``src``, which the grader may not have installed."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return []  # reported with the file itself
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return sorted({name.partition(".")[0] for name in found} - {*sys.stdlib_module_names, "torch", SOURCE.name})
