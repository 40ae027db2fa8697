"""Credit between slots: limits the batches, bytes and records under way on a channel.

A sender stops when the channel's limits are reached. A single larger batch passes when nothing else is under way. With
each credit, the receiver says how many records it allows. A batch is encoded when it is sent, over every transport: so
no slot holds an object of another slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

from headgate import options
from headgate.config import Settings
from headgate.dataflow.pace import first_window
from headgate.elements import Batch, WriteTyped, sendable
from headgate.errors import SerializationError
from headgate.operators.base import UserCodeError


@final
@dataclass(frozen=True, slots=True)
class CreditWindow:
    """The limits for one channel. `first_records` is the limit for records until the first credit sets another."""

    batches: int
    size_bytes: int
    first_records: int

    @classmethod
    def of(cls, settings: Settings) -> CreditWindow:
        """Return the window for the settings of the job."""
        return cls(settings.get(options.CREDIT_BATCHES), settings.get(options.CREDIT_BYTES), first_window(settings))


class Credit(NamedTuple):
    """The batches, bytes and records (`taken`) that a receiver has consumed, and its new limit for records."""

    batches: int
    size_bytes: int
    taken: int
    records_max: int


class Encoded(NamedTuple):
    """An encoded batch, and its number of records."""

    payload: bytes
    records: int


class CreditedOutput:
    """The sending end of a channel into another slot: encodes batches, and counts those under way."""

    __slots__ = ("_batches", "_bytes", "_piece_max", "_records", "_window", "_write", "records_max", "sent_bytes")

    def __init__(self, window: CreditWindow, write: WriteTyped | None) -> None:
        """`write` is as for `Batch.encode_to_send`."""
        self._window = window
        self._write = write
        self._batches = 0
        self._bytes = 0
        self._records = 0
        self._piece_max = 1
        self.records_max = window.first_records
        """The number of records that the receiver allows under way."""
        self.sent_bytes = 0

    @property
    def writable(self) -> bool:
        """Whether there is credit for another batch."""
        window = self._window
        return self._batches < window.batches and self._bytes < window.size_bytes and self._records < self.records_max

    def credited(self, credit: Credit) -> None:
        """Take the credit of the receiver for batches that it has consumed."""
        self._batches -= credit.batches
        self._bytes -= credit.size_bytes
        self._records -= credit.taken
        self.records_max = credit.records_max

    def _encoded(self, batch: Batch) -> Iterator[Encoded]:
        """Yield the batch as encoded pieces that fit the window, and count each piece as under way.

        Raises `UserCodeError` naming a record that cannot be pickled.
        """
        start = 0
        while start < len(batch):
            stop = start + self._piece_max
            piece = batch if start == 0 and stop >= len(batch) else batch.piece(start, stop)
            payload = encoded(piece, self._write)
            self._batches += 1
            self._bytes += len(payload)
            self._records += len(piece)
            self.sent_bytes += len(payload)
            self._learn(len(piece), len(payload))
            yield Encoded(payload, len(piece))
            start = stop

    def _learn(self, records: int, size_bytes: int) -> None:
        """Adapt the size of pieces to the window, so that a batch of large records is cut before it is pickled."""
        if size_bytes > self._window.size_bytes:
            self._piece_max = max(1, records * self._window.size_bytes // size_bytes)
        elif records == self._piece_max and 2 * size_bytes <= self._window.size_bytes:
            self._piece_max *= 2


def encoded(batch: Batch, write: WriteTyped | None = None) -> bytes:
    """Return the batch as bytes for another slot. Raises `UserCodeError` naming a record that cannot be pickled."""
    try:
        return batch.encode_to_send(write)
    except Exception as error:  # noqa: BLE001  # whatever a class of the user's raises
        raise UserCodeError(record=batch.culprit(sendable)) from SerializationError(
            f"a record cannot be sent to another slot: {error}; emit plain data, and keep locks, files and connections "
            "in the function, which makes them in open()"
        )


@final
class CreditGiver:
    """Counts the consumed batches of one channel, and gives credit back for half a window at a time."""

    __slots__ = ("_batches", "_bytes", "_give", "_records", "_records_max", "_window")

    def __init__(self, window: CreditWindow, give: Callable[[Credit], None]) -> None:
        self._window = window
        self._give = give
        self._batches = 0
        self._bytes = 0
        self._records = 0
        self._records_max = window.first_records

    def consumed(self, size_bytes: int, records: int, records_max: int) -> None:
        """Count a consumed batch; `records_max` is the new limit for records under way."""
        self._batches += 1
        self._bytes += size_bytes
        self._records += records
        if (
            2 * self._batches >= self._window.batches
            or 2 * self._bytes >= self._window.size_bytes
            or 2 * self._records >= self._records_max
        ):
            credit = Credit(self._batches, self._bytes, self._records, records_max)
            self._batches = self._bytes = self._records = 0
            self._records_max = records_max
            self._give(credit)
