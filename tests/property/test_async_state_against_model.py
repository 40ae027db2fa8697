"""Asynchronous functions on keyed streams, next to the same function run one record after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import options
from headgate.config import Settings
from headgate.elements import Batch, Flow, Watermark
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.keyed_process import KeyedProcessFactory
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import Types

END_MS = 10_000
CACHE_BYTES = 600
"""Enough for two keys or so."""


class Order(NamedTuple):
    """A record: how long its call waits for each service, and a timer that it sets."""

    key: str
    amount: int
    waits_ms: tuple[int, int]
    timer_ms: int


class Ledger(KeyedProcessFunction):
    """Awaits between all that it reads and writes. Timers set and delete timers."""

    waits = True

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.log = runtime_context.get_list_state(ListStateDescriptor("log", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LIST(Types.LONG())))

    async def process_element(self, value: Order, ctx: Any) -> list[Any]:  # type: ignore[override]
        total = await self.total.async_value() or 0
        await self.wait(value.waits_ms[0])
        await self.total.async_update(total + value.amount)
        await self.log.async_add(value.amount)
        amounts = [*(await self.seen.async_get(value.amount % 3) or []), value.amount]
        await self.wait(value.waits_ms[1])
        await self.seen.async_put(value.amount % 3, amounts)
        ctx.timer_service().register_event_time_timer(value.timer_ms)
        if value.amount % 4 == 0:
            await self.seen.async_remove(0)
            ctx.timer_service().delete_event_time_timer(value.timer_ms - 10)
        return [(value.key, total, list(await self.log.async_get()), sorted(await self.seen.async_items()))]

    async def on_timer(self, timestamp: int, ctx: Any) -> list[Any]:  # type: ignore[override]
        total = await self.total.async_value() or 0
        await self.wait(timestamp % 7)
        await self.total.async_update(total + 1)
        if timestamp % 3 == 0:
            await self.log.async_clear()
            ctx.timer_service().register_event_time_timer(timestamp + 1)
            ctx.timer_service().delete_event_time_timer(timestamp + 10)
        return [(ctx.get_current_key(), timestamp, total, list(self.log.get()))]

    async def wait(self, ms: int) -> None:
        if self.waits:
            await asyncio.sleep(ms / 1e3)


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
    Order, st.sampled_from("abc"), st.integers(0, 9), st.tuples(waits, waits), st.integers(0, 12).map(lambda at: at * 5)
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


@settings(deadline=None, max_examples=60)
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


@settings(deadline=None, max_examples=60)
@given(
    events=st.lists(st.one_of(orders, st.integers(1, 6), st.sampled_from(["save", "crash", "rescale"])), max_size=25),
    backend=backends,
)
def test_no_call_is_lost_or_counts_twice_over_crashes_and_another_parallelism(events: list[Any], backend: str) -> None:
    """A record, milliseconds that pass, a snapshot, the loss of all that came after it, or a snapshot for others."""
    model = OperatorHarness(KeyedProcessFactory(InOrder()), key_by=lambda order: order.key, setup=setup(backend))
    expected: list[Flow] = []
    with model:
        for event in events:
            if isinstance(event, Order):
                expected.append(Batch(model.process(event)))
        expected.append(Batch(model.watermark(END_MS)))
        after = states([model])
    subtasks = [running(backend, [])]
    subtasks[0].open()
    found: list[Flow] = []
    saved: tuple[list[SavedOperator], int, int] = ([], 0, 0)
    steps, at = [*events, "end", 3, "save", "crash", "end"], 0
    while at < len(steps):
        event, at = steps[at], at + 1
        if isinstance(event, Order):
            next(each for each in subtasks if each.owns(event.key)).process(event)
        elif isinstance(event, int):
            found += [flow for each in subtasks for flow in passed(each, event)]
        elif event == "end":
            held = [each.operator.hold(Watermark(END_MS)) for each in subtasks]
            found += [flow for each in subtasks for flow in emitted(each)] if any(held) else []
        elif event == "save":
            saved = [each.snapshot() for each in subtasks], len(found), at
        else:
            if event == "rescale":
                saved = [each.snapshot() for each in subtasks], len(found), at
            steps[at - 1] = 1  # it happens once
            parallelism = 3 - len(subtasks) if event == "rescale" else len(subtasks)
            for each in subtasks:
                each.close()
            snapshots, length, at = saved
            del found[length:]
            subtasks = [running(backend, snapshots, subtask, parallelism) for subtask in range(parallelism)]
            for each in subtasks:
                each.open()
    found += [flow for each in subtasks for flow in passed(each, 2_000)]
    merged = {key: [record for _, record in records] for key, records in by_key(found).items()}
    assert merged == {key: [record for _, record in records] for key, records in by_key(expected).items()}
    assert states(subtasks) == after
    for each in subtasks:
        each.close()
