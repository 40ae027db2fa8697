"""Fetches messages from partitions, in batches, on an I/O thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast, final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from headgate.connectors.kafka import stalls
from headgate.connectors.kafka.client import open_client
from headgate.connectors.kafka.deserialization import MessageDecoding
from headgate.connectors.kafka.properties import Properties
from headgate.connectors.kafka.stalls import Partition, Stalls
from headgate.connectors.kafka.topic_ids import TopicIds
from headgate.errors import SourceError, SuppressRestartsException
from headgate.functions.fetching import Fetched, Fetcher

_log = logging.getLogger(__name__)

_WAIT_S: Final = 0.1
_MESSAGES_MAX: Final = 10_000
"""The largest number of messages in one fetch."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSplit:
    """A partition with the next offset to read, and the offset to stop at, None for never.

    `topic_id` is the id of the topic that the offsets belong to, None if it is not known.
    """

    topic: str
    partition: int
    offset: int
    stop: int | None = None
    topic_id: str | None = None

    def __setstate__(self, state: Sequence[Any]) -> None:
        """Restore the fields in order, as dataclasses pickle them; earlier releases wrote no `topic_id`."""
        topic, partition, offset, stop, *rest = state
        self.__init__(topic=topic, partition=partition, offset=offset, stop=stop, topic_id=rest[0] if rest else None)

    @property
    def name(self) -> str:
        """The name of the partition. It does not depend on the offset."""
        return f"{self.topic}-{self.partition}"


@final
class KafkaFetcher(Fetcher[KafkaSplit]):
    """Reads the partitions of one subtask. `commits`: commit the offsets of complete checkpoints, for monitoring."""

    pauses_splits = True

    def __init__(
        self,
        properties: Properties,
        decoding: MessageDecoding,
        count: Callable[[str, int], None],
        *,
        commits: bool,
    ) -> None:
        self._properties = properties
        self._decoding = decoding
        self._count = count
        self._commits = commits
        self._splits: dict[Partition, KafkaSplit] = {}
        self._ended: list[KafkaSplit] = []
        self._consumer: Consumer | None = None
        self._paused: frozenset[Partition] = frozenset()
        self._stalls = Stalls(properties)
        self._topic_ids = TopicIds(properties)

    def _connected(self) -> Consumer:
        if self._consumer is None:
            self._consumer = open_client(Consumer, self._properties)
        return self._consumer

    def add_splits(self, splits: list[KafkaSplit]) -> None:
        self._ended += [split for split in splits if _is_over(split)]
        splits = [split for split in splits if not _is_over(split)]
        self._splits.update(((split.topic, split.partition), split) for split in splits)
        if splits:
            self._topic_ids.make_due()
            self._assign(splits)

    def _assign(self, splits: Iterable[KafkaSplit]) -> None:
        self._connected().incremental_assign(
            [TopicPartition(split.topic, split.partition, split.offset) for split in splits]
        )

    def pause_splits(self, paused: frozenset[str]) -> None:
        before = self._paused
        self._paused = frozenset(partition for partition, split in self._splits.items() if split.name in paused)
        consumer = self._connected()
        consumer.pause([TopicPartition(*partition) for partition in self._paused - before])
        consumer.resume([TopicPartition(*each) for each in before - self._paused if each in self._splits])

    def fetch(self) -> list[Fetched[KafkaSplit]]:
        ended, self._ended = self._ended, []
        found = [_nothing_more(split) for split in ended]
        if self._splits and not found and self._recognizes_topics():
            for key, messages in _by_partition(self._consume()).items():
                found += self._fetched(key, messages)
            self._go_on_where_stalled()
        return found

    def _recognizes_topics(self) -> bool:
        """Compare the topics' ids, when a check is due, with the ids in the splits.

        Return False if no broker answers: then nothing may be read yet. Raises `SourceError` for a topic that was
        created again.
        """
        if not self._topic_ids.are_due:
            return True
        ids = self._topic_ids.find({split.topic for split in self._splits.values()})
        if ids is None:
            return False
        for key, split in self._splits.items():
            found = ids.get(split.topic, split.topic_id)  # for a topic without an id, the consumer raises the error
            if split.topic_id is not None and split.topic_id != found:
                raise _created_again(split, found)
            self._splits[key] = replace(split, topic_id=found)
        return True

    def _go_on_where_stalled(self) -> None:
        """Open a new consumer if the current one delivers nothing from a partition that has messages."""
        stalled = self._stalls.find(self._positions)
        if stalled:
            for (topic, partition), offset in stalled.items():
                _log.warning(
                    "partition %d of topic %r delivered nothing for %g s, though it has messages from offset %d on: "
                    "the source connects to Kafka again",
                    partition,
                    topic,
                    stalls.STALL_S,
                    offset,
                )
            self.close()
            self._consumer = None
            self._assign(self._splits.values())
            self._connected().pause([TopicPartition(*partition) for partition in self._paused & self._splits.keys()])

    def _positions(self) -> dict[Partition, int]:
        """Return each partition's next offset, after transaction markers, which only the consumer's position counts."""
        splits = {partition: split for partition, split in self._splits.items() if partition not in self._paused}
        read = self._connected().position([TopicPartition(*partition) for partition in splits])
        positions = {(at.topic, at.partition): at.offset for at in read}
        return {partition: max(split.offset, positions[partition]) for partition, split in splits.items()}

    def _consume(self) -> list[Message]:
        """Wait for a message, then return it with all messages that have arrived already."""
        consumer = self._connected()
        try:
            first = consumer.consume(1, _WAIT_S)
            return first + consumer.consume(_MESSAGES_MAX, 0) if first else first
        except KafkaException as error:
            raise SourceError(f"Kafka cannot be read: {error.args[0].str()}") from error

    def _fetched(self, key: Partition, messages: list[Message]) -> list[Fetched[KafkaSplit]]:
        split = self._splits.get(key)
        if split is None:
            _check(messages)
            return []
        errors = map(Message.error, messages)
        good = [message for message, error in zip(messages, errors, strict=True) if error is None]
        after = split.offset if not good else _offset(good[-1]) + 1
        at_end = len(good) < len(messages) and self._is_at_end(split, messages)
        if split.stop is not None and after >= split.stop:
            good = [message for message in good if _offset(message) < split.stop]  # a fetch may go beyond the stop
            at_end = True
        self._move(key, replace(split, offset=after), at_end=at_end)
        return [self._made(split, after, good, ended=at_end)] if good or at_end or after > split.offset else []

    def _made(self, split: KafkaSplit, after: int, messages: list[Message], *, ended: bool) -> Fetched[KafkaSplit]:
        records, messages = self._decoding.decode(messages, self._count)
        # After a message, the position is the offset of the next message: offsets between them may be missing.
        next_offsets = [*cast("Iterable[int]", map(Message.offset, messages[1:])), after]
        return Fetched(
            split=split.name,
            records=records,
            timestamps=_times(messages) if isinstance(records, list) else None,
            after=lambda count: replace(split, offset=next_offsets[count - 1]),
            ended=ended,
        )

    def _move(self, key: Partition, split: KafkaSplit, *, at_end: bool) -> None:
        if at_end:
            del self._splits[key]
            self._connected().incremental_unassign([TopicPartition(split.topic, split.partition)])
        else:
            self._splits[key] = split

    def _is_at_end(self, split: KafkaSplit, messages: list[Message]) -> bool:
        """Return whether the partition is read up to its stop: transaction markers before it arrive as no message."""
        for message in messages:
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                if split.stop is not None and _offset(message) >= split.stop:
                    return True
            elif error is not None:
                self._topic_ids.make_due()
                self._recognizes_topics()
                raise _unreadable(split, error)
        return False

    def notify_completed(self, splits: list[KafkaSplit]) -> None:
        if self._commits and splits:
            offsets = [TopicPartition(split.topic, split.partition, split.offset) for split in splits]
            try:
                self._connected().commit(offsets=offsets, asynchronous=True)
            except KafkaException as error:
                _log.warning("offsets were not committed to Kafka, which only monitoring needs: %s", error)

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()


