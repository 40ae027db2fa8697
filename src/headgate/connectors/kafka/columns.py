"""Messages of topics as rows of columns: fields of values and of keys, and the messages that are no rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, final

import numpy as np
import pyarrow as pa
from confluent_kafka import Message

from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.connectors.formats.message_columns import DecodedMessages, MessageDecoder, MessageEncoder
from headgate.connectors.kafka.deserialization import SKIPPED, SKIPPED_TOMBSTONES, MessageDecoding
from headgate.connectors.kafka.serialization import ColumnSerialization, KafkaMessage, KafkaPartitioner
from headgate.errors import SourceError
from headgate.types.arrow import batch_from_rows

Count = Callable[[str, int], None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRows:
    """How a message becomes a row. `value` and `key` are None if no column is read from them.

    `places` has the place of each column of `schema` among the value's columns followed by the key's columns. A message
    without a key has NULL in the key's columns.
    """

    schema: Schema
    value: MessageDecoder | None
    key: MessageDecoder | None
    places: tuple[int, ...]

    def decode(self, messages: Sequence[Message]) -> DecodedMessages:
        """Return the rows of messages that have a value."""
        parts: list[DecodedMessages] = []
        if self.value is not None:
            parts.append(self.value.decode(cast("list[bytes]", list(map(Message.value, messages)))))
        if self.key is not None:
            parts.append(_decoded_keys(self.key, cast("list[bytes | None]", list(map(Message.key, messages)))))
        broken: dict[int, str] = {}
        for part in reversed(parts):
            broken |= part.broken
        columns = [own for part in parts for own in _without(part, broken, len(messages)).columns]
        own = [columns[place] for place in self.places]
        return DecodedMessages(pa.RecordBatch.from_arrays(own, schema=self.schema.arrow), broken)


def _without(part: DecodedMessages, broken: dict[int, str], count: int) -> pa.RecordBatch:
    """Return the rows of a part without the rows of messages that are broken in another part."""
    if len(part.broken) == len(broken):
        return part.columns
    kept = np.ones(count, bool)
    kept[list(broken)] = False
    return part.columns.filter(pa.array(np.delete(kept, list(part.broken))))


def _decoded_keys(decoder: MessageDecoder, keys: list[bytes | None]) -> DecodedMessages:
    there = [place for place, key in enumerate(keys) if key is not None]
    if len(there) == len(keys):
        return decoder.decode(cast("list[bytes]", keys))
    made = decoder.decode([key for key in keys if key is not None])
    broken = {there[place]: reason for place, reason in made.broken.items()}
    rows: list[int | None] = [None] * len(keys)
    for row, place in enumerate(place for place in there if place not in broken):
        rows[place] = row
    taken = made.columns.take(pa.array([row for place, row in enumerate(rows) if place not in broken], pa.int64()))
    return DecodedMessages(taken, broken)


@final
@dataclass(frozen=True, slots=True)
class ColumnDecoding(MessageDecoding):
    """Decodes messages as rows. `skips`: leave out messages that are no rows, and count them, instead of failing."""

    rows: MessageRows
    skips: bool

    def decode(self, messages: list[Message], count: Count) -> tuple[pa.RecordBatch, list[Message]]:
        messages = _with_value(messages, count)
        made = self.rows.decode(messages)
        if not made.broken:
            return made.columns, messages
        if not self.skips:
            place = min(made.broken)
            raise _broken(messages[place], made.broken[place])
        count(SKIPPED, len(made.broken))
        return made.columns, [message for place, message in enumerate(messages) if place not in made.broken]


def _with_value(messages: list[Message], count: Count) -> list[Message]:
    """Return the messages without tombstones, which have no value."""
    if None not in map(Message.value, messages):
        return messages
    found = [message for message in messages if message.value() is not None]
    count(SKIPPED_TOMBSTONES, len(messages) - len(found))
    return found


def _broken(message: Message, reason: str) -> SourceError:
    return SourceError(
        f"the message at offset {message.offset()} of partition {message.partition()} of topic {message.topic()!r} "
        f"cannot be decoded: {reason}; its value is {message.value()!r:.200}. Leave such messages out with "
        'format_options={"ignore-parse-errors": "true"}, and read them with failed_rows()'
    )


FAILED_ROWS: Final = Schema(
    [
        ("topic", types.STRING.nulls(nullable=False)),
        ("partition", types.INT.nulls(nullable=False)),
        ("offset", types.BIGINT.nulls(nullable=False)),
        ("key", types.BINARY_STRING),
        ("value", types.BINARY_STRING.nulls(nullable=False)),
        ("error", types.STRING.nulls(nullable=False)),
    ]
)
"""The columns of the messages that cannot be decoded."""


@final
@dataclass(frozen=True, slots=True)
class FailedDecoding(MessageDecoding):
    """Returns the messages that are no rows, as rows with these columns of `FAILED_ROWS`."""

    rows: MessageRows
    columns: tuple[str, ...]

    def decode(self, messages: list[Message], count: Count) -> tuple[pa.RecordBatch, list[Message]]:
        messages = [message for message in messages if message.value() is not None]
        broken = self.rows.decode(messages).broken
        failed = [messages[place] for place in sorted(broken)]
        found = {
            "topic": list(map(Message.topic, failed)),
            "partition": list(map(Message.partition, failed)),
            "offset": list(map(Message.offset, failed)),
            "key": list(map(Message.key, failed)),
            "value": list(map(Message.value, failed)),
            "error": [broken[place] for place in sorted(broken)],
        }
        schema = FAILED_ROWS.only(self.columns).arrow
        made = [pa.array(found[field.name], field.type) for field in schema]
        return pa.RecordBatch.from_arrays(made, schema=schema), failed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RowSerialization(ColumnSerialization):
    """Turns rows of a schema into messages: columns of the value, and columns of the key by the key's field names."""

    topic: str
    partitioner: KafkaPartitioner
    schema: Schema
    value: MessageEncoder
    value_columns: tuple[str, ...]
    key: MessageEncoder | None
    key_columns: tuple[str, ...]

    def serialize(self, record: Any) -> KafkaMessage:
        [message] = self.messages(batch_from_rows([record], self.schema.arrow))
        return KafkaMessage(topic=self.topic, **message)

    def messages(self, columns: pa.RecordBatch) -> list[dict[str, Any]]:
        values = self.value.encode(columns.select(list(self.value_columns)))
        if self.key is None:
            return [{"value": value} for value in values]
        keys = self.key.encode(columns.select(list(self.key_columns)))
        return [{"key": key, "value": value} for key, value in zip(keys, values, strict=True)]
