"""The time that a submission has left: an equal share for each name, and less for a request once something has hung."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from grader.core.messages import say
from grader.core.sandbox.handle import WorkerFailed
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import Kind

from .faults import TimedOut

NOT_TRIED_AGAIN = "not tried: {name} has timed out before, and the submission has used up its {n} timeouts"


class TimeLeft:
    """What time each name of a submission has left.

    A name that is slow takes nothing from the others. Once a process has left a list or a request unanswered, requests
    get less time; after a few, a name that has timed out is not asked again.

    Args:
        limits: What the submission may use.
        names: The names that the rubric asks for.
    """

    def __init__(self, limits: Limits, names: Collection[str]) -> None:
        """Give each name its share."""
        self._limits = limits
        self._share_s = limits.submission_s / len(names)
        self._left_s = dict.fromkeys(names, self._share_s)
        self._hung: dict[str, int] = {}  # names that timed out or filled the memory; how often for all of their time
        self._silences = 0  # lists that had no answer

    def left_s(self, name: str) -> float:
        """Seconds that a name has left."""
        return self._left_s[name]

    def charge(self, names: Collection[str], spent_s: float) -> None:
        """Charge time to these names, in equal shares."""
        for name in names:
            self._left_s[name] -= spent_s / len(names)

    def limit_s(self, name: str, *, is_import: bool) -> float:
        """Seconds that a request may take, by the first line that fits.

        A name that timed out or filled the memory has hung. A request is unanswered only if it had all of its limit.

        ==============================================  =============================================================
        the name has used up its share of the time      ``TimedOut``
        it has hung, and ``timeouts`` are unanswered    ``TimedOut``
        it has not hung, and is imported                ``import_s``, but no less than ``request_s``
        it has not hung, and nothing is unanswered      ``request_s``
        it has not hung, and only lists are unanswered  ``request_s`` less what a list waits: first calls may be slow
        it has hung, several are unanswered, no import  a quarter of the next line
        otherwise                                       ``retry_s``, or ``request_s - retry_s`` if that is more
        ==============================================  =============================================================
        """
        limits, has_hung, requests = self._limits, name in self._hung, sum(self._hung.values())
        unanswered = requests + self._silences
        if self._left_s[name] <= 0:
            raise TimedOut(say("{name} has used up its {time} s", name=name, time=f"{self._share_s:g}"))
        if has_hung and unanswered >= limits.timeouts:
            raise TimedOut(say(NOT_TRIED_AGAIN, name=name, n=limits.timeouts))
        if not has_hung and is_import:
            return max(limits.import_s, limits.request_s)
        if not has_hung and not requests:
            return limits.request_s - (self.silence_s if self._silences else 0)
        shorter_s = max(limits.retry_s, limits.request_s - limits.retry_s)
        return shorter_s / 4 if has_hung and not is_import and unanswered > 1 else shorter_s

    def note_hung(self, name: str, limit_s: float) -> None:
        """Note that a request, which had that limit, was not answered in time."""
        self._hung[name] = self._hung.get(name, 0) + (limit_s <= self._left_s[name])

    def note_full(self, name: str) -> None:
        """Note that a request has filled the memory."""
        self._hung.setdefault(name, 0)

    def has_hung(self, name: str) -> bool:
        """Whether a request to that name has had no answer in time, or filled the memory."""
        return name in self._hung

    def is_over(self, name: str) -> bool:
        """Whether a name has hung, or has no time left."""
        return name in self._hung or self._left_s[name] <= 0

    @property
    def silence_s(self) -> float:
        """Seconds for which a worker that answers a list may say nothing: one request gets more when asked alone."""
        return self._limits.request_s / 4

    def list_s(self, names: Iterable[str]) -> float:
        """Seconds that a list for these names may take: what each has left, but no less than one request may take."""
        return max(self._limits.request_s, min(self._left_s[name] for name in names))

    def note_silence(self, failure: WorkerFailed) -> None:
        """Note that a list had no answer."""
        self._silences += failure.kind == Kind.TIMED_OUT

    def is_short(self, names: Iterable[str]) -> bool:
        """Whether one of the names has used a third of its time: the rest is for requests, which decide what fails."""
        return any(self._left_s[name] < self._share_s * 2 / 3 for name in names)
