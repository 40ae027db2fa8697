"""What every operator is made of: its interface towards a subtask, its context, and the capture of user errors.

Operators work batch by batch. A chain of operators is a loop over them, each taking the batch of the one before. Per
record there is only the call of the user's function.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any, Final, Protocol, cast, final

from headgate.config import Settings
from headgate.elements import Barrier, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import InternalError, ProgramError
from headgate.functions.api import Function
from headgate.functions.context import RuntimeContext
from headgate.functions.metrics import MetricGroup
from headgate.functions.source import EndOfInput, Given, NotReady
from headgate.ids import Attempt, CheckpointId, JobId, Lineage
from headgate.operators.samples import FailedSamples
from headgate.operators.services import Services
from headgate.options import OBJECT_REUSE
from headgate.state.backend import KeyedSnapshot
from headgate.state.files import FetchedKeyed
from headgate.state.keygroups import key_group_range
from headgate.state.operator.list_elements import ListElements
from headgate.types.type_information import TypeInformation
from headgate.types.values import BY_REFERENCE, BY_VALUE, Passing


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredState:
    """The state an operator starts from: parts of keyed state, and the elements of its list states.

    `checkpoint_id` is the checkpoint or savepoint, None: nothing is restored; `job_id` is the job that took it.
    """

    checkpoint_id: CheckpointId | None = None
    job_id: JobId | None = None
    keyed: tuple[FetchedKeyed, ...] = ()
    lists: dict[str, ListElements] = field(default_factory=dict)
    moved_classes: dict[str, str] = field(default_factory=dict)

    def values(self, name: str) -> list[Any]:
        """Return the elements of a list state of our own. Raises `RestoreError` for a class that is not there."""
        return self.lists[name].values(f"state {name!r}", self.moved_classes) if name in self.lists else []


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext:
    """Where an operator runs and what it starts from."""

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
    """Whether any key may come here, also one of another subtask's key groups, as in a batch job."""

    @property
    def key_groups(self) -> range:
        """The key groups whose keys come to the subtask."""
        if self.all_keys:
            return range(self.max_parallelism)
        return key_group_range(self.subtask, self.parallelism, self.max_parallelism)

    @property
    def passing(self) -> Passing:
        """How records pass from the operator to its receivers, and from its state to the function."""
        return BY_REFERENCE if self.settings.get(OBJECT_REUSE) else BY_VALUE


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSnapshot:
    """An operator's part of a checkpoint: keyed state still to be walked, and elements of list states.

    `secure` makes what the checkpoint holds outside the job durable: called on an I/O thread, where it may block,
    before the checkpoint is acknowledged. What it raises fails the subtask.
    """

    uid: str
    keyed: KeyedSnapshot | None = None
    lists: dict[str, ListElements] = field(default_factory=dict)
    secure: Callable[[], None] = lambda: None


Sides = Sequence[tuple[str, Batch]]
"""Side output: ids of output tags, each with records for it."""


class OperatorFactory(Protocol):
    """Makes an operator in the slot; travels there pickled."""

    def create(self) -> Operator:
        """Return a new operator, not yet opened."""
        ...


