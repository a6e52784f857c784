"""The web application: routes and handlers, all behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from threading import Lock
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader.core.grades.graded import DecisionError
from grader.core.intake.submission import Submission
from grader.core.messages import UserError
from grader.core.results.report import SummaryLine
from grader.extras.decisions.file import undo
from grader.extras.decisions.placing import record

from .classroom import Classroom, Now, say
from .decide import Form, asked, override, state
from .pages import STATIC, ReviewPages
from .server import guarded

MEDIA = {"css": "text/css", "js": "text/javascript"}
Read = Callable[[str], Submission | str]
Sent = Sequence[tuple[str, str]]  # the fields of a form, in order


class Review:
    """The handlers of the page; one request at a time, since all share the class in memory."""

    def __init__(self, classroom: Classroom, pages: ReviewPages, read: Read, who: str, grader: str = "") -> None:
        """Open a review, by one person, whose decisions go into the file of a grader, or the one that all share.

        ``read`` gives the files of a submission, or else says why it cannot.
        """
        self._classroom, self._pages, self._read, self._who, self._grader = classroom, pages, read, who, grader
        self._lock = Lock()
        self._class_page = lru_cache(maxsize=1)(pages.classroom)  # rendered anew once the class has changed

    def prepare(self) -> None:
        """Read all reports and render the class."""
        self._class_page(self._classroom.now())

    def routes(self) -> list[Route]:
        """What is shown and done at each address."""

        def show(path: str, page: Callable[[Request], Response]) -> Route:
            return Route(path, lambda request: self._answer(partial(page, request), ()))

        def do(path: str, deed: Callable[[Request, Sent], Response]) -> Route:
            async def answer(request: Request) -> Response:
                body = (await request.body()).decode("utf-8", "replace")
                sent = [(name, text.replace("\r\n", "\n")) for name, text in parse_qsl(body, keep_blank_values=True)]
                return await run_in_threadpool(self._answer, partial(deed, request, sent), sent)

            return Route(path, answer, methods=["POST"])

        student, group = "/student/{submission:path}", "/group/{key}"
        return [
            show("/", lambda _: HTMLResponse(self._class_page(self._classroom.now()))),
            show(student, lambda request: self._student(*self._find(request))),
            do(student, self._decide),
            show(group, self._group),
            do(group, self._decide_group),
            do("/undo", self._undo),
            Route("/static/{name}", _static),
        ]

    def _answer(self, make: Callable[[], Response], sent: Sent) -> Response:
        """A response, or an error page with the reason and what was sent."""
        with self._lock:
            try:
                return make()
            except UserError as error:
                problem = str(error)
            except OSError as error:
                problem = f"{error.filename}: {error.strerror}."
            return HTMLResponse(self._pages.broken(problem, sent), 503)

    def _find(self, request: Request) -> tuple[Now, SummaryLine]:
        now = self._classroom.now()
        line = now.known.book.people.lines.get(self._pages.meant(request.path_params["submission"], now))
        if line is None:
            raise HTTPException(404)
        return now, line

    def _student(self, now: Now, line: SummaryLine, problem: str = "", form: Form | None = None) -> Response:
        report = self._classroom.report(line.id)
        page = self._pages.student(now, line, report, self._read(line.id), problem, form or {})
        return HTMLResponse(page, 409 if problem else 200)

    def _decide(self, request: Request, sent: Sent) -> Response:
        """Write down a decision, and show what comes next."""
        (now, line), form = self._find(request), dict(sent)
        if form.get("state") != state(now, [line.id]):
            return self._student(now, line, say(self._pages.language, "meanwhile"), form)
        then = now.beside(line.id, 1)
        if form.get("at"):  # the line that a comment is about
            found, (path, _, number) = self._read(line.id), form["at"].rpartition(":")
            lines = found.files.get(path, "").split("\n") if isinstance(found, Submission) else []
            form["code"] = {str(place): line for place, line in enumerate(lines, start=1)}.get(number, "")
        try:
            record(now.known, asked(now, line, form), self._who, self._grader)
        except DecisionError as error:
            return self._student(now, line, str(error), form)
        here = self._pages.page_of(now, line.id)
        if form.get("do") == "accept":
            here = self._pages.page_of(now, then) if then else f"{self._pages.root}/"
        return RedirectResponse(here, 303)

    def _group(self, request: Request, problem: str = "", form: Form | None = None) -> Response:
        """The page of a group; the page of the class if there is no such group any more."""
        now = self._classroom.now()
        group = now.group(request.path_params["key"])
        if group is None:
            return RedirectResponse(f"{self._pages.root}/#mistakes", 303)
        found = self._read(group.members[0])
        reports = [self._classroom.report(one) for one in group.members]
        page = self._pages.group(now, group, reports, found, problem, form or {})
        return HTMLResponse(page, 409 if problem else 200)

    def _decide_group(self, request: Request, sent: Sent) -> Response:
        """Write down one decision for a group, and show the next one."""
        now, form, key = self._classroom.now(), dict(sent), request.path_params["key"]
        group = now.group(key)
        if group is None or form.get("state") != state(now, group.members):
            return self._group(request, say(self._pages.language, "meanwhile"), form)
        chosen = {text for name, text in sent if name == "member"}
        members = [one for number, one in enumerate(group.members) if str(number) in chosen]
        try:
            if not members:
                raise DecisionError("no submission is checked.")
            said = override(group.property, form)
            record(now.known, [{"student": one, **said} for one in members], self._who, self._grader)
        except DecisionError as error:
            return self._group(request, str(error), form)
        keys = [one.key for one in now.groups]
        following = [*keys[keys.index(key) + 1 :], *keys[: keys.index(key)]]
        there = f"{self._pages.root}/{f'group/{following[0]}' if following else '#mistakes'}"
        return RedirectResponse(_told(there, "decided", len(members)), 303)

    def _undo(self, _: Request, sent: Sent) -> Response:
        """Take back what was decided last, and show the page again."""
        taken, back = undo(self._classroom.now().known.folder, self._grader), dict(sent).get("back", "")
        here = back if back.startswith(f"{self._pages.root}/") else f"{self._pages.root}/"
        return RedirectResponse(_told(here, "undone", len(taken)), 303)


def _told(address: str, what: str, number: int) -> str:
    """The address of a page that says, at its top, what has just been done to how many submissions."""
    page, mark, place = address.partition("#")
    return f"{page}?told={what}&n={number}{mark}{place}"


def _static(request: Request) -> Response:
    path = STATIC.get(name := request.path_params["name"])
    if path is None:
        raise HTTPException(404)
    return Response(path.read_bytes(), media_type=MEDIA[name.rpartition(".")[2]])


def _error(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return PlainTextResponse({404: "not found", 405: "not here"}.get(status, "not understood"), status)


def application(review: Review, token: str, port: int) -> ASGIApp:
    """The whole application, behind its guard."""
    return guarded(Starlette(routes=review.routes(), exception_handlers={HTTPException: _error}), token, port)
