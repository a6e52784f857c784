"""Excuses: a mistake is charged in one property and excused in the others; each excuse has to be paid for.

A case is judged by the contract first. Only a case that fails is judged by what the submission does, which readings
find out. If it passes then, it counts only as long as the properties that charge for the difference have lost their
points in the same report; otherwise the verdict by the contract stands. So nothing that a submission says about itself
is worth more than it costs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, ClassVar

from grader.core.results.outcome import NOTHING_LOST, CaseResult, Charges, lost

from .faults import StudentFault

Test = Callable[..., None]


@dataclass(frozen=True)
class Excuse:
    """A fault that does not count in its case, because other properties charge for it.

    Attributes:
        fault: The verdict by the contract.
        charges: For each difference from the contract, the properties of which one has to have lost its points.
    """

    fault: StudentFault
    charges: Charges


@dataclass(frozen=True)
class Reading:
    """What a submission does, field by field; the default of each field is what the contract asks for.

    Attributes:
        CHARGED_TO: For each field that may excuse something, the properties that charge for it.
    """

    CHARGED_TO: ClassVar[dict[str, tuple[str, ...]]] = {}

    @property
    def charges(self) -> Charges:
        """The properties that charge for the differences from the contract."""
        by_name = {field.name: field.default for field in fields(self)}
        return tuple(to for name, to in self.CHARGED_TO.items() if getattr(self, name) != by_name[name])


def contract_first(by_contract: Test, *otherwise_charged_to: str) -> Callable[[Test], Test]:
    """Judge a case by the contract, and only if it fails as the test says, which may use readings.

    Args:
        by_contract: Called with the arguments of the test that it takes without a default; fails unless the submission
            meets the contract.
        otherwise_charged_to: The properties of which one charges for what ``by_contract`` finds, where the test passes
            without using a reading that differs from the contract.
    """
    taken = inspect.signature(by_contract).parameters.values()
    wanted = [one.name for one in taken if one.default is one.empty]

    def decorate(test: Test) -> Test:
        @wraps(test)
        def judged(**arguments: Any) -> None:
            student = arguments["student"]
            try:
                by_contract(**{name: arguments[name] for name in wanted})
            except StudentFault as fault:
                if fault.is_final or not student.may_be_asked:  # after a call that never ended, say
                    raise
                student.read.clear()
                test(**arguments)
                charges = dict.fromkeys(charge for reading in student.read for charge in reading.charges)
                if not charges and not fault.is_excusable:
                    raise
                student.excuse(fault, *(charges or (otherwise_charged_to,)))

        return judged

    return decorate


def settled(results: Sequence[CaseResult]) -> list[CaseResult]:
    """The results, in which a case that was excused passes only if its excuses are paid for."""
    found = list(results)
    while unpaid := _first_unpaid(found, charging := lost(found)):
        found = [_by_the_contract(one, charging) if one.property_id == unpaid.property_id else one for one in found]
    return found


def _first_unpaid(results: Sequence[CaseResult], charging: set[str]) -> CaseResult | None:
    """Of those that only their own property could pay for, if there are any, so that the order does not matter."""
    unpaid = [result for result in results if _by_the_contract(result, charging) is not result]
    its_own = [one for one in unpaid if any((one.property_id,) in charges for _, charges in one.excuses)]
    return next(iter(its_own or unpaid), None)


def _by_the_contract(result: CaseResult, charging: set[str]) -> CaseResult:
    """The verdict by the contract, if an excuse is not paid for; the result itself, if all are, or if it failed."""
    if result.outcome in NOTHING_LOST:
        for instead, charges in result.excuses:
            if not all(charging.intersection(charge) for charge in charges):
                return replace(instead(), property_id=result.property_id, id=result.id)
    return result
