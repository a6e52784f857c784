"""Maintainers' tools: proofs of the grader, benchmarks, releases, and the site."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """On Ctrl-C in the block, end the program with one line."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; nothing was written.", file=sys.stderr)
        sys.exit(130)
