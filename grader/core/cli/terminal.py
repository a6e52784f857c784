"""What all commands share: output streams, progress, ending early with one line, and the folders that they use."""

from __future__ import annotations

import contextlib
import locale
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from grader.core.assignment import Assignment
from grader.core.extras import extra
from grader.core.grades.graded import GradedClass, decided
from grader.core.grades.people import People, Unknown, listed
from grader.core.intake.origin import absent, folded
from grader.core.messages import UserError
from grader.core.pages import say as word
from grader.core.results.report import Report, SummaryLine
from grader.core.results.written import REPORT, read_lines, read_report
from grader.core.rubric import LANGUAGES

EXIT_BAD_INPUT = 2
EXIT_GRADER_ERROR = 3
LINE_EVERY = 50  # results, where no terminal shows a bar

T = TypeVar("T")


class _Terminal(Console):
    """A console for which the end of its reader, such as ``head``, is no error: the command goes on to its own end."""

    def on_broken_pipe(self) -> None:
        """Send all further output to the null device."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


OUT = _Terminal()
ERR = _Terminal(stderr=True)


def say(text: str, style: str = "") -> None:
    """Print one line, without markup, and as long as it is."""
    OUT.print(Text(text, style=style), soft_wrap=True)


def warn(text: str, style: str = "") -> None:
    """The same on the error stream."""
    ERR.print(Text(text, style=style), soft_wrap=True)


def fail(message: str, code: int = EXIT_BAD_INPUT) -> NoReturn:
    """End the command with one line on the error stream."""
    warn(f"grader: {message}")
    raise typer.Exit(code)


def follow(results: Iterable[T], title: str, total: int, tell: Callable[[T], str] | None = None) -> Iterator[T]:
    """Pass results on while a bar on the error stream shows the progress.

    Without a terminal, a line for each result, as ``tell`` gives it, or one for every ``LINE_EVERY`` results.
    """
    if ERR.is_terminal:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=ERR) as progress:
            yield from progress.track(results, total=total, description=title)
        return
    for number, result in enumerate(results, 1):
        if tell or number % LINE_EVERY == 0 or number == total:
            told = tell(result) if tell else title
            ERR.print(f"[{number}/{total}] {told}", markup=False, highlight=False, soft_wrap=True)
        yield result


def describe(report: Report, language: str = "en") -> str:
    """The result of a submission in a few words."""
    if absent(report.submission.origin):
        return report.reason or ""
    numbers = {name: getattr(report, name) for name in ("score", "max_score", "bonus", "max_bonus")}
    return word(language, f"told_{report.status}", reason=report.reason, **numbers)


@contextlib.contextmanager
def needing(extras: str, command: str) -> Iterator[None]:
    """End the command with one line if an import in the ``with`` block finds a package of the extras missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("grader"):
            raise  # ours: no extra would bring it
        fail(f"{error.name} is not installed. Install what {command} needs: pip install -e '.[{extras}]'")


@contextlib.contextmanager
def ending(
    place: Path | None = None, code: int = EXIT_BAD_INPUT, advice: str = "", stopped: str = ""
) -> Iterator[None]:
    """End the command with one line if the ``with`` block raises a :class:`UserError`, or cannot use or parse a file.

    Args:
        place: Is named where the system names no file.
        code: The exit code if a file cannot be used.
        advice: The end of the line about a file.
        stopped: The line after Ctrl-C; empty if somebody else prints it.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not stopped:
            raise
        fail(stopped, 130)
    except UserError as error:
        fail(str(error), error.code)
    except SyntaxError as error:
        if not Path(error.filename or "").is_file():
            raise  # of no file, as below
        fail(f"{error.filename}:{error.lineno}: {error.msg}. Correct the file.")
    except OSError as error:
        if not (named := error.filename or place):
            raise  # of no file: a mistake in the grader, whose traceback is needed
        fail(f"{named}: {error.strerror}.{advice}", code)


def in_one_line(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which ends with one line after a :class:`UserError`, a file that cannot be used, or Ctrl-C."""

    @wraps(command)
    def run(*arguments: object, **options: object) -> None:
        with ending(stopped="stopped."):
            command(*arguments, **options)

    return run


