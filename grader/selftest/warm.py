"""``python -m module`` many times, for one start of the interpreter: a process that has imported torch, and forks.

Most of what a student's command costs is importing torch and pytest. Here that is done once, in a process of its own
with one thread; each command then runs in a fork of it, which is as fresh as a new interpreter: nothing of ``src``,
``tests`` or ``grader`` is imported before. What a student's command starts of this Python is a fork as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import runpy
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
LIMIT_S = 300  # of CPU time for one command, so that an endless one ends on a busy machine, too
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WarmPython:
    """Runs modules as ``python -m`` would, in English unless the arguments say otherwise."""

    def __init__(self, scratch: Path) -> None:
        """Start the process; ``scratch`` is an empty folder, for what commands print."""
        self._scratch = scratch
        environment = {"PATH": os.environ["PATH"], **ENVIRONMENT, **_ONE_THREAD}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __call__(self, folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``python -m module`` in ``folder`` and give back what it printed and how it ended."""
        requests, answers = self._pipes()
        out, error = self._scratch / "stdout", self._scratch / "stderr"
        request = {"folder": str(folder), "argv": [module, *arguments], "out": str(out), "error": str(error)}
        print(json.dumps(request), file=requests, flush=True)
        if not (answer := answers.readline()):
            raise RuntimeError(f"The warm interpreter ended with {self._process.wait()}, asked for {request['argv']}.")
        return subprocess.CompletedProcess([module, *arguments], int(answer), out.read_text(), error.read_text())

    def close(self) -> None:
        """End the process."""
        for pipe in self._pipes():
            pipe.close()
        self._process.wait()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


def serve() -> None:
    """Answer each line of the standard input: a command to run, with its exit status."""
    import pytest  # noqa: F401  (imported for every fork)
    import torch  # noqa: F401  (imported for every fork)

    sys.path.pop(0)  # the folder of this file; each command has its own folder there
    Fork.modules, Fork.path = frozenset(sys.modules), tuple(sys.path)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_run(request))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(request: dict[str, Any]) -> int:
    """Become the command, in the fork; returns its exit status."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
    null = os.open(os.devnull, os.O_RDONLY)
    for number, file in ((0, null), (1, _create(request["out"])), (2, _create(request["error"]))):
        os.dup2(file, number)
    os.chdir(request["folder"])
    module, *arguments = request["argv"]
    if module.startswith("tests"):
        subprocess.Popen = Fork  # type: ignore[assignment, misc] # this process ends with the command
    return _main(["-m", module, *arguments])


def _main(arguments: Sequence[str]) -> int:
    """Do what ``python`` does with these arguments, a module's or a script's; returns its exit status."""
    status: object = 0
    try:
        if arguments[0] == "-m":
            sys.path.insert(0, os.getcwd())
            sys.argv[1:] = arguments[2:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(arguments[0]).parent))
            sys.argv[:] = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status if isinstance(status, int) else 1


class Fork(subprocess.Popen[Any]):
    """A new process of this Python without a new interpreter: what would happen after ``exec`` happens before it.

    Attributes:
        modules: What is imported there from the beginning.
        path: Where modules are found, beside the command's own folder.
    """

    modules: frozenset[str]
    path: tuple[str, ...]

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        """Start it; ``options`` are those of ``Popen``."""
        program, *arguments = command
        assert program == sys.executable
        super().__init__(command, preexec_fn=lambda: os._exit(self._begin_anew(arguments)), **options)

    def _begin_anew(self, arguments: Sequence[str]) -> int:
        for number in map(int, os.listdir("/dev/fd")):
            if number > 2:
                with contextlib.suppress(OSError):  # what listed them is closed again
                    os.close(number)  # the parent waits until they are closed, as by `exec`
        for name in sys.modules.keys() - self.modules:
            del sys.modules[name]
        sys.path[:] = self.path
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        return _main(arguments)


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


if __name__ == "__main__":
    serve()
