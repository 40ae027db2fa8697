"""Elements of a channel: batches of records, and control elements between them.

A channel delivers its elements in order.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, final

from headgate.ids import CheckpointId
from headgate.types import by_value, typed_batches
from headgate.types.typed_batches import Lists

if TYPE_CHECKING:
    import pyarrow as pa

MIN_TIMESTAMP: Final = -(2**63)
"""Event time before the first watermark, in milliseconds."""

MAX_TIMESTAMP: Final = 2**63 - 1
"""The watermark at the end of bounded input, in milliseconds: no record follows."""


Deal = Callable[
    [Mapping[Any, int], Iterator[Any], list[Any], list[int] | None, int],
    list[tuple[int, list[Any], list[int] | None, list[Any]]],
]
"""Divides records among channels by their keys: `deal(routes, keys, records, timestamps, count)`.

`routes` maps a key to its channel, a number below `count`. Returns channel, records, timestamps and keys for each
channel that gets records. `keys` is an iterator, which tells the key that failed.
"""


@final
class Batch:
    """Records in order: a list of Python objects, or one Arrow `RecordBatch`, which is converted to rows when read.

    `timestamps` has the event time of each record in milliseconds; None if the stream has no timestamps. `keys` has the
    key of each record; None if no key was selected. A batch has one owner: the receiver may keep and change its lists.

    Only code that calls user functions may read `records`. Other code uses the methods, so that an Arrow batch stays
    Arrow.
    """

    __slots__ = ("_columns", "_records", "is_plain", "keys", "timestamps")

    def __init__(self, records: list[Any], timestamps: list[int] | None = None, keys: list[Any] | None = None) -> None:
        self._records = records
        self._columns: pa.RecordBatch | None = None
        self.is_plain = False
        """Whether the records are known to be immutable. Set it after `records`."""
        self.timestamps = timestamps
        self.keys = keys

    @classmethod
    def of_arrow(cls, columns: pa.RecordBatch, timestamps: list[int] | None = None) -> Batch:
        """Return a batch that holds `columns` without converting them to rows."""
        batch = cls([], timestamps)
        batch._columns = columns
        return batch

    @property
    def records(self) -> list[Any]:
        """The records as Python objects. Raises SerializationError naming the column for a value without a Python type.

        The first access converts an Arrow batch to rows.
        """
        if self._columns is not None:
            from headgate.types.arrow import rows_from_batch  # noqa: PLC0415  # Arrow takes long to load

            self._records, self._columns = rows_from_batch(self._columns), None
        return self._records

    @records.setter
    def records(self, records: list[Any]) -> None:
        self._records, self._columns, self.is_plain = records, None, False

    @property
    def columns(self) -> pa.RecordBatch | None:
        """The records as an Arrow batch; None if they are Python objects."""
        return self._columns

    def __len__(self) -> int:
        return len(self._records) if self._columns is None else int(self._columns.num_rows)

    def __repr__(self) -> str:
        return f"Batch({len(self)} records)"

    def piece(self, start: int, stop: int) -> Batch:
        """Return the records from position `start` up to, but not including, `stop`, in a batch with new lists.

        A small piece of an Arrow batch does not keep the whole batch in memory.
        """
        timestamps, keys = self.timestamps, self.keys
        own_times = None if timestamps is None else timestamps[start:stop]
        if self._columns is not None:
            from headgate.types.arrow import compacted  # noqa: PLC0415  # Arrow takes long to load

            return Batch.of_arrow(compacted(self._columns.slice(start, stop - start)), own_times)
        return Batch(self._records[start:stop], own_times, None if keys is None else keys[start:stop])

    def copy(self, records: Callable[[list[Any]], list[Any]] = list) -> Batch:
        """Return a copy of the batch with new lists, for another receiver. `records` copies the list of records."""
        copy = self.piece(0, len(self))
        if self._columns is None and not self.is_plain:
            copy._records = records(copy._records)
        return copy

    def take(self, positions: list[int]) -> Batch:
        """Return the records at these positions."""
        times = None if self.timestamps is None else [self.timestamps[at] for at in positions]
        if self._columns is not None:
            from headgate.types.arrow import taken  # noqa: PLC0415  # Arrow takes long to load

            return Batch.of_arrow(taken(self._columns, positions), times)
        keys = None if self.keys is None else [self.keys[at] for at in positions]
        return Batch([self._records[at] for at in positions], times, keys)

    def deal(self, divide: Deal, routes: Mapping[Any, int], keys: Iterator[Any], count: int) -> list[tuple[int, Batch]]:
        """Split the batch by the channel of each key. Return each channel that gets records, with its batch."""
        dealt = divide(routes, keys, self.records, self.timestamps, count)
        return [(channel, Batch(records, times, own)) for channel, records, times, own in dealt]

    def append(self, other: Batch) -> bool:
        """Append the records of `other` and return True; do nothing and return False if `other` has another form.

        The forms differ if one batch has timestamps or columns and the other has none, or if their schemas differ.
        """
        if not self._is_like(other):
            return False
        if self._columns is not None:
            from headgate.types.arrow import concatenated  # noqa: PLC0415  # Arrow takes long to load

            self._columns = concatenated(self._columns, other._columns)
        else:
            self._records += other._records
            self.is_plain = self.is_plain and other.is_plain
        if self.timestamps is not None and other.timestamps is not None:
            self.timestamps += other.timestamps
        if self.keys is not None and other.keys is not None:
            self.keys += other.keys
        return True

    def _is_like(self, other: Batch) -> bool:
        if (self.timestamps is None) != (other.timestamps is None):
            return False
        if self._columns is None or other._columns is None:
            return self._columns is other._columns
        return bool(self._columns.num_columns) and bool(self._columns.schema.equals(other._columns.schema))

    def encode(self) -> bytes:
        """Return the batch as bytes: the pickle of (records, timestamps, keys), or an Arrow IPC stream of its columns.

        Raises the error of a record that cannot be pickled.
        """
        if self._columns is not None:
            from headgate.types.arrow import stream_of  # noqa: PLC0415  # Arrow takes long to load

            return stream_of(self._columns, self.timestamps)
        return pickle.dumps((self._records, self.timestamps, self.keys), 5)

    def encode_to_send(self, write: WriteTyped | None = None) -> bytes:
        """Return the batch as bytes for another process of the job. Objects that `pickle` rejects are pickled by value.

        `write` writes the typed form of a batch, if the receivers read it fast. Raises the error of a record that
        cannot be pickled by value.
        """
        if write is not None and self._columns is None:
            typed = write(self._records, self.timestamps, self.keys)
            if typed is not None:
                return typed
        try:
            return self.encode()
        except Exception:  # noqa: BLE001  # whatever a class of the user's raises
            return by_value.dumps((self._records, self.timestamps, self.keys))

    def encode_each(self) -> list[bytes]:
        """Return the pickle of each record for another process. Raises the error of a record that cannot be pickled."""
        dumps = pickle.dumps
        try:
            return [dumps(record, 5) for record in self.records]
        except Exception:  # noqa: BLE001  # whatever a class of the user's raises
            return [sendable(record) for record in self.records]

    @classmethod
    def decode(
        cls, payload: Payload, load: Callable[..., Lists] = pickle.loads, read: ReadTyped = typed_batches.read
    ) -> Batch:
        """Return the decoded batch. `load` unpickles, `read` reads the typed form.

        Raises the error of a record that cannot be unpickled, and DamagedBatchError for a damaged typed form.
        """
        if typed_batches.is_typed(payload):
            return cls(*read(payload))
        if is_arrow(payload):
            from headgate.types.arrow import of_stream  # noqa: PLC0415  # Arrow takes long to load

            return cls.of_arrow(*of_stream(payload))
        return cls(*load(payload))

    def culprit(self, dumps: Callable[[Any], bytes] = pickle.dumps) -> object:
        """Return the first record that `dumps` cannot pickle, None if it can pickle each."""
        for record in self.records:
            try:
                dumps(record)
            except Exception:  # noqa: BLE001  # whatever a class of the user's raises
                return record
        return None


def sendable(value: Any) -> bytes:
    """Return a pickle of the value for another process of the job, by value if `pickle` rejects it.

    Raises the error of a value that cannot be pickled by value.
    """
    try:
        return pickle.dumps(value, 5)
    except Exception:  # noqa: BLE001  # whatever a class of the user's raises
        return by_value.dumps(value)


Payload = bytes | memoryview
"""An encoded batch. A batch from the network stays encoded until the subtask takes it from the channel."""

WriteTyped = Callable[[list[Any], list[int] | None, list[Any] | None], bytes | None]
"""Writes records, timestamps and keys in the typed form; returns None for a batch that has to be pickled."""

ReadTyped = Callable[[Payload], Lists]
"""Reads the typed form of a batch. Raises DamagedBatchError."""

_ARROW: Final = b"\xff\xff\xff\xff"
"""The first bytes of every Arrow IPC stream. No pickle begins with them."""


def is_arrow(payload: Payload) -> bool:
    """Return whether the encoded batch holds Arrow columns."""
    return payload[:4] == _ARROW


@final
class SavepointFormat(Enum):
    """The form of keyed state in a savepoint: tables that any backend reads, or the files of the backend."""

    CANONICAL = "canonical"
    NATIVE = "native"


def savepoint_key(location: str) -> str:
    """Return 32 hexadecimal digits that identify the savepoint at a location, for use in names of other systems.

    >>> savepoint_key("s3://bucket/savepoint-cd61-9a8b")
    'a99fe92c9736b1fc87ab8d8b00bbddd1'
    """
    return hashlib.blake2s(location.encode(), digest_size=16).hexdigest()


@final
@dataclass(frozen=True, slots=True)
class SavepointOrder:
    """The location and format of a savepoint. `location` is the savepoint's own folder, a URI or an absolute path.

    With `stops`, sources emit nothing after the savepoint's barrier.
    """

    location: str
    format: SavepointFormat = SavepointFormat.CANONICAL
    stops: bool = False

    @property
    def key(self) -> str:
        """The key with which sinks mark the data that they keep for this savepoint."""
        return savepoint_key(self.location)


@final
@dataclass(frozen=True, slots=True)
class Barrier:
    """Separates the records of a channel before a checkpoint or savepoint from the records after it.

    `trigger_ms` is the wall clock time of the trigger. `unaligned_after_ms` is the time after the trigger from which
    the barrier may overtake batches: 0 means at once, None never. Barriers of savepoints never overtake.
    """

    checkpoint_id: CheckpointId
    trigger_ms: int
    unaligned_after_ms: int | None = None
    savepoint: SavepointOrder | None = None


@final
@dataclass(frozen=True, slots=True)
class CancelBarrier:
    """Replaces the barrier of a checkpoint that an upstream subtask has aborted."""

    checkpoint_id: CheckpointId


@final
@dataclass(frozen=True, slots=True)
class EndOfData:
    """No records follow. Barriers may follow: the channel stays open until the job ends."""


@final
@dataclass(frozen=True, slots=True)
class Watermark:
    """Event time has reached `timestamp_ms`: no record with that timestamp or an earlier one is expected to follow."""

    timestamp_ms: int


@final
@dataclass(frozen=True, slots=True)
class WatermarkStatus:
    """The sender is idle, so receivers do not wait for its watermarks; or, with `idle` false, it is active again."""

    idle: bool


Flow = Batch | Watermark | WatermarkStatus
"""The elements that pass through the operators of a chain. All other elements bypass the operators."""
Control = Barrier | CancelBarrier | EndOfData | Watermark | WatermarkStatus
Element = Batch | Control
