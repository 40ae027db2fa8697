"""Asynchronous functions on keyed streams, next to the same function run one record after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate import options
from headgate.config import Settings
from headgate.elements import Batch, Flow, Watermark
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import Types
from tests.sample_size import sample_size

END_MS = 10_000
TIMEOUT_MS = 3
CACHE_BYTES = 600
"""Enough for two keys or so."""


class Order(NamedTuple):
    """A record: how long its call waits for each service, how the first tries end, and a timer that it sets."""

    key: str
    amount: int
    waits_ms: tuple[int, int]
    failures: tuple[str, ...]
    timer_ms: int


class Ledger(KeyedProcessFunction):
    """Awaits between all that it reads and writes, also in tasks of its own. Timers set and delete timers."""

    waits = True

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.log = runtime_context.get_list_state(ListStateDescriptor("log", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LIST(Types.LONG())))

    async def process_element(self, value: Order, ctx: Any) -> list[Any]:  # type: ignore[override]
        total, seen = await self.both(self.total.async_value(), self.seen.async_get(value.amount % 3))
        total = total or 0
        await self.ask(value.waits_ms[0], value.failures)
        await self.total.async_update(total + value.amount)
        await self.log.async_add(value.amount)
        amounts = [*(seen or []), value.amount]
        await self.ask(value.waits_ms[1])
        await self.seen.async_put(value.amount % 3, amounts)
        ctx.timer_service().register_event_time_timer(value.timer_ms)
        if value.amount % 4 == 0:
            await self.seen.async_remove(0)
            ctx.timer_service().delete_event_time_timer(value.timer_ms - 10)
        return [(value.key, total, list(await self.log.async_get()), sorted(await self.seen.async_items()))]

    async def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:  # type: ignore[override]
        total = await self.total.async_value() or 0
        await self.ask(timestamp % 7)
        await self.total.async_update(total + 1)
        if timestamp % 3 == 0:
            await self.log.async_clear()
            ctx.timer_service().register_event_time_timer(timestamp + 1)
            ctx.timer_service().delete_event_time_timer(timestamp + 10)
        return [(ctx.get_current_key(), timestamp, total, list(self.log.get()))]

    async def ask(self, ms: int, failures: tuple[str, ...] = ()) -> None:
        """Wait for a service, and ask it again when it refuses or does not answer in time."""
        if not self.waits:
            return
        for failure in failures:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(TIMEOUT_MS / 1e3):
                    await asyncio.sleep(ms / 1e3 if failure == "refused" else 1e3)
                    raise ConnectionRefusedError
        await asyncio.sleep(ms / 1e3)

    async def both(self, first: Coroutine[Any, Any, Any], second: Coroutine[Any, Any, Any]) -> list[Any]:
        """Read twice at the same time."""
        return list(await asyncio.gather(first, second)) if self.waits else [await first, await second]


def driven(coroutine: Coroutine[Any, Any, list[Any]]) -> list[Any]:
    """Return the result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        results: list[Any] = end.value
        return results
    raise AssertionError("it waited")


class InOrder(Ledger):
    """The same function for an operator that runs one call after the other."""

    waits = False

    def process_element(self, value: Order, ctx: Any) -> list[Any]:  # type: ignore[override]
        return driven(super().process_element(value, ctx))

    def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:  # type: ignore[override]
        return driven(super().on_timer(timestamp, ctx))


waits = st.integers(0, 5)
orders = st.builds(
    Order,
    st.sampled_from("abc"),
    st.integers(0, 9),
    st.tuples(waits, waits),
    st.lists(st.sampled_from(["refused", "too late"]), max_size=2).map(tuple),
    st.sampled_from([0, 5, 15, 20, 30, 35, 60]),
)
backends = st.sampled_from(["hashmap", "rocksdb"])


def setup(backend: str, subtask: int = 0, parallelism: int = 1, limit: int = 4) -> Setup:
    given = Settings().with_value(options.STATE_BACKEND, backend).with_value(options.ASYNC_STATE_LIMIT, limit)
    given = given.with_value(options.ROCKSDB_CACHE_SIZE, CACHE_BYTES)
    return Setup(settings=given, subtask=subtask, parallelism=parallelism)


