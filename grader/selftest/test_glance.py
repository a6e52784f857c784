"""A glance sees every change of a length, a key or a value, and never says that what has changed has not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection
from functools import partial
from types import ModuleType

import pytest

from grader.sandbox.glance import Glance

NAMES = {"a": object(), "b": object(), "c": object()}
CHANGES: dict[str, Callable[[dict[str, object]], object]] = {
    "a key more": lambda names: names.update(more=1),
    "many keys more, so that the table moves": lambda names: names.update(dict.fromkeys("defghijklmno")),
    "a key less": lambda names: names.pop("b"),
    "another value": lambda names: names.update(b=object()),
    "two values exchanged": lambda names: names.update(a=names["b"], b=names["a"]),
    "another name for the last value": lambda names: names.update(z=names.pop("c")),
    "nothing left": lambda names: names.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_of_names_is_seen(change: Callable[[dict[str, object]], object]) -> None:
    names = dict(NAMES)
    glance = Glance([], [names])
    assert glance.shows_no_change()
    change(names)
    assert not glance.shows_no_change()


def test_every_change_of_a_length_is_seen() -> None:
    names, numbers, few = dict(NAMES), [1, 2, 3], {1, 2, 3}
    collections: list[Collection[object]] = [names, numbers, few]
    for change in (partial(names.update, d=1), partial(numbers.append, 4), few.pop):
        glance = Glance(collections, [])
        assert glance.shows_no_change()
        change()
        assert not glance.shows_no_change()


def test_what_is_put_back_is_as_before() -> None:
    names, numbers = dict(NAMES), [1, 2, 3]
    glance = Glance([names, numbers], [names])
    names["b"] = None
    numbers.append(4)
    names["b"] = NAMES["b"]
    numbers.pop()
    numbers[0] = 7  # only the length of a list is watched
    assert glance.shows_no_change()


def test_classes_and_modules_are_watched_through_their_namespaces() -> None:
    space, module = type("Space", (), {"a": object()}), ModuleType("module")
    glance = Glance([vars(module)], [vars(space), vars(module)])
    assert glance.shows_no_change()
    space.b = 1  # type: ignore[attr-defined] # a new name
    assert not glance.shows_no_change()


@pytest.mark.process
def test_a_glance_is_possible_at_all_that_a_fork_server_has_imported() -> None:
    """If it were not, every look would be a closer one, and nothing but the time would tell."""
    code = "from grader.sandbox.zygote import Surroundings; print(Surroundings()._glance.is_possible)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "True\n"


def test_where_lengths_are_not_found_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.glance.LENGTH", {dict: 0, list: 0, set: 0})
    assert not Glance([NAMES], [NAMES]).shows_no_change()


def test_where_values_are_not_found_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.glance.COUNTERS", 64)
    assert not Glance([NAMES], [NAMES]).shows_no_change()
