"""A mistake with devices costs the same with and without a GPU, on which every test runs again.

A parameter on the wrong device makes most tests crash there, and the cases about a second device, which run on every
machine, charge for it already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.core.results.outcome import NO_MISTAKE, NOTHING_LOST, CaseResult, Outcome, is_elsewhere, lost


class Elsewhere:
    """The results of one submission on devices other than the CPU.

    Args:
        results: All results; a case about devices is one that has no counterpart on the CPU.
        task_of: Gives the task of a property: a mistake with devices in one does not excuse another.
    """

    def __init__(self, results: Sequence[CaseResult], task_of: Callable[[str], str]) -> None:
        """Find which properties charge for mistakes with devices."""
        self._task_of = task_of
        self._on_the_cpu = {(result.property_id, result.id): result.outcome for result in results}
        self._charging: dict[str, tuple[str, ...]] = {}  # by task
        about_devices = (one for one in results if is_elsewhere(one.id) and self._counterpart(one) is None)
        for prop in sorted(lost(about_devices)):
            task = task_of(prop)
            self._charging[task] = (*self._charging.get(task, ()), prop)

    def charged_once(self, result: CaseResult) -> CaseResult:
        """The result, excused if it failed on a GPU alone and its task's cases about devices charge for that."""
        if result.outcome in NO_MISTAKE or not is_elsewhere(result.id) or self._counterpart(result) not in NOTHING_LOST:
            return result
        charges = self._charging.get(self._task_of(result.property_id))
        if charges is None:
            return result
        return CaseResult(result.property_id, result.id, Outcome.PASSED, excuses=((lambda: result, (charges,)),))

    def _counterpart(self, result: CaseResult) -> Outcome | None:
        """What became of the same case on the CPU; None if there is none."""
        parts = ("cpu" if is_elsewhere(part) else part for part in result.id.split("-"))
        return self._on_the_cpu.get((result.property_id, "-".join(parts)))
