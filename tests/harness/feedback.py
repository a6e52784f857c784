"""The pytest plugin behind ``python -m tests``: it collects results, which are shown as one page at the end."""

import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path

import pytest

from . import student
from .compare import MismatchError
from .hints import CLEAR, asked_of, look_of, question_for, rank
from .raised import Calls, describe, kind_of, place_of, values_at, way_to
from .rubric import ROOT, SOURCE, TESTS, Property, Rubric, Task
from .shared import source_rules
from .shared.source_rules import relative_name
from .student import LIMIT_AFTER_TIMEOUT_S, TIME_LIMIT_S, time_limit
from .terminal import Language, say

PACKAGE_ERRORS = pytest.StashKey[list[BaseException]]()
CALLS = pytest.StashKey[Calls]()
MOST_TIMEOUTS = 3  # in one task; after that its other tests are skipped, to save time


class State(Enum):
    """The result of all tests of one property."""

    PASSED = "passed"
    FAILED = "failed"
    TODO = "todo"
    NOT_RUN = "not run"


class Trouble:
    """One test that did not pass."""

    def __init__(
        self, item: pytest.Item, error: BaseException, printed: str, prop: Property | None, language: Language
    ) -> None:
        self.nodeid, self.property_id = item.nodeid, prop and prop.id
        self.elsewhere = "elsewhere" in item.fixturenames  # it needs a second device
        self.sentence, self.law = _sentence(item, language), _law(item, language)
        self.case = _case(item)  # empty if the test has only one
        self.message = _told(error, language)
        self.kind = kind_of(error)
        self.place = place_of(error)  # the line of the student's code that raised an error; empty if none did
        self.way = way_to(error)  # the lines that led there
        calls, unusable = item.config.stash[CALLS], self.kind == "unusable"
        # What meets there.
        self.values = say(language, "returned", what=calls.returned()) if unusable else values_at(error)
        self.todo = student.is_todo(error)
        self.question = question_for(item, error, prop) if prop else None  # None if the message is enough
        self.call = calls.last  # of the student's code, with its arguments
        where = error.where if isinstance(error, MismatchError) else ()
        self.where = "\n".join(say(language, key, **fields) for key, fields in where)  # for students who ask
        self.look = look_of(item.nodeid, error)
        self.printed = printed

    @property
    def named(self) -> bool:
        """Whether its kind is the mistake."""
        return self.kind in CLEAR or asked_of(self.kind) is not None

    @property
    def stopped(self) -> bool:
        """Whether there is no result at all."""
        return rank(self.kind) == 0

    @property
    def rank(self) -> tuple[bool, int]:
        """How early it is explained; what needs a second device comes after everything else."""
        return self.elsewhere, rank(self.kind)


class Feedback:
    """Collects outcomes by property; silences pytest's own report."""

    def __init__(self, rubric: Rubric, language: Language, tasks: Sequence[Task] | None) -> None:
        """Collect the results of all tests, or only those of ``tasks`` if some are given."""
        self.rubric = rubric
        self.language = language
        self.tasks = tasks
        self.passed: dict[str | None, dict[str, str]] = defaultdict(dict)  # by property: each test's id and sentence
        self.troubles: list[Trouble] = []
        # Files that could not be imported: by place and message, the properties whose tests could not run for that.
        self.broken: dict[tuple[str, str], frozenset[str]] = {}
        self.interrupted_at: str | None = None
        self._limit_s = TIME_LIMIT_S
        self.untried: set[str | None] = set()  # properties with a test that was skipped
        self._timeouts: Counter[str | None] = Counter()  # by task

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Remove pytest's own reporter, unless the debugger is used, which needs it."""
        if not config.option.usepdb:
            config.pluginmanager.unregister(name="terminalreporter")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Select the tests of the chosen tasks."""
        kept = [item for item in items if self.tasks is None or self._belongs(property_of(item))]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept
        for error in config.stash[PACKAGE_ERRORS]:
            self._note_broken(error, frozenset())  # merged with an error of a test file at the same line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """End a test that takes too long, so that the other tests can run."""
        if item.config.option.usepdb:
            return (yield)
        task = self.rubric.task_of.get(property_of(item) or "")
        if self._timeouts[task and task.id] >= MOST_TIMEOUTS:
            self.untried.add(property_of(item))
            pytest.skip()
        try:
            with time_limit(self._limit_s, say(self.language, "too_long", seconds=self._limit_s)):
                return (yield)
        except TimeoutError:
            self._limit_s = LIMIT_AFTER_TIMEOUT_S
            self._timeouts[task and task.id] += 1
            raise

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        """Record a test that passed."""
        report = yield
        if call.when == "call" and report.passed:
            self.passed[property_of(item)][item.nodeid] = _sentence(item, self.language)
        return report

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo, report: pytest.TestReport
    ) -> None:
        """Record a test that failed, or a test file that could not be imported."""
        error = call.excinfo.value
        if isinstance(node, pytest.Item):
            name = property_of(node)
            prop = self.rubric.property(name) if name else None
            self.troubles.append(Trouble(node, error, report.capstdout, prop, self.language))
        else:
            ids = _ids_written_in(node.path.read_text("utf-8")) if node.path.is_file() else frozenset()
            self._note_broken(error.__cause__ or error, ids)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo) -> None:
        """Record the line of the student's code that Ctrl-C interrupted."""
        self.interrupted_at = place_of(excinfo.value) or "tests"

    def state(self, prop: Property) -> State:
        """The state of one property. If some tests fail and others only find a TODO, the property has failed."""
        todos = [trouble.todo for trouble in self.troubles if trouble.property_id == prop.id]
        if todos:
            return State.TODO if all(todos) else State.FAILED
        lost = prop.id in self.untried or any(prop.id in ids for ids in self.broken.values())
        return State.PASSED if self.passed.get(prop.id) and not lost else State.NOT_RUN

    def _belongs(self, property_id: str | None) -> bool:
        return self.rubric.task_of.get(property_id) in (self.tasks or ())

    def _note_broken(self, error: BaseException, property_ids: frozenset[str]) -> None:
        why = why_not_imported(error, self.language)
        if self.tasks is not None:
            property_ids = frozenset(filter(self._belongs, property_ids))
        self.broken[why] = self.broken.pop(why, frozenset()) | property_ids  # two test files may import one file


