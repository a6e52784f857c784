"""Reaching for the machine: processes, signals, files, network, memory, and the time of others."""

import torch

from .catalog import NO_ANSWER, NORM_LOST, WRONG_ANSWER, on_import, replaces


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def forks_without_end(self, input):
    """A fork bomb."""
    import os

    while True:
        os.fork()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def leaves_a_daemon_behind(self, input):
    """Leaves a process in a session of its own that waits for the next submission."""
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def starts_threads_without_end(self, input):
    """A thread bomb."""
    import threading
    import time

    while True:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def runs_a_program(self, input):
    """Asks a shell to do it."""
    import subprocess

    subprocess.run(["/bin/sh", "-c", "kill -9 -1"], check=True)
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def becomes_another_program(self, input):
    """Replaces itself by a program that has none of these limits in mind."""
    import os

    os.execv("/bin/sh", ["sh", "-c", "sleep 600"])


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER, needs="seccomp")
def kills_everybody(self, input):
    """Kills the fork server, the judge, its session and all that it may."""
    import contextlib
    import os
    import signal

    for pid in (os.getppid(), 1, 2, -1):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def kills_itself(self, input):
    """Dies by the signal of someone else, so that the grader looks at fault."""
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def traces_the_fork_server(self, input):
    """Attaches to its parent as a debugger and writes into its memory."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PTRACE_ATTACH")
    libc.ptrace(4, os.getppid(), 0, 0)
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="landlock")
def reads_the_fork_servers_memory(self, input):
    """Opens the memory and the descriptors of the process that forked it."""
    import os

    parent = f"/proc/{os.getppid()}"
    with open(f"{parent}/mem", "rb") as memory, open(f"{parent}/environ", "rb") as environment:
        return memory, environment


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def asks_the_network(self, input):
    """Sends the input to someone who knows the answer."""
    import socket

    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(str(input).encode(), ("127.0.0.1", 53))
    return input


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


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def looks_for_secrets_in_the_environment(self, input):
    """Raises what it finds in the environment, the arguments and the path."""
    import os
    import sys

    raise ValueError(str([*os.environ.items(), *sys.argv, *sys.path, os.getcwd()]))


@on_import("src/functional.py")
def raises_its_own_limits():
    """Asks for more memory, time and processes, beside an honest solution."""
    import contextlib
    import resource

    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
