"""The interface of operators towards a subtask, the context of an operator, and the errors of user code.

Operators work batch by batch. A chain is a loop over its operators: each operator takes the batch that the previous
operator returned. The only work per record is the call of the user's function.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from types import ModuleType
from typing import Any, Final, Protocol, cast, final

from headgate.config import Settings
from headgate.elements import Barrier, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import InternalError, ProgramError
from headgate.functions.api import Function
from headgate.functions.context import RuntimeContext
from headgate.functions.metrics import MetricGroup
from headgate.functions.source import EndOfInput, NotReady, SplitAssignment
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.native import chosen
from headgate.operators.samples import FailedSamples
from headgate.operators.services import Services
from headgate.options import NATIVE, OBJECT_REUSE
from headgate.state.backend import KeyedSnapshot
from headgate.state.files import FetchedKeyed
from headgate.state.keygroups import key_group_range
from headgate.state.operator.list_elements import ListElements
from headgate.types.record_copies import BY_REFERENCE, Passing, passing_by_value
from headgate.types.type_information import TypeInformation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """The state that an operator starts from: parts of keyed state, and the elements of its list states.

    `checkpoint_id` is the checkpoint or savepoint; None means that nothing is restored. `job_id` is the job that took
    it. `moved_classes` maps old names of classes to new names, for unpickling.
    """

    checkpoint_id: CheckpointId | None = None
    job_id: JobId | None = None
    keyed: tuple[FetchedKeyed, ...] = ()
    lists: dict[str, ListElements] = field(default_factory=dict)
    moved_classes: dict[str, str] = field(default_factory=dict)

    def values(self, name: str) -> list[Any]:
        """Return the elements of a list state that headgate wrote. Raises `RestoreError` if a class is missing."""
        return self.lists[name].values(f"state {name!r}", self.moved_classes) if name in self.lists else []


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """The job, subtask and settings that an operator runs with, and the state it starts from.

    `splits` are the splits assigned to a source when the job starts; None if the operator gets none.
    """

    job_id: JobId
    lineage: Lineage
    name: str
    uid: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: Attempt
    checkpointing: bool
    parameters: dict[str, str]
    services: Services
    restored: RestoredState
    splits: list[Any] | None = None
    settings: Settings = field(default_factory=Settings)
    metrics: MetricGroup = field(default_factory=MetricGroup)
    failed: FailedSamples = field(default_factory=FailedSamples)
    output_type: TypeInformation | None = None
    all_keys: bool = False
    """Whether the subtask receives keys of every key group, as in a batch job, and not only of its own."""

    @property
    def key_groups(self) -> range:
        """The key groups whose keys the subtask receives."""
        if self.all_keys:
            return range(self.max_parallelism)
        return key_group_range(self.subtask, self.parallelism, self.max_parallelism)

    @property
    def native(self) -> ModuleType | None:
        """The compiled module, None if the job runs in Python."""
        return chosen(self.settings.get(NATIVE))

    @property
    def passing(self) -> Passing:
        """How records pass from the operator to its receivers, and from its state to the function: copied or shared."""
        return BY_REFERENCE if self.settings.get(OBJECT_REUSE) else passing_by_value(self.native)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSnapshot:
    """An operator's part of a checkpoint: keyed state, which is walked later, and elements of list states.

    `secure` makes durable what the checkpoint refers to outside the job, such as files of a sink. It is called on an
    I/O thread, where it may block, before the checkpoint is acknowledged. An error that it raises fails the subtask.
    """

    uid: str
    keyed: KeyedSnapshot | None = None
    lists: dict[str, ListElements] = field(default_factory=dict)
    secure: Callable[[], None] = lambda: None


SideOutput = Sequence[tuple[str, Batch]]
"""Records of side outputs, with the id of their output tag."""


class OperatorFactory(Protocol):
    """Creates an operator in the slot. The factory is pickled in the driver and sent to the slot."""

    def create(self) -> Operator:
        """Return a new operator, not yet opened."""
        ...


class Operator:
    """An operator of one subtask. Only the slot's loop calls it. The defaults suit an operator without state."""

    context: OperatorContext

    makes_watermarks = False
    """Whether the operator makes the watermarks of its stream. The chain then calls `mark` instead of `process`, and
    drops incoming watermarks, except the last one, which ends event time."""

    output_lag_ms = 0
    """How far event times of results may be behind the watermark that the operator has reached. The chain passes
    watermarks on that much earlier, except the last one."""

    wake_ms: float | None = None
    """When to call `tick`, in milliseconds of the monotonic clock; None if only records cause work."""

    is_source = False
    """Whether the operator is a source, which is polled and has no input."""

    woken = False
    """Whether the operator has work without input: a source is to be polled, another operator's `resume` called."""

    sides: SideOutput = ()
    """Side output of the last call. An operator with side output sets it in each call; the chain takes it."""

    @property
    def room(self) -> int | None:
        """How many more records the operator takes now; None if it always takes any number.

        At 0 or less, the chain begins no work whose results would reach the operator. The results of one piece of work
        may exceed the room, so it can be negative.
        """
        return None

    @property
    def has_pending(self) -> bool:
        """Whether inputs are pending in the operator, or a watermark or status waits for them."""
        return False

    def open(self, context: OperatorContext) -> None:
        """Restore state and open the user's function."""
        self.context = context

    def start(self) -> None:
        """Make permanent changes outside the job, such as commits. Called once, when every subtask is restored.

        Until then the job may still reject the attempt and start another from the same snapshot.
        """

    def process(self, batch: Batch) -> Batch:
        """Return the results for `batch`, possibly the same object, changed. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} takes no input")

    def process_second(self, batch: Batch) -> Batch:
        """Return the results for a batch of the second input. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} takes no second input")

    def mark(self, batch: Batch) -> list[Flow]:
        """Return the records with timestamps, and the watermarks between them, in order. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} makes no watermarks")

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        """Advance event time to `watermark_ms`, which never decreases, and fire due timers in order.

        One call fires about `records_max` timers, fewer if these emit as many records. Returns their results, which may
        be empty, or None once no timer is due. After any other result the chain calls `advance` again with the same
        watermark, and makes no other call in between. Raises `UserCodeError`.
        """
        return None

    def end_input(self) -> None:
        """Finish the user's function: no record follows, and no input is pending. Barriers may follow.

        Raises `UserCodeError`.
        """

    def hold(self, progress: Watermark | WatermarkStatus) -> bool:
        """Keep a watermark or status until the pending inputs before it are done, and return True; else return False.

        `resume` later returns the kept element.
        """
        return False

    def resume(self, records_max: int) -> list[Flow]:
        """Return about `records_max` of the records that are ready, with the watermarks between them, in order.

        Called while the operator is `woken`. The operator stays `woken` only if more elements are ready. Raises
        `UserCodeError`.
        """
        raise InternalError(f"operator {self.context.name!r} has nothing to resume")

    def poll(self, records_max: int) -> Batch | NotReady | EndOfInput:
        """Return a source's next records, when to poll again, or that its input has ended. Raises `SourceError`."""
        raise InternalError(f"operator {self.context.name!r} is no source")

    def add_splits(self, splits: SplitAssignment) -> None:
        """Add splits with their ordinals to a source, or tell the source that no more splits follow."""
        raise InternalError(f"operator {self.context.name!r} reads no splits")

    def allow_watermark(self, allowed_ms: int) -> None:
        """Let an aligned source read until its watermark exceeds `allowed_ms`. Other operators do nothing."""

    @property
    def alignment_drift_ms(self) -> int | None:
        """How far an aligned source is ahead of the slowest source of its group; None if unknown."""
        return None

    @property
    def emit_lag_ms(self) -> int | None:
        """How far a source's newest record was behind the wall clock when it was read; None without a timestamp."""
        return None

    def tick(self, now_ms: float) -> list[Flow]:
        """Do a bounded piece of the work that was due at `wake_ms`, set `wake_ms` again, and return the results.

        `now_ms` is monotonic. If work is left, the new `wake_ms` is `now_ms` or earlier. The chain passes the returned
        records and watermarks to the next operator. Raises `UserCodeError`.
        """
        raise InternalError(f"operator {self.context.name!r} has nothing to do at {now_ms}")

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        """Return the operator's part of the checkpoint of `barrier`, with the state as it is now."""
        return OperatorSnapshot(uid=self.context.uid)

    def forget(self, snapshot: OperatorSnapshot) -> None:
        """Release a snapshot that was written or aborted."""

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Act on the completion of a checkpoint, which completes all earlier checkpoints too."""

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """Act on the abort of a checkpoint, whether or not this operator has taken its snapshot."""

    def close(self) -> None:
        """Release all resources. Called once, also after a failure."""


USER_ERRORS: Final = (Exception, SystemExit)
"""Exceptions of user code that fail its subtask. `sys.exit()` in a function must not end the slot without a report."""


class UserCodeError(Exception):
    """User code raised `__cause__`, while it worked on `record` (with `key`, on a keyed stream) or `during` a call.

    `during` together with a record names the method, for operators that call several.
    """

    def __init__(self, record: object = None, key: object = None, during: str = "") -> None:
        super().__init__(during)
        self.record = record
        self.key = key
        self.during = during

    @property
    def has_record(self) -> bool:
        """Whether a report of the error shows a record."""
        return self.record is not None or not self.during


def failed_at(records: list[Any], position: Iterator[Any], during: str = "") -> UserCodeError:
    """Return the error for the record that the list iterator `position` yielded last.

    A list iterator knows how many elements are left, so finding the failing record costs nothing per record.
    """
    return UserCodeError(record=records[last_index(records, position)], during=during)


def last_index(records: list[Any], position: Iterator[Any]) -> int:
    """Return the index of the element that the list iterator `position` yielded last."""
    return len(records) - length_hint(position) - 1


def expect(kind: type, value: Any, owner: object, method: str) -> Any:
    """Return `value`, which a method of user code returned. Raises `ProgramError` naming the method if it is no `kind`.

    >>> expect(list, None, object(), "splits()")
    Traceback (most recent call last):
    headgate.errors.ProgramError: splits() of object returned None, but must return a list
    """
    if isinstance(value, kind):
        return value
    found = "None" if value is None else f"a {type(value).__name__}"
    raise ProgramError(f"{method} of {type(owner).__name__} returned {found}, but must return a {kind.__name__}")


def method_of(function: object, name: str) -> Callable[..., Any]:
    """Return the method `name` of a `Function`; a plain callable is returned itself."""
    return cast("Callable[..., Any]", getattr(function, name) if isinstance(function, Function) else function)


class FunctionWrapper(Function):
    """A function that wraps user functions, which may be plain callables, and opens, finishes and closes them."""

    @property
    @abstractmethod
    def inner(self) -> Sequence[object]:
        """The wrapped functions."""

    def open(self, runtime_context: RuntimeContext) -> None:
        for function in self.inner:
            if isinstance(function, Function):
                function.open(runtime_context)

    def finish(self) -> None:
        for function in self.inner:
            if isinstance(function, Function):
                function.finish()

    def close(self) -> None:
        for function in self.inner:
            if isinstance(function, Function):
                function.close()


def open_function(function: object, runtime: RuntimeContext) -> None:
    """Call `open` of a `Function`; a plain callable has none. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.open(runtime)
        except USER_ERRORS as error:
            raise UserCodeError(during="open()") from error


def finish_function(function: object) -> None:
    """Call `finish` of a `Function`; a plain callable has none. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.finish()
        except USER_ERRORS as error:
            raise UserCodeError(during="finish()") from error


def close_function(function: object) -> None:
    """Call `close` of a `Function`; a plain callable has none. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.close()
        except USER_ERRORS as error:
            raise UserCodeError(during="close()") from error
