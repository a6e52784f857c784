"""A real Chromium for tests, where there is one."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60.0
QUIET = ("disable-background-networking", "disable-component-update", "disable-sync", "no-first-run")

needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs Chromium and its driver: apt-get install chromium chromium-driver"
)


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser of its own, without a window, in which every message of the console is kept."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    # In a container the browser has no sandbox to use; the pages are ours.
    for argument in ("headless", "no-sandbox", "disable-gpu", *QUIET, f"user-data-dir={profile}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.set_page_load_timeout(PATIENCE_S)
        yield driver
    finally:
        driver.quit()


def resize(driver: webdriver.Chrome, width: int, height: int) -> None:
    """Another size of the page, also one that no window can have."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


@contextlib.contextmanager
def served(*arguments: str | Path) -> Iterator[str]:
    """``grader review`` in a process of its own; gives the address that it prints."""
    command = [sys.executable, "-m", "grader.selftest.command", "review", *map(str, arguments), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
