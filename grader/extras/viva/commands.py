"""``grader viva``: questions about students' own code, and their answers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli import terminal
from grader.core.cli.grade import LevelName
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.results.files import write_json, write_text
from grader.core.results.written import read_lines, read_report, read_written
from grader.core.sandbox.limits import Level, Limits
from grader.followup.anonymous import pseudonyms
from grader.followup.submissions import Submissions, candidates_of, say_what_differs

from .extension import ANSWERS, Understood, graded, read_answers
from .quiz import KEY, Key, Quiz, drawn


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
    jobs: Annotated[int, typer.Option(min=1, help="Submissions to run in parallel.")] = os.cpu_count() or 1,
    require_isolation: Annotated[LevelName, typer.Option(help="Refuse to run under weaker isolation.")] = "process",
) -> None:
    """Ask each student six questions about their own code; every answer is found by running it.

    The points are reported beside the grade, like notebook points, and never change it. DIR/viva.json has the answers.
    """
    if bool(answers) == bool(out):
        terminal.fail("give either --out QUIZ, to write quizzes, or --answers CSV, to grade answers.")
    with terminal.ending(folder, terminal.EXIT_GRADER_ERROR):
        if out:
            terminal.prepare(out)
            _ask(folder, out, submissions, seed, terminal.language_of(lang), Level[require_isolation.upper()], jobs)
        else:
            _grade(folder, answers or [])


def _ask(folder: Path, out: Path, given: list[Path] | None, seed: int, language: str, level: Level, jobs: int) -> None:
    """Write the quizzes and their key; a submission without possible questions gets an empty quiz."""
    from grader.core.sandbox.launch import Zygote  # these import torch

    from .files import write_quizzes
    from .kinds import Maker
    from .study import studies, viva_of

    assignment, read = terminal.chosen(), _read(folder, given)
    names = pseudonyms(folder, read)
    if (declared := viva_of(assignment)) is None:
        terminal.fail("this assignment has no corpus/viva.toml, so nothing can be asked.")
    with ExitStack() as stack:
        servers = [stack.enter_context(closing(Zygote(Limits()))) for _ in range(jobs)]  # each serves one thread
        for weak in filter(None, (server.isolation.weaker_than(level) for server in servers)):
            terminal.fail(weak)
        idle = [server.start for server in servers]

        def quiz(identifier: str) -> Quiz:
            start, chance = idle.pop(), f"{seed}:{identifier}"
            try:
                found = studies(start, read[identifier].files, assignment.rubric, declared, chance)
                pool = [one for study in found for one in Maker(study, assignment.rubric, language, chance).questions()]
            finally:
                idle.append(start)
            return drawn(identifier, names[identifier], pool, seed)

        try:
            done = stack.enter_context(ThreadPoolExecutor(jobs)).map(quiz, read)
            quizzes = [*terminal.follow(done, "questions", len(read))]
        except RuntimeError as error:  # a worker did not start, or was killed from outside
            terminal.fail(f"{error}; run again.", terminal.EXIT_GRADER_ERROR)
    write_text(folder / KEY, Key(quizzes=quizzes).model_dump_json(indent=1) + "\n", 0o600)
    write_quizzes(out, quizzes, assignment.rubric, language)
    for one in quizzes:
        terminal.say(f"{one.id}  {one.name}: {len(one.questions)} of {one.pool} questions")
    terminal.say(f"{len(quizzes)} quizzes: {out}; answers: {folder / KEY}")


def _read(folder: Path, submissions: list[Path] | None) -> Mapping[str, Submission]:
    """The graded submissions as they are now."""
    found = {}
    with Reader() as reader:
        candidates = candidates_of(folder, submissions, reader)
        for line in (line for line in read_lines(folder) if line.status == "graded"):
            if line.id in candidates:
                found[line.id] = reader.read(candidates[line.id])
                say_what_differs(read_report(folder, line.id), found[line.id])
            else:
                terminal.warn(f"{line.id}: no longer among the submissions; skipped. Pass --submissions.")
    return found


def _grade(folder: Path, files: list[Path]) -> None:
    """Grade answers, and keep their points beside the reports."""
    key = read_written(folder / KEY, Key, "Run viva --out, with the same --seed as before.")
    found = graded(key, {code: answer for path in files for code, answer in read_answers(path).items()})
    path, remedy = folder / ANSWERS, "Delete it, and read the answers again."
    before = read_written(path, Understood, remedy).submissions if path.exists() else {}
    write_json(path, Understood(submissions=dict(sorted({**before, **found}.items()))))
    for identifier, result in found.items():
        terminal.say(f"{identifier}: {result.points:g} of {result.max_points:g} right")
        for code in result.unsettled:
            terminal.warn(f"{code}: the answer is none of the options, so it counts as wrong; look at it.", "yellow")
    terminal.say(f"{len(found)} students answered; `grader report {folder}` shows it beside the grade.")


PANEL = "More"
COMMANDS = {"viva": viva}
