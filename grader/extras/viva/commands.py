"""``grader viva``: questions about students' own code, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from grader.core.cli.grade import LevelChoice
from grader.core.cli.submissions import Submissions, candidates_of, say_what_differs
from grader.core.cli.terminal import (
    ERR,
    EXIT_GRADER_ERROR,
    OUT,
    chosen,
    fail,
    language_of,
    prepare,
    read_class,
    read_written,
    say,
    warn,
)
from grader.core.intake.reader import Reader
from grader.core.results.files import write_bytes
from grader.core.results.pseudonyms import PseudonymError, pseudonyms
from grader.core.results.report import Report, write_text
from grader.core.run.progress import follow
from grader.core.sandbox.levels import Level
from grader.core.sandbox.limits import Limits
from grader.core.specimens.viva import viva_of

if TYPE_CHECKING:
    from .quiz import Quiz


def viva(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    out: Annotated[
        Path | None, typer.Option(metavar="QUIZ", help="Write quizzes: for Moodle and Canvas, as pages, as oral exams.")
    ] = None,
    answers: Annotated[
        list[Path] | None, typer.Option(metavar="CSV", help="Grade the answers that a platform or a page exported.")
    ] = None,
    submissions: Submissions = None,
    seed: Annotated[int, typer.Option(help="Another seed draws other questions.")] = 0,
    lang: Annotated[str, typer.Option(help="Language of the questions: en or zh. Default: the locale.")] = "",
    require_isolation: Annotated[
        LevelChoice, typer.Option(help="Refuse to run under weaker isolation.")
    ] = LevelChoice.PROCESS,
) -> None:
    """Ask each student six questions about their own code; every answer is found by running it.

    The points stand beside the grade, as those of notebooks do, and never change it. DIR/viva.json holds the answers.
    """
    if (out is None) == (not answers):
        fail("give either --out QUIZ to write quizzes or --answers CSV to grade answers.")
    if answers:
        _grade(folder, answers)
    elif out:
        prepare(out)
        _ask(folder, out, submissions, seed, language_of(lang), Level[require_isolation.name])


def _ask(folder: Path, out: Path, submissions: list[Path] | None, seed: int, language: str, level: Level) -> None:
    """Write a quiz for each graded submission."""
    from .quiz import Key

    try:
        quizzes = list(_quizzes(folder, submissions, seed, language, level))
        Key(seed=seed, language=language, quizzes=quizzes).write(folder)
        _write(out, quizzes, language)
    except KeyboardInterrupt:
        fail("stopped; nothing was written.", 130)
    except (PseudonymError, ValueError) as error:
        fail(str(error))
    except RuntimeError as error:
        fail(f"{error}; run again.", EXIT_GRADER_ERROR)
    except OSError as error:
        fail(f"{error.filename or out}: {error.strerror}.", EXIT_GRADER_ERROR)
    listed = Table("submission", "pseudonym", box=None, header_style="bold", padding=(0, 1))
    listed.add_column("asked", justify="right")
    listed.add_column("of", justify="right")
    listed.add_column("difficulty")
    for quiz in quizzes:
        difficulty = ", ".join(question.difficulty for question in quiz.questions)
        listed.add_row(Text(quiz.id), quiz.name, f"{len(quiz.questions)}", f"{sum(quiz.pool.values())}", difficulty)
    OUT.print(listed)
    say(f"{len(quizzes)} quizzes: {out}; answers: {folder / 'viva.json'}")


def _quizzes(folder: Path, submissions: list[Path] | None, seed: int, language: str, level: Level) -> Iterator[Quiz]:
    """The quiz of each graded submission; one of which nothing can be asked has no questions."""
    from grader.core.sandbox.launch import Zygote  # these import torch

    from .execution import Bench
    from .kinds import Maker
    from .quiz import drawn
    from .study import known_mistakes, studies

    assignment = chosen()
    declared = viva_of(assignment)
    if declared is None:
        fail("this assignment has no corpus/viva.toml, so nothing can be asked.")
    lines = [line for line in read_class(folder) if line.status == "graded"]
    names = pseudonyms(folder, [line.id for line in lines])
    server = Zygote(Limits())
    try:
        if server.isolation.level < level:
            fail(f"isolation here is {server.isolation}, weaker than required; see `grader doctor`.")
        bench = Bench(server.start)
        with Reader() as reader:
            candidates = candidates_of(folder, submissions, reader)
            mistakes = known_mistakes(bench, assignment, declared)
            for line in follow(lines, "questions", len(lines), ERR):
                if line.id not in candidates:
                    warn(f"{line.id}: no longer among the submissions; skipped. Pass its location with --submissions.")
                    continue
                submission = reader.read(candidates[line.id])
                say_what_differs(read_written(folder / line.id / "report.json", Report), submission)
                own = f"{seed}:{line.id}"
                found = studies(bench, submission.files, assignment.rubric, declared, mistakes, own)
                pool = [
                    question
                    for study in found
                    for question in Maker(study, assignment.rubric, language, own).questions()
                ]
                yield drawn(line.id, names[line.id], pool, seed)
    finally:
        server.close()


def _write(out: Path, quizzes: list[Quiz], language: str) -> None:
    """Write everything that can be given away; what an earlier run left in these folders is removed."""
    from .pages import Pages
    from .platforms import gift, moodle, qti

    asked = [quiz for quiz in quizzes if quiz.questions]
    pages = Pages(chosen().rubric, language)
    folders = {name: out / name for name in ("pages", "oral", "qti")}
    for kept in folders.values():
        kept.mkdir(exist_ok=True)
        for old in kept.glob("anon-*"):
            old.unlink()
    write_text(out / "moodle.xml", moodle(asked))
    write_text(out / "questions.gift", gift(asked))
    for quiz in asked:
        write_text(folders["pages"] / f"{quiz.name}.html", pages.page(quiz))
        write_text(folders["oral"] / f"{quiz.name}.html", pages.sheet(quiz))
        write_bytes(folders["qti"] / f"{quiz.name}.zip", qti(quiz))


def _grade(folder: Path, files: list[Path]) -> None:
    """Grade answers, and keep their points beside the reports."""
    from .answers import AnswersError, graded, read_answers, read_key, read_understood, write_understood

    try:
        key = read_key(folder)
        found = graded(key, {code: answer for path in files for code, answer in read_answers(path).items()})
        write_understood(folder, {**read_understood(folder), **found})
    except AnswersError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}.", EXIT_GRADER_ERROR)
    listed = Table("submission", box=None, header_style="bold", padding=(0, 1))
    listed.add_column("right", justify="right")
    listed.add_column("of", justify="right")
    for identifier, own in found.items():
        listed.add_row(Text(identifier), f"{own.points:g}", f"{own.max_points:g}")
    OUT.print(listed)
    for code in (code for own in found.values() for code in own.unsettled):
        warn(f"{code}: the answer is none of the options, so it counts as wrong; look at it.", "yellow")
    say(f"{len(found)} students answered; `grader report {folder}` shows it beside the grade.")


PANEL = "More"
COMMANDS = {
    "viva": viva,
}
