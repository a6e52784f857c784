"""The rubric as data: tasks, properties, points and hints, from ``rubric.toml``."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StrictBool, ValidationError

from grader import SUBMITTED

from .messages import UserError

LANGUAGES = ("en", "zh")
FULL_POINTS = 100  # of all tasks together, without the bonus tasks
MAX_PROBLEM = 300


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Said = Annotated[str, AfterValidator(_said)]
Id = Annotated[str, Field(pattern=r"^[a-z]\w*$")]  # a part of commands, addresses and names of files
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]  # no text: students' tests read the file as it is


class Record(BaseModel):
    """A part of the rubric: immutable, and refused if it has an unknown field."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(Record):
    """A text in every language of the assignment."""

    en: Said
    zh: Said

    def __getitem__(self, language: str) -> str:
        return str(getattr(self, language))


class Property(Record):
    """One line of the rubric: it earns its points when all of its cases pass.

    Attributes:
        question: What a student is asked who fails the property in the public tests.
        hint: What to do, in reports and for students who ask for more.
        basic: Whether later properties of the task can fail just because this one does.
        one_tensor: Names for which this property alone charges if a call returns several values, or if the constructor
            refuses good sizes because it checks them the wrong way round.
    """

    id: Id
    points: Number = Field(gt=0)
    title: Text
    question: Text
    hint: Text
    basic: StrictBool = False
    one_tensor: tuple[str, ...] = ()


class Task(Record):
    """One task: the names that a student defines in ``file``, or in one of ``files``, and its properties.

    Attributes:
        library: Names in allowed libraries that may do the whole task; `grader similar` reports their use.
    """

    id: Id
    title: Said
    file: Said
    files: Mapping[str, Said] = Field(default_factory=dict)
    names: tuple[Said, ...] = Field(min_length=1)
    library: tuple[str, ...] = ()
    bonus: StrictBool = False
    properties: tuple[Property, ...]

    def file_of(self, name: str) -> str:
        """The file that defines a name."""
        return self.files.get(name, self.file)

    @property
    def points(self) -> float:
        """The most that the task can earn."""
        return sum(prop.points for prop in self.properties)


class Misconception(Record):
    """A known mistake, recognised by the wrong values that it gives, and the hint for a student who made it."""

    id: Id
    properties: tuple[str, ...]
    hint: Text


class LatePenalty(Record):
    """The cost of lateness as shares of the points earned: ``per_day`` for each day begun, ``flat`` once."""

    per_day: Number = Field(default=0, ge=0, le=1)
    flat: Number = Field(default=0, ge=0, le=1)


class Policy(Record):
    """How exports turn a score into a grade; reports ignore it. Without a policy, score and bonus are the grade.

    Attributes:
        due: The deadline; without one, work is late if the platform flags it as late.
        grace_minutes: Minutes after ``due`` that cost nothing.
        bonus_cap: How many points of the bonus count; None for all.
        missing: What the roster's students get who handed in nothing: ``blank``, or ``zero`` points.
        thresholds: Grades that matter, by name, such as ``pass``; `grader diff` says who crosses one.
    """

    due: AwareDatetime | None = None
    grace_minutes: Number = Field(default=0, ge=0)
    late_penalty: LatePenalty = LatePenalty()
    bonus_cap: Number | None = Field(default=None, ge=0)
    missing: Literal["blank", "zero"] = "blank"
    thresholds: Mapping[str, Number] = Field(default_factory=dict)


