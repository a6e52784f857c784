"""``make watch``: rerun the affected tests whenever a file is saved, until Ctrl-C.

This process has imported torch and pytest; each run is a fork of it, which starts at once and sees the files as they
are. Where there is no fork, as on Windows, or it is not safe, as on macOS, each run is a new Python.
"""

import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .messages import Language, say
from .rubric import TESTS, Task
from .sources import source_files
from .student import ROOT

PAUSE_S = 0.1  # between two looks at the files
PATIENCE_S = 5.0  # for a run that has been interrupted
Stamps = dict[Path, tuple[int, int]]  # modification time and size


def watch(tasks: Sequence[Task], run: Callable[[Sequence[Task]], int], memory: Path, language: Language) -> int:
    """Run all tests of ``tasks``, then those of each change, until Ctrl-C; returns 0.

    Args:
        tasks: The tasks.
        run: Runs the tests of some tasks and shows what they found.
        memory: The file by which a run knows what passed before it.
        language: Of what is said.
    """
    if not _can_fork():
        print(say(language, "watch_slowly"))
    current = None
    try:
        seen, current = stamps(), _started(tasks, run, memory)
        waiting = False
        while True:
            if (now := stamps()) != seen:
                now = _settled(now)
                changed = [path for path in sorted(seen.keys() | now.keys()) if seen.get(path) != now.get(path)]
                current.kill()  # it tests what is no longer there
                print(f"── {', '.join(map(_name, changed))} ──\n", flush=True)
                seen, current, waiting = now, _started(tasks_of(changed, tasks), run, memory), False
            elif not waiting and not current.running():
                print(say(language, "watching"), flush=True)
                waiting = True
            time.sleep(PAUSE_S)
    except KeyboardInterrupt:
        if current is not None:
            current.end()
        print()
        return 0


def stamps() -> Stamps:
    """What the files to test, and the tests, look like from outside."""
    found = {}
    for path in (*source_files(), *TESTS.glob("test_*.py")):
        try:
            state = path.stat()
        except FileNotFoundError:
            continue  # an editor is replacing it
        found[path] = (state.st_mtime_ns, state.st_size)
    return found


def _settled(now: Stamps) -> Stamps:
    """The files once they stay as they are: an editor may write one in several steps."""
    while True:
        time.sleep(PAUSE_S / 2)
        before, now = now, stamps()
        if now == before:
            return now


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tasks_of(changed: Iterable[Path], tasks: Sequence[Task]) -> list[Task]:
    """The tasks whose files have changed; all of them if another file has, which any of them may use."""
    names = set(map(_name, changed))
    known = {file for task in tasks for file in task.names.values()}
    return [task for task in tasks if not names <= known or names & set(task.names.values())]


def _can_fork() -> bool:
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def _started(tasks: Sequence[Task], run: Callable[[Sequence[Task]], int], memory: Path) -> "_Fork | _NewPython":
    return _Fork(tasks, run) if _can_fork() else _NewPython(tasks, memory)


class _Fork:
    """One run, in a fork of this process."""

    def __init__(self, tasks: Sequence[Task], run: Callable[[Sequence[Task]], int]) -> None:
        self._process = multiprocessing.get_context("fork").Process(target=_run_afresh, args=(tasks, run))
        self._process.start()

    def running(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def end(self) -> None:
        """Wait a little: Ctrl-C has reached the run as well, which then says where it was."""
        self._process.join(PATIENCE_S)
        self.kill()


def _run_afresh(tasks: Sequence[Task], run: Callable[[Sequence[Task]], int]) -> None:
    sys.dont_write_bytecode = True  # which is found out of date by whole seconds only
    run(tasks)


class _NewPython:
    """One run, in a new interpreter."""

    def __init__(self, tasks: Sequence[Task], memory: Path) -> None:
        words = re.sub(r"\0--(watch|task[\0=]\d+)(?=\0|$)", "", "\0".join(["", *sys.argv[1:]])).split("\0")[1:]
        chosen = [f"--memory={memory}", *(f"--task={task.number}" for task in tasks)]
        self._process = subprocess.Popen([sys.executable, "-B", "-m", "tests", *words, *chosen], cwd=ROOT)

    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
