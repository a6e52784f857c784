"""Runs a student's tests on right and wrong implementations, each in a separate locked worker.

Implementations differ in behaviour and hardly otherwise: they have the same names, arrive as byte code without
docstrings, and come in an unpredictable order. Everything runs twice, in two orders; a test with different outcomes on
the same implementation does not count, because it depends on something else.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Mapping
from inspect import getsource
from pathlib import Path
from typing import Any

from grader import SUBMITTED
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import clean
from grader.core.intake.reading import NONE_OF
from grader.core.intake.submission import Submission
from grader.core.messages import say
from grader.core.sandbox.handle import WorkerFailed, WorkerLike
from grader.core.sandbox.protocol import Kind
from grader.shared import trial
from grader.shared.trial import MOST_TESTS, Runs
from grader.specimens.practice import Practice

from .result import NOBODYS_FAULT, Result

TEST_S = 5.0  # of worker time for one test, or for importing the file
ALL_S = 120.0  # of worker time for one file in total: a little more per implementation than students are told
MOST_STOPPED = 3  # tests that may hang, end their worker or be inconsistent before the file is abandoned
TURNS = 2
EXAM = """
from . import trial
from .implementation import {function} as implementation
from . import {module} as own


def names():
    return trial.names(own)


def outcome(name):
    return trial.outcome(getattr(own, name), implementation)
"""

Start = Callable[[Mapping[str, str]], WorkerLike]


def judged(candidate: Candidate, submission: Submission, practice: Practice, start: Start) -> Result:
    """The result of one student, whose file may be missing."""
    text = submission.files.get(handed_in_as(practice))
    concerns = " ".join(submission.concerns)
    why = submission.reason
    unreadable = str(why) if why and why.fields(NONE_OF) is None else ""
    students = [str(student) for student in candidate.origin.students] if candidate.origin else []
    try:
        runs = Runs(broken={"type": "missing"}) if text is None else _Session(text, practice, start).runs()
    except _Unusable as end:
        runs = Runs(broken=end.args[0])
    except RuntimeError:  # a worker was killed from outside
        runs = Runs(broken={"type": NOBODYS_FAULT})
    return Result(candidate.id, students, runs, practice, "" if text else concerns or unreadable)


def handed_in_as(practice: Practice) -> str:
    """The path of the tests in a submission as intake reads it."""
    return f"{SUBMITTED}/{practice.file}"


class _Unusable(Exception):
    """The file cannot be used; the argument is the value of ``Runs.broken``."""


class _Session:
    """Runs one student's file on all implementations."""

    def __init__(self, text: str, practice: Practice, start: Start) -> None:
        self._text, self._practice, self._start = text, practice, start
        self._implementations = {**practice.right, **practice.wrong}
        self._tests: dict[str, int] | None = None
        self._stopped: dict[str, str] = {}
        self._outcomes: dict[tuple[int, str, str], dict[str, Any] | None] = {}
        self._spent_s = 0.0

    def runs(self) -> Runs:
        """Run everything, and return the outcomes.

        Raises:
            _Unusable: If the file cannot be used.
            RuntimeError: If something outside the grader killed a worker.
        """
        for turn in range(TURNS):
            for name in self._order(turn):
                while not self._finished(name, turn):  # a test that ends its worker no longer counts
                    self._check_patience()
        first: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        for (turn, name, test), failure in self._outcomes.items():
            if not turn:
                first[name, test] = failure
            elif test not in self._stopped and bool(first[name, test]) != bool(failure):
                self._stopped[test] = "unsteady"
        self._check_patience()  # of many random tests, some would happen to be consistent
        return Runs(None, self._tests or {}, self._stopped, first)

    def _order(self, turn: int) -> list[str]:
        """The implementations in an order that is fixed per file, but predictable only from all their sources."""
        secret = "\0".join((str(turn), self._text, *self._implementations.values()))
        return sorted(self._implementations, key=lambda name: hashlib.sha256(f"{name}\0{secret}".encode()).digest())

    def _check_patience(self) -> None:
        """Abandon the file once too many of its tests were stopped."""
        if len(self._stopped) > MOST_STOPPED:
            raise _Unusable({"type": "stops"})

    def _finished(self, name: str, turn: int) -> bool:
        """Run the remaining tests on one implementation in one worker; returns whether all were run."""
        written = Path(self._practice.file)
        exam = EXAM.format(function=self._practice.function, module=written.stem)
        implementation = sealed(self._implementations[name])
        shared = {"trial.py": getsource(trial), "exam.py": exam}
        files = {written.name: self._text, **shared, "implementation.py": implementation}
        worker = self._start({f"{SUBMITTED}/{path}": text for path, text in files.items()})
        doing = None
        try:
            for test, arguments in self._found(self._ask(worker, "names", [])).items():
                if arguments == 1 and test not in self._stopped and (turn, name, test) not in self._outcomes:
                    doing = test
                    self._outcomes[turn, name, test] = _failure(self._ask(worker, "outcome", [test]))
            return True
        except WorkerFailed as failure:
            how = "endless" if failure.kind == Kind.TIMED_OUT else "ended"
            if doing is None:
                raise _Unusable({"type": how}) from None
            self._stopped[doing] = how
            return False
        finally:
            worker.close()

    def _ask(self, worker: WorkerLike, function: str, arguments: list[str]) -> Any:
        """Call a function of the exam.

        Raises:
            WorkerFailed: Without an answer, or on an error during a test.
        """
        load = {"module": f"{SUBMITTED}.exam", "name": function}
        reply = worker.request([("load", load), ("call", {"target": function, "arguments": arguments})], TEST_S)
        self._spent_s += worker.spent_s
        if self._spent_s > ALL_S:
            raise _Unusable({"type": "slow"})
        if "value" in reply:
            return reply["value"]
        if arguments:
            raise WorkerFailed(Kind.CRASHED, say("no outcome"))
        types, frames = reply["error"].get("types"), reply["error"].get("frames")  # of an import that failed
        kind = clean(types[0]) if isinstance(types, list) and types else "Exception"
        raise _Unusable({"type": kind, "line": frames[-1][1] if isinstance(frames, list) and frames else 0})

    def _found(self, names: Any) -> dict[str, int]:
        """Each test's number of arguments; every worker must find the same tests."""
        if not isinstance(names, dict) or len(names) > MOST_TESTS:
            raise _Unusable({"type": "ended"})
        tests = {clean(name): number for name, number in names.items() if isinstance(number, int)}
        if self._tests not in (None, tests):
            raise _Unusable({"type": "unsteady"})
        self._tests = tests
        return tests


def sealed(source: str) -> str:
    """An equivalent module without readable source, comments or docstrings."""
    code = marshal.dumps(compile(source, "implementation.py", "exec", dont_inherit=True, optimize=2))
    return f"import marshal\nexec(marshal.loads({code!r}))\n"


def _failure(reply: Any) -> dict[str, Any] | None:
    """The exception that a test raised, if the worker's report is well formed."""
    if reply is None:
        return None
    told = reply if isinstance(reply, dict) else {}
    line = told.get("line")
    return {"type": clean(told.get("type")) or "Exception", "line": line if isinstance(line, int) else 0}
