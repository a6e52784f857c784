"""What all self-tests share beside fixtures.

A pytest plugin, loaded by ``grader/conftest.py``. What is imported and collected stays until the end, so the garbage
collector passes over it: each of its full passes would go through all objects of torch, which takes half a second.
"""

from __future__ import annotations

import gc
from collections import Counter

import pytest
import torch
from hypothesis import HealthCheck, settings

from grader.core.sandbox.worker import seed_none
from grader.selftest import LONG
from grader.selftest.commands import compile_templates_once, read_commands_once
from grader.selftest.fork_servers import ForkServers
from grader.selftest.fork_servers import own_fork_servers as own_fork_servers
from grader.selftest.measured import Measured, tracer_of_this_process
from grader.selftest.starts import Starts

gc.disable()  # until all is collected

# The same examples in every run, so that a commit passes or does not (GRADER_LONG: others), also on a busy machine.
settings.register_profile(
    "ours",
    derandomize=not LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("ours")


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugins that are objects."""
    read_commands_once()
    compile_templates_once()
    seed_none(*(kind for kind in (torch.cuda, torch.xpu, torch.mtia) if not kind.is_available()))
    config.pluginmanager.register(ForkServers(), "fork servers")
    config.pluginmanager.register(Measured(tracer_of_this_process()), "measured")
    config.pluginmanager.register(Starts(strict="not process" in str(config.getoption("markexpr"))), "starts")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files of many dear tests, or of many, so that no worker has one left when the others have finished."""
    dear = Counter(item.path for item in items if any(map(item.get_closest_marker, ("slow", "process"))))
    every = Counter(item.path for item in items)
    items.sort(key=lambda item: (-dear[item.path], -every[item.path]))


def pytest_collection_finish() -> None:
    """Count from here what is garbage."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Keep torch to one thread: tensors are tiny here, and more threads would disturb tests of time limits."""
    torch.set_num_threads(1)
