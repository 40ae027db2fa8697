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
COMMITS_LEAST: Final = 3
PATIENCE_S: Final = 300.0
_CHUNK: Final = 50_000
_FLUSH_S: Final = 60.0


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """So many records of a topic were there for a read-committed consumer at a time, and for a while no more."""

    time_s: float
    count: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How long to watch: from `warm_up_s` after the first that is seen, for `seconds`, and up to `count` records.

    Longer if there are fewer than `COMMITS_LEAST` commits by then, but not for ever.
    """

    warm_up_s: float
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


def watch(bootstrap: str, topic: str, how: Watch, check: Callable[[], None]) -> list[Seen]:
    """Sample how much of a topic is committed; `check` raises when there is nothing more to come.

    Returns what was seen between commits after the warm-up. Markers of transactions count as records: a few a second.
    Raises TimeoutError when nothing comes, or not enough.
    """
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    samples: list[Seen] = []
    began_s = time.monotonic()
    with closing(read_committed(bootstrap)) as consumer:
        while not is_enough(samples, how):
            check()
            if time.monotonic() - began_s > PATIENCE_S:
                raise TimeoutError(f"{len(steady(samples, how))} commits of {topic} after {PATIENCE_S:.0f} s")
            count = sum(consumer.get_watermark_offsets(partition, timeout=10.0)[1] for partition in partitions)
            if count:
                samples.append(Seen(time.monotonic(), count))
            time.sleep(SAMPLE_GAP_S)
    return steady(samples, how)


def is_enough(samples: list[Seen], how: Watch) -> bool:
    """Return whether there is nothing more to see, or nothing more needed."""
    if not samples or samples[-1].count >= how.count:
        return bool(samples)
    passed_s = samples[-1].time_s - samples[0].time_s
    return passed_s >= how.warm_up_s + how.seconds and len(steady(samples, how)) >= COMMITS_LEAST


def steady(samples: list[Seen], how: Watch) -> list[Seen]:
    """Return what was seen between commits after the warm-up, but for the end of the input."""
    found = settled(samples)
    return [each for each in found if each.time_s >= samples[0].time_s + how.warm_up_s and each.count < how.count]


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


def rate(seen: list[Seen]) -> float:
    """Return records per second from the first commit to the last one. Raises ValueError when there are not two."""
    if len(seen) < 2:
        raise ValueError(f"no steady state: {len(seen)} commits after the warm-up")
    first, last = seen[0], seen[-1]
    return (last.count - first.count) / (last.time_s - first.time_s)
