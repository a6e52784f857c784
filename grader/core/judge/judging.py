"""How the cases of one submission are decided: by a replay, its confirmation elsewhere, and the rules for doubt.

No verdict against a student comes from one process alone (decision 5).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from itertools import groupby

from grader.core.messages import say
from grader.core.results.outcome import NOTHING_LOST, CaseResult, Outcome, lost
from grader.core.sandbox.handle import WorkerFailed

from .excuses import settled
from .faults import StudentFault
from .hidden_tests import HiddenTests, Results
from .record import Exchange, Noted, Replies
from .replay import Lender, Replay, Replayed, Unforeseen, shuffled
from .student import Student

INCONSISTENT = say("the same calls gave different answers in different processes; the worse answer counts")


def run_tests(
    hidden: HiddenTests, student: Student, lender: Lender | None = None, *, plain: bool = False
) -> list[CaseResult]:
    """Run every hidden test on one submission.

    Args:
        hidden: The hidden tests.
        student: The submission.
        lender: Its workers, which answer what :func:`rehearse` has recorded; None to ask request by request only, each
            property of a new one.
        plain: Whether to ask request by request for everything, also for what passes on a replay.
    """
    student.seed = hidden.run_seed
    decided = Judging(hidden, student, lender, plain=plain).results()
    student.start_afresh()
    in_order = [decided[test.nodeid] for of_property in hidden.tests.values() for test in of_property]
    return settled(in_order)


def rehearse(hidden: HiddenTests, reference: Student) -> list[CaseResult]:
    """Run every test on the reference, and record the requests of those properties whose tests are all direct."""
    reference.seed = hidden.run_seed
    judging = Judging(hidden, reference, None)
    for prop, of_property in hidden.tests.items():
        noted = judging.ask(prop, None)
        if all(test.nodeid in hidden.direct for test in of_property) and (recording := noted.recording()):
            hidden.recordings[prop] = recording
    reference.start_afresh()
    return settled(list(judging.asked.values()))


class Judging:
    """How the cases of one submission are decided.

    Attributes:
        asked: By test, the results of what was asked for request by request.
    """

    def __init__(self, hidden: HiddenTests, student: Student, lender: Lender | None, *, plain: bool = False) -> None:
        """Decide nothing yet; see :func:`run_tests`."""
        self.asked: dict[str, CaseResult] = {}
        self._hidden, self._student, self._lender, self._plain = hidden, student, lender, plain
        self._tests = hidden.tests
        self._replies: dict[str, Replies | None] = {}  # of the replay, by property
        self._replayed: dict[str, Results] = {}  # the same: the cases that it decides
        self._standing: Results = {}  # the results of the replay that stand
        self._answers: dict[str, Sequence[Exchange]] = {}  # to what was asked for request by request, by test
        self._import_faults: dict[str, StudentFault] = {}  # on the replay
        self._in_doubt = False

    def results(self) -> Results:
        """Decide every case."""
        student, lender = self._student, self._lender
        if lender is None:
            for prop in reversed(self._tests):
                student.announce(prop)
                self.ask(prop, None)
            return self.asked
        hopeful = [prop for prop in self._tests if not student.condemns(prop)]
        replay = Replay(self._hidden.recordings, student, lender.new, hopeful)
        for prop in self._tests:
            student.announce(prop)
            with lender.only_for(self._hidden.task_of(prop)):
                self._replies[prop], self._replayed[prop] = self._replay(prop, replay)
            if not self._plain:  # then no property that needs what cannot be imported is asked for
                student.import_faults.update(self._import_faults)
        self._in_doubt = not student.fails_to_import_again()
        # Only now, as lists under way would be charged for what is waited for here; and backwards, so that no property
        # is asked behind the same ones as in the replay.
        # A task that is asked for more than lists has its own process: no file, in a reading, say, spoils another task.
        backwards = list(self._tests)[::-1]
        for task, of_task in groupby(sorted(backwards, key=self._hidden.task_of), self._hidden.task_of):
            props = list(of_task)
            is_asked = not all(self._pass(prop, self._replayed[prop]) or self._is_decided(prop) for prop in props)
            with lender.only_for(task if is_asked else ""):
                for prop in props:
                    student.announce(prop)
                    self._decide(prop, lender)
                    student.start_afresh()  # gives a lent worker back
            lender.end_idle(task)
        lender.end_idle()
        self._ask_for_what_is_unpaid(backwards)
        lender.end_idle()  # the sample needs a new process, in which mistakes are then named
        is_doubtful = self._in_doubt or self._answers_otherwise(replay, lender)
        replay.close()
        if is_doubtful:
            lender.end_idle()
            student.start_over(lender.new)
            return self._without_trust(hopeful, lender)
        return self._standing | self.asked

    def _replay(self, prop: str, replay: Replay) -> tuple[Replies | None, Results]:
        """The replies to a property, and the results of those cases that need no other request."""
        packed = replay.packed(prop)
        if packed is None:
            return None, {}
        replies = Replies(self._hidden.recordings[prop], packed)
        key = prop, hashlib.sha256(packed).digest()
        if (known := self._hidden.passed.get(key)) is not None:
            return replies, known
        worker, decided = Replayed(replies), {}
        student = self._student.met_through(lambda _: worker)
        for place, test in enumerate(self._tests[prop]):
            worker.begin_case(place)
            error = replies.stub_of(place)
            stub = student.fault(error) if error else None
            with contextlib.suppress(Unforeseen):
                decided[test.nodeid] = self._hidden.run(test, student, stub=stub)
        self._import_faults |= student.import_faults
        if self._pass(prop, decided) and not student.has_read and not any(case.excuses for case in decided.values()):
            self._hidden.keep(key, decided)  # the verdict follows from seed and replies alone
        return replies, decided

    def _pass(self, prop: str, cases: Results) -> bool:
        """Whether these are all cases of a property, and all have passed."""
        return len(cases) == len(self._tests[prop]) and all(case.outcome in NOTHING_LOST for case in cases.values())

    def _is_decided(self, prop: str) -> bool:
        """Whether the replay has decided all cases of a property, so that confirming its list is enough."""
        before = self._replies[prop]
        is_whole = before is not None and before.are_whole and not self._student.gives_up(before.recording.names)
        return is_whole and len(self._replayed[prop]) == len(self._tests[prop])

    def _decide(self, prop: str, lender: Lender) -> None:
        """Decide a property; if it does not pass on the replay, with another worker than the replay's."""
        before, cases = self._replies[prop], self._replayed[prop]
        if not self._plain and self._pass(prop, cases):
            self._standing |= cases
        elif before is None or not before.are_whole or self._student.gives_up(before.recording.names):
            recording = self._hidden.recordings.get(prop)
            if recording is None or not self._student.lacks(recording.names):  # a file that fails to import is no hang
                lender.end_idle()
            self.ask(prop, before)
        elif self._plain or not cases:
            self.ask(prop, before)
        else:
            self._standing |= cases
            self._in_doubt |= not self._is_confirmed(before, lender)
            if not self._is_decided(prop):
                self.ask(prop, before)

    def _is_confirmed(self, before: Replies, lender: Lender) -> bool:
        """Whether another worker answers as in the replay, for cases that need no other request."""
        recording, worker = before.recording, lender.start(self._student.files)
        limits_s = self._student.time.list_s(recording.names), self._student.time.silence_s
        try:
            return before.are_the_same(worker.request_list(recording.packed, *limits_s))
        except WorkerFailed:
            return False
        finally:
            self._student.time.charge(recording.names, worker.spent_s)
            worker.close()

    def ask(self, prop: str, before: Replies | None) -> Noted:
        """Ask for the undecided cases of a property, request by request.

        There is doubt if the same requests had other answers ``before``.
        """
        noted, tests = Noted(), self._tests[prop]
        self._student.begin(prop, noted.around)
        for place, (test, following) in enumerate(zip(tests, [*tests[1:], None], strict=True)):
            noted.begin_case()
            if test.nodeid in self._standing:
                continue
            self.asked[test.nodeid] = self._hidden.run(test, self._student, following)
            self._answers[test.nodeid] = noted.of_case
            if before is not None and not before.agree_in_case(place, noted.of_case):
                self._in_doubt = True
        self._in_doubt |= noted.has_ended and before is not None and before.are_whole
        return noted

    def _ask_for_what_is_unpaid(self, order: Sequence[str]) -> None:
        """Ask again for cases that are excused by properties of which each has passed, and for these properties.

        Either the excuse or such a pass is wrong. If all answer as on the replay, the cases themselves are charged
        (:func:`.excuses.settled`); if not, there is doubt.
        """
        charging, unpaid = lost([*self._standing.values(), *self.asked.values()]), set[str]()
        for case in self._standing.values():
            for charge in (charge for _, charges in case.excuses for charge in charges if not charging & {*charge}):
                unpaid |= {case.property_id, *charge}
        for prop in order:
            if prop in unpaid and self._pass(prop, self._replayed[prop]):
                for test in self._tests[prop]:
                    del self._standing[test.nodeid]
                self._student.announce(prop)
                self.ask(prop, self._replies[prop])
                self._student.start_afresh()

    def _answers_otherwise(self, replay: Replay, lender: Lender) -> bool:
        """Whether a new worker gives other answers to some cases of one property in each task that has passed."""
        files = repr(sorted(self._student.files.items())).encode()
        key = f"{self._hidden.run_seed} {hashlib.sha256(files).hexdigest()}"
        passed = shuffled((prop for prop in self._tests if self._pass(prop, self._replayed[prop])), key)
        chosen = {self._hidden.task_of(prop): prop for prop in reversed(passed)}.values()  # the first one of each task
        sample = {prop: before for prop in passed if prop in chosen and (before := self._replies[prop])}
        return bool(sample) and not replay.answers_alike(sample, key, lender.start)

    def _without_trust(self, hopeful: Sequence[str], lender: Lender) -> Results:
        """Decide every property in a new worker.

        A case is inconsistent if its verdict is another one where the process has answered for other properties of the
        task before, or for those behind it, by other answers to the same requests.
        """
        self._standing = {}
        for prop in self._tests:
            self._student.announce(prop)
            self.ask(prop, None)
        results = dict(self.asked)
        for task in self._hidden.assignment.rubric.tasks:
            of_task = [prop for prop in hopeful if prop in {prop.id for prop in task.properties}]
            for order in (of_task, of_task[:1] + of_task[::-1]):  # so that every property has another number, too
                replay = Replay(self._hidden.recordings, self._student, lender.new, order)
                for prop in order:
                    results |= self._differing(prop, replay)
                replay.close()
        return results

    def _differing(self, prop: str, replay: Replay) -> Results:
        """The cases of a property that get another verdict on a replay, by other answers than in their new worker."""
        replies, decided = self._replay(prop, replay)
        found = {}
        for place, test in enumerate(self._tests[prop]):
            asked, answers = self.asked[test.nodeid], self._answers[test.nodeid]
            passes = test.nodeid in decided and decided[test.nodeid].outcome in NOTHING_LOST
            other = asked.outcome not in NOTHING_LOST if passes else asked.outcome in NOTHING_LOST and not asked.excuses
            if replies is not None and other and not replies.agree_in_case(place, answers):
                found[test.nodeid] = CaseResult(prop, asked.id, Outcome.INCONSISTENT, INCONSISTENT)
        return found
