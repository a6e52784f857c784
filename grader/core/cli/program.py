"""The command line: the commands of the core, and of the packages beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from grader import __version__
from grader.core.extras import module_if_there

from .export import export
from .grade import grade
from .report import report
from .show import show
from .terminal import chosen, fail, in_one_line, say

EVERY_DAY = ("grade", "review", "export", "return")  # from the deadline to the students, in this order
MORE = "More"


def program(features: Iterable[str]) -> typer.Typer:
    """All commands, in the order in which ``grader --help`` lists them; those of ``EVERY_DAY`` have their own heading.

    Args:
        features: Packages beside the core. Each has a module ``commands`` with ``COMMANDS``, functions by the names of
            their commands, and with ``PANEL``, the heading above the others. A package that was deleted is left out.
    """
    app = typer.Typer(add_completion=False, no_args_is_help=True)

    @app.callback()
    @in_one_line
    def begin(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_version)
        ] = False,
    ) -> None:
        """Grade submissions of the assignment."""
        del version
        _ = chosen().rubric  # one that contradicts itself ends every command before it begins

    commands: dict[str, Callable[..., None]] = {"grade": grade, "export": export}
    panels: dict[str, str] = {}
    for feature in features:
        if found := module_if_there(f"{feature}.commands"):
            commands |= found.COMMANDS
            panels |= dict.fromkeys(found.COMMANDS, found.PANEL)
    commands |= {"show": show, "report": report}
    panels |= {"show": MORE, "report": MORE} | dict.fromkeys(EVERY_DAY, "Every day")
    for name in dict.fromkeys((*EVERY_DAY, *commands)):
        if name in commands:
            app.command(name, cls=_Once, rich_help_panel=panels[name])(in_one_line(commands[name]))
    return app


class _Once(TyperCommand):
    """A command that refuses a repeated option if only its last value would count, such as a second roster.

    Options with a default are settings, which a later value overrides, and so is the place of what is written.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = Counter(self.make_parser(ctx).parse_args([*args])[2])
        for param, times in given.items():
            if times > 1 and param.default is None and not param.multiple and "--out" not in param.opts:
                fail(f"{param.opts[0]}: given {times} times, and only the last would count. Give it once.")
        return super().parse_args(ctx, args)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"grader {__version__}")
        raise typer.Exit
