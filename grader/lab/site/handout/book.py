"""Prints all pages of a language as one PDF, with a browser of this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
PRINT = ("--headless", "--disable-gpu", "--no-pdf-header-footer", "--generate-pdf-document-outline")
TRUSTED = "--no-sandbox"  # it opens only a file that we wrote; its sandbox needs rights that a container lacks
TIMEOUT_S = 120
_DATE = re.compile(rb"D:\d{14}")


class NotPrinted(Exception):
    """There is no PDF; the text gives the reason."""


def write(page: Path, language: str) -> Path:
    """Print a page as ``handout.pdf`` beside it; the same page and browser give the same bytes.

    Raises:
        NotPrinted: If no browser is found, it fails, or the page is Chinese and no font has Chinese characters.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise NotPrinted(f"no Chrome, Chromium or Edge found; install one, or print {page.name} from another browser")
    if language == "zh" and not has_chinese_font():
        raise NotPrinted("no Chinese font found; install one, such as Noto Serif CJK SC (Debian: fonts-noto-cjk)")
    path = page.with_name("handout.pdf")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *PRINT, TRUSTED, f"--user-data-dir={profile}", f"--print-to-pdf={path.resolve()}"]
        try:
            ended = subprocess.run(
                [*command, page.resolve().as_uri()], capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotPrinted(f"{browser}: {error}") from None
    if not path.is_file():
        raise NotPrinted(f"{browser} exited with {ended.returncode} and printed nothing")
    path.write_bytes(_DATE.sub(b"D:20000101000000", path.read_bytes()))
    return path


def has_chinese_font() -> bool:
    """Whether a browser can show Chinese; only Linux, where fontconfig tells, may lack a font for it."""
    lister = shutil.which("fc-list")
    return not lister or bool(subprocess.run([lister, ":lang=zh"], capture_output=True, check=False).stdout)
