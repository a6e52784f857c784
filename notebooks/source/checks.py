"""What the checking cells share."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from typing import Any


def close(given: Any, right: Any) -> bool:
    """Whether a float, a list or a tensor of floats is right but for rounding: off by 1e-12, in 32 bits by 1e-6."""
    import torch

    given, right = (x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64) for x in (given, right))
    off = 1e-6 if given.dtype in (torch.float32, torch.complex64) else 1e-12
    return given.shape == right.shape and torch.allclose(given, right.to(given.dtype), rtol=off, atol=off)


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
