"""Typer reads the signatures of all commands anew for each one that is run, which takes longer than most of them."""

from __future__ import annotations

from functools import cache

import typer.main
import typer.testing


def read_commands_once() -> None:
    """Have Typer keep what it has read, for ``CliRunner`` and for an app that is called."""
    kept = cache(typer.main.get_command)
    vars(typer.main)["get_command"] = vars(typer.testing)["_get_command"] = kept
