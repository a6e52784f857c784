"""The system calls that student code may make, by name; everything else fails with EPERM.

No process, thread, program, socket, signal, debugger or file to write: a solution only computes, reads modules, and
answers on one descriptor.
"""

from __future__ import annotations

import ctypes
import errno
import os

ALLOWED = (
    # memory
    *("brk", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "munmap", "get_mempolicy"),
    # open descriptors
    *("close", "dup", "dup2", "dup3", "fstat", "lseek", "poll", "ppoll", "pread64", "pselect6", "read", "readv"),
    *("select", "write", "writev"),
    # names of files, to import modules (for opening them see below)
    *("access", "faccessat", "faccessat2", "getcwd", "getdents64", "lstat", "newfstatat", "readlink", "readlinkat"),
    *("stat", "statx"),
    # time
    *("gettimeofday", "nanosleep", "time", "times"),
    # the process itself
    *("arch_prctl", "exit", "exit_group", "futex", "getcpu", "getegid", "geteuid", "getgid", "getpid", "getppid"),
    *("getrandom", "getrlimit", "getrusage", "gettid", "getuid", "restart_syscall", "rseq", "rt_sigaction"),
    *("rt_sigprocmask", "rt_sigreturn", "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack"),
    *("sysinfo", "uname"),
)

# Opening a file is allowed only for reading, and only where another layer limits which files can be read.
OPEN_FLAGS_ARGUMENT = {"open": 1, "openat": 2}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# What Python asks of descriptors: terminal size, non-blocking mode, flags, duplicates.
IOCTL_COMMANDS = (0x5401, 0x5413, 0x5421, 0x541B, 0x5450, 0x5451)  # TCGETS TIOCGWINSZ FIONBIO FIONREAD FIONCLEX FIOCLEX
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)  # F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_DUPFD_CLOEXEC

# The clocks of this process and of the machine; all others are those of other processes.
CLOCKS, LAST_CLOCK = ("clock_getres", "clock_gettime", "clock_nanosleep"), 7

BYTES_OF_AN_INSTRUCTION = 8


class Program(ctypes.Structure):
    """A seccomp filter as the kernel takes it: ``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def seccomp_program(may_open: bool) -> Program:
    """A filter that allows the calls above, and lets every other fail with EPERM.

    Args:
        may_open: Whether files may be opened for reading.

    Raises:
        ImportError: If libseccomp or its binding is missing.
    """
    import pyseccomp
    from pyseccomp import ALLOW, EQ, LE, MASKED_EQ, Arg

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in ALLOWED:
        rules.add_rule(ALLOW, name)
    for name, argument in OPEN_FLAGS_ARGUMENT.items():
        if may_open:
            rules.add_rule(ALLOW, name, Arg(argument, MASKED_EQ, WRITING, 0))
    for name, commands in (("ioctl", IOCTL_COMMANDS), ("fcntl", FCNTL_COMMANDS)):
        for command in commands:
            rules.add_rule(ALLOW, name, Arg(1, EQ, command))
    for name in CLOCKS:
        rules.add_rule(ALLOW, name, Arg(0, LE, LAST_CLOCK))
    rules.add_rule(ALLOW, "prlimit64", Arg(2, EQ, 0))  # to read a limit, not to set one
    with open(os.memfd_create("filter"), "w+b") as file:  # compiled once, not in every worker
        rules.export_bpf(file)
        file.seek(0)
        program = file.read()
    return Program(len(program) // BYTES_OF_AN_INSTRUCTION, program)
