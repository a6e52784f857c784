"""The command line, put together from the commands of the core and of what stands beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from grader import __version__
from grader.core.assignment import rubric_or_exit
from grader.core.extras import module_if_there

from .doctor import doctor
from .export import export
from .grade import grade
from .report import report
from .show import show
from .terminal import chosen, say

EVERY_DAY = "Every day"
BEFORE_THE_TERM = "Before the term"


def program(features: Iterable[str]) -> typer.Typer:
    """All commands, in the order in which ``grader --help`` lists them.

    Args:
        features: Packages beside the core. Each has a module ``commands`` with ``COMMANDS``, functions by the names of
            their commands, and with ``PANEL``, the heading above them. A package that was deleted is left out.
    """
    app = typer.Typer(add_completion=False, no_args_is_help=True)

    @app.callback()
    def begin(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
        ] = False,
    ) -> None:
        """Grade submissions of the assignment."""
        del version
        rubric_or_exit(chosen())  # before any command begins

    for command in (grade, show, report, export):
        app.command(rich_help_panel=EVERY_DAY)(command)
    for feature in features:
        if found := module_if_there(f"{feature}.commands"):
            for name, command in found.COMMANDS.items():
                app.command(name, rich_help_panel=found.PANEL)(command)
    app.command(rich_help_panel=BEFORE_THE_TERM)(doctor)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        say(f"grader {__version__}")
        raise typer.Exit