def running(backend: str, saved: list[SavedOperator], subtask: int = 0, parallelism: int = 1) -> OperatorHarness:
    place = setup(backend, subtask, parallelism)
    return OperatorHarness(AsyncKeyedFactory(Ledger()), key_by=lambda order: order.key, restored=saved, setup=place)


def emitted(harness: OperatorHarness) -> Iterator[Flow]:
    """Yield what comes out at this time."""
    loop, operator = harness.services.event_loop(), harness.operator
    while True:
        loop.step()
        if operator.woken:
            yield from operator.resume(2)
        elif not loop.is_ready:
            return


def passed(harness: OperatorHarness, ms: int) -> Iterator[Flow]:
    """Yield what comes out in the next milliseconds."""
    yield from emitted(harness)
    for _ in range(ms):
        harness.clock.advance(1)
        yield from emitted(harness)


def by_key(flows: list[Flow]) -> dict[Any, list[Any]]:
    """Return the records of each key, in order, with the watermarks between them."""
    found: dict[Any, list[Any]] = {}
    epoch = 0
    for flow in flows:
        if isinstance(flow, Batch):
            for record in flow.records:
                found.setdefault(record[0], []).append((epoch, record))
        else:
            epoch += 1
    return found


def states(harnesses: list[OperatorHarness]) -> list[dict[Any, Any]]:
    return [
        {key: value for harness in harnesses for key, value in harness.state(name).items()}
        for name in ("total", "log", "seen")
    ]


@settings(deadline=None, max_examples=sample_size(60))
@given(
    events=st.lists(st.one_of(orders, st.integers(0, 70), st.integers(-6, -1)), max_size=25),
    backend=backends,
)
def test_results_and_state_are_those_of_one_call_after_the_other(events: list[Any], backend: str) -> None:
    """A record, a watermark (0 and more), or milliseconds that pass (below 0)."""
    model = OperatorHarness(KeyedProcessFactory(InOrder()), key_by=lambda order: order.key, setup=setup(backend))
    expected: list[Flow] = []
    found: list[Flow] = []
    newest_ms = -1
    with model, running(backend, []) as harness:
        for event in [*events, END_MS]:
            if isinstance(event, Order):
                expected.append(Batch(model.process(event)))
                harness.process(event)
            elif event < 0:
                found += passed(harness, -event)
            elif event > newest_ms:
                newest_ms = event
                expected += [Batch(model.watermark(event)), Watermark(event)]
                if not harness.operator.hold(Watermark(event)):
                    assert harness.operator.advance(event, 100) is None
                    found.append(Watermark(event))
        found += passed(harness, 2_000)
        assert not harness.operator.has_pending
        assert by_key(found) == by_key(expected)
        assert states([harness]) == states([model])


ORDERS = st.lists(orders, min_size=1, max_size=4)
TWO_TIMERS = [Order("a", 1, (0, 0), (), 0), Order("a", 1, (0, 0), (), 5)]
"""The timer of the first one sets another, which comes before that of the second, although this one is due already."""
BEHIND = [Order("a", 2, (0, 0), (), 60)]
SLOW = [Order("a", 1, (5, 5), (), 5)]
FOUR = [Order("a", 0, (0, wait_ms), (), 0) for wait_ms in (0, 0, 0, 1)]
"""One of them is under way when the watermark comes."""
MORE_THAN_ROOM = [Order("a", 1, (0, 0), (), timer_ms) for timer_ms in (0, 5, 15, 20, 30)]
"""Not all of their timers are called at once, and a record may come behind the watermark that makes them due."""
FAULTS = st.sampled_from(["save", "crash", "rescale"])
EPOCHS = st.tuples(st.integers(1, 40), st.integers(0, 6), FAULTS)


def steps_of(events: list[Any], last: tuple[int, int, str]) -> list[Any]:
    """Return the steps of events, the last of which is the end of event time.

    A watermark is given as the milliseconds since the one before. There may be a fault while its timers are called.
    Where two subtasks may become one, no timer is set for a time that is past: if they have reached different times,
    such a timer may be called one watermark sooner.
    """
    steps: list[Any] = []
    time_ms = 0
    merges = sum("rescale" in (event, event[-1] if isinstance(event, tuple) else "") for event in [*events, last]) > 1
    for event in [*events, (END_MS, *last[1:])]:
        if isinstance(event, tuple):
            later_ms, passing_ms, fault = event
            time_ms += later_ms
            steps += [Watermark(time_ms), passing_ms, fault]
        elif isinstance(event, list):
            least_ms = time_ms + 1 if merges else 0
            steps += [order._replace(timer_ms=max(order.timer_ms, least_ms)) for order in event]
        else:
            steps.append(event)
    return [*steps, "settle"]


