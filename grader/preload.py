"""What multiprocessing's fork server imports, once for all judges; no other process imports this."""

import atexit
import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C in the seconds that this takes ends it, without a traceback
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
atexit.register(os._exit, 0)  # at once, rather than after seconds of taking torch apart

from . import grading as grading  # noqa: E402 - after the above
