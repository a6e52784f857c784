"""A real browser for tests: Chromium without a window, driven over a pipe by the DevTools protocol."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE_S = 60
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
]
CODES = {"Tab": 9, "Enter": 13, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36}
CODES |= {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
# The protocol wants its pipe at the descriptors 3 and 4; a program in between puts it there and becomes the browser.
MOVE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
START = (sys.executable, "-c", MOVE)


class Browser:
    """One tab."""

    def __init__(self, commands: BinaryIO, answers: BinaryIO) -> None:
        self._commands, self._answers = commands, answers
        self._count = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def open(self, page: Path, *, width: int = 1200, dark: bool = False, scripts: bool = True) -> None:
        """Load a page and wait until it is there.

        Args:
            page: Its file.
            width: Of the window, in pixels of CSS.
            dark: Whether the screen asks for dark pages.
            scripts: Whether JavaScript runs.
        """
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._call("Page.navigate", url=page.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in JavaScript."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", expression))
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE_S
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def press(self, key: str, times: int = 1) -> None:
        """Press a key and release it, as a person would."""
        code = CODES[key]
        text = {" ": " ", "Enter": "\r"}.get(key)
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown", "key": key, "code": key, "windowsVirtualKeyCode": code}
            self._call("Input.dispatchKeyEvent", **down, **({"text": text} if text else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._next())
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _next(self) -> bytes:
        """The next message; they end with a zero byte."""
        parts = []
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise EOFError("the browser has ended")
            parts.append(byte)
        return b"".join(parts)


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile in a folder, and end it."""
    to_browser, commands = os.pipe()
    answers, from_browser = os.pipe()
    process = subprocess.Popen(
        [*START, str(to_browser), str(from_browser), CHROMIUM or "", *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_browser, from_browser),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        with os.fdopen(commands, "wb", buffering=0) as out, os.fdopen(answers, "rb") as back:
            yield Browser(out, back)
    finally:
        process.kill()
        process.wait()
