"""Finds files in ``src/`` that the grader would refuse or could not run, by the same rules as the grader's."""

from pathlib import Path

from . import source_rules
from .messages import Language, say
from .student import ROOT, SOURCE


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
