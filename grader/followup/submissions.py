"""The submissions of a folder of reports, found again, and the settings under which they were graded."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from grader.core.assignment import Assignment
from grader.core.cli.grade import found, with_files
from grader.core.cli.terminal import chosen, fail, warn
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import absent
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.core.results.database import LEDGER, reading
from grader.core.results.report import Report
from grader.core.results.written import Sources, noted
from grader.core.sandbox.limits import Level, Limits
from grader.core.settings import APART, Conditions, Settings

Submissions = Annotated[
    list[Path] | None,
    typer.Option(
        "--submissions", metavar="PATH", help="Current location of the submissions. Default: where they were graded."
    ),
]


def candidates_of(out: Path, submissions: list[Path] | None, reader: Reader) -> dict[str, Candidate]:
    """The submissions of a folder of reports, by their ids; ends the command with one line if they cannot be found.

    They are looked for where ``grade`` found them, unless they lie elsewhere now.
    """
    known: dict[str, Candidate] = {}
    given = noted(out).runs
    if not submissions and not given:
        fail(f"{out}: no record of where its submissions are. Pass their location with --submissions.")
    for sources in (given or [Sources(paths=[])])[-1 if submissions else 0 :]:
        paths = submissions or [Path(os.path.abspath(out / path)) for path in sources.paths]
        for path in paths:
            if not path.exists():
                there = "no such file or folder" if submissions else "submissions no longer there"
                fail(f"{path}: {there}. Pass their current location with --submissions.")
        roster = Path(os.path.abspath(out / sources.roster)) if sources.roster else None
        if roster and not roster.exists():
            fail(f"{roster}: the roster is missing, and names may depend on it. Restore it, or regrade.")
        candidates = found(reader, paths, sources.source, roster, sources.every_attempt, out=out)
        known |= {one.id: one for one in candidates if one.id not in known or one.reason is None}
    return {one.id: one for one in with_files(out, [*known.values()])}


def candidate_of(out: Path, submissions: list[Path] | None, reader: Reader, identifier: str) -> Candidate:
    """One submission, as :func:`candidates_of` finds it."""
    found = candidates_of(out, submissions, reader).get(identifier)
    if found is None or absent(found.origin):  # of whom the roster knows no more than a name
        fail(f"{identifier}: no longer among the submissions. Pass its location with --submissions.")
    return found


def settings_then(out: Path, report: Report) -> Settings:
    """The settings under which a submission was graded, as far as they are known."""
    devices = report.environment.devices
    known = Settings(chosen(), "cpu" if devices == ["cpu"] else "auto", seed=report.provenance.seed)
    if not (out / LEDGER).exists():
        return known
    with reading(out) as ledger:
        details = ledger.execute(
            "SELECT details FROM results JOIN conditions ON conditions.id = results.conditions "
            "WHERE current AND submission = ?",
            (report.submission.id,),
        ).fetchone()
    return settings_of(json.loads(details[0]), chosen()) if details else known


def settings_of(details: Conditions, assignment: Assignment) -> Settings:
    """The settings under which a result was obtained, from what :func:`conditions` has noted of them."""
    names = {one.name for one in fields(Settings)} - {*APART}
    noted = {name: json.loads(details[name]) for name in names & details.keys()}
    if "limits" in noted:
        noted["limits"] = Limits(**noted["limits"])
    if "required_level" in noted:
        noted["required_level"] = Level(noted["required_level"])
    return Settings(assignment, **noted | {"without": tuple(noted.get("without", ()))})


def say_what_differs(report: Report, submission: Submission) -> None:
    """Warn where this is not what was graded."""
    if submission.sha256 != report.submission.sha256:
        was = {(file.path, file.sha256) for file in report.submission.files}
        now = {(path, hashlib.sha256(text.encode()).hexdigest()) for path, text in submission.files.items()}
        warn(
            f"{submission.id}: the files changed since grading ({', '.join(sorted({path for path, _ in was ^ now}))}): "
            f"{report.submission.sha256[:12]} then, {submission.sha256[:12]} now. Running the current files.",
            "yellow",
        )
    if report.provenance.rubric_sha256 != chosen().rubric.sha256:
        warn("the rubric changed since grading: wording and points may differ.", "yellow")
