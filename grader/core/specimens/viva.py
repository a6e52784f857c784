"""What questions about students' own code need of an assignment: calls small enough for the head, and laws as code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.core.assignment import Assignment


@dataclass(frozen=True)
class Call:
    """A few lines of code that a student reads in a question, and that a worker runs.

    Attributes:
        task: The id of the task whose names it uses, beside ``torch``.
        code: The lines; the last one is an expression, and its value is asked for.
        history: Whether it is about what earlier calls or seeds leave behind, rather than about one output.
    """

    task: str
    code: str
    history: bool = False


@dataclass(frozen=True)
class Viva:
    """The calls and laws of an assignment, from its file ``corpus/viva.toml``.

    Attributes:
        calls: What may be asked, in the order of the file.
        laws: From the id of a property to code like that of a call, whose value is true where the property holds. No
            student reads it; the title of the property is the law in words.
    """

    calls: tuple[Call, ...]
    laws: Mapping[str, str]


def viva_of(assignment: Assignment) -> Viva | None:
    """What the assignment's file says; None if it has no such file.

    Raises:
        ValueError: If the file names an unknown task or property.
    """
    path = assignment.folder / "corpus" / "viva.toml"
    if not path.is_file():
        return None
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    calls = tuple(Call(**{**call, "code": call["code"].strip()}) for call in data["calls"])
    known = {task.id for task in assignment.rubric.tasks} | assignment.rubric.properties.keys()
    for unknown in ({call.task for call in calls} | data["laws"].keys()) - known:
        raise ValueError(f"{path}: {unknown!r} is no task or property of the rubric.")
    return Viva(calls, {name: code.strip() for name, code in data["laws"].items()})
