"""Runs a test to copy against a submission, in this process: what a student does with it, but without pytest."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from grader.core.sandbox.importer import MemoryImporter
from tests.harness.timer import time_limit

MARK = re.compile(r"^@pytest\.mark\.rubric\(.*\)\n", re.MULTILINE)  # a pytest that is running may not know it
LIMIT_S = 60.0  # a law takes a tenth of a second; no variant that is judged in this process is endless


@contextmanager
def submitted(files: Mapping[str, str]) -> Iterator[None]:
    """Have ``src`` be a submission inside the block."""
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "src"}
    importer = MemoryImporter(files, code={}, lazy=False)
    sys.meta_path.insert(0, importer)
    try:
        yield
    finally:
        sys.meta_path.remove(importer)
        for name in [name for name in sys.modules if name.partition(".")[0] == "src"]:
            del sys.modules[name]
        sys.modules.update(before)


def failure(source: str) -> str:
    """How the first test that fails does so, with the student's code as ``src``; empty if all pass."""
    torch.default_generator.manual_seed(0)  # as conftest.py does
    found: dict[str, object] = {"__name__": "copied"}
    try:
        exec(compile(MARK.sub("", source), "copied.py", "exec"), found)
        tests = {name: own for name, own in found.items() if name.startswith("test_") and callable(own)}
        assert tests, "no test"
        for test in tests.values():
            with time_limit(LIMIT_S, "endless"):
                test()
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    return ""
