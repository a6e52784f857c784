"""A submission as hidden tests see it: an object with the student's names, which asks a worker for values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from ..rubric import Rubric
from ..sandbox.handle import Operation, WorkerFailed, WorkerLike
from ..sandbox.limits import Limits
from .faults import (
    Crashed,
    InvalidReply,
    MemoryExceeded,
    StudentFault,
    TimedOut,
    fault_from_reply,
)
from .readings import Read, Readings, T
from .student_objects import StudentModule, StudentName

StartWorker = Callable[[Mapping[str, str]], WorkerLike]


class Student:
    """One submission, newly imported for each property.

    A request that times out or fills the memory ends its property at once; after a timeout, later requests to the same
    name get less time. Each name has an equal share of the submission's time, so that one that is slow, or hangs, takes
    nothing from the others.

    Args:
        files: Path to source text.
        start_worker: Gives a worker that holds those files.
        rubric: Says which file defines a name, and which task that belongs to.
        limits: What the submission may use.
        condemned: Properties during which a judge has died: each of their requests gets an invalid reply.
        announce: Called with each property's id before the property is judged.
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
        self._siblings: dict[tuple[str, str], Student] = {}
        self._file_of = {name: task.file_of(name) for task in rubric.tasks for name in task.names}
        self._limits = limits
        self._share_s = limits.submission_s / len(self._file_of)
        self._left_s = dict.fromkeys(self._file_of, self._share_s)
        self._hung: set[str] = set()  # names for which a request has timed out
        self._gave_out: StudentFault | None = None  # once set, every later request of the property raises it
        self._bare_packages = False  # whether files are imported without the packages' __init__.py, which fail
        self._import_faults: dict[str, StudentFault] = {}
        self._worker: WorkerLike | None = None
        self._loaded: set[str] = set()
        self._deferred: dict[str, list[Operation]] = defaultdict(list)
        self._numbers = count()
        self.readings = Readings(self._reader)

    # ── What tests call ─────────────────────────────────────────────────────────────────────────────────────────────

    def __getattr__(self, name: str) -> StudentName:
        """The student's class or function of that name.

        Raises:
            AttributeError: If the rubric asks for no such name.
        """
        if name.startswith("_") or name not in self._file_of:
            raise AttributeError(f"the rubric asks for no {name!r}")
        return StudentName(self, name, name)

    def begin(self, property_id: str) -> None:
        """Start the cases of a property, with a newly imported submission."""
        self.start_afresh()
        if self.condemns(property_id):
            self._gave_out = InvalidReply("what came back for this piece is more than can be judged")

    def start_afresh(self) -> None:
        """End the worker and forget its state: the next request starts another, which imports the submission anew."""
        self.start_case()
        if self._worker is not None:
            self._worker.close()
        self._worker, self._loaded, self._gave_out = None, set(), None
        for sibling in self._siblings.values():
            sibling.start_afresh()

    def with_file(self, path: str, text: str) -> Student:
        """The same submission with another text in one file, and a worker of its own.

        Raises:
            StudentFault: If this property may ask for nothing more.
        """
        if self._gave_out is not None:
            raise self._gave_out
        if (path, text) not in self._siblings:
            files = {**self.files, path: text}
            self._siblings[path, text] = Student(files, self._start_worker, self._rubric, self._limits)
        return self._siblings[path, text]

    def reading(self, read: Callable[[Student], T]) -> T:
        """What ``read`` finds out about the submission: once for all properties, from a worker of its own.

        Raises:
            StudentFault: If this property may ask for nothing more.
        """
        if self._gave_out is not None:
            raise self._gave_out
        return self.readings.of(read)

    def _reader(self, _: Read) -> Student:
        """The student that a reading asks: it shares this one's time, and what is known to hang or fail to import."""
        reader = self.met_through(self._start_worker)
        reader._left_s, reader._hung, reader._import_faults = self._left_s, self._hung, self._import_faults
        return reader

    def start_case(self) -> None:
        """Forget the operations of an earlier case that no request has sent yet."""
        self._deferred.clear()

    # ── What looking ahead needs ────────────────────────────────────────────────────────────────────────────────────

    def met_through(self, start_worker: StartWorker) -> Student:
        """The same submission with another kind of worker; of what is known already, it shares only the readings."""
        student = Student(self.files, start_worker, self._rubric, self._limits, self._condemned)
        student.readings = self.readings
        return student

    def announce(self, property_id: str) -> None:
        """Say which property is judged next."""
        self._announce(property_id)

    def condemns(self, property_id: str) -> bool:
        """Whether a judge has died during a property."""
        return property_id in self._condemned

    @property
    def bare_packages(self) -> bool:
        """Whether files are imported without the packages' ``__init__.py``, since with them the import failed."""
        return self._bare_packages

    def gives_up(self, names: Iterable[str]) -> bool:
        """Whether one of the names has hung, has no time left, or stands in a file that cannot be imported."""
        return any(name in self._hung or name in self._import_faults or self._left_s[name] <= 0 for name in names)

    def charge(self, names: Collection[str], spent_s: float) -> None:
        """Take time from what these names have left, in equal shares."""
        for name in names:
            self._left_s[name] -= spent_s / len(names)

    # ── How requests reach a worker ─────────────────────────────────────────────────────────────────────────────────

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

        Raises:
            StudentFault: If student code returns no value.
        """
        if self._gave_out is not None:
            raise self._gave_out
        if name not in self._loaded:
            self._load(name)
        operations = [*self._deferred.pop(name, ()), (operation, arguments)]
        return self._ask(name, operations)

    def _load(self, name: str) -> None:
        """Import the file that defines ``name``; if that fails, once more without the packages' ``__init__.py``.

        An ``__init__.py`` imports sibling files, one of which may be what fails. A file that cannot be imported is
        tried once per submission, not once per property.
        """
        if name in self._import_faults:
            raise self._import_faults[name]
        module = self._file_of[name].removesuffix(".py").replace("/", ".")
        for bare in (True,) if self._bare_packages else (False, True):
            try:
                self._ask(name, [("load", {"module": module, "name": name, "bare_packages": bare})])
                self._bare_packages = bare
                self._loaded.add(name)
                return
            except StudentFault as fault:
                if bare:
                    self._import_faults[name] = fault
                    raise
                self._gave_out = None  # a sibling may have failed

    def _ask(self, name: str, operations: Sequence[Operation]) -> Any:
        if self._left_s[name] <= 0:
            raise TimedOut(f"{name} has used up its {self._share_s:g} s")
        limit_s = self._limits.retry_s if name in self._hung else self._limits.request_s
        worker = self._worker = self._worker or self._start_worker(self.files)
        try:
            reply = worker.request(operations, min(limit_s, self._left_s[name]))
        except WorkerFailed as failure:
            self._worker, self._loaded = None, set()
            if failure.kind == "timed_out":
                self._hung.add(name)
                self._gave_out = TimedOut("not tried, since an earlier case of this property gave no answer in time")
                raise TimedOut(f"no answer within {limit_s:g} s") from None
            raise (Crashed if failure.kind == "crashed" else InvalidReply)(str(failure)) from None
        finally:
            self._left_s[name] -= worker.spent_s
        if "error" in reply:
            fault = fault_from_reply(reply["error"], self.files, self._limits.memory_mib)
            if isinstance(fault, MemoryExceeded):
                self._gave_out = MemoryExceeded("not tried, since an earlier case of this property filled the memory")
            raise fault
        return reply["value"]
