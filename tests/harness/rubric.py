"""The tasks and their properties, as the tests know them."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from .terminal import Refused, Words

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SOURCE = ROOT / "src"
MINE = TESTS / "practice" / "test_mine.py"  # the student's own tests; some assignments have no practice
# A student's copy, which has no hints, or that of the course's own repository, whose grader checks what it says.
PLACES = (Path(__file__).with_name("rubric.toml"), ROOT / "grader" / "assignment" / "rubric.toml")
FULL_POINTS = 100
WHOLE = {"title": dict, "tasks": list}  # the types of values in each table of the file
TASK = {"id": str, "title": str, "file": str, "files": dict, "names": list, "bonus": bool, "properties": list}
PROPERTY = {"id": str, "points": (int, float), "title": dict, "question": dict}


@dataclass(frozen=True)
class Property:
    """A requirement that a solution meets or not, the points that it earns, and the question at a failure."""

    id: str
    points: float
    title: Words
    question: Words


@dataclass(frozen=True)
class Task:
    """One task: the names to define, each with its file, and the properties that are asked of it."""

    id: str
    number: int
    title: str
    names: Mapping[str, str]
    bonus: bool
    properties: tuple[Property, ...]


@dataclass(frozen=True)
class Rubric:
    """The whole assignment."""

    title: Words
    tasks: tuple[Task, ...]

    def property(self, name: str) -> Property:
        """Return the property with that id."""
        return next(prop for prop in self.task_of[name].properties if prop.id == name)

    @cached_property
    def names_in(self) -> Mapping[str, list[str]]:
        """The names that each file should define, by file."""
        files = {file: [] for task in self.tasks for file in task.names.values()}
        for name, file in (item for task in self.tasks for item in task.names.items()):
            files[file].append(name)
        return files

    @cached_property
    def task_of(self) -> Mapping[str, Task]:
        """The task of every property id."""
        return {prop.id: task for task in self.tasks for prop in task.properties}


@cache
def load(places: tuple[Path, ...] = PLACES) -> Rubric:
    """Read the first rubric that exists.

    Raises:
        Refused: If there is none, or something in it is missing or wrong; the text says where and why, on one line.
    """
    path = next((place for place in places if place.exists()), None)
    if path is None:
        raise Refused(f"No rubric: none of {', '.join(map(str, places))} exists.")
    try:
        data = _checked(tomllib.loads(path.read_text(encoding="utf-8-sig")), WHOLE)
        tasks = tuple(_task(number, entry) for number, entry in enumerate(data["tasks"], start=1))
        return Rubric(title=data["title"], tasks=tasks)
    except KeyError as name:
        raise Refused(f"{path}: {name} is missing; write it there.") from None
    except (TypeError, ValueError) as reason:
        raise Refused(f"{path}: {reason}; correct the file.") from None


def _task(number: int, entry: dict) -> Task:
    """Build one task from its table in the rubric."""
    items = (_checked(item, PROPERTY) for item in _checked(entry, TASK)["properties"])
    properties = (Property(item["id"], item["points"], item["title"], item["question"]) for item in items)
    names = {name: entry.get("files", {}).get(name, entry["file"]) for name in entry["names"]}
    return Task(entry["id"], number, entry["title"], names, entry.get("bonus", False), tuple(properties))


def _checked(entry: dict, kinds: Mapping) -> dict:
    """Return a table whose values have their types."""
    for key, value in dict(entry).items():
        if not isinstance(value, kinds.get(key, object)):
            raise ValueError(f"{key} = {value!r} has the wrong type")
    return entry
