"""What every test here gets: the ``rubric`` marker, the dtypes, and every device that this machine has."""

import bdb
import importlib.util
import os
from functools import cache

import pytest
import torch

from .harness import rubric, student
from .harness.compare import MismatchError
from .harness.feedback import CALLS, PACKAGE_ERRORS, property_of
from .harness.hints import question_for
from .harness.raised import Calls
from .harness.rubric import MINE, SOURCE
from .harness.shared.source_rules import asks_for_cuda, nodes_of
from .harness.terminal import Refused, language_of, say

MOST_CAUSES = 8  # of an exception, that are searched
ONLY_CPU = os.environ.get("DEVICE") == "cpu"  # as in `make test DEVICE=cpu`
_GPU = torch.backends.cuda.is_built() and torch.cuda.is_available() and not ONLY_CPU
REAL_DEVICES = [torch.device(name) for name in ("cpu", "cuda")[: 1 + _GPU]]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and import the student's packages before the test files do."""
    config.addinivalue_line("markers", "rubric(id): the rubric property that the test checks")
    config.addinivalue_line("markers", "hint(kind, ..., en, zh): the question for such failures")
    torch.set_num_threads(1)  # the tensors are tiny, starting threads would take longer
    config.stash[PACKAGE_ERRORS] = student.import_packages()
    config.stash[CALLS] = Calls()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse property ids that the rubric does not have, and let student code warn."""
    try:
        known = rubric.load().task_of
    except Refused as error:
        raise pytest.UsageError(str(error)) from None
    for item in items:
        name = property_of(item)
        if name is not None and name not in known:
            raise pytest.UsageError(f"{item.nodeid}: the rubric has no property {name!r}.")
        item.extra_keyword_matches.add(name or "")  # for -k: a report names the property
        if config.pluginmanager.hasplugin("warnings"):
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # a warning is no wrong answer


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin each test alike: code that draws without a seed then gives the same in each run, as other mistakes do.

    Devices and dtypes are passed as they are; for each, pytest would set up a fixture, which takes as long as a test.
    """
    torch.default_generator.manual_seed(0)
    item.config.stash[CALLS].forget()
    if hasattr(item, "callspec"):
        case = item.callspec.params
        item.funcargs |= {name: case[name] for name in ("dtype", "device", "elsewhere") if name in case}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Leave out what the simulated device cannot show."""
    try:
        return (yield)
    except Exception as error:
        if "elsewhere" in getattr(item, "fixturenames", ()) and says_nothing(error):
            pytest.skip("assessed on a GPU only: the simulated device cannot show this")
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In plain pytest and in editors: a TODO that is left is a skip, and a failure is followed by its question."""
    name = property_of(item)
    todo = name is not None and call.excinfo is not None and student.is_todo(call.excinfo.value)
    if todo:
        call.excinfo.traceback = call.excinfo.traceback[:0]  # nobody reads it, and pytest would format it at length
    report = yield
    if not report.failed or name is None:
        return report
    if todo:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"TODO: {call.excinfo.value}")
        return report
    prop, language = rubric.load().property(name), language_of()
    if question := question_for(item, call.excinfo.value, prop):
        report.sections.append((say(language, "asked_below", title=prop.title[language]), question[language]))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_exception_interact(node, call):
    """With ``--pdb`` and a wrong value, stop in the student's code, which has long returned; then in the test."""
    if not node.config.option.usepdb or not isinstance(call.excinfo.value, MismatchError):
        return
    capture = node.config.pluginmanager.getplugin("capturemanager")
    if capture is not None:  # the debugger needs the keyboard
        capture.suspend_global_capture(in_=True)
    try:
        node.config.stash[CALLS].debug_last()
    except bdb.BdbQuit:
        pytest.exit("the debugger was left")
    finally:
        if capture is not None:
            capture.resume_global_capture()


@pytest.fixture(params=[torch.float32, torch.float16, torch.bfloat16], ids=lambda dtype: str(dtype)[6:])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    """Each of the three dtypes that models are trained in."""
    return request.param


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for another device on the GPU, or on a simulated one; leave it out where there is neither.

    In plain pytest and in editors, tests of the practice run on each right implementation; none may refuse one.
    """
    if metafunc.definition.path == MINE:
        practice = importlib.import_module("tests.practice.__main__")
        if (name := practice.implementations.FUNCTION) in metafunc.fixturenames:
            metafunc.parametrize(name, [practice.IMPLEMENTATIONS[one] for one in practice.RIGHT], ids=practice.RIGHT)
    if "elsewhere" in metafunc.fixturenames:
        other = "cuda" if _GPU else simulation() and simulation().DEVICE
        name = "cuda" if _GPU else "a second device, simulated"
        metafunc.parametrize("elsewhere", [torch.device(other)] if other else [], ids=[name] if other else None)


@pytest.fixture(params=REAL_DEVICES, ids=str)
def device(request: pytest.FixtureRequest) -> torch.device:
    """The CPU, and the GPU where there is one."""
    return request.param


# ── A second device ──


@cache
def simulation():
    """The simulated device: tensors in the CPU's memory that torch treats as tensors on another device.

    None where there is a GPU, with ``DEVICE=cpu``, in a copy of the tests alone, and if this torch has no simulation.
    """
    if ONLY_CPU or _GPU or not importlib.util.find_spec("tests.harness.shared.second_device"):
        return None
    package = importlib.import_module("tests.harness.shared.second_device")
    try:
        package.install()
    except package.Unavailable:
        return None
    return package


def says_nothing(error: BaseException) -> bool:
    """Whether a failure on the simulated device may be the simulation's: it lacks something, or is asked for CUDA."""
    if simulation() is None:
        return False
    causes = [error]
    while causes[-1] is not None and len(causes) < MOST_CAUSES:
        causes.append(causes[-1].__cause__ or causes[-1].__context__)
    if any(type(cause).__name__ == simulation().NotSimulated.__name__ for cause in causes):
        return True
    return any(asks_for_cuda(nodes_of(path.read_text("utf-8", "replace"))) for path in SOURCE.rglob("*.py"))
