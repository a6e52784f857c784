"""What ``make watch`` shows after each save: one task, what has changed in it, and the next step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .commands import MODULES, command
from .feedback import State
from .page import Page
from .rubric import FULL_POINTS, TESTS, Task


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
        shown = next((name for name in ("chat", "demo") if name in MODULES and (TESTS / name).is_dir()), "")
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
