"""Work in several processes that judge submissions: none of it is retried, and nothing of it stays."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

from grader.core.sandbox.lockdown import die_with_parent

PR_SET_CHILD_SUBREAPER = 36


@contextlib.contextmanager
def pool(processes: int) -> Iterator[Executor]:
    """New processes for as long as the block lasts; if it ends by an exception, they are killed at once."""
    spawn = multiprocessing.get_context("spawn")  # not fork, which is unsafe once torch has threads
    with ProcessPoolExecutor(processes, spawn, _prepare) as executor:
        try:
            yield executor
        except BaseException:
            for process in multiprocessing.active_children():  # some may hang, on purpose
                process.kill()
            raise


def _prepare() -> None:
    """Prepare a process: one thread, no output; it ends with its parent, not by Ctrl-C, and becomes a subreaper."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    import torch  # which the parent need not have

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # submissions cause warnings on purpose
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    die_with_parent()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
