"""``make watch``: rerun the affected tests whenever a file is saved, until Ctrl-C.

This process has imported torch and pytest; each run is a fork of it, which starts at once and sees the files as they
are. Where there is no fork, as on Windows, or it is not safe, as on macOS, each run is a new Python.
"""

import json
import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .feedback import State
from .messages import Language, say
from .page import Page
from .rubric import FULL_POINTS, ROOT, TESTS, Task
from .student import source_files
from .terminal import command


@dataclass(frozen=True)
class Walk(Page):
    """The page of one run of a watch.

    Attributes:
        memory: A file with the properties that passed before; empty at first.
    """

    memory: Path = Path()

    def sections(self) -> list[list[str]]:
        """The task that is worked on, in place of all tasks; of one that is complete, its heading."""
        news = self._news()
        self.memory.write_text(json.dumps(sorted(self._passed)), encoding="utf-8")
        rows = self._rows(self._current, self._columns_of_titles())
        shown = rows[:1] if _complete(self._current, self._passed) else rows
        return [shown, news, self._broken(), self._steps(), self._refused()]

    @property
    def _tasks(self) -> list[Task]:
        return [self._current]

    @cached_property
    def _before(self) -> frozenset[str] | None:
        written = self.memory.read_text(encoding="utf-8")
        return frozenset(json.loads(written)) if written else None

    @cached_property
    def _passed(self) -> frozenset[str]:
        """The properties that pass now; of tasks that were not run, those that passed before."""
        ran = [prop for task in self._ran for prop in task.properties]
        passing = {prop.id for prop in ran if self.feedback.state(prop) is State.PASSED}
        return (self._before or frozenset()) - {prop.id for prop in ran} | passing

    @property
    def _ran(self) -> Sequence[Task]:
        return self.feedback.tasks or self.feedback.rubric.tasks

    @cached_property
    def _current(self) -> Task:
        """The first task that was run and has something left; if none has, the last one that was run."""
        left = [task for task in self._ran if not _complete(task, self._passed)]
        return left[0] if left else self._ran[-1]

    def _news(self) -> list[str]:
        """What passes since the last save, and what no longer does."""
        if self._before is None:
            return []
        titles = {prop.id: self._title(prop) for task in self._ran for prop in task.properties}
        new = [self.paint(f"+ {titles[name]}", "green") for name in titles if name in self._passed - self._before]
        lost = [self.paint(f"- {titles[name]}", "red") for name in titles if name in self._before - self._passed]
        return [self._say("since"), *(f"  {line}" for line in (*new, *lost))] if new or lost else []

    def _steps(self) -> list[str]:
        """The one failure that comes first; if there is none, the next TODO; if a task is complete, praise."""
        if self.feedback.interrupted_at:
            return self._ending()
        if failures := self._failures():
            return failures
        if not _complete(self._current, self._passed):
            return self._todos()[1:2] and [self._say("next"), self._todos()[1]]
        return self._praise()

    def _praise(self) -> list[str]:
        rubric, done = self.feedback.rubric, self._current
        lines = [
            self.paint(self._say("complete", task=self._say("task", number=done.number, title=done.title)), "green")
        ]
        shown = next((name for name in ("chat", "demo") if (TESTS / name).is_dir()), "")
        lines += [self._say("watch_it", command=command(shown))] if shown else []
        points = sum(
            p.points for task in rubric.tasks if not task.bonus for p in task.properties if p.id in self._passed
        )
        if points == FULL_POINTS:
            lines.append(self._say("hand_in", command=command("submit")))
        left = [task for task in rubric.tasks if not _complete(task, self._passed)]
        for task in left[:1]:
            name = self._say("bonus_task" if task.bonus else "task", number=task.number, title=task.title)
            lines.append(self._say("next_task", task=name, file=next(iter(task.names.values()))))
        return lines


def _complete(task: Task, passed: frozenset[str]) -> bool:
    return all(prop.id in passed for prop in task.properties)


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