class Operator:
    """An operator of one subtask; the defaults are those of one without state. Called by the mailbox loop only."""

    context: OperatorContext

    makes_watermarks = False
    """Whether the operator makes the watermarks of its stream: `mark` is then called instead of `process`, and of the
    watermarks that come in it sees none, and passes on only that of the end."""

    wake_ms: float | None = None
    """When `tick` is to be called, on the monotonic clock; None: there is nothing to do without records."""

    is_source = False
    """Whether it has no input, but is polled."""

    woken = False
    """Whether there is something to do without input: for a source to be polled, for others to `resume`."""

    sides: Sides = ()
    """What the last call emitted beside its result: set again by an operator that has some, taken by the subtask."""

    @property
    def room(self) -> int | None:
        """How many more records the operator takes for now; None: any number, always.

        While it has none, nothing begins that would come to it. What one piece of work emits may overdraw it.
        """
        return None

    @property
    def has_pending(self) -> bool:
        """Whether inputs are pending in the operator, or a watermark or status is held behind them."""
        return False

    def open(self, context: OperatorContext) -> None:
        """Restore state and open the user's function."""
        self.context = context

    def start(self) -> None:
        """Do what changes something outside the job for good; called once, when every subtask is restored.

        Until then the attempt may yet be refused, and another be started from the same snapshot.
        """

    def process(self, batch: Batch) -> Batch:
        """Return what comes out for `batch`, which may be the same object changed. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} takes no input")

    def process_second(self, batch: Batch) -> Batch:
        """Return what comes out for a batch of the second input. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} takes no second input")

    def mark(self, batch: Batch) -> list[Flow]:
        """Return the records with timestamps, and the watermarks that belong between them. Raises `UserCodeError`."""
        raise InternalError(f"operator {self.context.name!r} makes no watermarks")

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        """Take event time to `watermark_ms`, which is never earlier than before.

        Fires some of the timers that are due then, in order, until about `records_max` of them have been fired or have
        emitted as many records. Returns what came out, which may be nothing; None once no timer is due: until then it
        is called again with the same watermark, and nothing else is in between. Raises `UserCodeError`.
        """
        return None

    def end_input(self) -> None:
        """Know that no record is to follow, and that nothing is pending; finish the user's function.

        Barriers may follow. Raises `UserCodeError`.
        """

    def hold(self, progress: Watermark | WatermarkStatus) -> bool:
        """Keep a watermark or status behind inputs that are pending, to be returned by `resume`; return whether so."""
        return False

    def resume(self, records_max: int) -> list[Flow]:
        """Return, in order, some of what is to leave the operator since it was woken: about `records_max` records.

        Called when the operator is `woken`, which it stays only if more is to leave. Raises `UserCodeError`.
        """
        raise InternalError(f"operator {self.context.name!r} has nothing to resume")

    def poll(self, records_max: int) -> Batch | NotReady | EndOfInput:
        """Return the next records of a source, when to try again, or that there are no more. Raises `SourceError`."""
        raise InternalError(f"operator {self.context.name!r} is no source")

    def add_splits(self, splits: Given) -> None:
        """Have a source read these as well, which have these ordinals, or know that no more will come."""
        raise InternalError(f"operator {self.context.name!r} reads no splits")

    def allow_watermark(self, allowed_ms: int) -> None:
        """Have an aligned source read no further than to this watermark, or on again; others take no notice."""

    @property
    def alignment_drift_ms(self) -> int | None:
        """How far an aligned source is ahead of the last one of its group, None where that is not known."""
        return None

    @property
    def emit_lag_ms(self) -> int | None:
        """How far a source's newest record was behind the wall clock when it was read; None where it has no time."""
        return None

    def tick(self, now_ms: float) -> list[Flow]:
        """Do a bounded piece of what was to be done at `wake_ms`, and set that again; `now_ms` is monotonic.

        Returns records and watermarks, which go on through the chain. Work that is left sets `wake_ms` to `now_ms` or
        before. Raises `UserCodeError`.
        """
        raise InternalError(f"operator {self.context.name!r} has nothing to do at {now_ms}")

    def snapshot(self, barrier: Barrier) -> OperatorSnapshot:
        """Return the operator's part of the checkpoint of `barrier`, as of now."""
        return OperatorSnapshot(uid=self.context.uid)

    def forget(self, snapshot: OperatorSnapshot) -> None:
        """Let go of a snapshot that is written or given up."""

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Act on the completion of a checkpoint, which covers all earlier ones."""

    def notify_aborted(self, checkpoint_id: CheckpointId) -> None:
        """Learn that a checkpoint was given up; it may have been snapshotted here or not."""

    def close(self) -> None:
        """Release everything; called once, also after a failure."""


USER_ERRORS: Final = (Exception, SystemExit)
"""What user code may raise that fails its subtask: `sys.exit()` in a function must not end the slot unseen."""


class UserCodeError(Exception):
    """User code raised `__cause__` while it worked on `record` (of `key`, on a keyed stream), or `during` something.

    `during` with a record tells which of several methods it was.
    """

    def __init__(self, record: object = None, key: object = None, during: str = "") -> None:
        super().__init__(during)
        self.record = record
        self.key = key
        self.during = during

    @property
    def has_record(self) -> bool:
        """Whether there is a record to tell of."""
        return self.record is not None or not self.during


def failed_at(records: list[Any], position: Iterator[Any], during: str = "") -> UserCodeError:
    """Return the error for the record that the list iterator `position` gave last.

    An iterator of a list knows how much is left; so the failing record is found without any cost per record.
    """
    return UserCodeError(record=records[last_index(records, position)], during=during)


def last_index(records: list[Any], position: Iterator[Any]) -> int:
    """Return the index of the element that the list iterator `position` gave last."""
    return len(records) - length_hint(position) - 1


def expect(kind: type, value: Any, owner: object, method: str) -> Any:
    """Return what a method of user code returned. Raises `ProgramError` naming the method unless it is a `kind`.

    >>> expect(list, None, object(), "splits()")
    Traceback (most recent call last):
    headgate.errors.ProgramError: splits() of object returned None, but must return a list
    """
    if isinstance(value, kind):
        return value
    found = "None" if value is None else f"a {type(value).__name__}"
    raise ProgramError(f"{method} of {type(owner).__name__} returned {found}, but must return a {kind.__name__}")


def method_of(function: object, name: str) -> Callable[..., Any]:
    """Return the method `name` of a `Function`, or the plain callable itself."""
    return cast("Callable[..., Any]", getattr(function, name) if isinstance(function, Function) else function)


class Around(Function):
    """A function of ours around others, which may be plain callables: they are opened, finished and closed with it."""

    @property
    @abstractmethod
    def inner(self) -> Sequence[object]:
        """The functions within."""

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
    """Open a `Function`; a plain callable needs nothing. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.open(runtime)
        except USER_ERRORS as error:
            raise UserCodeError(during="open()") from error


def finish_function(function: object) -> None:
    """Finish a `Function`; a plain callable needs nothing. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.finish()
        except USER_ERRORS as error:
            raise UserCodeError(during="finish()") from error


def close_function(function: object) -> None:
    """Close a `Function`; a plain callable needs nothing. Raises `UserCodeError`."""
    if isinstance(function, Function):
        try:
            function.close()
        except USER_ERRORS as error:
            raise UserCodeError(during="close()") from error
