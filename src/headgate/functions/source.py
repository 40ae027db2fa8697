"""The source protocol: how records enter a job, and how reading resumes exactly where a checkpoint left it.

A source is divided into splits. The driver calls `Source.splits` once, when a job starts without a snapshot of the
source, and assigns the splits to the subtasks. Each subtask has one reader. A checkpoint keeps what
`SourceReader.snapshot` returns: the unfinished splits with the position reached in each; after a failure new readers
get these splits.

A source may discover splits: while the job runs, the job master calls `Source.discover` repeatedly, and assigns each
new split to one subtask. The ids of all splits that a subtask was ever assigned are part of its state, so a checkpoint
knows a split if and only if a reader had it at the barrier. A split that was discovered after the barrier is discovered
again after a failure.

A source may read in stages, such as files first and then a topic: when all subtasks have read all their splits, the job
master calls `Source.next_stage`, and assigns the splits that it returns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, final

from headgate.functions.acknowledging import Acknowledger
from headgate.ids import JobId
from headgate.types.output_tag import OutputTag
from headgate.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result")
Split = TypeVar("Split")
"""A picklable value that names a part of the input and the position to read from."""


@final
@dataclass(frozen=True, slots=True)
class Records:
    """Records read, in order. `timestamps` are their event times in milliseconds, as many as records, or None.

    `split` is the id of the records' split: required of sources with `watermarks_per_split` or `one_split_at_a_time`.
    `ended`: that split has no more records.
    """

    records: list[Any] | pa.RecordBatch
    timestamps: list[int] | None = None
    split: str | None = None
    ended: bool = False


@final
@dataclass(frozen=True, slots=True)
class NotReady:
    """Nothing to read now. `wake_ms` is the time of the next poll, by the monotonic clock.

    With `math.inf` the reader is polled when it gets new splits, or when work that it has submitted is done.
    """

    wake_ms: float


@final
class EndOfInput:
    """All splits are read to the end."""


END_OF_INPUT: Final = EndOfInput()

Poll = Records | NotReady | EndOfInput


@final
class NoMoreSplits:
    """The source will discover no more splits."""


NO_MORE_SPLITS: Final = NoMoreSplits()


@final
class NoMoreStages:
    """The stage that is being read is the last."""


NO_MORE_STAGES: Final = NoMoreStages()

SplitAssignment = list[tuple[int, Any]] | NoMoreSplits | NoMoreStages
"""An assignment to a running reader: splits with their ordinals, or the end of splits or of stages."""


class Source(ABC, Generic[Split]):
    """A place records come from. Pickled once and sent to each subtask, so it holds a description, not a connection."""

    bounded: bool = True
    """Whether reading ends by itself."""

    records_total: int | None = None
    """How many records there are in all, for display only; None where it is not known before reading."""

    parallelism_max: int | None = None
    """The most subtasks that can read at a time, None for no limit."""

    produced_type: TypeInformation | None = None
    """The type of all records, None where it is not known."""

    discovery_interval_ms: int | None = None
    """Milliseconds between calls of `discover` while the job runs; None: it is not called."""

    discovery_ends: bool = False
    """Whether `discover` returns NO_MORE_SPLITS in the end. A source whose discovery never ends is not bounded."""

    in_stages: bool = False
    """Whether the source has further stages to read after its first splits: see `next_stage`."""

    watermarks_per_split: bool = False
    """Whether readers read several splits at a time, each with separate watermarks.

    The watermark of a subtask is then the lowest watermark of its splits, from the moment they are assigned. A subtask
    without splits is idle.
    """

    one_split_at_a_time: bool = False
    """Whether readers read their splits one after the other, in the given order, and name each in `Records.split`.

    After a restore with another parallelism, a reader may get several splits that were begun. The watermark of the
    subtask is then held back until the reader names the last of them, for which an empty `Records` is enough.
    """

    failed_tag: OutputTag | None = None
    """The side output for data that readers cannot read, which the program must then read; None: there is none."""

    def prepare(self, job_id: JobId) -> None:
        """Prepare for the job. Called in each driver of the job, before all other methods; may block."""

    @abstractmethod
    def splits(self, parallelism: int) -> list[Split]:
        """Return the splits of a job that starts without a snapshot of the source. Called in the driver; may block.

        Raises SourceError when there is nothing to read where there should be.
        """

    def interrupt(self) -> None:
        """End a call of `splits` that may be running: the job was cancelled. Called in the driver; must not block."""

    def keep(self) -> None:
        """Keep the resources of the job after its end: a job that starts from a savepoint will read them.

        Called in the driver, before that savepoint is complete; may block.
        """

    def discard(self, job_id: JobId) -> None:
        """Remove the resources of the job, except those kept by `keep`: no snapshot of the job needs them any more.

        Called in the driver, before `release`, when the job has ended, or could not begin; may block; may be called
        twice.
        """

    def release(self, job_id: JobId) -> None:
        """Release the resources of the job, which has ended. Called in the driver; may block; may be called twice."""

    def discover(self, known: frozenset[str]) -> list[Split] | NoMoreSplits:
        """Return the splits whose ids are not `known`, or NO_MORE_SPLITS if there will never be another one.

        Called in the driver, on an I/O thread; may block. An error is logged, and the call is repeated after the next
        interval; a `SuppressRestartsException`, or an error caused by one, fails the job for good.
        """
        raise NotImplementedError(f"{type(self).__name__} has a discovery_interval_ms, and must define discover()")

    def is_last_stage(self, known: frozenset[str]) -> bool:
        """Whether the newest of the `known` splits are of the last stage. Called in the driver, on an I/O thread."""
        raise NotImplementedError(f"{type(self).__name__} reads in stages, and must define is_last_stage()")

    def next_stage(self, known: frozenset[str], parallelism: int) -> list[Split]:
        """Return the splits of the stage that follows the `known` splits, which all subtasks have read.

        Called only if such a stage exists, in the driver, on an I/O thread; may block. An error fails the attempt; the
        next attempt calls this again when it has read the stage before.
        """
        raise NotImplementedError(f"{type(self).__name__} reads in stages, and must define next_stage()")

    def stage_of(self, split_id: str) -> Source[Any]:
        """Return the source whose settings for watermarks apply to records of the split with this id."""
        return self

    def split_id(self, split: Split) -> str:
        """Return the id of a split, which stays the same however much of the split is read.

        Required with `discovery_interval_ms`, `in_stages`, `watermarks_per_split` and `one_split_at_a_time`. A source
        that has always defined it may begin to discover in a later version of a job: the ids of all its splits are then
        known, also of splits that ended. At another parallelism its splits are assigned in the order in which they were
        discovered.
        """
        raise NotImplementedError(f"{type(self).__name__} tells its splits apart, and must define split_id()")

    def to_remember(self, known: Iterable[str]) -> list[str]:
        """Return the ids among a subtask's `known` ids that `discover` still needs; by default all.

        For a source whose discovery never ends, and that can infer some of its splits from others.
        """
        return list(known)

    def acknowledger(self) -> Acknowledger[Split] | None:
        """Return the acknowledger of this source, the same object each time; None: nothing is acknowledged.

        Called in the driver. With an acknowledger, checkpoints are taken even where no checkpoint interval is set.
        """
        return None

    @abstractmethod
    def reader(self, context: SourceContext) -> SourceReader[Split]:
        """Return the reader of one subtask. Called in the slot; does not read yet."""


def splits_of_all_stages(source: Source[Split], parallelism: int) -> list[Split]:
    """Return all splits that a bounded source reads, stage by stage, in order. Blocks."""
    splits: list[Split] = source.splits(parallelism)
    while source.in_stages and not source.is_last_stage(known := frozenset(map(source.split_id, splits))):
        splits = splits + source.next_stage(known, parallelism)
    return splits


class SourceContext(Protocol):
    """Tells a reader where it runs, and runs blocking work for it outside the loop."""

    @property
    def subtask(self) -> int:
        """Index of the subtask, from 0."""
        ...

    @property
    def parallelism(self) -> int:
        """Number of subtasks of the source."""
        ...

    def monotonic_ms(self) -> float:
        """Return the time of the monotonic clock, in milliseconds."""
        ...

    def count(self, name: str, by: int = 1) -> None:
        """Add `by` to a named counter of the job, for instance of skipped lines."""
        ...

    def side_output(self, tag: OutputTag, value: object) -> None:
        """Emit a value to a side output of the source, together with the records that `poll` is about to return."""
        ...

    def submit(self, work: Callable[[], Result], done: Callable[[Result | BaseException], None]) -> None:
        """Run `work`, which may block, on an I/O thread; then have the loop call `done`, and poll again.

        `done` gets what `work` returned or raised; it is not called after the end of the attempt. Does not block, and
        delays no other work.
        """
        ...


class SourceReader(ABC, Generic[Split]):
    """Reads the splits of one subtask. Called by the mailbox loop only, so no method may block for long."""

    @property
    def pauses_splits(self) -> bool:
        """Whether `pause_splits` may be called. It is for readers that read several splits at a time."""
        return False

    @abstractmethod
    def add_splits(self, splits: list[Split]) -> None:
        """Add splits to read. Called before the first poll, and again when the source has discovered splits."""

    @abstractmethod
    def poll(self, records_max: int) -> Poll:
        """Return up to `records_max` records, `NotReady` if there are none now, or END_OF_INPUT after the last split.

        The reader of a source that discovers is polled again after END_OF_INPUT, when it has received new splits.
        `Records` may be empty. Raises SourceError naming the place when the data cannot be read.
        """

    @abstractmethod
    def snapshot(self) -> list[Split]:
        """Return the unfinished splits: after a restore, reading resumes with the first record not yet polled."""

    def pause_splits(self, paused: frozenset[str]) -> None:
        """From now on, return records only of splits that are not in `paused`.

        Watermark alignment pauses splits that are too far ahead, by their ids. Snapshots hold the positions of paused
        splits, too.
        """
        raise NotImplementedError(f"{type(self).__name__} pauses splits, and must define pause_splits()")

    def notify_completed(self, splits: list[Split]) -> None:
        """Take note that a checkpoint that holds these positions is complete. The call may come late, or never."""

    def close(self) -> None:
        """Release files and connections. Called also after a failure."""
