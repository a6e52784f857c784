"""The web application: routes and handlers, all behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

from grader.core.grades.model import DecisionError
from grader.core.intake.submission import Submission
from grader.core.results.report import SummaryLine
from grader.core.results.written import NotWritten
from grader.extras.decisions.file import undo

from .classroom import Classroom, Now
from .decide import Form, group_state, state, write, write_group
from .guard import Guard
from .pages import STATIC, ReviewPages
from .words import say

MEDIA = {"css": "text/css", "js": "text/javascript"}
Read = Callable[[str], Submission | str]


class Review:
    """The handlers of the page; one request at a time, since all share the class in memory."""

    def __init__(self, classroom: Classroom, pages: ReviewPages, read: Read, who: str, grader: str = "") -> None:
        """Open a review.

        Args:
            classroom: The class.
            pages: Renders it.
            read: Gives the files of a submission, or else says why it cannot.
            who: Who decides.
            grader: In whose file decisions are written; empty for the one that all share.
        """
        self._classroom, self._pages, self._read, self._who, self._grader = classroom, pages, read, who, grader
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
        form = dict(await _sent(request))
        return await run_in_threadpool(self._answer, partial(self._decide, request, form), form)

    def show_group(self, request: Request) -> Response:
        """The page of a group; the page of the class if there is no such group any more."""
        return self._answer(partial(self._group, request))

    async def decide_group(self, request: Request) -> Response:
        """Write down one decision for a group, and show the next one."""
        sent = await _sent(request)
        chosen = [int(text) for name, text in sent if name == "member" and text.isdecimal()]
        return await run_in_threadpool(self._answer, partial(self._decide_group, request, dict(sent), chosen))

    async def undo(self, request: Request) -> Response:
        """Take back what was decided last, and show the page again."""
        back = dict(await _sent(request)).get("back", "")
        return await run_in_threadpool(self._answer, partial(self._undo, back))

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
        report = self._classroom.report(line.id)
        page = self._pages.student(now, line, report, self._read(line.id), problem, form or {})
        return HTMLResponse(page, 409 if problem else 200)

    def _decide(self, request: Request, form: Form) -> Response:
        now, line = self._find(request)
        if form.get("state") != state(now, line):
            return self._student(now, line, say(self._pages.language, "meanwhile"), form)
        then = now.beside(line.id, 1)
        if at := form.get("at", ""):
            form = {**form, "code": self._code(line.id, at)}
        try:
            write(now, line, form, self._who, self._grader)
        except DecisionError as error:
            return self._student(now, line, str(error), form)
        here = self._pages.page_of(line.id)
        if form.get("do") == "accept":
            here = self._pages.page_of(then) if then else f"{self._pages.root}/"
        return RedirectResponse(here, 303)

    def _code(self, submission: str, at: str) -> str:
        """The line of a file that a comment is about."""
        found, (path, _, number) = self._read(submission), at.rpartition(":")
        lines = [] if isinstance(found, str) else found.files.get(path, "").split("\n")
        return lines[int(number) - 1] if number.isdecimal() and 0 < int(number) <= len(lines) else ""

    def _group(self, request: Request, problem: str = "", form: Form | None = None) -> Response:
        now, key = self._classroom.now(), request.path_params["key"]
        group = next((one for one in now.groups if one.key == key), None)
        if group is None:
            return RedirectResponse(f"{self._pages.root}/#mistakes", 303)
        found = self._read(group.members[0])
        reports = [self._classroom.report(one) for one in group.members]
        page = self._pages.group(now, group, reports, found, problem, form or {})
        return HTMLResponse(page, 409 if problem else 200)

    def _decide_group(self, request: Request, form: Form, chosen: Sequence[int]) -> Response:
        now, key = self._classroom.now(), request.path_params["key"]
        keys = [one.key for one in now.groups]
        group = next((one for one in now.groups if one.key == key), None)
        if group is None or form.get("state") != group_state(now, group):
            return self._group(request, say(self._pages.language, "meanwhile"), form)
        try:
            members = [one for number, one in enumerate(group.members) if number in chosen]
            write_group(now, group, members, form, self._who, self._grader)
        except DecisionError as error:
            return self._group(request, str(error), form)
        following = [*keys[keys.index(key) + 1 :], *keys[: keys.index(key)]]
        there = f"{self._pages.root}/{f'group/{following[0]}' if following else '#mistakes'}"
        return RedirectResponse(_told(there, "decided", len(members)), 303)

    def _undo(self, back: str) -> Response:
        taken = undo(self._classroom.now().known.folder, self._grader)
        here = back if back.startswith(f"{self._pages.root}/") else f"{self._pages.root}/"
        return RedirectResponse(_told(here, "undone", len(taken)), 303)


def _told(address: str, what: str, number: int) -> str:
    """The address of a page that says, at its top, what has just been done to how many submissions."""
    page, mark, place = address.partition("#")
    return f"{page}?told={what}&n={number}{mark}{place}"


async def _sent(request: Request) -> list[tuple[str, str]]:
    """The fields of a form, in order."""
    body = (await request.body()).decode("utf-8", "replace")
    return [(name, text.replace("\r\n", "\n")) for name, text in parse_qsl(body, keep_blank_values=True)]


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
        Route("/group/{key}", review.show_group),
        Route("/group/{key}", review.decide_group, methods=["POST"]),
        Route("/undo", review.undo, methods=["POST"]),
        Route("/static/{name}", _static),
    ]
    return Guard(Starlette(routes=routes, exception_handlers={HTTPException: _error}), token, port)
