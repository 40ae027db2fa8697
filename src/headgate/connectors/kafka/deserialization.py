"""Makes records of Kafka messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Any, Final, cast, final

from confluent_kafka import Message

from headgate.connectors.message_schemas import DeserializationSchema
from headgate.errors import EnvironmentFault, ProgramError, SourceError
from headgate.types.record_copies import BY_VALUE
from headgate.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa


class BrokenMessages(Enum):
    """The reaction to a message that cannot be converted to a record."""

    FAIL = "fail"
    """Raise `SourceError` naming topic, partition and offset: the job fails."""
    SKIP = "skip"
    """Leave the message out and count it in `skipped_messages`. After a restart it may be counted again."""


class Tombstones(Enum):
    """The reaction of a value deserializer to a tombstone: a message without a value, which deletes its key."""

    SKIP = "skip"
    """Leave the tombstone out and count it in `skipped_tombstones`."""
    DELIVER = "deliver"
    """Make a record of the tombstone's key by the schema's `deserialize_tombstone`."""


SKIPPED: Final = "skipped_messages"
SKIPPED_TOMBSTONES: Final = "skipped_tombstones"


class KafkaRecordDeserializationSchema(ABC):
    """Makes records of messages. Derive from it for keys, headers, timestamps or offsets.

    >>> class WithKey(KafkaRecordDeserializationSchema):
    ...     def deserialize(self, message):
    ...         return message.key().decode(), message.value().decode()
    """

    produced_type: TypeInformation | None = None
    """The type that all records are of, None where it is not known."""

    @abstractmethod
    def deserialize(self, message: Message) -> Any:
        """Return the message's record, or None to leave the message out.

        The message is librdkafka's, with methods `topic()`, `partition()`, `offset()`, `key()`, `value()`, `headers()`
        (a list of pairs, or None) and `timestamp()` (its kind and milliseconds). Key and value are bytes, or None: a
        message without a value is a tombstone, which deletes its key.
        """

    def records(self, messages: list[Message]) -> list[Any]:
        """Return the records of messages, one for each, in order."""
        return BY_VALUE.mapped(self.deserialize, iter(messages))[0]

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema, tombstones: Tombstones = Tombstones.SKIP
    ) -> KafkaRecordDeserializationSchema:
        """Return a deserializer that makes records of the messages' values by a schema.

        Raises `ProgramError` when the schema is to make records of tombstones but lacks `deserialize_tombstone`.
        """
        return ValueDeserialization(deserialization_schema, tombstones)


@final
class ValueDeserialization(KafkaRecordDeserializationSchema):
    """Makes records of values, and with `Tombstones.DELIVER` of the keys of tombstones."""

    def __init__(self, schema: DeserializationSchema, tombstones: Tombstones = Tombstones.SKIP) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise ProgramError(f"a deserializer of values takes a DeserializationSchema, not {schema!r:.100}")
        delivers = Tombstones(tombstones) is Tombstones.DELIVER
        if delivers and type(schema).deserialize_tombstone is DeserializationSchema.deserialize_tombstone:
            raise ProgramError(
                f"{type(schema).__name__} makes no records of tombstones: define deserialize_tombstone(key) in a "
                "DeserializationSchema of your own, or leave tombstones out with Tombstones.SKIP"
            )
        self._schema = schema
        self._delivers = delivers
        self.produced_type = schema.produced_type

    def deserialize(self, message: Message) -> Any:
        value = message.value()
        if value is not None:
            return self._schema.deserialize(value)
        return self._schema.deserialize_tombstone(message.key()) if self._delivers else None

    def records(self, messages: list[Message]) -> list[Any]:
        values = list(map(Message.value, messages))
        if all(values) or None not in values:
            return self._schema.deserialize_all(cast("list[bytes]", values))
        made = iter(self._schema.deserialize_all([value for value in values if value is not None]))
        tombstones = [message for message, value in zip(messages, values, strict=True) if value is None]
        deleted = iter(BY_VALUE.mapped(self.deserialize, iter(tombstones))[0])
        return [next(deleted if value is None else made) for value in values]


class MessageDecoding(ABC):
    """Turns the messages of a partition into records, or into columns. Pickled with the source."""

    produced_type: TypeInformation | None = None
    """The type that all records are of, None where it is not known."""

    @abstractmethod
    def decode(
        self, messages: list[Message], count: Callable[[str, int], None]
    ) -> tuple[list[Any] | pa.RecordBatch, list[Message]]:
        """Return records or rows, and the message of each. `count` adds to a counter of the job, such as `SKIPPED`."""


@final
class RecordDecoding(MessageDecoding):
    """Makes records by a schema."""

    def __init__(self, schema: KafkaRecordDeserializationSchema, broken: BrokenMessages) -> None:
        self._schema = schema
        self._broken = broken
        self.produced_type = schema.produced_type

    def decode(self, messages: list[Message], count: Callable[[str, int], None]) -> tuple[list[Any], list[Message]]:
        return make_records(messages, self._schema, self._broken, count)


def make_records(
    messages: list[Message],
    schema: KafkaRecordDeserializationSchema,
    broken: BrokenMessages,
    count: Callable[[str, int], None],
) -> tuple[list[Any], list[Message]]:
    """Return the records of messages, and the message of each record.

    A message whose record is None is left out; if it is a tombstone, it is counted. Broken messages are left out and
    counted. Raises `SourceError` for a broken message if `broken` is FAIL.
    """
    try:
        records = schema.records(messages)
    except EnvironmentFault:
        raise  # no fault of the messages
    except Exception:  # noqa: BLE001
        records, messages = _one_by_one(messages, schema, broken, count)
    there = [record is not None for record in records]
    if all(there):
        return records, messages
    tombstones = sum(message.value() is None for message in compress(messages, map(not_, there)))
    if tombstones:
        count(SKIPPED_TOMBSTONES, tombstones)
    return list(compress(records, there)), list(compress(messages, there))


def _one_by_one(
    messages: list[Message],
    schema: KafkaRecordDeserializationSchema,
    broken: BrokenMessages,
    count: Callable[[str, int], None],
) -> tuple[list[Any], list[Message]]:
    records, good = [], []
    for message in messages:
        try:
            records += BY_VALUE.mapped(schema.deserialize, iter([message]))[0]
            good.append(message)
        except EnvironmentFault:
            raise
        except Exception as error:
            if broken is BrokenMessages.FAIL:
                raise SourceError(
                    f"the message at offset {message.offset()} of partition {message.partition()} of topic "
                    f"{message.topic()!r} cannot be made a record: {error!r}; its value is {message.value()!r:.200}. "
                    "Correct the deserializer, or leave such messages out with set_broken_messages(BrokenMessages.SKIP)"
                ) from error
    count(SKIPPED, len(messages) - len(good))
    return records, good
