"""Maintainers' tools: proofs of the grader, benchmarks, releases, and the site."""

import contextlib
import sys
from collections.abc import Iterator

from grader.core.messages import UserError


@contextlib.contextmanager
def one_line() -> Iterator[None]:
    """On Ctrl-C in the block, or an error that its user can mend, end the program with one line."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; nothing was written.", file=sys.stderr)
        sys.exit(130)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(error.code)
