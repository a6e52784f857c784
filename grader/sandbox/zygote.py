"""The warm fork server: has imported torch, knows no test, no answer and no submission, and forks one worker a request.

It alone forks, kills and reaps, so no process number can be mistaken and nothing that a worker leaves outlives it.
Commands arrive as JSON datagrams on the control socket whose descriptor is the only argument:

* ``{"start": true}`` with a descriptor to take requests from: forks a worker and answers ``{"pid": ...}``;
* ``{"reap": pid, "grace_s": ...}``: kills that worker if it still runs after the grace, and answers how it ended.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
import traceback

import torch

from . import worker


def main(control_fd: int) -> None:
    """Serve commands until the judge closes the control socket."""
    control = socket.socket(fileno=control_fd)
    _warm_up()
    _forget_the_repository()
    control.send(json.dumps({"ready": True}).encode())
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1024, 1)
        if not data:
            os._exit(0)
        command = json.loads(data)
        answer = _start(control, *descriptors) if "start" in command else _reap(command["reap"], command["grace_s"])
        control.send(json.dumps(answer).encode())


def _start(control: socket.socket, rpc_fd: int) -> dict[str, int]:
    pid = os.fork()
    if pid == 0:
        try:
            control.close()
            worker.serve(worker.become_worker(rpc_fd))
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    os.close(rpc_fd)
    return {"pid": pid}


def _reap(pid: int, grace_s: float) -> dict[str, float]:
    end = time.monotonic() + grace_s
    ended, status, usage = os.wait4(pid, os.WNOHANG)
    while not ended and time.monotonic() < end:
        time.sleep(0.001)
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    if not ended:
        os.kill(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return {
        "signal": signal_number,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss // 1024,
    }


def _warm_up() -> None:
    """Run each lazy initialiser once, on one thread, so that no worker pays for it after its fork."""
    torch.set_num_threads(1)
    x = torch.randn(2, 3, 8, requires_grad=True)
    layer = torch.nn.Linear(8, 8)
    y = torch.einsum("bik,bjk->bij", layer(x), x).softmax(-1)
    y.backward(torch.ones_like(y))
    torch.polar(torch.ones(2), torch.ones(2)).to(torch.complex64).abs()
    torch.nn.functional.embedding(torch.tensor([0, 1]), layer.weight)
    x.detach().to(torch.bfloat16).float().pow(2).mean(-1).rsqrt().masked_fill(torch.zeros(2, 3, dtype=torch.bool), 0)
    torch.randn(3, generator=torch.Generator().manual_seed(0)).sort()
    str(x)
    gc.collect()
    gc.freeze()


def _forget_the_repository() -> None:
    """Leave only Python and its packages importable: a student must not meet ``ref`` or ``grader`` on the path."""
    sys.path[:] = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder.__module__.startswith("_frozen_importlib")]


if __name__ == "__main__":
    main(int(sys.argv[1]))