class Run:
    """The subtasks of the operator, and what came out of them, over crashes."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.found: list[Flow] = []
        self.subtasks: list[OperatorHarness] = []
        self.saved: tuple[list[SavedOperator], int, int] = ([], 0, 0)
        self.start(1)

    def start(self, parallelism: int) -> int:
        """Go on from what is saved; return the place of the event that comes next."""
        for each in self.subtasks:
            each.close()
        snapshots, length, at = self.saved
        del self.found[length:]
        self.subtasks = [running(self.backend, snapshots, subtask, parallelism) for subtask in range(parallelism)]
        for each in self.subtasks:
            each.open()
        return at

    def save(self, at: int) -> None:
        self.saved = [each.snapshot() for each in self.subtasks], len(self.found), at

    def record(self, order: Order) -> None:
        next(each for each in self.subtasks if each.owns(order.key)).process(order)

    def watermark(self, watermark: Watermark) -> None:
        for each in self.subtasks:
            if not each.operator.hold(watermark):
                assert each.operator.advance(watermark.timestamp_ms, 100) is None

    def passed(self, ms: int) -> None:
        self.found += [flow for each in self.subtasks for flow in passed(each, ms)]

    def settled(self) -> None:
        """Have all that is pending end."""
        while any(each.operator.has_pending for each in self.subtasks):
            self.passed(1)


@pytest.mark.slow
@settings(deadline=None, max_examples=sample_size(40))
@given(
    events=st.lists(st.one_of(ORDERS, st.integers(1, 6), FAULTS, EPOCHS), max_size=10),
    end=EPOCHS,
    backend=backends,
)
@example(
    events=[[Order("c", 0, (0, 0), (), 0)], (1, 0, "rescale"), FOUR, (1, 0, "save")],
    end=(1, 0, "crash"),
    backend="hashmap",
)
@example(events=[TWO_TIMERS, 6], end=(1, 0, "rescale"), backend="hashmap")
@example(events=[SLOW, (10, 0, "save"), BEHIND, "rescale"], end=(90, 0, "save"), backend="hashmap")
@example(events=[MORE_THAN_ROOM, 6, (40, 1, "save"), BEHIND, "rescale"], end=(90, 0, "save"), backend="hashmap")
def test_no_call_is_lost_or_counts_twice_over_crashes_and_another_parallelism(
    events: list[Any], end: Any, backend: str
) -> None:
    """Records, milliseconds that pass, a snapshot, a crash, a snapshot for others, or a watermark with a fault."""
    steps = steps_of(events, end)
    model = OperatorHarness(KeyedProcessFactory(InOrder()), key_by=lambda order: order.key, setup=setup(backend))
    expected: list[Flow] = []
    with model:
        for event in steps:
            if isinstance(event, Order):
                expected.append(Batch(model.process(event)))
            elif isinstance(event, Watermark):
                expected.append(Batch(model.watermark(event.timestamp_ms)))
        after = states([model])
    run = Run(backend)
    at = 0
    while at < len(steps):
        event, at = steps[at], at + 1
        if isinstance(event, Order):
            run.record(event)
        elif isinstance(event, int):
            run.passed(event)
        elif isinstance(event, Watermark):
            run.watermark(event)
        elif event == "settle":
            run.settled()
        elif event == "save":
            run.save(at)
        else:
            parallelism = len(run.subtasks)
            if event == "rescale":
                run.save(at)
                parallelism = 3 - parallelism
            steps[at - 1] = 1  # it happens once
            at = run.start(parallelism)
    merged = {key: [record for _, record in records] for key, records in by_key(run.found).items()}
    assert merged == {key: [record for _, record in records] for key, records in by_key(expected).items()}
    assert states(run.subtasks) == after
    for each in run.subtasks:
        each.close()
