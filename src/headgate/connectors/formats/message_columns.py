"""Formats of messages as columns: many messages are decoded in one call, and many rows are encoded in one call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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


IGNORE: Final = "ignore-parse-errors"


@dataclass(frozen=True, slots=True)
class MessageFormat(ABC):
    """A format with its options. `ignore_errors`: messages that are no rows are left out."""

    ignore_errors: bool

    @abstractmethod
    def decoder(self, schema: Schema, columns: Schema) -> MessageDecoder:
        """Return the decoder of some columns of messages that have a schema. Raises ValueError for its types."""

    @abstractmethod
    def encoder(self, schema: Schema, topic: str, *, is_key: bool) -> MessageEncoder:
        """Return the encoder of rows for keys or values in a topic. Raises ValueError for a type of the schema."""


@final
class FormatOptions:
    """The options of a format: texts by their keys, with or without the name of the format as prefix."""

    def __init__(self, name: str, given: Mapping[str, str]) -> None:
        self._name = name
        self._left: dict[str, str] = {}
        for key, value in given.items():
            short = key.removeprefix(f"{name}.")
            if self._left.setdefault(short, value) != value:
                raise ValueError(f"the option {key!r} of the format {name!r} is given twice, with different values")
        self._known: list[str] = []

    def text(self, key: str, default: str) -> str:
        """Return a text."""
        self._known.append(key)
        return self._left.pop(key, default)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a boolean. Raises ValueError for another text."""
        value = self.text(key, str(default)).lower()
        if value not in ("true", "false"):
            raise ValueError(f"the option {key!r} of the format {self._name!r} is 'true' or 'false', not {value!r}")
        return value == "true"

    def choice(self, key: str, *values: str) -> str:
        """Return one of several texts, by default the first. Raises ValueError for another text."""
        value = self.text(key, values[0])
        if value not in values:
            raise ValueError(
                f"the option {key!r} of the format {self._name!r} is {' or '.join(map(repr, values))}, not {value!r}"
            )
        return value

    def check_all_used(self) -> None:
        """Raise ValueError for an option that the format does not have."""
        if self._left:
            raise ValueError(
                f"the format {self._name!r} has no option {next(iter(self._left))!r}; it has {', '.join(self._known)}"
            )
