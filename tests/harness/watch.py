"""``make watch``: rerun the affected tests whenever a file is saved, until Ctrl-C.

This process has imported torch and pytest; each run is a fork of it, which starts at once and sees the files as they
are. Where there is no fork, as on Windows, or it is not safe, as on macOS, each run is a new Python. A run shows one
task, what has changed in it, and the next step.
"""

import json
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from .alone import Running
from .feedback import State
from .page import Page, run
from .rubric import ROOT, TESTS, Task
from .student import CAN_FORK, PROCESSES, source_files
from .terminal import command, say


@dataclass(frozen=True)
class Walk(Page):
    """The page of one run of a watch; the file ``memory`` has the properties that passed before, if there was a run."""

    memory: Path = Path()

    def sections(self) -> list[list[str]]:
        """The task that is worked on, in place of all tasks; of one that is complete, its heading."""
        news = self._news()
        part = self.memory.with_suffix(".part")  # a save may end this run at any time
        part.write_text(json.dumps(sorted(self._passed)), encoding="utf-8")
        part.replace(self.memory)
        rows = self._rows(self._current, self._columns_of_titles())
        shown = rows[:1] if self._complete(self._current) else rows
        return [shown, news, self._broken(), self._steps(), self._refused()]

    @property
    def _tasks(self) -> list[Task]:
        return [self._current]

    @cached_property
    def _before(self) -> frozenset[str] | None:
        return frozenset(json.loads(self.memory.read_text("utf-8"))) if self.memory.is_file() else None

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
        left = [task for task in self._ran if not self._complete(task)]
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
        if not self._complete(self._current):
            return self._todos()[1:2] and [self._say("next"), self._todos()[1]]
        return self._praise()

    def _praise(self) -> list[str]:
        task = self._say("task", number=self._current.number, title=self._current.title)
        lines = [self.paint(self._say("complete", task=task), "green")]
        shown = next((name for name in ("chat", "demo") if (TESTS / f"{name}.py").is_file()), "")
        lines += [self._say("watch_it", command=command(shown))] if shown else []
        if self._all_points():
            lines.append(self._say("hand_in", command=command("submit")))
        left = [task for task in self.feedback.rubric.tasks if not self._complete(task)]
        return [*lines, *map(self._next, left[:1])]

    def _complete(self, task: Task) -> bool:
        return all(prop.id in self._passed for prop in task.properties)


PAUSE_S = 0.1  # between two looks at the files
PATIENCE_S = 5.0  # for a run that has been interrupted
Stamps = dict[Path, tuple[int, int]]  # modification time and size


def watch(tasks: Sequence[Task], options: Namespace) -> int:
    """Run all tests of ``tasks``, then those of each change, until Ctrl-C; returns 0."""
    if not CAN_FORK:
        print(say(options.lang, "watch_slowly"))
    with tempfile.TemporaryDirectory() as folder:
        page, running = partial(Walk, memory=Path(folder, "passed")), Running(Path(folder, "running"))
        options.plugins = [running]
        current = None

        def started(some: Sequence[Task]) -> BaseProcess:
            process = PROCESSES.Process(target=_run_afresh, args=(some, options, page))
            process.start()
            return process

        try:
            seen, current = stamps(), started(tasks)
            waiting = False
            while True:
                if (now := stamps()) != seen:
                    now = _settled(now)
                    changed = [path for path in sorted(seen.keys() | now.keys()) if seen.get(path) != now.get(path)]
                    current.kill()  # it tests what is no longer there
                    current.join()
                    print(f"── {', '.join(map(_name, changed))} ──\n", flush=True)
                    seen, current, waiting = now, started(tasks_of(changed, tasks)), False
                elif not waiting and not current.is_alive():
                    if told := running.told(current.exitcode or 0, options.lang):
                        print(told)
                    print(say(options.lang, "watching"), flush=True)
                    waiting = True
                time.sleep(PAUSE_S)
        except KeyboardInterrupt:
            if current is not None:
                current.join(PATIENCE_S)  # Ctrl-C has reached the run as well, which then says where it was
                current.kill()
                current.join()
            print()
            return 0


def _run_afresh(tasks: Sequence[Task], options: Namespace, page: Callable[..., Walk]) -> None:
    sys.dont_write_bytecode = True  # which is found out of date by whole seconds only
    run(tasks, options, page)


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
