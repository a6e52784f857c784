"""The rubric as data: tasks, properties, points and hints, from ``rubric.toml``."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

RUBRIC_PATH = Path(__file__).with_name("rubric.toml")
LANGUAGES = ("en", "zh")

Text = Mapping[str, str]  # language to text


@dataclass(frozen=True)
class Property:
    """One line of the rubric: it earns its points when all of its cases pass."""

    id: str
    points: float
    title: Text
    hint: Text


@dataclass(frozen=True)
class Task:
    """One task: the names that a student defines in ``file``, and its properties."""

    id: str
    title: str
    file: str
    names: tuple[str, ...]
    bonus: bool
    properties: tuple[Property, ...]

    @property
    def points(self) -> float:
        """The most that the task can earn."""
        return sum(prop.points for prop in self.properties)


@dataclass(frozen=True)
class Misconception:
    """A mistake that is recognised by what it computes, and what to tell a student who made it."""

    id: str
    properties: tuple[str, ...]
    hint: Text


@dataclass(frozen=True)
class Rubric:
    """The whole rubric; ``sha256`` is of the file it came from."""

    id: str
    title: Text
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

    def only(self, task_id: str | None) -> Rubric:
        """The rubric reduced to one task, or whole when there is none to reduce it to."""
        if task_id is None:
            return self
        kept = tuple(task for task in self.tasks if task.id == task_id)
        return Rubric(self.id, self.title, kept, self.misconceptions, self.sha256)


class RubricError(Exception):
    """A rubric that contradicts itself; the text says where."""


def load_rubric(path: Path = RUBRIC_PATH) -> Rubric:
    """Read and check a rubric.

    Raises:
        RubricError: If a field is missing or unknown, an id stands twice, or a text lacks a language.
    """
    data = path.read_bytes()
    try:
        content = tomllib.loads(data.decode())
        tasks = tuple(_task(entry) for entry in content["tasks"])
        misconceptions = tuple(
            Misconception(entry["id"], tuple(entry["properties"]), _text(entry["hint"]))
            for entry in content["misconceptions"]
        )
        rubric = Rubric(content["id"], _text(content["title"]), tasks, misconceptions, hashlib.sha256(data).hexdigest())
    except (KeyError, TypeError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RubricError(f"{path}: {type(error).__name__}: {error}") from None
    _check(rubric, path)
    return rubric


def _task(entry: Mapping[str, Any]) -> Task:
    properties = tuple(
        Property(p["id"], float(p["points"]), _text(p["title"]), _text(p["hint"])) for p in entry["properties"]
    )
    return Task(
        entry["id"], entry["title"], entry["file"], tuple(entry["names"]), bool(entry.get("bonus", False)), properties
    )


def _text(entry: Mapping[str, str]) -> Text:
    return {language: entry[language] for language in LANGUAGES}


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
