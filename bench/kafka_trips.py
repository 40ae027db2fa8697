"""How long a record takes from its production to its count, as a read-committed consumer sees it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final, final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from bench.kafka_topics import PARTITIONS, line, made_s, read_committed
from bench.peers.systems import Topics

WARM_UP_S: Final = 5.0
FIRST_S_MAX: Final = 120.0
LAST_S_MAX: Final = 30.0
_TURN_S: Final = 0.002


@final
class RoundTrips:
    """Writes records at a pace and reads what becomes of each. `check` raises when nothing more comes.

    One thread does both, in turns of two milliseconds.
    """

    def __init__(self, topics: Topics, per_s: float, check: Callable[[], None]) -> None:
        self._topics = topics
        self._per_s = per_s
        self._check = check
        self._producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 0})
        self._sent = 0
        self._seen = 0
        self._from_s = math.inf
        self._taken_ms: list[float] = []

    def measure(self, seconds: float) -> list[float]:
        """Return what records took, sorted: those of `seconds` after the warm-up. Raises TimeoutError."""
        with closing(read_committed(self._topics.bootstrap)) as consumer:
            consumer.assign(
                [TopicPartition(self._topics.target, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
            )
            self._go_on(consumer, until=lambda: self._seen > 0, most_s=FIRST_S_MAX)
            self._go_on(consumer, until=after(WARM_UP_S))
            self._from_s = time.monotonic()
            self._go_on(consumer, until=after(seconds))
            self._per_s = 0.0
            self._go_on(consumer, until=lambda: self._seen == self._sent, most_s=LAST_S_MAX)
        return sorted(self._taken_ms)

    def _go_on(self, consumer: Consumer, until: Callable[[], bool], most_s: float = math.inf) -> None:
        began_s, sent_before = time.monotonic(), self._sent
        while not until():
            self._check()
            passed_s = time.monotonic() - began_s
            if passed_s > most_s:
                raise TimeoutError(f"{self._sent - self._seen:,} of {self._sent:,} records did not come out")
            self._write(sent_before + int(passed_s * self._per_s))
            self._read(consumer)

    def _write(self, upto: int) -> None:
        while self._sent < upto:
            self._producer.produce(self._topics.source, line(self._sent, time.monotonic_ns()))
            self._sent += 1
        self._producer.poll(0)

    def _read(self, consumer: Consumer) -> None:
        messages = consumer.consume(10_000, _TURN_S)
        now_s = time.monotonic()
        for message in messages:
            if (error := message.error()) is not None:
                raise KafkaException(error)
            self._seen += 1
            began_s = made_s(message.value() or b"")
            if began_s >= self._from_s:
                self._taken_ms.append((now_s - began_s) * 1_000.0)


def after(seconds: float) -> Callable[[], bool]:
    """Return whether so much time has passed since this call, each time that it is asked."""
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= end_s
