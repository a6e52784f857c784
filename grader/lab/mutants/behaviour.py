"""Finds edits that change required behaviour: original and edit answer the same requests, in workers.

Neither the hidden tests nor their oracle take part: an edit is wrong if one of its answers differs from the original's
by more than the rounding that the contract allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from grader.assignment.corpus.answers import Probe, alike
from grader.assignment.corpus.probes import PROBES
from grader.core.sandbox.handle import Worker, WorkerFailed
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import ProtocolError, pack, unpack

AT_ONCE: Final = "at once"
DEAD: Final[dict[str, Any]] = {"error": {"types": []}}
LOT: Final = 40  # requests that a worker gets at once


@dataclass
class Comparison:
    """Answers of one original, kept for all of its edits."""

    start_worker: Callable[[Mapping[str, str]], Worker]
    files: Mapping[str, str]
    second: str | None
    _answers: dict[str, list[Any]] = field(default_factory=dict)
    _using: dict[str, list[str]] = field(default_factory=dict)

    def using(self, path: str) -> list[str]:
        """The names that need a file."""
        if path not in self._using:
            broken = {**self.files, path: "raise RuntimeError"}
            self._using[path] = [name for name in PROBES if self.difference(name, broken)]
        return self._using[path]

    def differing(self, path: str, text: str, first: str) -> Iterator[tuple[str, str]]:
        """The names that answer otherwise with that file, and how: by ``value``, or it ``raises``, even ``at once``.

        The name ``first`` is tried first, if it is one of them.
        """
        for name in sorted(self.using(path), key=lambda name: name != first):
            if kind := self.difference(name, {**self.files, path: text}):
                yield name, kind

    def difference(self, name: str, edited: Mapping[str, str]) -> str:
        """How a name answers otherwise in another submission, or an empty text: see :meth:`differing`."""
        if name not in self._answers:
            self._answers[name] = [*self._ask(self.files, name)]
        pairs = zip(_probes(name, self.second), self._answers[name], self._ask(edited, name), strict=True)
        for number, (probe, right, other) in enumerate(pairs):
            if not alike(probe, right, other):
                return "value" if "error" not in other else "raises" if number else AT_ONCE
        return ""

    def _ask(self, files: Mapping[str, str], name: str) -> Iterator[dict[str, Any]]:
        """The replies to all probes: from the first on that has none, ``DEAD``."""
        worker, requests = self.start_worker(files), [list(probe.operations) for probe in _probes(name, self.second)]
        left = len(requests)
        try:
            for start in range(0, len(requests), LOT):
                worker.post(pack(requests[start : start + LOT]), anew=not start)
                replies: list[Any] = unpack(worker.replies(Limits().request_s))
                left -= len(replies)
                yield from replies
                if len(replies) < LOT:
                    break
        except (WorkerFailed, ProtocolError):
            pass
        finally:
            worker.close()
        yield from [DEAD] * left


@cache
def _probes(name: str, second: str | None) -> list[Probe]:
    return [*PROBES[name](second)]
