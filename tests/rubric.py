"""The tasks and their properties, as the tests know them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from .messages import Language

TESTS = Path(__file__).resolve().parent
# Students get a copy beside the tests; in the course's own repository there is one rubric only.
PLACES = (TESTS / "rubric.toml", TESTS.parent / "grader" / "rubric.toml")


@dataclass(frozen=True)
class Property:
    """Something that a solution does or does not do, and what that is worth."""

    id: str
    points: int
    title: Mapping[Language, str]
    hint: Mapping[Language, str]


@dataclass(frozen=True)
class Task:
    """One task: what to build, in which files, and the properties that are asked of it.

    Attributes:
        names: The file that each name is to be defined in.
    """

    id: str
    number: int
    title: str
    names: Mapping[str, str]
    bonus: bool
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class Rubric:
    """The whole assignment."""

    title: Mapping[Language, str]
    tasks: tuple[Task, ...]

    def property(self, name: str) -> Property:
        """Return the property with that id."""
        return next(prop for prop in self.task_of[name].properties if prop.id == name)

    @cached_property
    def task_of(self) -> Mapping[str, Task]:
        """The task of every property id."""
        return {prop.id: task for task in self.tasks for prop in task.properties}


@cache
def load(places: tuple[Path, ...] = PLACES) -> Rubric:
    """Read the first rubric that exists.

    Raises:
        FileNotFoundError: If there is none.
    """
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise FileNotFoundError(f"No rubric: none of {', '.join(map(str, places))} exists.")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    tasks = (_task(number, entry) for number, entry in enumerate(data["tasks"], start=1))
    return Rubric(title=data["title"], tasks=tuple(tasks))


def _task(number: int, entry: dict) -> Task:
    """Build one task from its table in the rubric."""
    properties = (Property(item["id"], item["points"], item["title"], item["hint"]) for item in entry["properties"])
    names = {name: entry.get("files", {}).get(name, entry["file"]) for name in entry["names"]}
    return Task(entry["id"], number, entry["title"], names, entry.get("bonus", False), tuple(properties))
