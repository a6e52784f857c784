"""Finds files in ``src/`` that the grader would refuse or could not run, by the same rules as the grader's."""

import re
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
    """From each file that starts a thread or a process, perhaps only when it is run as a program, to one sentence."""
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in source_files()
    }
    found = {file: STARTING.search(text) for file, text in texts.items()}
    return {
        file: say(language, "starts", what=start[1], file=file, line=start.string.count("\n", 0, start.start()) + 1)
        for file, start in found.items()
        if start
    }
