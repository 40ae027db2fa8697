"""Finds partitions that give nothing although there are messages.

After a broker was restarted, librdkafka now and then never goes on with a partition, and says nothing: the client waits
for an answer about the leader's epoch that does not come (confluentinc/librdkafka#5153, #4492). A new client goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, final

from headgate.connectors.kafka.client import SILENT
from headgate.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition, look_up
from headgate.connectors.kafka.properties import Properties
from headgate.errors import SourceError

Partition = tuple[str, int]

STALL_S: Final = 30.0
"""A partition that gives nothing for so long is looked at."""
FETCHES_MIN: Final = 100
"""Before that many fetches, which take turns, what a client has got of a partition may not have been handed over."""


@final
class Stalls:
    """Compares how far partitions were read, every half minute, with where they end. Used by one thread."""

    def __init__(self, properties: Properties) -> None:
        self._properties = {**properties, "logger": SILENT}
        self._due_s = time.monotonic() + STALL_S
        self._fetches = 0
        self._before: dict[Partition, tuple[int, int]] = {}
        """Where each partition stood at the last look, and where it ended."""

    def find(self, positions: Callable[[], Mapping[Partition, int]]) -> dict[Partition, int]:
        """Return the partitions that have not moved since the last look though there was more, and where they stand.

        To be called after each fetch. `positions` tells the offset before which all of a partition was read, also marks
        of transactions behind the last message. Nothing but a look at the clock if it is not time yet; else blocks
        until the brokers answer, or do not for ten seconds.
        """
        now_s = time.monotonic()
        self._fetches += 1
        if now_s < self._due_s or self._fetches < FETCHES_MIN:
            return {}
        self._due_s = now_s + STALL_S
        self._fetches = 0
        now = positions()
        before, self._before = self._before, self._with_ends(now)
        return {partition: offset for partition, (offset, end) in before.items() if now.get(partition) == offset < end}

    def _with_ends(self, positions: Mapping[Partition, int]) -> dict[Partition, tuple[int, int]]:
        """Return the positions with the offsets behind all that may be read; none if the brokers do not say."""
        try:
            ends = look_up(
                KafkaOffsetsInitializer.latest(), [KafkaTopicPartition(*each) for each in positions], self._properties
            )
        except SourceError:
            return {}
        return {each: (offset, ends[KafkaTopicPartition(*each)]) for each, offset in positions.items()}
