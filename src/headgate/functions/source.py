"""The source protocol: how records enter a job, and how reading goes on exactly where a checkpoint left it.

A source is cut into splits. `Source.splits` is asked once, in the driver, when a job starts afresh; the splits are
dealt to the subtasks. Each subtask has one reader. A checkpoint keeps what `SourceReader.snapshot` returns: the
unfinished splits with the position reached in each; after a failure new readers get those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, final

if TYPE_CHECKING:
    import pyarrow as pa

Split = TypeVar("Split")
"""A picklable value that says what to read and from which position."""


@final
@dataclass(frozen=True, slots=True)
class Records:
    """Records read, in order. `timestamps` are event times in milliseconds, or None."""

    records: list[Any] | pa.RecordBatch
    timestamps: list[int] | None = None


@final
@dataclass(frozen=True, slots=True)
class NotReady:
    """Nothing to read now. `wake_ms` is the monotonic time of the next try."""

    wake_ms: float


@final
class EndOfInput:
    """All splits are read to the end."""


END_OF_INPUT: Final = EndOfInput()

Poll = Records | NotReady | EndOfInput


class Source(ABC, Generic[Split]):
    """A place records come from. Pickled once and sent to each subtask, so it holds a description, not a connection."""

    bounded: bool = True
    """Whether reading ends by itself."""

    parallelism_max: int | None = None
    """The most subtasks that can read at a time, None for no limit."""

    @abstractmethod
    def splits(self, parallelism: int) -> list[Split]:
        """Return the splits of a fresh start. Called in the driver; may block.

        Raises `SourceError` when there is nothing to read where there should be.
        """

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


class SourceReader(ABC, Generic[Split]):
    """Reads the splits of one subtask. Called by the mailbox loop only, so no method may block for long."""

    @abstractmethod
    def add_splits(self, splits: list[Split]) -> None:
        """Take more to read. Called once before the first poll."""

    @abstractmethod
    def poll(self, records_max: int) -> Poll:
        """Return up to `records_max` records, or that there are none now, or that there will be none.

        An empty `Records` is allowed. Raises `SourceError` naming the place when the data cannot be read.
        """

    @abstractmethod
    def snapshot(self) -> list[Split]:
        """Return what is still to be read: after a restore, reading goes on with the first record not yet polled."""

    def close(self) -> None:
        """Release files and connections. Called also after a failure."""
