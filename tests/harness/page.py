"""Runs the tests, and prints the page that a student reads: a table, what is still to write, and why tests fail."""

import gc
import re
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pytest

from ..submit import problems, warnings
from .feedback import MOST_TIMEOUTS, Feedback, State, Trouble, files_of
from .hints import Explanation, coarseness, mistakes, required
from .rubric import FULL_POINTS, ROOT, Property, Task, load
from .student import CAN_FORK
from .terminal import Painter, block, columns, command, fold, interpreter, pad, painter, say, width, wrap

LEVELS = (1, 2)  # of hints: a question, then where to look and the mistake
DEBUG = " --pdb"  # ends a line that stays whole, so that it can be copied
SCORE, FRACTIONS = 9, 4  # columns of a score, as in 100 / 100, and how many more 99.75 / 99.75 takes
RAISED = ("error", "python", "none")  # kinds of failures of a line, which has no result
MOST_CASES = 6  # that pass, of a test that fails in another one
PRINTED_LINES = 12  # how many of the last lines that a student's code prints are shown
# Plugins of pytest that the page does not need; their imports and hooks take longer than the tests. Where the
# tests cannot run in a fork, faulthandler reports a crash that ends the command.
UNUSED_PLUGINS = (
    "cacheprovider", "doctest", "junitxml", "legacypath", "logging", "pastebin", "setuponly", "setupplan", "stepwise",
    "subtests", "threadexception", "unittest", "unraisableexception", "warnings", *["faulthandler"] * CAN_FORK,
)  # fmt: skip
COLOUR = {State.PASSED: "green", State.FAILED: "red", State.TODO: "yellow", State.NOT_RUN: "dim"}


