"""Asynchronous calls against a model that makes them one after the other.

Whatever order calls end in, whatever is made again, expires, crashes and is restored at whatever parallelism: each
record has the results that it has alone, once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from headgate.common import Time
from headgate.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, DataStream
from headgate.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
from headgate.elements import Watermark
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup

TIMEOUT_MS, BACKOFF_MS, FURTHER_CALLS = 105, 20, 2


class Call(NamedTuple):
    """What becomes of a call, and after how many ms."""

    outcome: str
    duration_ms: int


class Asked(NamedTuple):
    """A record: its number, and what becomes of the calls for it."""

    number: int
    calls: tuple[Call, ...]


class Scripted(AsyncFunction):
    """Has each call become what its record says."""

    def __init__(self) -> None:
        self.made: Counter[int] = Counter()

    async def async_invoke(self, value: Asked) -> Iterable[Any]:
        call = value.calls[self.made[value.number]]
        self.made[value.number] += 1
        await asyncio.sleep(call.duration_ms / 1000)
        if call.outcome == "fails":
            raise OSError(f"planned for {value}")
        return [] if call.outcome == "empty" else [(value.number, "found")]

    def timeout(self, value: Asked) -> Iterable[Any]:
        return [(value.number, "timeout")]


def alone(record: Asked) -> list[Any]:
    """The results of a record whose calls are made one after the other, and nothing else is."""
    passed_ms = 0
    for number, call in enumerate(record.calls):
        passed_ms += call.duration_ms
        if passed_ms > TIMEOUT_MS:
            break
        if call.outcome == "found":
            return [(record.number, "found")]
        if number == FURTHER_CALLS:
            return []
        passed_ms += BACKOFF_MS
    return [(record.number, "timeout")]


class Subtasks:
    """The subtasks of the operator: records go to them by key, or in turn."""

    def __init__(
        self, made_by: tuple[str, int, bool], parallelism: int = 1, restored: tuple[SavedOperator, ...] = ()
    ) -> None:
        method, capacity, self.keyed = made_by
        strategy = AsyncRetryStrategy.fixed_delay(
            FURTHER_CALLS, BACKOFF_MS, empty_result_predicate, has_exception_predicate
        )

        def build(stream: DataStream) -> DataStream:
            asked = stream.key_by(lambda record: record.number) if self.keyed else stream
            timeout = Time.milliseconds(TIMEOUT_MS)
            made: DataStream = getattr(AsyncDataStream, method)(asked, Scripted(), timeout, strategy, capacity)
            return made

        self.harnesses = [
            OperatorHarness.of_stream(build, restored=restored, setup=Setup(subtask=subtask, parallelism=parallelism))
            for subtask in range(parallelism)
        ]
        for harness in self.harnesses:
            harness.open()

    def process(self, records: list[Asked]) -> None:
        for harness in self.harnesses:
            harness.process(*[record for record in records if self.goes_to(harness, record.number)])

    def goes_to(self, harness: OperatorHarness, number: int) -> bool:
        place = harness.setup
        return harness.owns(number) if self.keyed else number % place.parallelism == place.subtask

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


OUTCOMES = st.sampled_from(["found", "fails", "empty"])
DURATIONS = st.integers(0, 6).map(lambda tens: tens * 10)
CALLS = st.tuples(
    *[st.builds(Call, OUTCOMES, DURATIONS)] * FURTHER_CALLS,
    st.builds(Call, st.sampled_from(["found", "empty"]), DURATIONS),  # what the last one raises would fail the job
)
EVENTS = st.one_of(
    st.lists(CALLS, min_size=1, max_size=4),
    st.integers(1, 60).map(lambda by_ms: ("time", by_ms)),
    st.just(("watermark", 0)),
    st.just(("snapshot", 0)),
    st.integers(1, 3).map(lambda parallelism: ("crash", parallelism)),
)


@given(
    events=st.lists(EVENTS, max_size=25),
    capacity=st.integers(1, 6),
    method=st.sampled_from(["ordered_wait_with_retry", "unordered_wait_with_retry"]),
    keyed=st.booleans(),
)
def test_each_record_has_the_results_that_it_has_alone(
    events: list[Any], capacity: int, method: str, keyed: bool
) -> None:
    made_by = method, capacity, keyed
    subtasks = Subtasks(made_by)
    records: list[Asked] = []
    segments, out = [0], list[Any]()
    saved: tuple[Any, int, int] = ((), 0, 0)
    crashed = False
    for event in events:
        if isinstance(event, list):
            fed = [Asked(len(records) + index, calls) for index, calls in enumerate(event)]
            records += fed
            subtasks.process(fed)
            continue
        what, number = event
        if what == "time":
            out += subtasks.advance(number)
        elif what == "watermark":
            subtasks.watermark(len(records))
            segments.append(len(records))
        elif what == "snapshot":
            saved = subtasks.snapshot(), len(records), len(out)
        else:  # what has come in since the snapshot comes in again, and what has left since is not seen by others
            subtasks.close()
            state, read, emitted = saved
            subtasks, out, crashed = Subtasks(made_by, number, state), out[:emitted], True
            subtasks.process(records[read:])
    out += subtasks.advance(100_000)
    assert not any(harness.operator.has_pending for harness in subtasks.harnesses)
    subtasks.close()
    assert Counter(out) == Counter(result for record in records for result in alone(record))
    if crashed:
        return
    if method.startswith("ordered"):
        assert out == sorted(out)
    places = [sum(number >= begin for begin in segments) for number, _ in out]
    assert places == sorted(places), "no result passes a watermark"
