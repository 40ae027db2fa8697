"""The source protocol: how records enter a job, and how reading goes on exactly where a checkpoint left it.

A source is cut into splits. `Source.splits` is asked once, in the driver, when a job starts afresh; the splits are
dealt to the subtasks. Each subtask has one reader. A checkpoint keeps what `SourceReader.snapshot` returns: the
unfinished splits with the position reached in each; after a failure new readers get those.

A source that discovers is asked again and again while the job runs, by the job master: each new split goes to one
subtask. Which splits a subtask was ever given is part of its state, so a checkpoint knows of a split if and only if its
reader had it at the barrier; one that was found too late for that is found again after a failure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, final

from headgate.functions.acknowledging import Acknowledger
from headgate.ids import JobId

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result")
Split = TypeVar("Split")
"""A picklable value that says what to read and from which position."""


@final
@dataclass(frozen=True, slots=True)
class Records:
    """Records read, in order. `timestamps` are event times in milliseconds, or None.

    `split` is the id of the split that they are of, which a source with `watermarks_per_split`, or that reads
    `one_split_at_a_time`, has to tell; `ended`: with these that split is read to its end.
    """

    records: list[Any] | pa.RecordBatch
    timestamps: list[int] | None = None
    split: str | None = None
    ended: bool = False


@final
@dataclass(frozen=True, slots=True)
class NotReady:
    """Nothing to read now. `wake_ms` is the monotonic time of the next try.

    `math.inf` leaves it to new splits, or to the end of work that the reader has submitted.
    """

    wake_ms: float


@final
class EndOfInput:
    """All splits are read to the end."""


END_OF_INPUT: Final = EndOfInput()

Poll = Records | NotReady | EndOfInput


@final
class NoMoreSplits:
    """There will be no more splits."""


NO_MORE_SPLITS: Final = NoMoreSplits()


class Source(ABC, Generic[Split]):
    """A place records come from. Pickled once and sent to each subtask, so it holds a description, not a connection."""

    bounded: bool = True
    """Whether reading ends by itself."""

    parallelism_max: int | None = None
    """The most subtasks that can read at a time, None for no limit."""

    discovery_interval_ms: int | None = None
    """How often to look for new splits while the job runs, None: never."""

    discovery_ends: bool = False
    """Whether `discover` will return NO_MORE_SPLITS one day. Without that, a source that looks is not bounded."""

    watermarks_per_split: bool = False
    """Whether readers read several splits at a time, each with event time of its own.

    The watermark of a subtask is then the least of those of its splits, from the moment in which it is given them. A
    subtask without splits is idle.
    """

    one_split_at_a_time: bool = False
    """Whether readers read their splits one after the other, as given, and tell in `Records.split` which it is.

    At another parallelism a reader may get several splits that were begun. The watermark of the subtask is then held
    back until the last of them is opened, which an empty `Records` tells as well.
    """

    def prepare(self, job_id: JobId) -> None:
        """Take note of the job, once for each driver of it, before anything else. Called in the driver; may block."""

    @abstractmethod
    def splits(self, parallelism: int) -> list[Split]:
        """Return the splits of a fresh start. Called in the driver; may block.

        Not called for a job that starts from a snapshot which knows the source. Raises `SourceError` when there is
        nothing to read where there should be.
        """

    def interrupt(self) -> None:
        """End a call of `splits` that may be under way: the job was cancelled. Called in the driver; must not block."""

    def keep(self) -> None:
        """Let what was made for the job stay whatever becomes of it: a savepoint has still to read of it.

        Called in the driver, before that savepoint is complete; may block.
        """

    def discard(self, job_id: JobId) -> None:
        """Remove what was made for the job, except what was to be kept: no snapshot of it has still to read.

        Called in the driver, before `release`, when the job has ended, or could not begin; may block; may be called
        twice.
        """

    def release(self, job_id: JobId) -> None:
        """Let go of what is held for the job, which has ended. Called in the driver; may block; may be called twice."""

    def discover(self, known: frozenset[str]) -> list[Split] | NoMoreSplits:
        """Return the splits that are there by now and whose id is not `known`, or that there will be no more of them.

        Called in the driver, beside the job master's loop; may block. What it raises is logged, and it is tried again;
        but the job fails for good after `SuppressRestartsException`, or an error that it caused.
        """
        raise NotImplementedError(f"{type(self).__name__} has a discovery_interval_ms, and needs discover()")

    def split_id(self, split: Split) -> str:
        """Return the name of a split, the same whatever has been read of it.

        Needed with `discovery_interval_ms`, `watermarks_per_split` and `one_split_at_a_time`. A source that always had
        it may begin to discover in a later version of a job: which splits it was given before is then known, also of
        those that ended. At another parallelism its splits are dealt out in the order in which they were found.
        """
        raise NotImplementedError(f"{type(self).__name__} tells its splits apart, and needs split_id()")

    def to_remember(self, known: Iterable[str]) -> list[str]:
        """Return the ids, of those that a subtask knows, which `discover` still has to be told of; all by default.

        For a source that discovers without end, and can tell from some of its splits that it had others.
        """
        return list(known)

    def acknowledger(self) -> Acknowledger[Split] | None:
        """Return what tells the outside how far the job has got, the same each time it is asked for; None: nothing.

        Called in the driver. Checkpoints are then made even where no interval is set for them.
        """
        return None

    @abstractmethod
    def reader(self, context: SourceContext) -> SourceReader[Split]:
        """Return the reader of one subtask. Called in the slot; does not read yet."""


class SourceContext(Protocol):
    """What a reader may ask about where it runs."""

    @property
    def subtask(self) -> int:
        """Index of the subtask, from 0."""
        ...

    @property
    def parallelism(self) -> int:
        """Number of subtasks of the source."""
        ...

    def monotonic_ms(self) -> float:
        """Return the injected monotonic clock."""
        ...

    def count(self, name: str, by: int = 1) -> None:
        """Add to a named counter of the job, for instance of skipped lines."""
        ...

    def submit(self, work: Callable[[], Result], done: Callable[[Result | BaseException], None]) -> None:
        """Run `work`, which may block, on an I/O thread; then have the loop call `done`, and poll again.

        After the end of the attempt `done` is not called any more. Does not block, and holds up no other work.
        """
        ...


class SourceReader(ABC, Generic[Split]):
    """Reads the splits of one subtask. Called by the mailbox loop only, so no method may block for long."""

    @abstractmethod
    def add_splits(self, splits: list[Split]) -> None:
        """Take more to read. Called before the first poll, and again when the source has discovered some."""

    @abstractmethod
    def poll(self, records_max: int) -> Poll:
        """Return up to `records_max` records, or that there are none now, or that there will be none.

        The reader of a source that discovers is polled again after the end of its input, when it has got new splits.
        An empty `Records` is allowed. Raises `SourceError` naming the place when the data cannot be read.
        """

    @abstractmethod
    def snapshot(self) -> list[Split]:
        """Return what is still to be read: after a restore, reading goes on with the first record not yet polled."""

    def notify_completed(self, splits: list[Split]) -> None:
        """Take note that a checkpoint is complete which holds these positions. It may come late, or never."""

    def close(self) -> None:
        """Release files and connections. Called also after a failure."""
