"""``grader viva``: questions about students' own code, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.core.cli.grade import LevelName
from grader.core.cli.submissions import Submissions, candidates_of, say_what_differs
from grader.core.cli.terminal import (
    ERR,
    EXIT_GRADER_ERROR,
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
from grader.core.pages.anonymous import PseudonymError, pseudonyms
from grader.core.results.report import Report
from grader.core.run.progress import follow
from grader.core.sandbox.limits import Level, Limits

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
    require_isolation: Annotated[LevelName, typer.Option(help="Refuse to run under weaker isolation.")] = "process",
) -> None:
    """Ask each student six questions about their own code; every answer is found by running it.

    The points stand beside the grade, as those of notebooks do, and never change it. DIR/viva.json holds the answers.
    """
    from .answers import AnswersError

    if bool(answers) == bool(out):
        fail("give either --out QUIZ, to write quizzes, or --answers CSV, to grade answers.")
    try:
        if out:
            prepare(out)
            _ask(folder, out, submissions, seed, language_of(lang), require_isolation)
        else:
            _grade(folder, answers or [])
    except KeyboardInterrupt:
        fail("stopped; nothing was written.", 130)
    except (AnswersError, PseudonymError, ValueError) as error:
        fail(str(error))
    except typer.Exit:  # a RuntimeError, too
        raise
    except RuntimeError as error:  # a worker did not start, or was killed from outside
        fail(f"{error}; run again.", EXIT_GRADER_ERROR)
    except OSError as error:
        fail(f"{error.filename or folder}: {error.strerror}.", EXIT_GRADER_ERROR)


def _ask(folder: Path, out: Path, submissions: list[Path] | None, seed: int, language: str, level: LevelName) -> None:
    """Write the quizzes, and their key."""
    from .files import write_quizzes
    from .quiz import Key

    quizzes = [*_quizzes(folder, submissions, seed, language, level)]
    Key(seed=seed, language=language, quizzes=quizzes).write(folder)
    write_quizzes(out, quizzes, chosen().rubric, language)
    for quiz in quizzes:
        difficulty = ", ".join(question.difficulty for question in quiz.questions)
        asked, pool = len(quiz.questions), sum(quiz.pool.values())
        say(f"{quiz.id}  {quiz.name}: {asked} of {pool} questions: {difficulty or 'none'}")
    say(f"{len(quizzes)} quizzes: {out}; answers: {folder / 'viva.json'}")


def _quizzes(
    folder: Path, submissions: list[Path] | None, seed: int, language: str, level: LevelName
) -> Iterator[Quiz]:
    """The quiz of each graded submission; one of which nothing can be asked has no questions."""
    from grader.core.sandbox.launch import Zygote  # these import torch

    from .execution import Bench
    from .kinds import Maker
    from .quiz import drawn
    from .study import known_mistakes, studies, viva_of

    assignment = chosen()
    if (declared := viva_of(assignment)) is None:
        fail("this assignment has no corpus/viva.toml, so nothing can be asked.")
    lines = [line for line in read_class(folder) if line.status == "graded"]
    names = pseudonyms(folder, [line.id for line in lines])
    with closing(Zygote(Limits())) as server, Reader() as reader:
        if server.isolation.level < Level[level.upper()]:
            fail(f"isolation here is {server.isolation}, weaker than required; see `grader doctor`.")
        bench, candidates = Bench(server.start), candidates_of(folder, submissions, reader)
        with ERR.status("running known mistakes"):
            mistakes = known_mistakes(bench, assignment, declared)
        for line in follow(lines, "questions", len(lines), ERR):
            if line.id not in candidates:
                warn(f"{line.id}: no longer among the submissions; skipped. Pass its location with --submissions.")
                continue
            submission = reader.read(candidates[line.id])
            say_what_differs(read_written(folder / line.id / "report.json", Report), submission)
            own = f"{seed}:{line.id}"
            found = studies(bench, submission.files, assignment.rubric, declared, mistakes, own)
            pool = [one for study in found for one in Maker(study, assignment.rubric, language, own).questions()]
            yield drawn(line.id, names[line.id], pool, seed)


def _grade(folder: Path, files: list[Path]) -> None:
    """Grade answers, and keep their points beside the reports."""
    from .answers import graded, read_answers, read_key, read_understood, write_understood

    key = read_key(folder)
    found = graded(key, {code: answer for path in files for code, answer in read_answers(path).items()})
    write_understood(folder, {**read_understood(folder), **found})
    for identifier, own in found.items():
        say(f"{identifier}: {own.points:g} of {own.max_points:g} right")
        for code in own.unsettled:
            warn(f"{code}: the answer is none of the options, so it counts as wrong; look at it.", "yellow")
    say(f"{len(found)} students answered; `grader report {folder}` shows it beside the grade.")


PANEL = "More"
COMMANDS = {
    "viva": viva,
}
