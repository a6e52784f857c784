"""A class to be reviewed: reports, the files that were handed in, and the application without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.testclient import TestClient

from grader.core.intake.origin import Origin, Student
from grader.core.intake.submission import Submission
from grader.core.results.files import write_json
from grader.core.results.outcome import Outcome
from grader.core.results.report import Attention, Report, Summary
from grader.core.results.written import note
from grader.examples.small.grader.assignment import ASSIGNMENT
from grader.extras.decisions.file import read
from grader.extras.decisions.model import Decision
from grader.extras.decisions.review.app import Review, application
from grader.extras.decisions.review.classroom import Classroom
from grader.extras.decisions.review.pages import ReviewPages
from grader.selftest.class_reports import graded, ungraded, write
from grader.selftest.html_page import Element, parse

TOKEN = "t0ken"  # not secret: nobody listens
PORT = 8123
HOST = f"http://127.0.0.1:{PORT}"
PROPERTIES = [*ASSIGNMENT.rubric.properties]
LATE = PROPERTIES[0]  # the one that gives no answer in time below


def person(name: str) -> Origin:
    """One student whom a platform knows by a name."""
    return Origin(source="canvas", students=(Student(id=f"c-{name.casefold()}", name=name),), late=False)


def reports() -> list[Report]:
    """Four students: one crashed in a line of a file, one hung, one handed in no zip, and one is all right."""
    crashed = dict.fromkeys(PROPERTIES[:3], Outcome.CRASHED)
    return [
        _with_files(graded("ada", origin=person("Ada"))),
        _with_files(graded("bo", crashed, origin=person("Bo"))),
        _with_files(graded("cy", {LATE: Outcome.TIMED_OUT}, origin=person("Cy"))),
        ungraded("di", "unreadable", "File is not a zip file."),
    ]


def _with_files(report: Report) -> Report:
    digest = Submission(report.submission.id, ASSIGNMENT.solution()).sha256
    return report.model_copy(update={"submission": report.submission.model_copy(update={"sha256": digest})})


ATTENTION = [
    Attention(id="cy", code="timed_out", text=f"Timed out: {LATE}."),
    Attention(id="bo", code="nothing_ran", text="Nothing of it gave an answer."),
    Attention(id="bo", code="left_out", text="A file was left out."),
    Attention(id="di", code="unreadable", text="File is not a zip file."),
]


def add_attention(out: Path, attention: Sequence[Attention]) -> None:
    """Put reasons into the summary of a folder, in place of those that are there."""
    before = Summary.model_validate_json((out / "summary.json").read_bytes())
    write_json(out / "summary.json", before.model_copy(update={"attention": [*attention]}))


def write_review_class(out: Path, given: Sequence[Report] | None = None) -> Path:
    """The folder as ``grade`` leaves it, with the submissions beside it; returns the folder."""
    found = reports() if given is None else given
    write(out, found)
    add_attention(out, ATTENTION if given is None else ())
    work = out.parent / "work"
    for report in found:
        for path, text in ASSIGNMENT.solution().items():
            place = work / report.submission.id / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    note(out, [work], None, None)
    return out


@dataclass
class Desk:
    """A review as a browser meets it.

    Attributes:
        out: The folder of reports.
        files: What was handed in, by submission; of all others, the solution.
    """

    out: Path
    language: str = "en"
    who: str = "kim"
    files: dict[str, Mapping[str, str]] = field(default_factory=dict)
    anonymous: bool = False
    grader: str = ""

    def __post_init__(self) -> None:
        """Open the review."""
        pages = ReviewPages(ASSIGNMENT, self.language, f"/{TOKEN}", self.anonymous)
        room = Classroom(self.out, ASSIGNMENT, self.language, self.out)
        review = Review(room, pages, self._read, self.who, self.grader)
        self.client = TestClient(application(review, TOKEN, PORT), base_url=HOST, follow_redirects=False)

    def _read(self, submission: str) -> Submission:
        return Submission(submission, self.files.get(submission, ASSIGNMENT.solution()))

    def page(self, path: str = "", status: int = 200) -> Element:
        """A page, parsed."""
        answer = self.client.get(f"/{TOKEN}/{path}")
        assert answer.status_code == status, answer.text
        return parse(answer.text)

    def state(self, submission: str) -> str:
        """What the forms of a submission's page say that was decided so far."""
        boxes = self.page(f"student/{submission}").all("input")
        return next(box.attributes["value"] or "" for box in boxes if box.attributes.get("name") == "state")

    def post(self, submission: str, do: str, state: str | None = None, **fields: str) -> tuple[int, str]:
        """Send a form; returns the status, and where it leads or what the page says."""
        form = {"do": do, "state": self.state(submission) if state is None else state, **fields}
        answer = self.client.post(f"/{TOKEN}/student/{submission}", data=form, headers={"origin": HOST})
        location = answer.headers.get("location", "").removeprefix(f"/{TOKEN}/")
        return answer.status_code, location if answer.status_code == 303 else parse(answer.text).text

    def queue(self) -> list[str]:
        """Who waits, in order."""
        page = self.page()
        tables = [one for one in page.all("div") if one.attributes.get("aria-label") in ("The queue", "待查看")]
        waiting = [link for link in page.all("a") if link.attributes.get("id") == "next"]
        return [row.one("th").all("a")[0].text for row in tables[0].one("tbody").all("tr")] if waiting else []

    def decisions(self) -> list[Decision]:
        """What stands in the file."""
        return [entry.decision for entry in read(self.out)]
