"""Elements: what travels a channel.

An element is a batch of records, or one of the control elements that keep their place between batches. Order within a
channel is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, final

from headgate.ids import CheckpointId

MIN_TIMESTAMP: Final = -(2**63)
"""Event time before any watermark, in milliseconds."""

MAX_TIMESTAMP: Final = 2**63 - 1
"""The watermark at the end of bounded input: no record follows, of whatever time."""


@final
class Batch:
    """Some records, in order.

    `records` is a list of Python objects. `timestamps` is a list of event times in milliseconds, as long as `records`,
    or None when the stream has none. `keys` is a list as long as `records` once a key has been selected, else None.
    A batch is handed on, never shared: the receiver may keep and change its lists.
    """

    __slots__ = ("keys", "records", "timestamps")

    def __init__(self, records: list[Any], timestamps: list[int] | None = None, keys: list[Any] | None = None) -> None:
        self.records = records
        self.timestamps = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"Batch({len(self.records)} records)"

    def piece(self, start: int, stop: int) -> Batch:
        """Return the records from position `start` up to, but without, `stop`, as a batch with lists of its own."""
        timestamps, keys = self.timestamps, self.keys
        return Batch(
            self.records[start:stop],
            None if timestamps is None else timestamps[start:stop],
            None if keys is None else keys[start:stop],
        )

    def copy(self) -> Batch:
        """Return the same records as a batch with lists of its own."""
        return self.piece(0, len(self.records))


@final
class SavepointFormat(Enum):
    """The form of keyed state in a savepoint: tables that any backend reads, or the files of the backend."""

    CANONICAL = "canonical"
    NATIVE = "native"


@final
@dataclass(frozen=True, slots=True)
class SavepointOrder:
    """Where and how a savepoint is written: `location` is its own folder, a URI or an absolute path.

    `stops`: sources put out nothing behind its barrier.
    """

    location: str
    format: SavepointFormat = SavepointFormat.CANONICAL
    stops: bool = False


@final
@dataclass(frozen=True, slots=True)
class Barrier:
    """Divides the records of a channel into those before and those after a checkpoint or savepoint.

    `trigger_ms` is wall clock. `unaligned_after_ms` is the time from the trigger after which the barrier overtakes
    batches where it may: 0, at once; None, never. The barriers of savepoints never do.
    """

    checkpoint_id: CheckpointId
    trigger_ms: int
    unaligned_after_ms: int | None = None
    savepoint: SavepointOrder | None = None


@final
@dataclass(frozen=True, slots=True)
class CancelBarrier:
    """Takes the place of a barrier of a checkpoint that was given up upstream."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True)
class EndOfData:
    """No more records follow. Barriers still may: the channel stays open until the job ends."""


@final
@dataclass(frozen=True, slots=True)
class Watermark:
    """Event time has come to `timestamp_ms`: no record with that timestamp or an earlier one is expected to follow."""

    timestamp_ms: int


@final
@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """The sender makes no progress in event time and is not to be waited for (`idle`), or does so again."""

    idle: bool


Flow = Batch | Watermark | WatermarkStatus
"""What runs through the operators of a chain, one after the other; all else passes a chain by."""
Control = Barrier | CancelBarrier | EndOfData | Watermark | WatermarkStatus
Element = Batch | Control
