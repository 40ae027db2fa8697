"""Kafka messages as records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from itertools import compress
from typing import Any, Final, final

from confluent_kafka import Message

from headgate.connectors.message_schemas import DeserializationSchema
from headgate.errors import EnvironmentFault, SourceError
from headgate.types.type_information import TypeInformation


class BrokenMessages(Enum):
    """What to do with a message that is no record."""

    FAIL = "fail"
    """Raise `SourceError` naming topic, partition and offset: the job fails."""
    SKIP = "skip"
    """Leave it out and count it in `skipped_messages`. A message may be counted again after a restart."""


SKIPPED: Final = "skipped_messages"


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
        (a list of pairs, or None) and `timestamp()` (its kind and milliseconds). Key and value are bytes, or None.
        """

    def records(self, messages: list[Message]) -> list[Any]:
        """Return the records of messages, one for each, in order."""
        return [self.deserialize(message) for message in messages]

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """Return what makes records of the messages' values by a schema."""
        return ValueDeserialization(deserialization_schema)


@final
class ValueDeserialization(KafkaRecordDeserializationSchema):
    """Makes records of values. A message without a value, as those that delete a key, is no record."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema
        self.produced_type = schema.produced_type

    def deserialize(self, message: Message) -> Any:
        return self._schema.deserialize(message.value())  # type: ignore[arg-type]  # None, which is no record

    def records(self, messages: list[Message]) -> list[Any]:
        return self._schema.deserialize_all(list(map(Message.value, messages)))  # type: ignore[arg-type]


def make_records(
    messages: list[Message],
    schema: KafkaRecordDeserializationSchema,
    broken: BrokenMessages,
    count: Callable[[str, int], None],
) -> tuple[list[Any], list[Message]]:
    """Return the records of messages, and the messages that they are of.

    Broken ones are left out and counted, records that are None are left out. Raises `SourceError` for a broken one, if
    they are to fail.
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
            records.append(schema.deserialize(message))
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
