"""Using up what there is, memory, disk, output, descriptors, time, and crashing when nothing else helps."""

import torch

from grader.specimens.attacks import on_import, replaces

from .points import NO_ANSWER, NORM_LOST, WRONG_ANSWER


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def fills_the_disk(self, input):
    """Writes a file as large as it can get, wherever it may."""
    import contextlib
    import os

    for folder in ("/tmp", "/dev/shm", "/var/tmp", "."):
        try:
            with open(os.path.join(folder, "flood"), "wb") as file:
                while True:
                    file.write(bytes(1 << 20))
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, "flood"))
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def fills_the_memory(self, input):
    """Allocates until something gives."""
    hoard = []
    while True:
        hoard.append(torch.ones(16 << 20))


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def fills_the_output(self, input):
    """Prints 20 MB to both streams, then answers wrongly."""
    import sys

    for _ in range(20):
        print("x" * (1 << 20))
        print("x" * (1 << 20), file=sys.stderr)
    return input


@on_import("src/functional.py")
def uses_up_the_descriptors():
    """Duplicates its descriptors until there is no number left, beside an honest solution."""
    import os

    try:
        while True:
            os.dup(60)
    except OSError:
        pass


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def blocks_every_signal(self, input):
    """Ignores and blocks all signals, then hangs."""
    import signal

    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        pass


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def survives_interrupts(self, input):
    """Catches everything that Python can throw at it, again and again."""
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def hangs_in_c(self, input):
    """Spends its time where no Python code runs."""
    return 3 ** (10**9)


@on_import("src/modeling/norm.py", score=NORM_LOST)
def hangs_while_imported():
    """Never gets as far as defining anything that could be asked."""
    import time

    time.sleep(600)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def breaks_the_stack(self, input):
    """Recurses until the C stack overflows."""
    import sys

    sys.setrecursionlimit(10**9)

    def deep(*_):
        return sorted([0, 1], key=deep)  # through C at every level

    return deep()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def writes_to_address_zero(self, input):
    """Crashes the interpreter."""
    import ctypes

    ctypes.memset(0, 0, 1)


@on_import("src/functional.py")
def raises_its_own_limits():
    """Asks for more memory, time and processes, beside an honest solution."""
    import contextlib
    import resource

    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
