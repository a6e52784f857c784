"""A real Chromium for tests, where there is one."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60.0
# In a container the browser has no sandbox to use, and little shared memory; the pages are ours.
FLAGS = ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run")
QUIET = ("disable-background-networking", "disable-component-update", "disable-sync")

AXE = os.environ.get("AXE", "")  # the path of axe.min.js, from `npm pack axe-core`

needs_axe = pytest.mark.skipif(not AXE, reason="needs axe-core: AXE=PATH/axe.min.js, from npm pack axe-core")
NEEDED = "needs Chromium and its driver: apt-get install chromium chromium-driver"


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser of its own, without a window, in which every message of the console is kept.

    Tests whose fixtures ask for it are skipped where there is none.
    """
    if not (CHROMIUM and DRIVER):
        pytest.skip(NEEDED)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in (*FLAGS, *QUIET, f"user-data-dir={profile}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.set_page_load_timeout(PATIENCE_S)
        yield driver
    finally:
        driver.quit()


class Tab:
    """A page from a file, driven by keyboard."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        """Use this browser's only tab."""
        self._driver = driver

    def open(
        self,
        page: Path,
        *,
        width: int = 1200,
        dark: bool = False,
        motion: bool = False,
        scripts: bool = True,
        medium: str = "screen",
    ) -> None:
        """Load a page; ``dark`` and ``motion`` are what the reader asks for, ``scripts`` whether JavaScript runs."""
        resize(self._driver, width, 900)
        asked = {"color-scheme": "dark" if dark else "light", "reduced-motion": "no-preference" if motion else "reduce"}
        features = [{"name": f"prefers-{name}", "value": value} for name, value in asked.items()]
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})
        self._driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self._driver.get(page.resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")  # get may return before, on a busy machine

    def resize(self, width: int) -> None:
        """Another width of the page that is open."""
        resize(self._driver, width, 900)
        self.wait_for(f"innerWidth === {width}")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in JavaScript."""
        answer = self._driver.execute_cdp_cmd("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        WebDriverWait(self._driver, PATIENCE_S, 0.02).until(lambda _: self.evaluate(expression))

    def focus(self, selector: str) -> None:
        """Give the keyboard to an element, which has to be one that can have it."""
        self.evaluate(f"document.querySelector({selector!r}).focus()")
        assert self.evaluate(f"document.activeElement === document.querySelector({selector!r})")

    def drag(self, selector: str, start: float, end: float, down: int = 0) -> None:
        """Drag the mouse across an element, between two shares of its width, and as many pixels down."""
        left, middle, width = self._place(selector)
        for kind, share, buttons in (("Pressed", start, 1), ("Moved", end, 1), ("Released", end, 0)):
            at = {"x": round(left + share * width), "y": middle + (0 if kind == "Pressed" else down)}
            event = {"type": f"mouse{kind}", "button": "left", "buttons": buttons, "clickCount": 1}
            self._driver.execute_cdp_cmd("Input.dispatchMouseEvent", event | at)

    def swipe(self, selector: str, distance: int) -> None:
        """Move a finger up, from the middle of an element."""
        left, middle, width = self._place(selector)
        for kind, up in (
            ("touchStart", 0),
            *(("touchMove", step) for step in range(0, distance, 8)),
            ("touchEnd", None),
        ):
            points = [] if up is None else [{"x": round(left + width / 2), "y": middle - up}]
            self._driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def _place(self, selector: str) -> tuple[float, int, float]:
        """Where an element is, in the middle of the window: its left edge, its middle, its width."""
        element = f"document.querySelector({selector!r})"
        self.evaluate(f"{element}.scrollIntoView({{behavior: 'instant', block: 'center'}})")
        box = self.evaluate(f"{element}.getBoundingClientRect().toJSON()")
        return box["x"], round(box["y"] + box["height"] / 2), box["width"]

    def violations(self) -> list[str]:
        """What axe finds on the page: the rule, and the first element that breaks it."""
        self._driver.set_script_timeout(PATIENCE_S)
        self._driver.execute_script(Path(AXE).read_text(encoding="utf-8"))
        found: list[str] = self._driver.execute_async_script(
            "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>"
            " done(violations.map(({ id, nodes }) => `${id}: ${nodes[0].target}`)))"
        )
        return found

    def press(self, key: str, times: int = 1, at: str = "") -> None:
        """Press a key, so often, ``at`` an element or where the keyboard is; a key is a letter or a name of `Keys`."""
        if at:
            self.focus(at)
        webdriver.ActionChains(self._driver).send_keys(*[getattr(Keys, key, key)] * times).perform()


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
