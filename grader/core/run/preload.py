"""Imported by multiprocessing's fork server only, so that all judges share one import of torch and pytest."""

import atexit
import gc
import os
import signal
import warnings

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the import, which takes seconds, prints no traceback
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
atexit.register(os._exit, 0)  # exit at once; an ordinary exit takes seconds to unload torch

from grader.core.sandbox.started import start_ahead  # noqa: E402

start_ahead()
warnings.filterwarnings("ignore", "forkserver: waitpid returned")  # when a process that was started ahead ends
gc.disable()  # to look for garbage while torch is imported takes a seventh of the time, and there is none

from grader.core.judge import judge as judge  # noqa: E402 - imported once the signals are set

gc.freeze()  # a judge need not look through all that, and so does not copy its pages
gc.set_threshold(10_000)  # as in workers: the replies to one list alone are more than Python's 700
gc.enable()
