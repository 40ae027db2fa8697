"""Formats of messages as columns: many messages are decoded in one call, and many rows are encoded in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import pyarrow as pa

from headgate.columns.schema import Schema

_FEW: Final = 64
"""Messages with a broken one among them are decoded in halves, down to this number, and then one by one."""


@final
@dataclass(frozen=True, slots=True)
class DecodedMessages:
    """The rows of messages, in order. `broken` has the position of each message without a row, and what is wrong."""

    columns: pa.RecordBatch
    broken: dict[int, str]


class MessageDecoder(ABC):
    """Makes a row of each message. `schema` has the columns of the rows."""

    schema: Schema

    @abstractmethod
    def at_once(self, messages: list[bytes]) -> pa.RecordBatch | None:
        """Return a row for each message; None if a message has to be looked at by itself."""

    @abstractmethod
    def one(self, message: bytes) -> Sequence[Any]:
        """Return the values of a message as Arrow takes them. Raises ValueError, which says what is wrong with it."""

    def decode(self, messages: list[bytes]) -> DecodedMessages:
        """Return the rows of the messages. A broken message affects no other message."""
        pieces: list[pa.RecordBatch] = []
        broken: dict[int, str] = {}
        self._decode(messages, 0, pieces, broken)
        if len(pieces) == 1:
            return DecodedMessages(pieces[0], broken)
        columns = [pa.concat_arrays(parts) for parts in zip(*(own.columns for own in pieces), strict=True)]
        return DecodedMessages(pa.RecordBatch.from_arrays(columns, schema=self.schema.arrow), broken)

    def _decode(self, messages: list[bytes], first: int, pieces: list[pa.RecordBatch], broken: dict[int, str]) -> None:
        made = self.at_once(messages) if messages else None
        if made is not None and not self._lacks(made):
            pieces.append(made)
        elif len(messages) > _FEW:
            half = len(messages) // 2
            self._decode(messages[:half], first, pieces, broken)
            self._decode(messages[half:], first + half, pieces, broken)
        else:
            pieces.append(self._each(messages, first, broken))

    def _lacks(self, columns: pa.RecordBatch) -> bool:
        """Whether a column that is NOT NULL has NULL."""
        return any(
            own.null_count and not kind.nullable for own, kind in zip(columns.columns, self.schema.types, strict=True)
        )

    def _each(self, messages: list[bytes], first: int, broken: dict[int, str]) -> pa.RecordBatch:
        rows: list[Sequence[Any]] = []
        for place, message in enumerate(messages, first):
            try:
                row = self.one(message)
                for value, (name, kind) in zip(row, self.schema, strict=True):
                    if value is None and not kind.nullable:
                        raise ValueError(f"field {name!r} is NULL, but is NOT NULL in schema")
                rows.append(row)
            except (ValueError, RecursionError) as error:
                broken[place] = str(error)
        return batch_of_values(rows, self.schema)


class MessageEncoder(ABC):
    """Makes a message of each row."""

    @abstractmethod
    def encode(self, columns: pa.RecordBatch) -> list[bytes | None]:
        """Return the bytes of each row. Raises ValueError for a value that the format cannot hold."""


def batch_of_values(rows: Sequence[Sequence[Any]], schema: Schema) -> pa.RecordBatch:
    """Return rows of values, as Arrow takes them, as columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    made = [pa.array(list(own), kind.arrow) for own, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(made, schema=schema.arrow)
