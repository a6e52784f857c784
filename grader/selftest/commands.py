"""What a command does once, and tests of many commands in one process would do again for each.

Typer reads the signatures of all commands anew for each one that is run, and Jinja compiles the templates of each new
environment, both of which takes longer than most commands.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2
import typer.main
import typer.testing


def read_commands_once() -> None:
    """Have Typer keep what it has read, for ``CliRunner`` and for an app that is called."""
    kept = cache(typer.main.get_command)
    vars(typer.main)["get_command"] = vars(typer.testing)["_get_command"] = kept


def compile_templates_once() -> None:
    """Have Jinja keep what it has compiled, for all environments with the same syntax and the same guards."""
    compiled: dict[object, Any] = {}
    compile_anew: Any = jinja2.Environment.compile

    def compile_once(env: jinja2.Environment, source: Any, name: Any = None, filename: Any = None, **how: bool) -> Any:
        key = (source, name, filename, *how.items(), env.autoescape, env.trim_blocks, env.lstrip_blocks, env.finalize)
        if key not in compiled:
            compiled[key] = compile_anew(env, source, name, filename, **how)
        return compiled[key]

    jinja2.Environment.compile = compile_once  # type: ignore[assignment, method-assign] # for all tests
