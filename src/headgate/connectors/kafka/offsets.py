"""The offsets at which reading of a partition starts and stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, final

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from headgate.connectors.kafka.client import ANSWER_S, open_client
from headgate.connectors.kafka.properties import Properties
from headgate.errors import ProgramError, SourceError

_AGAIN_S: Final = 0.1
_NO_COORDINATOR_YET: Final = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


@final
@dataclass(frozen=True, slots=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """The start position in a partition without the requested offset, for instance without a committed offset."""

    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"
    """Raise an error."""


class _From(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    COMMITTED = "committed"
    OFFSETS = "offsets"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOffsetsInitializer:
    """The offset to start or to stop at in each partition. Looked up once, when a job starts without a snapshot."""

    kind: _From
    timestamp_ms: int = 0
    given: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)
    otherwise: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first message of each partition."""
        return KafkaOffsetsInitializer(kind=_From.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of each partition, after its last message."""
        return KafkaOffsetsInitializer(kind=_From.LATEST)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first message with this timestamp, in milliseconds, or a later one. Without one, the partition's end."""
        return KafkaOffsetsInitializer(kind=_From.TIMESTAMP, timestamp_ms=timestamp)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offset that the group has committed to the brokers."""
        return KafkaOffsetsInitializer(kind=_From.COMMITTED, otherwise=offset_reset_strategy)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The offset given for each partition."""
        return KafkaOffsetsInitializer(kind=_From.OFFSETS, given=dict(offsets), otherwise=offset_reset_strategy)


_EARLIEST: Final[Callable[[], Any]] = OffsetSpec.earliest
_LATEST: Final[Callable[[], Any]] = OffsetSpec.latest
_AT: Final[Callable[[int], Any]] = OffsetSpec.for_timestamp
_SPECS: Final = {KafkaOffsetResetStrategy.EARLIEST: _EARLIEST, KafkaOffsetResetStrategy.LATEST: _LATEST}


def look_up(
    initializer: KafkaOffsetsInitializer, partitions: list[KafkaTopicPartition], properties: Properties
) -> dict[KafkaTopicPartition, int]:
    """Return the offset for each partition. Blocks for about ten seconds at most.

    Raises `SourceError` when no broker answers, and for a partition without the offset if the strategy is NONE.
    """
    match initializer.kind:
        case _From.EARLIEST:
            return _ask(dict.fromkeys(partitions, _EARLIEST()), properties)
        case _From.LATEST:
            return _ask(dict.fromkeys(partitions, _LATEST()), properties)
        case _From.TIMESTAMP:
            found = _ask(dict.fromkeys(partitions, _AT(initializer.timestamp_ms)), properties)
            found = {partition: offset for partition, offset in found.items() if offset >= 0}
            return found | _ask(dict.fromkeys(set(partitions) - found.keys(), _LATEST()), properties)
        case _From.COMMITTED:
            return _with_rest(_committed(partitions, properties), initializer, partitions, properties)
        case _From.OFFSETS:
            given = {
                partition: initializer.given[partition] for partition in partitions if partition in initializer.given
            }
            return _with_rest(given, initializer, partitions, properties)


def _with_rest(
    found: dict[KafkaTopicPartition, int],
    initializer: KafkaOffsetsInitializer,
    partitions: Iterable[KafkaTopicPartition],
    properties: Properties,
) -> dict[KafkaTopicPartition, int]:
    rest = [partition for partition in partitions if partition not in found]
    if not rest:
        return found
    if initializer.otherwise is KafkaOffsetResetStrategy.NONE:
        names = ", ".join(f"{each.topic}-{each.partition}" for each in rest[:5])
        raise SourceError(
            f"there is no {initializer.kind.value} offset to start at for {names}; commit one for group "
            f"{properties.get('group.id')!r}, or pass a KafkaOffsetResetStrategy that says where to start instead"
        )
    return found | _ask(dict.fromkeys(rest, _SPECS[initializer.otherwise]()), properties)


def _ask(specs: Mapping[KafkaTopicPartition, Any], properties: Properties) -> dict[KafkaTopicPartition, int]:
    if not specs:
        return {}
    level = IsolationLevel[str(properties.get("isolation.level", "read_committed")).upper()]
    client = open_client(AdminClient, properties)
    asked = {TopicPartition(each.topic, each.partition): spec for each, spec in specs.items()}
    try:
        answers = client.list_offsets(asked, isolation_level=level, request_timeout=ANSWER_S)
        return {KafkaTopicPartition(at.topic, at.partition): each.result().offset for at, each in answers.items()}
    except KafkaException as error:
        raise SourceError(
            f"the Kafka brokers did not return the offsets of {_some(specs)}: {error.args[0].str()}"
        ) from error


def _answered(consumer: Consumer, asked: list[TopicPartition]) -> list[TopicPartition]:
    """Return the group's committed offsets; retry while the group's coordinator is being elected."""
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            return consumer.committed(asked, timeout=max(_AGAIN_S, end - time.monotonic()))
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR_YET or time.monotonic() > end:
                raise
        consumer.poll(_AGAIN_S)


def _committed(partitions: list[KafkaTopicPartition], properties: Properties) -> dict[KafkaTopicPartition, int]:
    if "group.id" not in properties:
        raise ProgramError("a KafkaSource that starts at committed offsets needs set_group_id()")
    consumer = open_client(Consumer, properties)
    try:
        asked = [TopicPartition(each.topic, each.partition) for each in partitions]
        answers = _answered(consumer, asked)
        return {KafkaTopicPartition(at.topic, at.partition): at.offset for at in answers if at.offset >= 0}
    except KafkaException as error:
        raise SourceError(
            f"the Kafka brokers did not return the offsets of group {properties['group.id']!r}: {error.args[0].str()}"
        ) from error
    finally:
        consumer.close()


def _some(partitions: Iterable[KafkaTopicPartition]) -> str:
    return ", ".join(sorted({each.topic for each in partitions}))