def _by_partition(messages: list[Message]) -> dict[Partition, list[Message]]:
    found: dict[Partition, list[Message]] = {}
    keys = zip(map(Message.topic, messages), map(Message.partition, messages), strict=True)
    for key, message in zip(cast("Iterable[Partition]", keys), messages, strict=True):
        if key in found:
            found[key].append(message)
        else:
            found[key] = [message]
    return found


def _times(messages: list[Message]) -> list[int]:
    return [time_ms for _, time_ms in map(Message.timestamp, messages)]


def _is_over(split: KafkaSplit) -> bool:
    return split.stop is not None and split.offset >= split.stop


def _nothing_more(split: KafkaSplit) -> Fetched[KafkaSplit]:
    return Fetched(split=split.name, records=[], after=lambda _: split, ended=True)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset


def _check(messages: list[Message]) -> None:
    """Raise a fatal error of the client. Messages of a partition that was read to its end are left out."""
    for message in messages:
        error = message.error()
        if error is not None and error.fatal():
            raise SourceError(f"Kafka cannot be read: {error.str()}")


def _created_again(split: KafkaSplit, found: str | None) -> SourceError:
    reason = (
        f"topic {split.topic!r} of Kafka was deleted and created again: offset {split.offset} of partition "
        f"{split.partition} belongs to the topic with id {split.topic_id}, and the brokers have id {found}. To read "
        "the new topic from its start, give the source another uid and restore the newest snapshot with "
        "execution.state-recovery.ignore-unclaimed-state"
    )
    error = SourceError(reason)
    error.__cause__ = SuppressRestartsException(reason)
    return error


def _unreadable(split: KafkaSplit, error: KafkaError) -> SourceError:
    where = f"partition {split.partition} of topic {split.topic!r}"
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return SourceError(
            f"offset {split.offset} of {where} is not there: its messages were deleted ({error.str()}). Start "
            "from a newer snapshot, or set the property auto.offset.reset to earliest or latest to go on where there "
            "are messages"
        )
    return SourceError(f"{where} cannot be read: {error.str()}")