def why_not_imported(error: BaseException, language: Language) -> tuple[str, str]:
    """Name the file to look at, with the line if there is one, and what is wrong there."""
    place, message = place_of(error), _told(error, language)
    files = [file.relative_to(ROOT).as_posix() for file in student.source_files()]
    if isinstance(error, SystemExit | student.Exited):
        message = say(language, "exits")
    elif isinstance(error, TimeoutError):
        message = say(language, "too_long", seconds=TIME_LIMIT_S)
    elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("src"):
        missing = error.name.replace(".", "/") + ".py"
        found = next((file for file in files if file.endswith(f"/{Path(missing).name}")), "")
        if found and place:  # the dots before the name are too many or too few
            relative = relative_name(Path(found).stem, place.partition(":")[0], [found])
            message = say(language, "elsewhere_in_src", missing=missing, found=found, relative=relative)
        else:
            place, message = missing, say(language, "missing_file")
    elif isinstance(error, ModuleNotFoundError) and any(SOURCE.rglob(f"{error.name}.py")):
        relative = relative_name(error.name, place.partition(":")[0], files)
        message = say(language, "own_module", error=message, relative=relative)
    elif isinstance(error, SyntaxError) and (refused := _refused(error, files, language)):
        place, message = refused
    elif isinstance(error, ImportError) and error.path and Path(error.path).is_relative_to(SOURCE):
        place = Path(error.path).relative_to(ROOT).as_posix()
    return place, message


def refused_text(file: str, language: Language) -> str:
    """Why the bytes of a file of ``src`` are no source text, and what to do; empty if they are."""
    try:
        source_rules.decoded((ROOT / file).read_bytes())
    except source_rules.Refused as refusal:
        return say(language, f"source_{refusal.code}", **refusal.fields)
    return ""


def _refused(error: SyntaxError, files: Sequence[str], language: Language) -> tuple[str, str] | None:
    """The file whose bytes are no source text; for NUL bytes, as in UTF-16, Python may name no file."""
    possible = [file for file in files if not error.filename or Path(error.filename) == ROOT / file]
    return next(((file, told) for file in possible if (told := refused_text(file, language))), None)


def _law(item: pytest.Item, language: Language) -> str:
    """The law that a test checks: the first paragraph of its docstring in English, the second one in Chinese.

    Names in braces stand for the values of the case. Lines in Chinese are joined without a space.
    """
    english, *others = (inspect.getdoc(item.function) or "").split("\n\n")
    law = others[0].replace("\n", "") if language == "zh" and others else english
    case = item.callspec.params if hasattr(item, "callspec") else {}
    return re.sub(r"\{(\w+)\}", lambda name: str(case.get(name[1], name[0])), law)


def _sentence(item: pytest.Item, language: Language) -> str:
    """What a test is called: ``zeros stay zeros (cpu-float32)``; in Chinese the first sentence of its law."""
    words = item.originalname.removeprefix("test_").replace("_", " ")
    law = _law(item, language) if language == "zh" else ""
    return (re.split("[。；]", law)[0] if not law.isascii() else words) + _case(item)


def _case(item: pytest.Item) -> str:
    return f" ({item.callspec.id})" if hasattr(item, "callspec") else ""


def property_of(item: pytest.Item) -> str | None:
    """Return the property id that a test is marked with; None for tests that students add."""
    marker = item.get_closest_marker("rubric")
    return marker and (marker.args[0] if marker.args else "")


def files_of(tasks: Sequence[Task] | None) -> list[str]:
    """List the test files that hold tests of ``tasks``; all of them without tasks."""
    ids = None if tasks is None else {prop.id for task in tasks for prop in task.properties}
    return [
        str(file)
        for file in sorted(TESTS.glob("test_*.py"))
        if ids is None or ids & _ids_written_in(file.read_text("utf-8"))
    ]


def _ids_written_in(text: str) -> frozenset[str]:
    return frozenset(re.findall(r'mark\.rubric\("(\w+)"\)', text))


def _told(error: BaseException, language: Language) -> str:
    """What is said of an error: for a comparison its whole message, for any other exception its name and message."""
    return error.tell(language) if isinstance(error, MismatchError) else describe(error, language)
