"""What the checking cells share."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Run checks on one thread, and let no warning cost a point.

    nbgrader gives a cell that writes to stderr no points, whatever it was that wrote.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
