"""Files of tests that try to earn practice points by anything but testing."""

from __future__ import annotations

from grader.assignment import ASSIGNMENT

EACH = "\nfor _number in range(50):\n    exec(f'def test_{_number}(visible): attempt({_number}, visible)')\n"
HOSTILE = {
    "fails always": "def test_all(visible): assert False",
    "tosses coins": "import os\ndef attempt(number, visible): assert os.urandom(1)[0] > 25" + EACH,
    "looks at its process number": "import os\ndef attempt(number, visible): assert os.getpid() % 9 != number % 9"
    + EACH,
    "looks at the clock": (
        "import time, logging\nbegan = logging._startTime\n"
        "def attempt(number, visible): assert time.time() - began < number / 10" + EACH
    ),
    "ends the program": "import os\ndef test_exit(visible): raise SystemExit(0)\ndef test_end(visible): os._exit(1)",
    "kills everybody": (
        "import os, signal\ndef test_kill(visible):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
        "def test_all(visible):\n    os.kill(-1, signal.SIGKILL)"
    ),
    "forks": "import os\ndef test_fork(visible):\n    while True: os.fork()",
    "fills the memory": (  # what it may address; to write to it takes half a second on each implementation
        "import torch\ndef test_memory(visible):\n    kept = []\n    while True: kept.append(torch.empty(1 << 24))"
    ),
    "writes to the judge": (
        "import os\ndef test_forge(visible):\n    for fd in range(3, 64):\n"
        "        try: os.write(fd, b'\\x05\\0\\0\\0true!' * 99)\n        except OSError: pass"
    ),
    "patches the runner": (
        "import sys\nfor module in list(sys.modules.values()):\n    if hasattr(module, 'outcome'):\n"
        "        module.outcome = lambda test, implementation: {'type': 'Caught', 'line': 1}\n"
        "def test_nothing(visible): pass"
    ),
    "lies about its tests": (
        "import sys\nfor module in list(sys.modules.values()):\n    if hasattr(module, 'outcome'):\n"
        "        module.names = lambda module: [1, {'x': 2}]\ndef test_nothing(visible): pass"
    ),
    "patches pytest": (
        "import pytest\npytest.fail = lambda *_: None\npytest.exit('over', 0)\ndef test_nothing(visible): pass"
    ),
    "reads the source": (
        "import inspect\ndef test_source(visible): assert '<=' not in inspect.getsource(visible)\n"
        "def test_doc(visible): assert visible.__doc__ is not None"
    ),
    "reads the course's files": (
        "import glob\ndef test_files(visible):\n    import pathlib\n"
        f"    assert 'mistakes' not in pathlib.Path({str(ASSIGNMENT.folder / 'practice/__init__.py')!r}).read_text()"
    ),
    "searches the heap": (
        "import gc\ndef test_heap(visible):\n    wrong = 'window_wider' + '_by_one'\n"
        "    assert not [one for one in gc.get_objects() if isinstance(one, dict) and wrong in one]"
    ),
    "has other tests each time": ("import os\nexec('def test_%s(visible): assert False' % os.urandom(4).hex())"),
    "has names of escape sequences": "exec('def t(visible): assert False')\nglobals()['test_\\x1b[31m'] = t",
    "has too many tests": "for n in range(100): exec(f'def test_{n}(visible): assert False')",
    "floods": "def test_flood(visible):\n    print('x' * (1 << 24))\n    raise ValueError('y' * (1 << 24))",
    "asks the network": "import socket\ndef test_net(visible):\n    socket.create_connection(('example.org', 80))",
    "cannot be parsed": "def test_x(:",
    "is no text": "\0\0",
    "is deeply nested": "(" * 9999,
    "ends at import": "raise SystemExit(0)",
}
