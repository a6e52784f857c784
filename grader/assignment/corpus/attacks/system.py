"""Reaching for the machine: processes, signals, files, the network, and the memory of others."""

from grader.specimens.attacks import replaces

from .points import NO_ANSWER, WRONG_ANSWER


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
    try:
        with open(f"{parent}/mem", "rb") as memory, open(f"{parent}/environ", "rb") as environment:
            return memory, environment
    except OSError as error:  # without the process number, which is another one in each run
        raise OSError(error.errno, error.strerror) from None


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, needs="seccomp")
def asks_the_network(self, input):
    """Sends the input to someone who knows the answer."""
    import socket

    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.sendto(str(input).encode(), ("127.0.0.1", 53))
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def looks_for_secrets_in_the_environment(self, input):
    """Raises what it finds in the environment, the arguments and the path."""
    import os
    import sys

    raise ValueError(str([*os.environ.items(), *sys.argv, *sys.path, os.getcwd()]))
