"""The output of ``grader reproduce``, and the prompt of its debugger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from grader.core.cli.terminal import OUT, chosen, say
from grader.core.intake.origin import clean
from grader.core.judge.faults import told_frame
from grader.core.results.language import in_words
from grader.core.results.report import CaseReport, PropertyReport, Report

from .bench import Bench, Reproduction
from .transcript import transcript

MOST = 1000  # characters of a line
MARGIN = 12
NO_FRAMES = "none: no exception was raised; --pdb stops on entry to the student's code"
CHANGED = "differs from the report: files, tests or machine have changed, or the code is not deterministic"
NOT_ALONE = "passes alone; fails after the other cases of its property, which are shown too"
NO_CODE = "this case runs no student code, so there is nothing to step through."
HELLO = "Debugger in a sandboxed worker: n next line, s step into, c continue, p NAME print, q quit."


def show_case(
    report: Report,
    prop: PropertyReport,
    case: CaseReport,
    again: Reproduction,
    files: Mapping[str, str],
    language: str,
) -> None:
    """Print what the report says of a case, what came of it now, and what was asked for."""
    now = again.result
    message = in_words(now.message, chosen(), language)
    title = f"{report.submission.id}: {clean(prop.title)}  {prop.points:g}/{prop.max_points:g}  ({prop.id})"
    say(title, "bold")
    _part("report", [f"{case.outcome}: {case.message.partition(chr(10))[0]}  ({case.id})"])
    _part("hint", [prop.hint])
    _part("now", [f"{now.outcome}: {message.partition(chr(10))[0]}" if message else now.outcome])
    if now.outcome is not case.outcome:
        _part("", [CHANGED])
    elif not again.alone:
        _part("", [NOT_ALONE])
    _part("requests", transcript(again.exchanges))
    _part("frames", [*_frames(again, files)] or [NO_FRAMES])


def _frames(again: Reproduction, files: Mapping[str, str]) -> Iterator[str]:
    """The student's own frames of the last exception, the innermost one last."""
    for one in reversed(again.exchanges):
        error = one.reply.get("error") if one.reply else None
        if isinstance(error, Mapping) and isinstance(frames := error.get("frames"), list):
            yield from (told.strip() for frame in frames for told in told_frame(frame, files))
            return


def _part(name: str, lines: list[str]) -> None:
    """A name in the margin, and lines beside it."""
    for number, line in enumerate(lines):
        margin = (name if number == 0 else "").ljust(MARGIN)
        OUT.print(Text.assemble((margin, "dim"), clean(line, MOST)), soft_wrap=True)


def converse(bench: Bench, files: Mapping[str, str], again: Reproduction) -> None:
    """Let a person talk to the debugger until it ends.

    Raises:
        WorkerFailed: If the process ends, by a limit or by itself.
    """
    say(HELLO, "dim")
    if bench.debug(files, again, _answer) is None:
        say(NO_CODE)


def _answer(said: str) -> str:
    """Show what the debugger says, without what could command a terminal, and read the person's line."""
    *lines, prompt = ("".join(char if char.isprintable() else "?" for char in line) for line in said.split("\n"))
    for line in lines:
        say(line)
    try:
        return input(prompt) + "\n"
    except EOFError:
        return ""