@dataclass(frozen=True)
class Page:
    """Formats the results of one run as lines of text."""

    feedback: Feedback
    paint: Painter
    explain_all: bool = False
    verbose: bool = False
    level: int = 1

    def lines(self) -> list[str]:
        """Return the whole page."""
        lines = [line.rstrip() for section in self.sections() if section for line in (*section, "")]
        return [part for line in lines for part in ([line] if DEBUG in line else fold(line, columns()))]

    def sections(self) -> list[list[str]]:
        """What the page consists of; an empty line follows each section that is not empty."""
        return [
            self._table(),
            self._todos(),
            self._broken(),
            self._failures(),
            self._others(),
            self._refused(),
            self._ending(),
        ]

    @property
    def _tasks(self) -> list[Task]:
        return [
            task for task in self.feedback.rubric.tasks if self.feedback.tasks is None or task in self.feedback.tasks
        ]

    def _say(self, key: str, **fields: object) -> str:
        return say(self.feedback.language, key, **fields)

    def _name(self, task: Task) -> str:
        return self._say("bonus_task" if task.bonus else "task", number=task.number, title=task.title)

    def _title(self, prop: Property) -> str:
        return prop.title[self.feedback.language]

    @cached_property
    def _passed(self) -> frozenset[str]:
        """The ids of the properties that pass."""
        props = (prop for task in self.feedback.rubric.tasks for prop in task.properties)
        return frozenset(prop.id for prop in props if self.feedback.state(prop) is State.PASSED)

    def _earned(self, task: Task) -> float:
        return sum(prop.points for prop in task.properties if prop.id in self._passed)

    def _symbol(self, state: State) -> str:
        symbols = {State.PASSED: "✓", State.FAILED: "✗", State.TODO: self._say("todo_state"), State.NOT_RUN: "-"}
        return self.paint(pad(symbols[state], 4), COLOUR[state])

    def _refused(self) -> list[str]:
        """Files that the grader would refuse or could not run, although they may work here."""
        found = warnings(self.feedback.language) | problems(self.feedback.language)
        told = [rf"{re.escape(place)}\b" for place, _ in self.feedback.broken if place]  # with the remedy
        told += [f"^{re.escape(message)}$" for _, message in self.feedback.broken]
        new = {file: problem for file, problem in found.items() if not any(re.search(one, problem) for one in told)}
        lines = [f"  {self.paint('✗', 'red')} {file}  {problem}" for file, problem in new.items()]
        return [self.paint(self._say("before_submit"), "bold"), *lines] if lines else []

    # ── The table ──

    def _table(self) -> list[str]:
        columns = self._columns_of_titles()
        lines = [self.paint(self.feedback.rubric.title[self.feedback.language], "bold"), ""]
        for task in self._tasks:
            lines += [*self._rows(task, columns), ""]
        return lines + self._totals(columns)

    def _columns_of_titles(self) -> int:
        props = [prop for task in self._tasks for prop in task.properties]
        fractions = FRACTIONS * any(prop.points % 1 for prop in props)
        return min(10 + max(width(self._title(prop)) for prop in props), columns() - SCORE - fractions)

    def _rows(self, task: Task, columns: int) -> list[str]:
        most = sum(prop.points for prop in task.properties)
        lines = [self.paint(pad(self._name(task), columns) + _score(self._earned(task), most), "bold")]
        for prop in task.properties:
            state = self.feedback.state(prop)
            earned = prop.points if state is State.PASSED else 0
            first, *others = wrap(self._title(prop), columns - 8)
            lines.append(f"  {self._symbol(state)}  {pad(first, columns - 8)}{_score(earned, prop.points)}")
            lines += [f"        {other}" for other in others]
            if self.verbose:
                lines += self._tests_of(prop)
        return lines

    def _tests_of(self, prop: Property) -> list[str]:
        names = self.feedback.passed.get(prop.id, {}).values()
        passed = [f"        {self.paint('✓', 'green')} {name}" for name in names]
        return passed + [f"        {self.paint('✗', 'red')} {trouble.sentence}" for trouble in self._troubles(prop)]

    def _totals(self, columns: int) -> list[str]:
        lines = []
        for key, bonus in (("total", False), ("bonus", True)):
            tasks = [task for task in self._tasks if task.bonus is bonus]
            if tasks:
                most = sum(prop.points for task in tasks for prop in task.properties)
                score = _score(sum(map(self._earned, tasks)), most)
                lines.append(self.paint(pad(self._say(key), columns) + score, "bold"))
        return [*lines, self.paint(self._say("public_only"), "dim")]

    # ── What is missing ──

    def _todos(self) -> list[str]:
        todos = {trouble.place: trouble for trouble in self.feedback.troubles if trouble.todo and trouble.property_id}
        order = list(self.feedback.rubric.task_of)
        ordered = sorted(todos.values(), key=lambda trouble: order.index(trouble.property_id))
        rows = [f"  {trouble.place}  {self._left(trouble)}" for trouble in ordered]
        return [self.paint(self._say("to_write"), "yellow"), *rows] if rows else []

    def _left(self, trouble: Trouble) -> str:
        """What a TODO is about, as in ``Task 1: GroupRMSNorm.forward``."""
        _, task, piece = trouble.message.split(": ", 2)
        return self._say("left", number=task.removeprefix("Task "), piece=piece)

    def _broken(self) -> list[str]:
        whole_run = self.feedback.tasks is None
        rows = [self._broken_row(*why, ids) for why, ids in self.feedback.broken.items() if whole_run or ids]
        return [self.paint(self._say("broken"), "red"), *rows] if rows else []

    def _broken_row(self, place: str, message: str, property_ids: frozenset[str]) -> str:
        lost = [task for task in self._tasks if any(prop.id in property_ids for prop in task.properties)]
        numbers = self._say("and_task").join(str(task.number) for task in lost)
        return f"  {place}  {message}" + (self._say("costs", tasks=numbers) if lost else "")

    # ── What is wrong ──

    def _failures(self) -> list[str]:
        lines: list[str] = []
        shortened, seen = False, self.feedback.troubles
        for task in self._tasks:
            failed = [prop for prop in task.properties if self.feedback.state(prop) is State.FAILED]
            # An error that stops several properties is explained where the tests first met it.
            failed.sort(key=lambda prop: ((first := self._troubles(prop)[0]).rank, first.stopped and seen.index(first)))
            for number, prop in enumerate(failed):
                if number == 0 or self.explain_all:
                    lines += ["", *self._explain(prop)]
                else:
                    lines += [self._one_line(prop, self._troubles(failed[0])[0])]
                    shortened = True
        if not lines:
            return []
        if self.feedback.untried:
            lines += ["", self.paint(self._say("untried", most=MOST_TIMEOUTS), "dim")]
        further = [self._say("show_all", command=command("test", "all"))] if shortened else []
        if self.level == 1:
            further.append(self._say("ask_where", command=command("test", "hint", 2)))
        ending = [self.paint(line, "dim") for line in further]
        return [self.paint(self._say("wrong"), "red"), *lines, *([""] if ending else []), *ending]

    def _explain(self, prop: Property) -> list[str]:
        troubles = self._troubles(prop)
        lines = [self._heading(prop)]
        for trouble in troubles if self.explain_all and self.verbose else troubles[:1]:
            lines += self._details(prop, trouble)
        if len(troubles) > 1:
            lines.append("    " + self.paint(self._say("more_tests", count=len(troubles) - 1), "dim"))
        return lines

    def _details(self, prop: Property, trouble: Trouble) -> list[str]:
        printed = trouble.printed.splitlines()[-PRINTED_LINES:]
        told_by_the_law = trouble.law and not trouble.stopped and self.feedback.language == "zh"
        parts = {
            "tested": "" if told_by_the_law else trouble.sentence,
            # Without a result, there is nothing to compare with the law.
            "law": "" if trouble.stopped else trouble.law + (trouble.case if told_by_the_law else ""),
            "call": trouble.call,
            "got": trouble.message,
            "passes": self._other_cases(trouble),
            "place": trouble.way,
            "meet": trouble.values,
            "question": trouble.question[self.feedback.language] if trouble.question else "",
            "where": trouble.where if self.level > 1 else "",
            **(self._mistakes(prop, trouble) if self.level > 1 else {}),
            "read": self._page("debugging") if trouble.kind in RAISED else self._handout(prop),
            "printed": "\n".join(f" {line}" for line in printed),  # the space keeps a line from being wrapped
        }
        lines = []
        indent = 6 + max(width(self._say(key)) for key in (*parts, "rerun"))
        for key, text in parts.items():
            lines += block(f"    {self._say(key)}", text, indent=indent, columns=columns())
        rerun = f'{interpreter()} -m pytest "{trouble.nodeid}"{DEBUG}'
        lines.append(pad(f"    {self._say('rerun')}", indent) + rerun)
        return lines

    def _other_cases(self, trouble: Trouble) -> str:
        """The cases of a test that pass where the one explained fails; none of shorter dtypes, which hide errors."""
        test = trouble.nodeid.partition("[")[0]
        passed = self.feedback.passed.get(trouble.property_id, {})
        exact = (name for name in passed if coarseness(name) <= coarseness(trouble.nodeid))
        cases = [name.removeprefix(f"{test}[")[:-1] for name in exact if name.startswith(f"{test}[")]
        listed = ", ".join(cases[:MOST_CASES]) + (", …" if len(cases) > MOST_CASES else "")
        return self._say("passing", cases=listed) if cases else ""

    def _handout(self, prop: Property) -> str:
        """The path of the handout's page about the requirement; empty if there is no handout."""
        page = self._page(self.feedback.rubric.task_of[prop.id].id)
        return f"{page}#{prop.id}" if page.endswith(".html") else page

    def _page(self, name: str) -> str:
        """The path of a page of the handout in the student's language, HTML or Markdown; empty if there is none."""
        files = (f"handout/{self.feedback.language}/{name}.{suffix}" for suffix in ("html", "md"))
        return next((file for file in files if (ROOT / file).is_file()), "")

    def _mistakes(self, prop: Property, trouble: Trouble) -> dict[str, str]:
        """The known mistake behind the failures of a property, or two; if there is none, what the property asks for.

        Unless what the test saw is more special: then that would lead away from it. A line that fails shows no result.
        """
        language = self.feedback.language
        if trouble.kind not in (*RAISED, "not_reset") and (found := self._causes(prop)):
            either = (
                " ".join(self._say("mistake_named", text=one[language], name=one["name"]) for one in together)
                for together in found
            )
            return {"mistake": f"\n{self._say('or')} ".join(either)}
        asked = required(prop.id).get(language, "") if trouble.question is prop.question else ""
        return {"mistake": "" if trouble.named else self._say("unknown_mistake"), "asked": asked}

    def _causes(self, prop: Property) -> list[list[Explanation]]:
        """The known mistakes that fit a property's failures; of two, the one that is sure from another property."""
        looks = {
            other.id: [trouble.look for trouble in self._troubles(other) if not trouble.todo and trouble.look]
            for task in self.feedback.rubric.tasks
            for other in task.properties
            if self.feedback.state(other) is State.FAILED
        }
        found = mistakes(prop.id, looks[prop.id], looks)
        if len(found) > 1:
            others = (mistakes(name, seen, looks) for name, seen in looks.items())
            sure = [alone[0] for alone in others if len(alone) == 1]
            found = [cause for cause in found if cause in sure] or found
        return found

    def _one_line(self, prop: Property, explained: Trouble) -> str:
        trouble = self._troubles(prop)[0]
        alike = trouble.message == explained.message or trouble.kind == explained.kind == "not_a_tensor"
        same = trouble.stopped and alike and trouble.place == explained.place
        rest = self._say("same_error") if same else self._seen(trouble) if trouble.question else trouble.message
        return self._say("heading", title=self._heading(prop), rest=rest)

    def _seen(self, trouble: Trouble) -> str:
        """What a test saw, in one line; where values are wrong, what it is about, and what they have in common."""
        lines = trouble.message.splitlines()
        told = [line for line in lines if line[:1] != " " and line[-1:] not in ":："]
        if told and len(told) == len(lines):
            return told[-1]
        return self._say("failed_in", test=trouble.sentence, rest="".join(told[-1:]))

    def _heading(self, prop: Property) -> str:
        return f"{self.paint('✗', 'red')} {self.paint(self._title(prop), 'bold')}"

    def _troubles(self, prop: Property) -> list[Trouble]:
        """List the failures of a property by what comes first; those that are only a TODO come last."""
        mine = [trouble for trouble in self.feedback.troubles if trouble.property_id == prop.id]
        return sorted(mine, key=lambda trouble: (trouble.todo, trouble.rank))

    # ── The rest ──

    def _others(self) -> list[str]:
        rows = [f"  {t.nodeid}  {t.message}" for t in self.feedback.troubles if t.property_id is None and not t.todo]
        return [self.paint(self._say("other_tests"), "red"), *rows] if rows else []

    def _ending(self) -> list[str]:
        if self.feedback.interrupted_at:
            return [self._say("interrupted", place=self.feedback.interrupted_at)]
        if self.feedback.troubles or self.feedback.broken:
            return []
        if not self.feedback.passed:
            return [self._say("nothing_ran")]
        following = self.feedback.rubric.tasks[self._tasks[-1].number :][:1]
        return [
            self._say("all_done"),
            *([self._say("hand_in", command=command("submit"))] if self._all_points() else []),
            *map(self._next, following),
        ]

    def _next(self, task: Task) -> str:
        return self._say("next_task", task=self._name(task), file=next(iter(task.names.values())))

    def _all_points(self) -> bool:
        """Whether every task but a bonus is complete."""
        return sum(self._earned(task) for task in self.feedback.rubric.tasks if not task.bonus) == FULL_POINTS