writing = partial(
    ending, code=EXIT_GRADER_ERROR, advice=" Free disk space and run again.", stopped="stopped; nothing was written."
)


def language_of(lang: str) -> str:
    """The language that ``--lang`` names, or else that of the locale: Chinese, or English for any other locale."""
    language = lang or ("zh" if (locale.getlocale()[0] or "").startswith(("zh", "Chinese")) else "en")
    if language not in LANGUAGES:
        fail(f"--lang {lang}: not a language of the rubric. Choose one of {', '.join(LANGUAGES)}.")
    return language


def prepare(out: Path) -> None:
    """Make the output folder, and check that it can be written to, before any work is done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        fail(f"{out}: {error.strerror}. Choose a writable folder.")


def graded_folder(out: Path) -> Path:
    """The output folder of ``grade``; ends the command if there is no such folder."""
    if not out.is_dir():
        fail(f"{out}: no such folder. Give the folder that grade --out wrote to.")
    return out


def needed(name: str, option: str) -> ModuleType:
    """The extra of that name, which an option needs; ends the command if its folder was deleted."""
    return extra(name) or fail(f"{option} needs grader/extras/{name}, and that folder is missing.")


def pseudonyms_of(out: Path, submissions: Iterable[str]) -> Mapping[str, str]:
    """The pseudonyms of submissions by their ids; empty if the class has none yet."""
    return anonymous.known(out, submissions) if (anonymous := extra("anonymous")) else {}


def find(out: Path, wanted: str) -> str:
    """The submission that a person names: by its id, pseudonym, a student's id, address or name, or a part of one."""
    if (out / wanted / REPORT).is_file():
        return wanted
    lines = read_lines(out)
    for identifier, pseudonym in pseudonyms_of(out, [line.id for line in lines]).items():
        if pseudonym == folded(wanted):  # and not a part of one, which would be found by chance
            return identifier
    try:
        found = People(lines).meant(wanted)
    except Unknown as error:
        fail(f"{wanted}: {error}. `grader show {out}` lists everyone.")
    if len(found) > 1:
        fail(f"{wanted}: ambiguous: {listed(found)}. Give more of the id or name.")
    return found[0]


_chosen: list[Assignment] = []


def choose(assignment: Assignment) -> None:
    """Let all commands of this process be about an assignment."""
    _chosen[:] = [assignment]


def chosen() -> Assignment:
    """The assignment that was chosen last."""
    return _chosen[0]


Partial = Annotated[bool, typer.Option("--partial", help="Proceed even if only one task was graded (--only).")]


def refuse_partial(folder: Path, lines: Iterable[SummaryLine], partial: bool) -> None:
    """End the command if submissions were graded for one task alone, unless the person says that this is meant."""
    rubric = chosen().rubric
    whole = (rubric.max_score, rubric.max_bonus)
    alone = {(part.max_score, part.max_bonus): task.id for task in rubric.tasks for part in (rubric.only(task.id),)}
    found = [alone[worth] for line in lines if (worth := (line.max_score, line.max_bonus)) in alone.keys() - {whole}]
    if found and not partial:
        tasks = ", ".join(sorted({*found}))
        fail(
            f"{folder}: {len(found)} submissions were graded for {tasks} only. Grade them without --only, or say "
            "--partial if that is meant. Nothing was written."
        )


def read_graded(
    folder: Path,
    lines: Sequence[SummaryLine] | None = None,
    ledger: sqlite3.Connection | None = None,
    quiet: bool = False,
    note: bool = True,
) -> GradedClass:
    """Read a class and the decisions about it, and say which of them a person should look at, unless ``quiet``.

    Without ``lines``, those of the summary are read. With ``note``, the ledger is brought up to date with decisions.
    """
    lines = read_lines(folder) if lines is None else lines
    known = decided(GradedClass(folder, lines, chosen().rubric, partial(read_report, folder)), ledger, note)
    for text in () if quiet else known.unsettled:
        warn(text)
    return known
