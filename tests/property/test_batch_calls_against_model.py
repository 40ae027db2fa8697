"""Calls for batches against a model that scores the records one after the other.

Whatever order batches end in, whatever is refused and made again, expires, crashes and is restored at whatever
parallelism: each record has its own result, once, in the order of its subtask.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Time
from headgate.datastream import AsyncRetryStrategy, DataStream
from headgate.datastream.async_retry_predicates import retry_after_predicate
from headgate.datastream.async_retry_strategies import RetryAfter
from headgate.elements import Watermark
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup

REFUSALS_MAX = 3
CALL_MS_MAX, PAUSE_MS = 60, 40
CONCURRENCY_MAX = 3
TIMEOUT, NEVER_S = Time.seconds(20), 1e6


class Asked(NamedTuple):
    """A record: its number, how long it takes to score, and what the service does with its batch before.

    It refuses it so often, and the first call of all attempts may have no answer.
    """

    number: int
    duration_ms: int
    refusals: int
    is_lost: bool


class Service:
    """Scores batches, and sees to it that no more are called at a time than may be, and none is too large or late.

    `lost` has the numbers of records that had no answer in an earlier attempt.
    """

    def __init__(self, batch_size: int, concurrency: int, lost: set[int]) -> None:
        self.batch_size = batch_size
        self.concurrency = concurrency
        self.lost = lost
        self.made: Counter[int] = Counter()
        self.under_way = 0

    async def __call__(self, records: list[Asked]) -> list[Any]:
        self.made[records[0].number] += 1
        self.under_way += 1
        assert self.under_way <= self.concurrency
        assert 0 < len(records) <= self.batch_size
        lost = {record.number for record in records if record.is_lost} - self.lost
        self.lost |= lost
        await asyncio.sleep(NEVER_S if lost else max(record.duration_ms for record in records) / 1000)
        self.under_way -= 1
        if self.made[records[0].number] <= records[0].refusals:
            raise RetryAfter(PAUSE_MS / 1000)
        return [alone(record) for record in records]


def alone(record: Asked) -> Any:
    """The result of a record that is scored alone."""
    return record.number, record.number * 7 % 5


class Job:
    """The subtasks of the operator, each in a slot of its own: records go to them by key."""

    def __init__(
        self, settings: dict[str, Any], lost: set[int], parallelism: int = 1, restored: tuple[SavedOperator, ...] = ()
    ) -> None:
        retries = AsyncRetryStrategy.fixed_delay(REFUSALS_MAX, 5, None, retry_after_predicate)

        def build(stream: DataStream) -> DataStream:
            keyed = stream.key_by(lambda record: record.number)
            service = Service(settings["batch_size"], settings["concurrency"], lost)
            return keyed.map_batches(service, async_retry_strategy=retries, timeout=TIMEOUT, **settings)

        self.harnesses = [
            OperatorHarness.of_stream(build, restored=restored, setup=Setup(subtask=subtask, parallelism=parallelism))
            for subtask in range(parallelism)
        ]
        for harness in self.harnesses:
            harness.open()

    def process(self, records: list[Asked]) -> None:
        for harness in self.harnesses:
            harness.process(*[record for record in records if harness.owns(record.number)])

    def watermark(self, timestamp_ms: int) -> None:
        for harness in self.harnesses:
            harness.operator.hold(Watermark(timestamp_ms))

    def advance(self, by_ms: int) -> list[Any]:
        return [result for harness in self.harnesses for result in harness.advance_time(by_ms)]

    def snapshot(self) -> tuple[SavedOperator, ...]:
        return tuple(harness.snapshot() for harness in self.harnesses)

    def close(self) -> None:
        for harness in self.harnesses:
            harness.close()


SETTINGS = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 5),
        "concurrency": st.integers(1, CONCURRENCY_MAX),
        "max_wait": st.integers(0, 30).map(Time.milliseconds),
        "calls_per_second": st.sampled_from([None, 5.0, 50.0]),
    }
)
FATES = st.tuples(
    st.integers(0, CALL_MS_MAX // 10).map(lambda tens: tens * 10),
    st.integers(0, REFUSALS_MAX),
    st.sampled_from([False, False, True]),
)
EVENTS = st.one_of(
    st.lists(FATES, min_size=1, max_size=6),
    st.integers(1, 60).map(lambda by_ms: ("time", by_ms)),
    st.just(("watermark", 0)),
    st.just(("snapshot", 0)),
    st.integers(1, 3).map(lambda parallelism: ("crash", parallelism)),
)


class Attempts:
    """The job over crashes: its records, and what came out of it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.lost: set[int] = set()
        self.job = Job(settings, self.lost)
        self.records: list[Asked] = []
        self.out: list[Any] = []
        self.saved: tuple[Any, int, int] = ((), 0, 0)
        self.crashed = False

    def process(self, fates: list[Any]) -> None:
        fed = [Asked(len(self.records) + index, *fate) for index, fate in enumerate(fates)]
        self.records += fed
        self.job.process(fed)

    def advance(self, by_ms: int) -> None:
        """Have time pass; a call without an answer fails the job."""
        try:
            self.out += self.job.advance(by_ms)
        except UserCodeError as failure:
            if not isinstance(failure.__cause__, TimeoutError):
                raise
            self.crash(len(self.job.harnesses))

    def save(self) -> None:
        self.saved = self.job.snapshot(), len(self.records), len(self.out)

    def crash(self, parallelism: int) -> None:
        """What has come in since the snapshot comes in again, and what has left since is not seen by others."""
        self.job.close()
        state, read, emitted = self.saved
        self.job, self.crashed = Job(self.settings, self.lost, parallelism, state), True
        del self.out[emitted:]
        self.job.process(self.records[read:])


@given(events=st.lists(EVENTS, max_size=25), settings=SETTINGS)
def test_each_record_has_the_result_that_it_has_alone(events: list[Any], settings: dict[str, Any]) -> None:
    attempts = Attempts(settings)
    for event in events:
        if isinstance(event, list):
            attempts.process(event)
            continue
        what, number = event
        if what == "time":
            attempts.advance(number)
        elif what == "watermark":
            attempts.job.watermark(len(attempts.records))
        elif what == "snapshot":
            attempts.save()
        else:
            attempts.crash(number)
    for _ in range(1 + len(attempts.records)):  # each may fail the job once
        attempts.advance(100_000)
    assert not any(harness.operator.has_pending for harness in attempts.job.harnesses)
    attempts.job.close()
    out, expected = attempts.out, [alone(record) for record in attempts.records]
    assert (Counter(out) if attempts.crashed else out) == (Counter(expected) if attempts.crashed else expected)
