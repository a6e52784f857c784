"""The commands that messages advise, as they are typed where the message is read: with ``make`` or without."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from .student import ROOT

MODULES = {"test": "tests"} | {name: f"tests.{name}" for name in ("submit", "demo", "chat", "practice")}


def command(target: str, option: str = "", value: int | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """For ``test`` and ``all``: ``make test ALL=1`` if ``make`` runs this, else ``python -m tests --all``."""
    if environ.get("MAKELEVEL"):  # make sets it for its commands
        return f"make {target} {option.upper()}={value or 1}" if option else f"make {target}"
    words = [interpreter(), "-m", MODULES[target]]
    words += [f"--{option}"] if option else []
    return " ".join(words if value is None else [*words, str(value)])


def interpreter() -> str:
    """The command that runs Python: a relative path if its environment is in this folder, else ``python``."""
    path = Path(sys.executable)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else "python"


def exit_status(main: Callable[[], int]) -> int:
    """The exit status of ``main``; 1 without a traceback if nobody reads its output any more, as after ``| head``."""
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still has to flush
        return 1
    return status
