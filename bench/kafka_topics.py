"""Topics of a broker for the benchmark: filling one, and watching what a read-committed consumer may see of another."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Final, final

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS: Final = 2
KEYS: Final = 1_000
SAMPLE_GAP_S: Final = 0.05
SETTLED_S: Final = 0.25
"""So long nothing more is seen when the subtasks have all committed a checkpoint."""
_CHUNK: Final = 50_000
_FLUSH_S: Final = 60.0


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """So many records of a topic were there for a read-committed consumer at a time, and for a while no more."""

    time_s: float
    count: int


@final
@dataclass(frozen=True, slots=True)
class Upto:
    """For how long to watch after the first that is seen, and up to how many records."""

    seconds: float
    count: int


def line(number: int, made_ns: int) -> bytes:
    """Return a record: its key, when it was made, and its number."""
    return b"key-%d,%d,%d" % (number * 7919 % KEYS, made_ns, number)


def made_s(record: bytes) -> float:
    """Return when a record was made, on the machine's monotonic clock.

    >>> made_s(line(3, 1_500_000_000) + b",17")
    1.5
    """
    return int(record.split(b",", 2)[1]) / 1e9


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Write `count` records, in turns to all partitions. Blocks until the broker has them."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "batch.size": 1_000_000})
    for turn, first in enumerate(range(0, count, _CHUNK)):
        records = [{"value": line(number, 0)} for number in range(first, min(first + _CHUNK, count))]
        producer.produce_batch(topic, records, partition=turn % PARTITIONS)
        if producer.flush(_FLUSH_S):
            raise TimeoutError(f"the broker did not take {count:,} records within {_FLUSH_S:g} s each {_CHUNK:,}")


def read_committed(bootstrap: str) -> Consumer:
    """Return a consumer that sees what is committed, as soon as the broker lets it."""
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )


def watch(bootstrap: str, topic: str, upto: Upto, check: Callable[[], None]) -> list[Seen]:
    """Sample how much of a topic is committed; `check` raises when there is nothing more to come.

    Returns what was seen between commits. Markers of transactions count as records: a few a second.
    """
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    samples: list[Seen] = []
    with closing(read_committed(bootstrap)) as consumer:
        while not samples or time.monotonic() - samples[0].time_s < upto.seconds:
            check()
            count = sum(consumer.get_watermark_offsets(partition, timeout=10.0)[1] for partition in partitions)
            if count >= upto.count:
                break
            if count:
                samples.append(Seen(time.monotonic(), count))
            time.sleep(SAMPLE_GAP_S)
    return settled(samples)


def settled(samples: list[Seen]) -> list[Seen]:
    """Return the first sample of each count that stood for a while.

    >>> settled([Seen(0.0, 5), Seen(0.1, 9), Seen(0.4, 9), Seen(0.6, 12)])
    [Seen(time_s=0.1, count=9)]
    """
    reached: dict[int, Seen] = {}
    found: dict[int, Seen] = {}
    for sample in samples:
        first = reached.setdefault(sample.count, sample)
        if sample.time_s - first.time_s >= SETTLED_S:
            found[sample.count] = first
    return list(found.values())


def rate(seen: list[Seen], warm_up_s: float) -> float:
    """Return records per second from the first commit after the warm-up to the last one.

    Raises ValueError when there are fewer than two.
    """
    steady = [each for each in seen if each.time_s >= seen[0].time_s + warm_up_s]
    if len(steady) < 2:
        raise ValueError(f"no steady state: {len(steady)} commits after the warm-up")
    first, last = steady[0], steady[-1]
    return (last.count - first.count) / (last.time_s - first.time_s)
