"""Takes a history: a short job on a shared cluster, one kind of fault, and what a consumer sees meanwhile."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from typing import Final, final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from headgate.connectors.kafka.client import SILENT
from tests.kafka.histories.checker import Anomaly, Commit, Read, check
from tests.kafka.histories.course import EXPIRING_MS, FAULTS, TIMEOUT_MS, Course, Stage
from tests.kafka.histories.job import Drive, decode

PARTITIONS: Final = 2
RECORDS: Final = 120
PER_SECOND: Final = 60
_DEADLINE_S: Final = 180.0
_SETTLED_S: Final = 0.5
"""How long a consumer sees nothing more, after the last late request, before all counts as read."""
_SEEN_S: Final = 60.0
"""How long after the end of the job its output may take to be seen."""


@final
@dataclass(frozen=True, kw_only=True)
class History:
    """What came of a history. `problems`: what is wrong beside anomalies, such as a job that failed without need."""

    number: int
    fault: str
    faults: int
    drivers: int
    transactions: int
    seen: int
    is_lost: bool
    anomalies: list[Anomaly] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_lawful(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.anomalies and not self.problems


@final
class Watcher:
    """A consumer that notes what it sees of a topic, and when."""

    def __init__(self, bootstrap: str, topic: str, isolation: str) -> None:
        self.reads: dict[int, list[Read]] = {partition: [] for partition in range(PARTITIONS)}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"watching-{topic}",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "logger": SILENT,
            }
        )
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in self.reads])

    def look(self, seconds: float) -> int:
        """Note what comes within some time. Return how many records have come."""
        messages = self._consumer.consume(1_000, seconds)
        now_ns = time.monotonic_ns()
        for message in messages:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            partition, value = message.partition(), message.value()
            assert partition is not None
            assert value is not None
            self.reads[partition].append(Read(decode(value), now_ns))
        return len(messages)

    @property
    def seen(self) -> set[tuple[str, int]]:
        """The values that were seen."""
        return {read.write.value for reads in self.reads.values() for read in reads}

    def close(self) -> None:
        """End the consumer."""
        self._consumer.close()


def take(stage: Stage, number: int, seed: int, isolation: str = "read_committed") -> History:
    """Return a history, as a consumer of this isolation level sees it.

    Its fault is that of its number. Where and how often it happens follows from the seed and from the machine's pace.
    """
    random = Random(seed)
    fault = list(FAULTS)[number % len(FAULTS)]
    topic = f"history-{number}"
    folder = stage.folder / topic
    folder.mkdir()
    stage.cluster.brokers[0].create_topic(topic, PARTITIONS)
    given = Drive(
        job_id=f"{random.getrandbits(128):032x}",
        bootstrap=stage.cluster.detour_bootstrap,
        topic=topic,
        folder=folder,
        records=RECORDS,
        per_second=PER_SECOND,
        timeout_ms=EXPIRING_MS if "expire" in fault else TIMEOUT_MS,
        fail_at=frozenset(random.sample(range(RECORDS), 2)) if "function" in fault else frozenset(),
    )
    course = Course(stage, given, random, FAULTS[fault])
    watcher = Watcher(stage.cluster.bootstrap, topic, isolation)
    stage.wire.treat(f"{topic}-", course.treat)
    try:
        _run(course, watcher)
        expected = [] if course.is_lost or course.problems else given.expected
        _settle(course, watcher, {*expected, *_confirmed(given)})
    finally:
        stage.wire.leave(f"{topic}-")
        course.close()
        watcher.close()
    transactions = given.journal.transactions()
    return History(
        number=number,
        fault=fault,
        faults=course.faults,
        drivers=course.drivers,
        transactions=len(transactions),
        seen=sum(map(len, watcher.reads.values())),
        is_lost=course.is_lost,
        anomalies=check(transactions, watcher.reads, expected),
        problems=course.problems,
    )


def _confirmed(given: Drive) -> set[tuple[str, int]]:
    """Return the values whose commit was confirmed: a consumer sees them a moment later."""
    done = (each for each in given.journal.transactions() if each.commit is Commit.DONE)
    return {write.value for each in done for write in each.writes}


def _run(course: Course, watcher: Watcher) -> None:
    deadline_s = time.monotonic() + _DEADLINE_S
    while course.step():
        watcher.look(0.1)
        if time.monotonic() > deadline_s:
            course.problems.append(f"the job is not at its end after {_DEADLINE_S:g} s")
            return


def _settle(course: Course, watcher: Watcher, expected: set[tuple[str, int]]) -> None:
    """Read on until all that is expected is there and nothing more comes; else for a minute."""
    deadline_s = time.monotonic() + _SEEN_S
    while time.monotonic() < deadline_s:
        some = watcher.look(_SETTLED_S)
        if not some and time.monotonic() > course.quiet_from_s + _SETTLED_S and expected <= watcher.seen:
            return
