"""Loads what all self-tests share where tests run: it imports torch, for which pytest-xdist's controller has no use."""

from __future__ import annotations

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugins, unless this process only hands out tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # where a script runs pytest in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        for name in ("fixtures", "plugin"):
            config.pluginmanager.import_plugin(f"grader.selftest.{name}")
