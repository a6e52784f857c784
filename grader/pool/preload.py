"""Imported by multiprocessing's fork server only, so that all judges share one import of torch and pytest."""

import atexit
import os
import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C in the seconds of the import ends it without a traceback
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
atexit.register(os._exit, 0)  # ends at once; an ordinary exit spends seconds on taking torch apart

from ..judge import judge as judge  # noqa: E402 - after the above