class Rubric(Record):
    """The whole rubric.

    Attributes:
        practice: The points that all notebooks together are worth.
        imports: Libraries that a solution may import besides Python's own; `grader similar` reports all others.
        sha256: The digest of the rubric file.
    """

    id: Said
    title: Text
    practice: Number = Field(gt=0)
    imports: tuple[str, ...] = ()
    policy: Policy = Policy()
    tasks: tuple[Task, ...]
    misconceptions: tuple[Misconception, ...]
    sha256: str

    @cached_property
    def one_tensor(self) -> dict[str, str]:
        """From a name to the property that charges if a call returns several values, or good sizes are refused."""
        return {name: prop.id for task in self.tasks for prop in task.properties for name in prop.one_tensor}

    @cached_property
    def deciding(self) -> str:
        """The part of the rubric that decides outcomes: names and places, but no points, words or policy."""
        seen: Mapping[str, Any] = {"__all__": {"points", "title", "question", "hint", "basic"}}
        tasks: Mapping[str, Any] = {"__all__": {"title": True, "bonus": True, "library": True, "properties": seen}}
        hints: Mapping[str, Any] = {"__all__": {"hint"}}
        shown = {"title": True, "practice": True, "imports": True, "policy": True, "sha256": True}
        return self.model_dump_json(exclude={**shown, "tasks": tasks, "misconceptions": hints})

    @cached_property
    def expected(self) -> dict[str, tuple[str, ...]]:
        """The files that a submission should have, sorted, and the names that each is to define."""
        named = [(task.file_of(name), name) for task in self.tasks for name in task.names]
        return {
            file: tuple(name for path, name in named if path == file) for file in sorted({path for path, _ in named})
        }

    @cached_property
    def properties(self) -> dict[str, Property]:
        """Every property by its id, in the order of the rubric."""
        return {prop.id: prop for task in self.tasks for prop in task.properties}

    @cached_property
    def _task_of(self) -> dict[str, Task]:
        return {prop.id: task for task in self.tasks for prop in task.properties}

    def task_of(self, property_id: str) -> Task:
        """The task that a property belongs to."""
        return self._task_of[property_id]

    @property
    def max_score(self) -> float:
        """The points of all tasks that are not a bonus."""
        return sum(task.points for task in self.tasks if not task.bonus)

    @property
    def max_bonus(self) -> float:
        """The most that the bonus tasks can earn."""
        return sum(task.points for task in self.tasks if task.bonus)

    def file_of(self, name: str) -> str:
        """The file that defines a name.

        Raises:
            RubricError: If no task asks for that name.
        """
        for task in self.tasks:
            if name in task.names:
                return task.file_of(name)
        raise RubricError(f"rubric.toml: no task has {name}. Add the name, or delete what replaces it in corpus/.")

    def misconception(self, identifier: str) -> Misconception:
        """The misconception of that id."""
        return next(m for m in self.misconceptions if m.id == identifier)

    def handout_place(self, property_id: str, language: str) -> str:
        """Where the handout explains a property: a page and an anchor on it, below the folder ``handout``."""
        return f"{language}/{self.task_of(property_id).id}.html#{property_id}"

    def only(self, task_id: str | None) -> Rubric:
        """The rubric reduced to one task; the whole rubric if ``task_id`` is None."""
        if task_id is None:
            return self
        kept = tuple(task for task in self.tasks if task.id == task_id)
        return Rubric(**{name: getattr(self, name) for name in Rubric.model_fields} | {"tasks": kept})


class RubricError(UserError):
    """A rubric that contradicts itself; the text says on one line where and why."""


def load_rubric(path: Path, reference: Path | None = None) -> Rubric:
    """Read and check a rubric, and whether ``reference``, the folder of the solution, has every file of its tasks.

    Raises:
        RubricError: If a field is missing or unknown, an id is used twice, a text lacks a language, a misconception
            names an unknown property, a task a name or file that does not exist, or the points do not add up.
    """
    data = path.read_bytes()
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))  # an editor on Windows may have put a mark before it
        rubric = Rubric.model_validate({**content, "sha256": hashlib.sha256(data).hexdigest()})
    except ValidationError as error:
        raise RubricError(f"{path}: {first_problem(error, content)}.") from None
    except ValueError as error:  # the file is not TOML, or not UTF-8
        raise RubricError(f"{path}: {error}.") from None
    for contradiction in _contradictions(rubric, reference):
        raise RubricError(f"{path}: {contradiction}")
    return rubric


def first_problem(error: ValidationError, content: Any = None) -> str:
    """The first error and its place, in one printable line; characters that cannot be printed are replaced.

    An entry of a list is named by its id, where ``content``, what was validated, has one.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    names = []
    for key in first["loc"]:
        try:
            content = content[key]
        except (LookupError, TypeError):
            content = None
        name = content.get("id") if isinstance(key, int) and isinstance(content, dict) else None
        names.append(name if name and isinstance(name, str) else str(key))
    what = first["msg"].removeprefix("Value error, ")  # pydantic's prefix for errors of our own validators
    text = f"{'.'.join(names)}: {what}" if names else what
    return "".join(char if char.isprintable() else "?" for char in text)[:MAX_PROBLEM]


def _contradictions(rubric: Rubric, reference: Path | None) -> Iterator[str]:
    """One line for each contradiction: what is wrong, and what is right or how to correct it."""
    ids = [task.id for task in rubric.tasks] + [prop.id for task in rubric.tasks for prop in task.properties]
    ids += [misconception.id for misconception in rubric.misconceptions]
    names = [name for task in rubric.tasks for name in task.names]
    for what, found in (("id", ids), ("name", names)):
        for one, count in Counter(found).items():
            if count > 1:
                yield f"duplicate {what} {one!r} ({count} times); {what}s must be unique."
    for misconception in rubric.misconceptions:
        for unknown in set(misconception.properties) - rubric.properties.keys():
            yield f"misconception {misconception.id!r} names an unknown property {unknown!r}."
    for task in rubric.tasks:
        for unknown in task.files.keys() - set(task.names):
            yield f"{task.id} gives a file for {unknown!r}, which is not one of its names."
        for file in {task.file, *task.files.values()}:
            folder, *path = Path(file).parts
            if folder != SUBMITTED:
                yield f"{task.id} names the file {file!r}, which is not below {SUBMITTED}/."
            elif reference and not (solved := reference.joinpath(*path)).is_file():
                yield f"{task.id} names the file {file!r}; there is no {solved}."
    points = sum(task.points for task in rubric.tasks if not task.bonus)
    if not math.isclose(points, FULL_POINTS):  # tenths add up to a little less or more
        yield f"the tasks without bonus total {points:g} points; they must total {FULL_POINTS}."
