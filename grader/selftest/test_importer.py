"""A submission's packages: an ``__init__.py`` runs when a name from it is needed; a failing sibling costs nothing."""

from __future__ import annotations

from typing import Any

import pytest

from grader.core.sandbox.operations import Operations

BROKEN = {"src/part/__init__.py": "from .broken import nothing\nSCALE = 2", "src/part/broken.py": "1 / 0"}

WAYS: dict[str, dict[str, str]] = {
    "a_helper_package": {
        "src/part/piece.py": "def work():\n    from .tools import twice\n    return twice(1)",
        "src/part/tools/__init__.py": "from .numbers import twice",
        "src/part/tools/numbers.py": "def twice(x): return 2 * x",
    },
    "a_constant_of_its_own_package": {
        "src/part/__init__.py": "from .piece import work\nSCALE = 2",
        "src/part/piece.py": "def work():\n    from . import SCALE\n    return SCALE",
    },
    "a_constant_needed_while_it_is_imported": {
        "src/part/__init__.py": "SCALE = 2\nfrom .piece import work",
        "src/part/piece.py": "from . import SCALE\ndef work(): return SCALE",
    },
    "all_that_a_package_has": {
        "src/part/tools/__init__.py": "def twice(x): return 2 * x",
        "src/part/piece.py": "from .tools import *\ndef work(): return twice(1)",
    },
    "attributes_of_a_package": {
        "src/part/tools/__init__.py": "def __getattr__(name): return len(name)",
        "src/part/piece.py": "from . import tools\ndef work(): return tools.ab",
    },
    "a_package_in_place_of_the_file": {
        "src/part/piece/__init__.py": "from .inner import work",
        "src/part/piece/inner.py": "def work(): return 2",
    },
    "a_package_that_prepares": {
        "src/part/__init__.py": "import sys, types\nsys.modules['prepared'] = types.SimpleNamespace(two=2)",
        "src/part/piece.py": "import prepared\ndef work(): return prepared.two",
    },
    "a_function_named_like_its_file": {
        "src/part/tools/__init__.py": "from .twice import twice",
        "src/part/tools/twice.py": "def twice(x): return 2 * x",
        "src/part/piece.py": "from .tools import twice\ndef work(): return twice(1)",
    },
    "a_function_named_like_its_file_which_is_imported_before": {
        "src/part/tools/__init__.py": "from .twice import twice",
        "src/part/tools/twice.py": "def twice(x): return 2 * x\ndef once(x): return x",
        "src/part/piece.py": "from .tools.twice import once\nfrom .tools import twice\nwork = lambda: twice(once(1))",
    },
    "a_function_named_like_its_file_among_all": {
        "src/part/tools/__init__.py": "from .twice import *",
        "src/part/tools/twice.py": "def twice(x): return 2 * x",
        "src/part/piece.py": "from .tools import twice\ndef work(): return twice(1)",
    },
    "a_broken_sibling": {**BROKEN, "src/part/piece.py": "def work(): return 2"},
    "a_tool_that_looks_at_modules": {
        **BROKEN,
        "src/part/piece.py": "import inspect\ndef work():\n    assert inspect.getmodule(work)\n    return 2",
    },
}


def ask(files: dict[str, str]) -> dict[str, Any]:
    """The reply of ``work()`` in ``src/part/piece.py``."""
    operations = Operations(files)
    try:
        return operations.perform(
            [("load", {"module": "src.part.piece", "name": "work"}), ("call", {"target": "work", "arguments": []})]
        )
    finally:
        operations.forget()


@pytest.mark.parametrize("files", WAYS.values(), ids=WAYS)
def test_packages_are_as_in_python_but_for_siblings_that_fail(files: dict[str, str]) -> None:
    assert ask(files) == {"value": 2}


@pytest.mark.parametrize(
    ("piece", "error"),
    [
        ("raise ValueError('its own')", {"message": "its own"}),
        ("", {"kind": "missing"}),
        ("from .tools import absent", {"types": ["ImportError", "Exception", "BaseException"]}),
    ],
    ids=["its_own_exception", "a_name_that_nothing_defines", "a_name_that_a_package_lacks"],
)
def test_where_neither_way_works_the_error_of_the_file_itself_is_told(piece: str, error: dict[str, object]) -> None:
    reply = ask({**BROKEN, "src/part/tools/__init__.py": "", "src/part/piece.py": piece})
    assert reply["error"].items() >= error.items()


def test_what_takes_the_place_of_a_missing_file_is_gone_with_its_submission() -> None:
    work = "def work():\n    from .tools import twice\n    return twice(1)"
    first = Operations({"src/part/piece.py": work})
    load = {"module": "src.part.piece", "name": "work", "recorded": ["src.part.tools", "twice"]}
    assert first.perform([("load", load), ("call", {"target": "work", "arguments": []})]) == {"value": 1}
    first.forget()
    assert "src/part/tools.py" in str(ask({"src/part/piece.py": work})["error"])
