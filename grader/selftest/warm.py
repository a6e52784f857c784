"""``python -m module`` many times, for one start of the interpreter: a process that has imported torch, and forks.

Most of what a student's command costs is importing torch and pytest. Here that is done once, in a process of its own
with one thread; each command then runs in a fork of it, which is as fresh as a new interpreter: nothing of ``src``,
``tests`` or ``grader`` is imported before.
"""

from __future__ import annotations

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

# No plugins of pytest: where students work, there are none.
ENVIRONMENT = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
OURS = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
print(*(module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "grader"), sep="\\n")
"""
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

    def __call__(
        self, folder: Path, module: str, *arguments: str, typed: str = "", closed: bool = False, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m module`` in ``folder`` and give back what it printed and how it ended.

        Args:
            folder: Where it runs.
            module: Its name.
            arguments: Those of the command.
            typed: What it reads.
            closed: Whether it has no standard output.
            given: A variable beside those that every command has, as ``NAME=value``.
        """
        requests, answers = self._pipes()
        files = [self._scratch / name for name in ("stdin", "stdout", "stderr")]
        for file, text in zip(files, (typed, "", ""), strict=True):
            file.write_text(text)
        request = {"folder": str(folder), "argv": [module, *arguments], "closed": closed, "given": given}
        request["files"] = [*map(str, files)]
        print(json.dumps(request), file=requests, flush=True)
        if not (answer := answers.readline()):
            raise RuntimeError(f"The warm interpreter ended with {self._process.wait()}, asked for {request['argv']}.")
        out, error = (file.read_text() for file in files[1:])
        return subprocess.CompletedProcess([module, *arguments], int(answer), out, error)

    def imported(self, repository: Path, *modules: str) -> list[Path]:
        """The files of ours that these modules import."""
        (self._scratch / "ours.py").write_text(OURS)
        return [*map(Path, self(self._scratch, "ours", str(repository), *modules).stdout.split("\n")[:-1])]

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
    for number, file in enumerate(request["files"]):
        os.dup2(os.open(file, os.O_RDWR), number)
    if request["closed"]:
        os.close(1)
        sys.stdout = None  # as Python starts without a descriptor
    name, _, value = request["given"].partition("=")
    os.environ |= {name: value} if name else {}
    os.chdir(request["folder"])
    module, *arguments = request["argv"]
    return _main(module, arguments)


def _main(module: str, arguments: Sequence[str]) -> int:
    """Do what ``python -m module`` does with these arguments; returns its exit status."""
    status: object = 0
    try:
        sys.path.insert(0, os.getcwd())
        sys.argv[1:] = arguments
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    return status if isinstance(status, int) else 1


if __name__ == "__main__":
    serve()
