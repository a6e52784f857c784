"""Which earlier results can be used again: those of submissions that have not changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..intake.candidate import Candidate
from ..intake.reader import Reader
from ..intake.submission import Submission
from ..results.ledger import Entry


class Known:
    """The earlier results of a class.

    Args:
        entries: From a submission's id to its result under the present conditions.
        candidates: The class.
        reader: Looks at the files of the class.
        read: Reads a submission whose stamp does not tell that it is the same.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        candidates: Iterable[Candidate],
        reader: Reader,
        read: Callable[[Candidate], Submission],
    ) -> None:
        self._entries, self._read = entries, read
        stamped = [own for own in candidates if own.id in entries and entries[own.id].stamp]
        self._stamps = reader.stamps(stamped)

    def of(self, candidate: Candidate) -> Entry | None:
        """The result that can be used again, as the same files were graded with the same notices; None if none can."""
        entry = self._entries.get(candidate.id)
        if entry is None or (entry.stamp and entry.stamp == self._stamps.get(candidate.id)):
            return entry
        now = self._read(candidate)
        same = (entry.sha256, entry.notices, entry.reason) == (now.sha256, now.notices, now.reason)
        return entry if same else None
