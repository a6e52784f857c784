"""How a run joins the class that its folder knows already: it adds submissions, and leaves nobody out by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.core.grades.people import key, students
from grader.core.intake.candidate import Candidate
from grader.core.intake.origin import Origin


@dataclass(frozen=True)
class Joined:
    """A run beside the submissions of earlier runs.

    Attributes:
        candidates: Of the run; without those that only say that somebody handed in nothing who did so earlier.
        others: Ids of earlier submissions that stay in the class.
        superseded: Ids of earlier submissions whose students have all handed in another one in this run.
    """

    candidates: Sequence[Candidate]
    others: Sequence[str]
    superseded: Sequence[str]


def joined(candidates: Sequence[Candidate], known: Mapping[str, Origin | None], every_attempt: bool) -> Joined:
    """Put a run beside what is known.

    Args:
        candidates: Everything that the run was given.
        known: The class so far: submissions, and whose they are.
        every_attempt: Whether earlier submissions of the same students stay.
    """
    candidates = [one if one.origin else replace(one, origin=_kept(known.get(one.id))) for one in candidates]
    earlier = {own for name, origin in known.items() if not _absent(origin) for own in _keys(name, origin)}
    own = [one for one in candidates if not (_absent(one.origin) and _keys(one.id, one.origin) <= earlier)]
    here = {one.id for one in own}
    present = {student for one in own if not _absent(one.origin) for student in _keys(one.id, one.origin)}
    rest = {name: origin for name, origin in known.items() if name not in here}
    gone = [
        name
        for name, origin in rest.items()
        if _keys(name, origin) <= present and (_absent(origin) or not every_attempt)
    ]
    return Joined(own, [name for name in rest if name not in gone], [name for name in gone if not _absent(known[name])])


def _kept(origin: Origin | None) -> Origin | None:
    """Whose a submission is, for a folder or a zip under its id that does not say so."""
    return origin.model_copy(update={"source": "folders"}) if origin and _absent(origin) else origin


def _absent(origin: Origin | None) -> bool:
    return origin is not None and origin.source == "roster"


def _keys(name: str, origin: Origin | None) -> set[tuple[str, str]]:
    return {key(student) for student in students(name, origin)}