def _score(earned: float, most: float) -> str:
    return f"{earned:>3g} / {most:g}"


# ── The run ──


def run(tasks: Sequence[Task], options: Namespace, page: Callable[..., Page] = Page) -> int:
    """Run the tests of some tasks as the command line asks, print the page, and return pytest's exit status."""
    rubric = load()
    gc.freeze()  # torch's objects stay; no collection looks through them again
    feedback = Feedback(rubric, options.lang, None if len(tasks) == len(rubric.tasks) else tasks)
    status = pytest.main(pytest_arguments(options.pytest, feedback.tasks), plugins=[feedback, *options.plugins])
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR) and not feedback.broken:
        return int(status)  # pytest has printed why
    print("\n".join(page(feedback, painter(), options.all, options.verbose, options.hint).lines()))
    return int(status)


def pytest_arguments(chosen: Sequence[str], tasks: Sequence[Task] | None) -> list[str]:
    """Pytest's arguments: the test files, unless some were chosen, and no plugin that is not needed."""
    arguments = ["--disable-plugin-autoload", f"--rootdir={ROOT}", "--assert=plain", "--tb=no"]
    arguments += ["--continue-on-collection-errors", *(f"-pno:{name}" for name in UNUSED_PLUGINS), *chosen]
    files_chosen = any("test_" in argument and ".py" in argument for argument in chosen)
    return arguments if files_chosen else [*arguments, *files_of(tasks)]
