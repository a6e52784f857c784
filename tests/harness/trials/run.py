"""``python -m tests.practice``, behind ``make practice``: run a student's tests on right and wrong implementations."""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import source_rules
from ..messages import language_of
from ..student import ROOT
from ..terminal import painter
from . import trial
from .exercise import IMPLEMENTATIONS, Exercise, load
from .page import lines
from .verdict import Runs

TEST_S = 10.0  # one test, or the import of the file
START_S = 120.0  # to start Python and import torch
STOPPED_BY_CTRL_C = 130


def main() -> int:
    """Print what the tests catch; returns 0 only if every one counts and every wrong implementation is caught."""
    arguments = _parser().parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # older Windows consoles have other encodings
    exercise = load()
    try:
        runs = run(exercise, arguments.seconds)
    except KeyboardInterrupt:
        return STOPPED_BY_CTRL_C
    print("\n".join(lines(exercise, runs, arguments.lang or language_of(), painter())))
    refused, caught = runs.refused(exercise.right), runs.catching(exercise.right, exercise.questions)
    return 0 if runs.tests and not runs.broken and not refused and all(caught.values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.practice", description=__doc__, allow_abbrev=False)
    parser.add_argument("--seconds", type=float, default=TEST_S, help="time limit for one test")
    parser.add_argument("--lang", choices=("en", "zh"), help="language; default: the locale")
    return parser


def run(exercise: Exercise, seconds: float) -> Runs:
    """Run all tests on all implementations; a test that stops a process is left out of the next."""
    runs = Runs()
    if not exercise.file.is_file():
        runs.broken = {"type": "missing"}
        return runs
    try:
        source_rules.decoded(exercise.file.read_bytes())
    except source_rules.Refused as refusal:  # Python may read it; the grader would not
        runs.broken = {"type": "refused", "code": refusal.code, "fields": refusal.fields}
        return runs
    while True:
        doing = None  # the test that runs
        for message in _process(exercise, runs, seconds):
            match message:
                case {"broken": problem}:
                    runs.broken = problem
                    return runs
                case {"tests": tests}:
                    runs.tests = tests
                case {"begin": test}:
                    doing = test
                case {"implementation": name, "test": test, "failure": failure}:
                    runs.outcomes[name, test] = failure
                    doing = None
                case {"spent_s": spent_s}:
                    runs.spent_s = max(runs.spent_s, spent_s)
                case {"stopped": how} if doing is None:
                    runs.broken = {"type": how}
                    return runs
                case {"stopped": how}:
                    runs.stopped[doing] = how
                case {"end": _}:
                    return runs


def _process(exercise: Exercise, runs: Runs, seconds: float) -> Iterator[dict[str, Any]]:
    """What a process says of the tests that are left; at last ``{"stopped": how}``, if it did not come to its end."""
    wanted = {
        "root": str(ROOT),
        "file": str(exercise.file),
        "implementations": str(IMPLEMENTATIONS),
        "names": exercise.names,
        "without": list(runs.stopped),
        "known": list(runs.outcomes),
    }
    command = [sys.executable, str(Path(trial.__file__)), json.dumps(wanted)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        said: queue.Queue[bytes] = queue.Queue()

        def listen() -> None:
            for line in process.stdout:
                said.put(line)
            said.put(b"")

        threading.Thread(target=listen, daemon=True).start()  # Windows cannot wait for a pipe with a time limit
        try:
            patience = START_S
            while line := said.get(timeout=patience):
                yield json.loads(line)
                patience = seconds
            yield {"stopped": "ended"}
        except queue.Empty:
            yield {"stopped": "endless"}
        finally:
            process.kill()
