"""What the present rubric would make of results that are known already: nothing is run, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..intake.candidate import Candidate
from ..intake.reader import Reader
from ..results.database import LEDGER, LedgerError, opened
from ..results.ledger import Ledger
from ..results.report import Report, with_origin
from ..results.view import viewed
from ..rubric import Policy
from ..settings import Settings
from .conditions import conditions, policy_of, view


class Preview:
    """The reports of those results that a run would keep, each as it is and as it would be written anew.

    Attributes:
        unknown: How many submissions have no result that can be used, so that they would be graded.
        policy: The policy when the reports were last written; None where the ledger does not know.
    """

    def __init__(self, out: Path, candidates: Sequence[Candidate], settings: Settings, reader: Reader) -> None:
        self._out, self._candidates, self._settings, self._reader = out, candidates, settings, reader
        self.unknown = 0
        self.policy: Policy | None = None

    def pairs(self) -> Iterator[tuple[Report, Report]]:
        """Each report as the ledger has it, and as the present rubric would make it; both in English.

        Raises:
            LedgerError: If there is no ledger, or it cannot be used.
        """
        if not (self._out / LEDGER).exists():
            raise LedgerError(f"{self._out}: nothing has been graded into it yet. Grade without --dry-run first.")
        own = self._settings
        with opened(self._out) as connection:
            ledger = Ledger(connection, conditions(own), view(own))
            self.policy = policy_of(ledger.details())
            entries = ledger.entries()
            for candidate in self._candidates:
                entry = entries.get(candidate.id)
                if entry is None or not entry.is_of(self._reader.read(candidate)):
                    self.unknown += 1
                    continue
                before = Report.model_validate_json(ledger.copy(entry.result))
                yield before, viewed(with_origin(before, candidate.origin), own.assignment, own.only, "en")
