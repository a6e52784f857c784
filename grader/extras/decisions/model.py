"""A decision: whom it concerns, what it changes, who made it, when and why, and which report it was based on.

Its wording, in English and Chinese, leaves out who made it for students and names them for staff.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from grader.core.grades.graded import FILE
from grader.core.grades.people import Key
from grader.core.messages import ENDS, Sentences
from grader.core.results.report import Record
from grader.core.rubric import Rubric

About = str | Key  # a submission, a student, or everyone
EVERYONE = "*"  # as a student: a decision for the whole class
TOTALS = ("score", "bonus")  # what can be overridden beside properties
LAST, BEST = "last", "best"
MAX_TEXT = 4000
TAKEN = "file"  # a file that stands for another one
PERSONAL = ("due", "late_days", "excuse", "attempt", "team")  # about a student, not about what was handed in
SEEN, ASKED = "seen", "appeal"  # staff only; each ends the other
UNEXPLAINED = ("comment", ASKED, SEEN)  # what needs no reason
WHAT = ("override", "comment", TAKEN, *PERSONAL, ASKED, SEEN, "withdraw")
say = Sentences(Path(__file__).with_name("words.toml"))


def _said(text: str) -> str:
    """Text that a page can show: no control characters, which TOML and terminals give a meaning of their own."""
    kept = "".join(char if char.isprintable() or char == "\n" else " " for char in text).strip()
    if not kept:
        raise ValueError("it is empty")
    return kept


Said = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_said)]


class Ground(Record):
    """What a decision was based on; if this changes, a person should look at the decision again.

    Attributes:
        files: The digest of the submission's files; empty where the decision is not about files.
        was: What the grader said then, such as ``failed, 0 of 6``; or which attempts there were.
        over: The decision of another grader in whose place it was made knowingly: who, and when.
    """

    files: str = ""
    was: str = ""
    over: str = ""


class Decision(Record):
    """One entry of ``decisions.toml``; exactly one of the fields in ``WHAT`` is set.

    Attributes:
        student: A student's id, address or name, or the id of a submission; ``*`` for everyone.
        override: The id of a property or a task, ``score`` or ``bonus``: it is worth ``points``.
        comment: A comment for the student.
        at: The line of a file that the comment is about, such as ``src/a.py:12``.
        code: That line, as it was.
        file: ``PATH=NAME``: the student's file of that name is graded as that path.
        due: The student's own deadline.
        late_days: Days of lateness that cost nothing.
        excuse: The student gets no grade, and loses nothing by that.
        attempt: Of several submissions, the one that counts: ``last``, ``best``, or the id of one.
        team: Others who handed in together with this student.
        appeal: What the student asks to have looked at again; staff only, until somebody has seen it.
        seen: The reasons for which somebody looked at a submission, and left the result as it is; staff only.
        withdraw: What no longer holds: the id of a property, ``score``, ``bonus``, or the name of another field.
        who: Who decided.
        when: When it was decided.
        why: The reason, which students read; a comment, an appeal and what was seen need none.
        ground: What an override, a comment, a look or the choice of an attempt was based on.
    """

    student: Said
    override: Said | None = None
    points: Annotated[float, Field(ge=0)] | None = None
    comment: Said | None = None
    at: Annotated[str, Field(max_length=MAX_TEXT, pattern=r"^[^\n]+:\d+$")] | None = None
    code: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    file: Annotated[str, Field(max_length=MAX_TEXT, pattern=r"^[^=\s]+=[^=\n]+$")] | None = None
    due: AwareDatetime | None = None
    late_days: Annotated[int, Field(ge=0)] | None = None
    excuse: Literal[True] | None = None
    attempt: Said | None = None
    team: tuple[Said, ...] | None = Field(default=None, min_length=1, strict=False)
    appeal: Said | None = None
    seen: tuple[Said, ...] | None = Field(default=None, strict=False)
    withdraw: Said | None = None
    who: Said
    when: AwareDatetime
    why: Said | None = None
    ground: Ground | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Decision:
        said = [name for name in WHAT if getattr(self, name) is not None]
        if len(said) != 1:
            raise ValueError(f"{len(said)} of the fields {', '.join(WHAT)} are set; set exactly one")
        if (self.points is None) != (self.override is None):
            raise ValueError("override and points must be given together")
        if self.at is not None and self.comment is None:
            raise ValueError("at belongs to a comment")
        if self.why is None and self.what not in UNEXPLAINED:
            raise ValueError("why is missing")
        if self.student == EVERYONE and self.what != "attempt" and self.withdraw != "attempt":
            raise ValueError("only attempt can be decided for everyone; set anything else in the rubric's [policy]")
        return self

    @property
    def what(self) -> str:
        """Which field says what was decided."""
        return next(name for name in WHAT if getattr(self, name) is not None)

    @property
    def slot(self) -> str:
        """What it is about, such as a property's id: of several, the last one holds, but comments add up."""
        path = (self.file or "").partition("=")[0]
        return self.override or self.withdraw or path or self.what

    @property
    def value(self) -> tuple[object, ...]:
        """What was decided, for comparison with what another grader decided."""
        return self.what, getattr(self, self.what), self.points

    @property
    def author(self) -> str:
        """Who decided, and when."""
        return f"{self.who} {self.when.isoformat()}"

    @property
    def personal(self) -> bool:
        """Whether it is about a student, rather than about what was handed in."""
        return self.slot in PERSONAL

    @property
    def identity(self) -> str:
        """The same text for the same decision, whether or not its ground is written down."""
        return self.model_dump_json(exclude={"ground"}, exclude_none=True)


