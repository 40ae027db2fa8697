"""Finds partitions that deliver nothing although they have messages.

After a restart of a broker, librdkafka sometimes stops fetching a partition without an error: the client waits for ever
for an answer about the leader's epoch (confluentinc/librdkafka#5153, #4492). A new client fetches the partition again.
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
"""Seconds between two checks for stalled partitions."""
FETCHES_MIN: Final = 100
"""Fetches between two checks: the client fetches partitions in turn, so a message may need this many to arrive."""


@final
class Stalls:
    """Compares every half minute the position in each partition with the partition's end. Used by one thread."""

    def __init__(self, properties: Properties) -> None:
        self._properties = {**properties, "logger": SILENT}
        self._due_s = time.monotonic() + STALL_S
        self._fetches = 0
        self._before: dict[Partition, tuple[int, int]] = {}
        """The position in each partition and its end offset, at the last check."""

    def find(self, positions: Callable[[], Mapping[Partition, int]]) -> dict[Partition, int]:
        """Return the stalled partitions with their positions: partitions that had more messages and did not advance.

        Call it after each fetch. `positions` returns the next offset to read of each partition, after transaction
        markers that follow the last message. When a check is due, the call blocks for the brokers' answer, for ten
        seconds at most.
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
        """Return the positions with the partitions' end offsets; an empty dict if no broker answers."""
        try:
            ends = look_up(
                KafkaOffsetsInitializer.latest(), [KafkaTopicPartition(*each) for each in positions], self._properties
            )
        except SourceError:
            return {}
        return {each: (offset, ends[KafkaTopicPartition(*each)]) for each, offset in positions.items()}
