"""Imported by multiprocessing's fork server only, so that all judges share one import of torch and pytest."""

import atexit
import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the import, which takes seconds, prints no traceback
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
atexit.register(os._exit, 0)  # exit at once; an ordinary exit takes seconds to unload torch

from ..judge import judge as judge  # noqa: E402 - imported once the signals are set
