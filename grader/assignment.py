"""The rubric as data: tasks, properties, points and hints, from ``rubric.toml``."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

RUBRIC_PATH = Path(__file__).with_name("rubric.toml")
REFERENCE = Path(__file__).parents[1] / "ref"
LANGUAGES = ("en", "zh")


class Record(BaseModel):
    """A part of the rubric: immutable, and without fields that nobody knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(Record):
    """A text in every language of the assignment."""

    en: str
    zh: str

    def __getitem__(self, language: str) -> str:
        return str(getattr(self, language))


class Property(Record):
    """One line of the rubric: it earns its points when all of its cases pass.

    Attributes:
        basic: Whether later properties of the task can fail just because this one does.
    """

    id: str
    points: float = Field(gt=0)
    title: Text
    hint: Text
    basic: bool = False


class Task(Record):
    """One task: the names that a student defines in ``file``, or in one of ``files``, and its properties.

    Attributes:
        library: Names in the libraries that may be imported that may do the whole task; `grader similar` reports them.
    """

    id: str
    title: str
    file: str
    files: Mapping[str, str] = Field(default_factory=dict)
    names: tuple[str, ...]
    library: tuple[str, ...] = ()
    bonus: bool = False
    properties: tuple[Property, ...]

    def file_of(self, name: str) -> str:
        """The file that defines a name."""
        return self.files.get(name, self.file)

    @property
    def points(self) -> float:
        """The most that the task can earn."""
        return sum(prop.points for prop in self.properties)


class Misconception(Record):
    """A mistake that is recognised by what it computes, and what to tell a student who made it."""

    id: str
    properties: tuple[str, ...]
    hint: Text


class LatePenalty(Record):
    """What lateness costs, as shares of the points earned: for each day that has begun, and once."""

    per_day: float = Field(default=0, ge=0, le=1)
    flat: float = Field(default=0, ge=0, le=1)


class Policy(Record):
    """How exports turn a score into a grade; a report never follows it. Off, unless the rubric says otherwise.

    Attributes:
        due: Until when work is in time; without it, what the platform flags is late.
        grace_minutes: After ``due``, for free.
        bonus_cap: How many points of the bonus count; None for all.
    """

    due: AwareDatetime | None = None
    grace_minutes: float = Field(default=0, ge=0)
    late_penalty: LatePenalty = LatePenalty()
    bonus_cap: float | None = Field(default=None, ge=0)


class Rubric(Record):
    """The whole rubric.

    Attributes:
        practice: What all notebooks are worth.
        imports: The libraries that a solution may import, beside Python's own; `grader similar` reports others.
        sha256: Of the file it came from.
    """

    id: str
    title: Text
    practice: float = Field(gt=0)
    imports: tuple[str, ...] = ()
    policy: Policy = Policy()
    tasks: tuple[Task, ...]
    misconceptions: tuple[Misconception, ...]
    sha256: str

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

    def misconception(self, identifier: str) -> Misconception:
        """The misconception of that id."""
        return next(m for m in self.misconceptions if m.id == identifier)

    def handout_place(self, property_id: str, language: str) -> str:
        """Where the handout explains a property: a page and an anchor on it, below the folder ``handout``."""
        return f"{language}/{self.task_of(property_id).id}.html#{property_id}"

    def only(self, task_id: str | None) -> Rubric:
        """The rubric reduced to one task, or whole when there is none to reduce it to."""
        if task_id is None:
            return self
        kept = tuple(task for task in self.tasks if task.id == task_id)
        return Rubric(**{name: getattr(self, name) for name in Rubric.model_fields} | {"tasks": kept})


class RubricError(Exception):
    """A rubric that contradicts itself; the text says where."""


def reference_paths() -> list[Path]:
    """The files of ``ref/`` that solve the assignment: all but the family of encodings that the notebooks use."""
    return [path for path in sorted(REFERENCE.rglob("*.py")) if not path.is_relative_to(REFERENCE / "position")]


def load_rubric(path: Path = RUBRIC_PATH) -> Rubric:
    """Read and check a rubric.

    Raises:
        RubricError: If a field is missing or unknown, an id stands twice, or a text lacks a language.
    """
    data = path.read_bytes()
    try:
        rubric = Rubric.model_validate({**tomllib.loads(data.decode()), "sha256": hashlib.sha256(data).hexdigest()})
    except ValidationError as error:
        first = error.errors()[0]
        raise RubricError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except ValueError as error:  # of TOML or of UTF-8
        raise RubricError(f"{path}: {error}.") from None
    _check(rubric, path)
    return rubric


def _check(rubric: Rubric, path: Path) -> None:
    ids = [*_ids(rubric)]
    for identifier in ids:
        if ids.count(identifier) > 1:
            raise RubricError(
                f"{path}: the id {identifier!r} stands there {ids.count(identifier)} times; ids are unique."
            )
    for misconception in rubric.misconceptions:
        for unknown in set(misconception.properties) - rubric.properties.keys():
            raise RubricError(f"{path}: misconception {misconception.id!r} names an unknown property {unknown!r}.")


def _ids(rubric: Rubric) -> Iterator[str]:
    yield from (task.id for task in rubric.tasks)
    yield from (prop.id for task in rubric.tasks for prop in task.properties)
    yield from (misconception.id for misconception in rubric.misconceptions)
