"""A submission as hidden tests see it: an object with the student's names, which asks a worker for values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any, TypeVar

from grader.core.messages import say
from grader.core.results.outcome import Charges
from grader.core.rubric import Rubric
from grader.core.sandbox.handle import Operation, Request, WorkerFailed, WorkerLike
from grader.core.sandbox.limits import Limits
from grader.core.sandbox.protocol import Kind

from .devices import with_imports
from .excuses import Reading
from .faults import Crashed, InvalidReply, MemoryExceeded, StudentFault, TimedOut, fault_from_reply
from .student_objects import StudentModule, StudentName
from .time_left import TimeLeft

NOT_TRIED_AFTER_TIME = say("not tried: an earlier case of this property timed out")
NOT_TRIED_AFTER_MEMORY = say("not tried: an earlier case of this property exceeded the memory limit")

StartWorker = Callable[[Mapping[str, str]], WorkerLike]
T = TypeVar("T")


class Student:
    """One submission, newly imported for each property.

    A request that times out or fills the memory ends its property at once.

    Args:
        files: Path to source text.
        start_worker: Gives a worker that holds those files.
        rubric: Says which file defines a name, and which task that belongs to.
        limits: What the submission may use.
        condemned: Properties during which a judge has died: each of their requests gets an invalid reply.
        announce: Called with each property's id before the property is judged.

    Attributes:
        time: What time each name has left.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        start_worker: StartWorker,
        rubric: Rubric,
        limits: Limits,
        condemned: Collection[str] = (),
        announce: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Give each name its time; a worker is started when one is needed."""
        self._condemned, self._announce = condemned, announce
        self.files = files
        self._start_worker = start_worker
        self._rubric = rubric
        self._stand_ins: dict[str, Student] = {}
        self._recorded: tuple[str, str] | None = None  # module and name of the function that is recorded
        self._file_of = {name: task.file_of(name) for task in rubric.tasks for name in task.names}
        self._limits = limits
        self.time = TimeLeft(limits, self._file_of)
        self._gave_out: StudentFault | None = None  # once set, every later request of the property raises it
        self.import_faults: dict[str, StudentFault] = {}  # by name
        self._worker: WorkerLike | None = None
        self._around: Callable[[WorkerLike], WorkerLike] = lambda worker: worker
        self._loaded: set[str] = set()
        self._deferred: dict[str, list[Operation]] = defaultdict(list)
        self._numbers = count()
        self.readings = cache(self._read_by_another)
        self.seed = 0  # of the run
        self.property_id = ""  # the property that is judged
        self.excuses: list[tuple[StudentFault, Charges]] = []  # of the present case; see :meth:`excuse`
        self.read: list[Reading] = []  # the readings that the present case has used
        self._in_vain: set[str] = set()  # properties of which something has failed alone, too
        self.has_read = False  # whether a verdict follows from more than replies: from a reading, or from the text
        self.turns = True  # whether a constructor that refuses its sizes is asked again

    def __getattr__(self, name: str) -> StudentName:
        """The student's class or function of that name.

        Raises:
            AttributeError: If the rubric asks for no such name.
        """
        if name.startswith("_") or name not in self._file_of:
            raise AttributeError(f"the rubric asks for no {name!r}")
        return StudentName(self, name, name)

    def begin(self, property_id: str, around: Callable[[WorkerLike], WorkerLike] = lambda worker: worker) -> None:
        """Start the cases of a property on a newly imported submission.

        Args:
            property_id: The property's id.
            around: Gives what stands between the cases and their worker.
        """
        self.start_afresh()
        self._in_vain.discard(property_id)
        self._around = around
        if self.condemns(property_id):
            self._gave_out = InvalidReply(say("judging this output exceeded the judge's limits; not tried again"))

    def start_afresh(self) -> None:
        """End the worker and forget its state: the next request starts another, which imports the submission anew."""
        self.start_case()
        if self._worker is not None:
            self._worker.close()
        self._worker, self._loaded, self._gave_out = None, set(), None
        for sibling in self._stand_ins.values():
            sibling.start_afresh()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Inside, use another worker, which imports the submission again; the present worker is kept for later.

        What is found out about the submission is kept: time that is spent, names that hang or fail to import, readings,
        what fails alone. All else is then as before: the worker and its objects, excuses, whether requests are over.
        """
        before = dict(vars(self))  # findings are added to what these values hold; all else replaces them
        self._worker, self._around, self._stand_ins = None, lambda worker: worker, {}
        self.start_afresh()
        try:
            yield
        finally:
            self.start_afresh()
            vars(self).update(before)

    def passes_alone(self, passes: Callable[[], bool], diagnosed: str = "") -> bool:
        """Whether a failing check passes as the first request to a new worker.

        That takes a worker. So once it was in vain, tests of the same property do not try it again, and no property's
        diagnosis does, or it would in each that failed. If a diagnosis asks, it names the property ``diagnosed``.
        """
        if self._in_vain if diagnosed else self.property_id in self._in_vain:
            return False
        if diagnosed:
            self.announce(diagnosed)
        with self.aside():
            alone = passes()
        if not alone:
            self._in_vain.add(self.property_id)
        return alone

    def with_stand_in(self, name: str) -> Student:
        """The same submission in another worker, where a stand-in records what the function ``name`` is called with.

        The stand-in gives the first argument back; see :meth:`StudentModule.recorded`.

        Raises:
            StudentFault: If this property may ask for nothing more.
        """
        if self._gave_out is not None:
            raise self._gave_out
        if name not in self._stand_ins:
            self._stand_ins[name] = self._alike()
            self._stand_ins[name]._recorded = (self._module_of(name), name)
            self._stand_ins[name].import_faults = {}  # a file may be importable without that function
        return self._stand_ins[name]

    def reading(self, read: Callable[[Student], T]) -> T:
        """The result of ``read`` on the submission: computed once for all properties, with a separate worker.

        Raises:
            StudentFault: If this property may ask for nothing more.
        """
        if self._gave_out is not None:
            raise self._gave_out
        found: T = self.readings(read)
        self.has_read = True
        if isinstance(found, Reading):
            self.read.append(found)
        return found

    def _read_by_another(self, read: Callable[[Student], T]) -> T:
        """The result of ``read`` on the same submission, newly imported in a worker that serves no property."""
        other = self._alike()
        other.property_id = ""
        try:
            return read(other)
        finally:
            other.start_afresh()

    @property
    def may_be_asked(self) -> bool:
        """Whether this property may send more requests."""
        return self._gave_out is None

    def excuse(self, fault: StudentFault, *charges: tuple[str, ...]) -> None:
        """Pass over a fault in this case, as long as other properties charge for it.

        Args:
            fault: The verdict that counts if they do not.
            charges: Of each of these groups of properties, one has to have lost its points in the same report.
        """
        self.excuses.append((fault, charges))

    def charge_in_one_property(self, name: str, fault: StudentFault) -> None:
        """Pass over a call that has returned several values, or refused good sizes, except in one property.

        Raises:
            StudentFault: The fault, in that property, or if the rubric names none.
        """
        charged_to = self._rubric.one_tensor.get(name, self.property_id)
        if charged_to == self.property_id:
            raise fault
        siblings = {prop.id for prop in self._rubric.task_of(charged_to).properties}  # a call may pass on another's
        self.excuse(fault, tuple(prop for prop in self._rubric.one_tensor.values() if prop in siblings))

    @contextmanager
    def excused(self, *properties: str) -> Iterator[None]:
        """Pass over a fault inside, as long as one of these properties has lost its points: it charges for it."""
        try:
            yield
        except StudentFault as fault:
            self.excuse(fault, properties)

    def _alike(self) -> Student:
        """The same submission in another worker; shares this one's time and its names that hang or fail to import."""
        other = self.met_through(self._start_worker)
        other.time, other.import_faults = self.time, self.import_faults
        return other

    def start_case(self) -> None:
        """Forget the objects and excuses of an earlier case, and those operations that no request has sent yet."""
        self._deferred = defaultdict(list)
        self.excuses, self.read = [], []
        self._numbers = count()

    def met_through(self, start_worker: StartWorker) -> Student:
        """The same submission with another kind of worker; of what is known already, it shares only the readings."""
        student = Student(self.files, start_worker, self._rubric, self._limits, self._condemned)
        student.readings, student.seed, student.property_id = self.readings, self.seed, self.property_id
        return student

    def start_over(self, start_worker: StartWorker) -> None:
        """Use new workers from now on, and forget the findings of earlier ones, except which names hung."""
        self.start_afresh()
        self._start_worker, self.import_faults, self._stand_ins = start_worker, {}, {}
        self.readings = cache(self._read_by_another)

    def fails_to_import_again(self) -> bool:
        """Whether another worker fails to import the same file, too, for the same kind of reason."""
        other = self._alike()
        other.import_faults = {}
        for name in self.import_faults:
            with suppress(StudentFault):
                other._load(name)
        other.start_afresh()
        return all(type(other.import_faults.get(name)) is type(fault) for name, fault in self.import_faults.items())

    def announce(self, property_id: str) -> None:
        """Say which property is judged next."""
        self.property_id = property_id
        self._announce(property_id)

    @property
    def files_of_task(self) -> dict[str, str]:
        """The files that define the names of the judged property's task, and what these import: path to source text."""
        self.has_read = True
        task = self._rubric.task_of(self.property_id)
        return with_imports([task.file_of(name) for name in task.names], self.files)

    def is_about_import(self, fault: StudentFault) -> bool:
        """Whether a fault says that a file cannot be imported, or lacks a name; each case that needs it raises it."""
        return any(fault is known for known in self.import_faults.values())

    def condemns(self, property_id: str) -> bool:
        """Whether a judge has died during a property."""
        return property_id in self._condemned

    def lacks(self, names: Iterable[str]) -> bool:
        """Whether one of the names is in a file that cannot be imported, and none has hung or used up its time."""
        return any(name in self.import_faults for name in names) and not any(map(self.time.is_over, names))

    def gives_up(self, names: Iterable[str]) -> bool:
        """Whether one of the names has hung, has used up its time, or is in a file that cannot be imported."""
        return any(name in self.import_faults or self.time.is_over(name) for name in names)

    def construct(self, name: str, arguments: dict[str, Any]) -> StudentModule:
        """Construct an object of the student's class ``name``; it happens at the next request for a value."""
        number = next(self._numbers)
        self.defer(name, "construct", number=number, name=name, arguments=arguments)
        return StudentModule(self, name, number)

    def defer(self, name: str, operation: str, /, **arguments: Any) -> None:
        """Keep an operation that returns no value for the next request to ``name``, which also reports its failure."""
        self._deferred[name].append((operation, arguments))

    def request(self, name: str, operation: str, /, **arguments: Any) -> Any:
        """Have the worker do an operation, in the file that defines ``name``; returns the value.

        A constructor that refuses sizes which divide is asked again with numbers whose remainders are turned around, so
        that a reversed check costs what it is worth; see :class:`grader.core.sandbox.operations.Turned`.

        Raises:
            StudentFault: If student code returns no value.
        """
        if self._gave_out is not None:
            raise self._gave_out
        if name not in self._loaded:
            self._load(name)
        operations = [*self._deferred.pop(name, ()), (operation, arguments)]
        try:
            return self._ask(name, operations)
        except Crashed as crash:
            if not self.turns or not {"AssertionError", "ValueError"} & {*crash.types}:
                raise
            turned = [(op, {**what, "turned": True} if op == "construct" else what) for op, what in operations]
            if turned == operations:
                raise
            try:
                value = self._ask(name, turned)
            except StudentFault:
                raise crash from None
            self.charge_in_one_property(name, crash)
            return value

    def _load(self, name: str) -> None:
        """Import the file that defines ``name``; one that can't be imported is tried once, not once per property."""
        if name in self.import_faults:
            raise self.import_faults[name]
        more = {"recorded": list(self._recorded)} if self._recorded else {}
        try:
            self._ask(name, [("load", {"module": self._module_of(name), "name": name, **more})])
        except StudentFault as fault:
            self.import_faults[name], self._gave_out = fault, None  # later cases are told the same
            raise
        self._loaded.add(name)

    def fault(self, error: Any) -> StudentFault:
        """The fault behind an error that a worker has reported."""
        return fault_from_reply(error, self.files, self._limits.memory_mib)

    def _module_of(self, name: str) -> str:
        """The module of the submission that defines a name."""
        return self._file_of[name].removesuffix(".py").replace("/", ".")

    def _ask(self, name: str, operations: Sequence[Operation]) -> Any:
        limit_s = self.time.limit_s(name, is_import=operations[0][0] == "load")
        worker = self._worker = self._worker or self._around(self._start_worker(self.files))
        try:
            reply = worker.request(Request(operations), min(limit_s, self.time.left_s(name)))
        except WorkerFailed as failure:
            self._worker, self._loaded = None, set()
            if failure.kind == Kind.TIMED_OUT:
                self.time.note_hung(name, limit_s)
                self._gave_out = TimedOut(NOT_TRIED_AFTER_TIME)
                raise TimedOut(say("no answer within {time} s", time=f"{limit_s:g}")) from None
            raise (Crashed if failure.kind == Kind.CRASHED else InvalidReply)(failure.message) from None
        finally:
            self.time.charge([name], worker.spent_s)
        if "error" in reply:
            fault = self.fault(reply["error"])
            if isinstance(fault, MemoryExceeded):
                self.time.note_full(name)
                self._gave_out = MemoryExceeded(NOT_TRIED_AFTER_MEMORY)
            raise fault
        return reply["value"]
