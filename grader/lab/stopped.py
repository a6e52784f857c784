"""Ctrl-C ends a tool with one line."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """End the program with one line if somebody presses Ctrl-C in the block."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; nothing was written.", file=sys.stderr)
        sys.exit(130)
