"""The web application: routes and handlers, all behind the guard."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Lock
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader.core.assignment import Assignment
from grader.core.grades.model import DecisionError
from grader.core.intake.submission import Submission
from grader.core.results.report import SummaryLine
from grader.core.results.written import NotWritten

from .classroom import Classroom, Now
from .decide import Form, state, write
from .guard import Guard
from .pages import STATIC, ReviewPages, Shown
from .what_if import what_if
from .words import say

MEDIA = {"css": "text/css", "js": "text/javascript"}
Read = Callable[[str], Submission | str]


class Review:
    """The handlers of the page; one request at a time, since all share the class in memory."""

    def __init__(self, classroom: Classroom, pages: ReviewPages, read: Read, assignment: Assignment, who: str) -> None:
        """Open a review.

        Args:
            classroom: The class.
            pages: Renders it.
            read: Gives the files of a submission, or else says why it cannot.
            assignment: Whose points can be tried out.
            who: Who decides.
        """
        self._classroom, self._pages, self._read, self._who = classroom, pages, read, who
        self._rubric = assignment.rubric
        self._lock = Lock()
        self._page: tuple[Now, str] | None = None

    def prepare(self) -> None:
        """Read all reports and render the class, before anybody waits for a page."""
        self._class_page()

    def show_class(self, _: Request) -> Response:
        """The page of the class."""
        return self._answer(lambda: HTMLResponse(self._class_page()))

    def _class_page(self) -> str:
        now = self._classroom.now()
        if self._page is None or self._page[0] is not now:
            self._page = now, self._pages.classroom(now)
        return self._page[1]

    def show_student(self, request: Request) -> Response:
        """The page of one submission."""
        return self._answer(lambda: self._student(*self._find(request)))

    async def decide(self, request: Request) -> Response:
        """Write down a decision, and show what comes next."""
        body = await request.body()
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        form = {name: text.replace("\r\n", "\n") for name, text in form.items()}
        return await run_in_threadpool(self._answer, partial(self._decide, request, form), form)

    def show_moves(self, request: Request) -> Response:
        """The grades that would change if a property were worth other points; nothing is written."""
        return self._answer(partial(self._moves, request))

    def _answer(self, make: Callable[[], Response], form: Form | None = None) -> Response:
        """A response, or an error page with the reason."""
        with self._lock:
            try:
                return make()
            except (NotWritten, DecisionError) as error:
                return HTMLResponse(self._pages.broken(str(error), form or {}), 503)
            except OSError as error:
                problem = f"{error.filename}: {error.strerror}."
                return HTMLResponse(self._pages.broken(problem, form or {}), 503)

    def _find(self, request: Request) -> tuple[Now, SummaryLine]:
        now = self._classroom.now()
        line = now.known.book.people.lines.get(self._pages.meant(request.path_params["submission"], now))
        if line is None:
            raise HTTPException(404)
        return now, line

    def _student(self, now: Now, line: SummaryLine, problem: str = "", form: Form | None = None) -> Response:
        found = self._read(line.id)
        report = self._classroom.report(line.id)
        work = Shown(report, None, found) if isinstance(found, str) else Shown(report, found)
        page = self._pages.student(now, line, work, problem, form or {})
        return HTMLResponse(page, 409 if problem else 200)

    def _decide(self, request: Request, form: Form) -> Response:
        now, line = self._find(request)
        if form.get("state") != state(now, line):
            return self._student(now, line, say(self._pages.language, "meanwhile"), form)
        then = now.beside(line.id, 1)
        try:
            write(now, line, form, self._who)
        except DecisionError as error:
            return self._student(now, line, str(error), form)
        here = self._pages.page_of(line.id)
        if form.get("do") == "accept":
            here = self._pages.page_of(then) if then else f"{self._pages.root}/"
        return RedirectResponse(here, 303)

    def _moves(self, request: Request) -> Response:
        asked = request.query_params
        prop, now = self._rubric.properties.get(asked.get("property", "")), self._classroom.now()
        try:
            points, limit = float(asked.get("points", "")), float(asked.get("limit") or "nan")
        except ValueError:
            raise HTTPException(400) from None
        if prop is None or not 0 <= points < float("inf"):
            raise HTTPException(400)
        thresholds = dict(self._rubric.policy.thresholds)
        if limit == limit:  # a number
            thresholds[say(self._pages.language, "named_limit")] = limit
        return HTMLResponse(self._pages.moved(what_if(now.known, {prop.id: points}, thresholds), now))


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
    routes = [
        Route("/", review.show_class),
        Route("/student/{submission:path}", review.show_student),
        Route("/student/{submission:path}", review.decide, methods=["POST"]),
        Route("/moves", review.show_moves),
        Route("/static/{name}", _static),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: _error}), token, port)