@dataclass(frozen=True)
class Ruling:
    """A decision as it is written, and as it holds in a class.

    Attributes:
        line: The line of its file where it begins.
        file: ``decisions.toml``, or the file of one grader in the folder ``decisions``.
        stale: How its ground has changed, or why it cannot be followed; empty if neither.
        void: Whether it cannot be followed, so that it changes nothing.
        about: Ids of submissions, or keys of students where it is personal; empty until these are found.
        now: The ground that it would have if it were made today; None where such a decision has no ground.
        over: The decision of another person that it replaced; None if there was none.
    """

    decision: Decision
    line: int
    stale: str = ""
    void: bool = False
    file: str = FILE
    about: tuple[About, ...] = ()
    now: Ground | None = None
    over: Ruling | None = None

    @property
    def slot(self) -> str:
        """What it is about, such as a property's id."""
        return self.decision.slot

    @property
    def author(self) -> str:
        """Who decided, and on which day."""
        return f"{self.decision.who}, {self.decision.when.date()}"

    @property
    def code(self) -> str:
        """The line of code that a comment is about; empty if there is none."""
        return self.decision.code or ""

    def for_student(self, rubric: Rubric, language: str) -> str:
        """What was decided and why; not who decided."""
        decision = self.decision
        titles = {task.id: task.title for task in rubric.tasks}
        titles |= {name: prop.title[language] for name, prop in rubric.properties.items()}
        kinds = (
            "property" if decision.override in titles else "",
            "at" if decision.at else "",
            decision.attempt if decision.attempt in (LAST, BEST) else "",  # a submission may be called "why"
            decision.override if decision.override in TOTALS else "",
            decision.what,
        )
        path, _, file = (decision.file or "").partition("=")
        what = say(
            language,
            next((name for name in kinds if name and name in say.texts), "property"),
            decision=decision,
            points=decision.points or 0,
            path=path,
            name=file,
            title=titles.get(decision.override or "", decision.override),
            due=decision.due.isoformat(sep=" ", timespec="minutes") if decision.due else "",
            names=", ".join(decision.team or ()),
            reasons=", ".join(decision.seen or ()) or "–",
        )
        why = say(language, "why", why=_ended(decision.why, language)) if decision.why else ""
        return _ended(what, language) + why

    def for_staff(self, rubric: Rubric, language: str) -> str:
        """The same in one line, with who decided when, and whether somebody should look at it again."""
        by = say(language, "by", who=self.decision.who, when=self.decision.when.date())
        again = say(language, "stale", stale=self.stale) if self.stale else ""
        over = say(language, "over", was=self.over.for_staff(rubric, language)) if self.over else ""
        return f"{' '.join(self.for_student(rubric, language).split())}{by}{over}{again}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.decision.student}: {self.decision.slot}: {self.stale}"


def _ended(text: str, language: str) -> str:
    """The text as a sentence with its end."""
    return text if text.endswith(ENDS) else text + {"en": ".", "zh": "。"}[language]
