"""``grader review``: a local page for manual review."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import secrets
import socket
from pathlib import Path
from typing import Annotated

import typer

from grader.core.cli.export import next_step
from grader.core.cli.terminal import chosen, fail, language_of, read_graded, say
from grader.core.intake.reading_process import Reader
from grader.core.intake.submission import Submission
from grader.extras.decisions.decide import As, Who
from grader.extras.decisions.file import written_in
from grader.followup.anonymous import hide
from grader.followup.submissions import Submissions, candidates_of


def review(
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Output folder of `grader grade`.")],
    submissions: Submissions = None,
    pairs: Annotated[
        Path | None,
        typer.Option("--similar", metavar="FOLDER", help="Output folder of `grader similar`. Default: DIR."),
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Replace all identities with pseudonyms; show looks them up.")
    ] = False,
    who: Who = "",
    grader: As = "",
    share: Annotated[
        str, typer.Option(metavar="K/N", help="Your part of the queue, if N people divide it: 1/3, 2/3 or 3/3.")
    ] = "1/1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine. Default: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    lang: Annotated[str, typer.Option(help="Language of the page: en or zh. Default: the locale.")] = "",
) -> None:
    """Review and decide on submissions in a local page: code, failures and proposed points side by side.

    Anyone with the printed URL can read and decide, so keep it private. Ctrl-C stops the server.
    """
    from .app import Review, application  # a server is slow to import
    from .classroom import PAIRS, Classroom
    from .pages import ReviewPages
    from .server import LOOPBACK, opened, serve

    language, part = language_of(lang), re.fullmatch(r"([1-9]\d?)/([1-9]\d?)", share)
    if not part or int(part[1]) > int(part[2]):
        fail(f"--share {share}: not a part of the queue. Use the form 2/3.")
    known = read_graded(out, quiet=anonymous)  # what cannot be read ends the command now
    if anonymous:
        hide(known)  # so does a damaged key
    if pairs and not (pairs / PAIRS).exists():
        fail(f"--similar {pairs}: no {PAIRS} there. Give the output folder of `grader similar`.")
    with Reader() as reader:
        candidates = candidates_of(out, submissions, reader)

        def read(submission: str) -> Submission | str:
            if submission not in candidates:
                return "no longer among the submissions."
            found = reader.read(candidates[submission])
            return found.reason or found

        try:
            listening = socket.create_server((LOOPBACK, port))  # a browser may connect at once; port 0 takes a free one
        except OSError as error:
            fail(f"--port {port}: {os.strerror(error.errno or 0)}. Choose another port, or omit the option.")
        token, port = secrets.token_urlsafe(32), listening.getsockname()[1]
        root = f"/{token}"
        classroom = Classroom(out, chosen(), language, pairs or out, (int(part[1]), int(part[2])))
        pages = ReviewPages(chosen(), language, root, anonymous)
        room = Review(classroom, pages, read, who or grader or getpass.getuser(), grader)
        room.prepare()  # before anybody waits for a page
        app = application(room, token, port)
        address = f"http://{LOOPBACK}:{port}{root}/"
        say(address)
        with opened(address) if browser else contextlib.nullcontext():
            serve(app, listening)
    say(f"decisions: {written_in(out, grader)}")
    say(next_step(out, known.lines))
