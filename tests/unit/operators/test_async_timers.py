"""Timers of asynchronous functions on keyed streams: how many are due at a time, in which order, and until when."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from headgate.elements import MAX_TIMESTAMP, Batch, Watermark
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.operators.test_async_keyed import Body, Scripted, harness_of


class Incomparable(tuple[str, int]):
    """A record that, as an array of numpy, is not equal or unequal to anything else."""

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value is ambiguous")


async def sets_timers(self: Scripted, record: Any, ctx: Any) -> None:
    """Register timers of both clocks, at the times of the record."""
    for timestamp in record[1]:
        ctx.timer_service().register_event_time_timer(timestamp)
        ctx.timer_service().register_processing_time_timer(timestamp)


def counting(at_a_time: list[int]) -> Body:
    """Return a body of timers that notes how many are under way when one begins."""
    under_way: set[Any] = set()

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        timer = timestamp, ctx.get_current_key()
        under_way.add(timer)
        at_a_time.append(len(under_way))
        await asyncio.sleep(0.003)
        under_way.remove(timer)
        return [timestamp]

    return on_timer


def test_no_more_timers_are_under_way_than_the_limit_allows() -> None:
    at_a_time: list[int] = []
    with harness_of(sets_timers, counting(at_a_time), limit=2) as harness:
        for key in "abcde":
            harness.process((key, [10]))
            harness.later()
        harness.advance_time(9)
        found = harness.watermark(10)
        assert harness.operator.room == 0
        for _ in range(30):
            found += harness.advance_time(3)
        assert found == [10] * 10
        assert max(at_a_time) == 2


def test_a_timer_that_finds_no_room_does_not_wake_the_slot() -> None:
    with harness_of(sets_timers, counting([]), limit=1) as harness:
        harness.process(("a", [10]))
        harness.later()
        harness.process(("b", [20]))
        harness.clock.advance(15)
        harness.operator.tick(15)
        assert (harness.operator.room, harness.operator.wake_ms) == (0, None)


def test_results_of_event_timers_have_their_time_and_those_of_processing_timers_none() -> None:
    with harness_of(sets_timers, counting([])) as harness:
        harness.process(("a", [10]))
        harness.later()
        harness.clock.advance(10)
        harness.operator.tick(10)
        harness.operator.hold(Watermark(10))
        harness.clock.advance(3)
        batches = []
        for _ in range(10):
            harness.services.event_loop().step()
            batches += [flow for flow in harness.operator.resume(100) if isinstance(flow, Batch)]
            harness.clock.advance(3)
        assert [(batch.records, batch.timestamps) for batch in batches] == [([10], None), ([10], [10])]


def test_a_watermark_is_the_current_one_for_the_timers_it_makes_due_and_leaves_after_them() -> None:
    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        await asyncio.sleep(0)
        return [ctx.timer_service().current_watermark()]

    with harness_of(sets_timers, on_timer) as harness:
        harness.process(("a", [10]))
        harness.later()
        assert harness.operator.hold(Watermark(10))
        harness.services.event_loop().step()
        flows = harness.operator.resume(100)
        for _ in range(3):
            harness.services.event_loop().step()
            flows += harness.operator.resume(100)
        assert [flow.records if isinstance(flow, Batch) else flow for flow in flows] == [[10], Watermark(10)]


def test_a_timer_that_is_deleted_while_it_waits_keeps_no_watermark() -> None:
    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        ctx.timer_service().delete_event_time_timer(20)
        return [timestamp]

    with harness_of(sets_timers, on_timer) as harness:
        harness.process(("a", [10, 20]))
        harness.later()
        assert harness.watermark(30) == [10]
        assert not harness.operator.has_pending


def test_a_timer_that_waits_behind_a_watermark_can_be_deleted_and_is_not_fired_twice() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        await asyncio.sleep(record[1] / 1e3)
        ctx.timer_service().register_processing_time_timer(10)
        if record[1]:
            ctx.timer_service().delete_processing_time_timer(20)
        else:
            ctx.timer_service().register_processing_time_timer(20)

    with harness_of(body, counting([])) as harness:
        harness.process(("a", 0))
        harness.later()
        harness.process(("a", 50))
        assert harness.watermark(5) == []
        assert harness.advance_time(30) == [], "both timers are due, and wait for the watermark"
        assert harness.advance_time(100) == [10]
        assert harness.operator.room == 100
        assert not harness.operator.has_pending


def test_records_that_cannot_be_compared_may_wait_while_timers_are_set() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)

    with harness_of(body, counting([])) as harness:
        harness.process(*[Incomparable(("a", number)) for number in range(3)])
        assert harness.later() == []
        harness.watermark(10)
        assert harness.advance_time(3) == [10]


@pytest.mark.parametrize(("change", "calls"), [("delete", []), ("register", [10])])
@pytest.mark.parametrize("is_restored", [False, True])
def test_a_timer_of_processing_time_that_waits_behind_a_watermark_is_found(
    change: str, calls: list[int], is_restored: bool
) -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        if record[1] == "set":
            ctx.timer_service().register_processing_time_timer(10)
        else:
            await asyncio.sleep(0.02)
            getattr(ctx.timer_service(), f"{change}_processing_time_timer")(10)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        return [timestamp]

    with harness_of(body, on_timer) as harness:
        harness.process(("a", "set"))
        harness.later()
        harness.process(("a", "slow"))
        harness.later()
        assert harness.operator.hold(Watermark(5))
        assert harness.advance_time(15) == []
        saved = harness.snapshot()
        if not is_restored:
            assert harness.advance_time(5) + harness.advance_time(5) == calls
            assert not harness.operator.has_pending
    if is_restored:
        factory = AsyncKeyedFactory(Scripted(body, on_timer))
        with OperatorHarness(factory, key_by=lambda record: record[0], restored=[saved]) as harness:
            assert harness.advance_time(20) + harness.advance_time(5) == calls
            assert not harness.operator.has_pending


def test_after_a_rescale_timers_wait_for_the_watermark_that_all_subtasks_have() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        await asyncio.sleep(record[1])
        ctx.timer_service().register_event_time_timer(10)
        return [record[0]]

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        return [(ctx.get_current_key(), timestamp)]

    saved, keys = [], []
    for subtask in range(2):
        place = Setup(subtask=subtask, parallelism=2)
        factory = AsyncKeyedFactory(Scripted(body, on_timer))
        with OperatorHarness(factory, key_by=lambda record: record[0], setup=place) as harness:
            own, slow = [key for key in range(20) if harness.owns(key)][:2]
            harness.process((own, 0))
            assert harness.later() == [own]
            if subtask == 0:
                harness.process((slow, 1))
                harness.later()
                assert harness.operator.hold(Watermark(20))
                harness.process((slow, 0))
            keys += [own, slow]
            saved.append(harness.snapshot())
    factory = AsyncKeyedFactory(Scripted(body, on_timer))
    with OperatorHarness(factory, key_by=lambda record: record[0], restored=saved) as harness:
        assert harness.advance_time(1000) == [keys[1]] * 2, "the other subtask has not had the watermark"
        assert sorted(harness.watermark(20)) == [(key, 10) for key in sorted(keys[:3])]


def test_a_timer_of_event_time_is_not_due_because_one_of_processing_time_is() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(50)
        await asyncio.sleep(record[1])
        ctx.timer_service().register_event_time_timer(10)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        return [timestamp]

    with harness_of(body, on_timer) as harness:
        harness.process(("a", 0))
        harness.later()
        harness.process(("a", 0.1))
        assert harness.advance_time(200) == [50], "it waits for the call under way"
        assert harness.watermark(10) == [10]


def test_records_behind_a_watermark_leave_its_timers_room_for_one() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        for timestamp in record[1]:
            ctx.timer_service().register_event_time_timer(timestamp)
        return [record[0]]

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        return [timestamp]

    with harness_of(body, on_timer, limit=2) as harness:
        harness.process(("a", [10, 20]), ("b", []))
        assert harness.operator.hold(Watermark(30))
        harness.process(("c", []), ("d", []), ("e", []))
        assert harness.later()[:4] == ["a", "b", 10, 20]


def test_a_timer_that_was_called_or_deleted_can_be_registered_again() -> None:
    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        if timestamp == 10:
            ctx.timer_service().delete_event_time_timer(20)
            ctx.timer_service().register_event_time_timer(20)
        return [timestamp]

    with harness_of(sets_timers, on_timer) as harness:
        for watermark_ms in (30, 40):
            harness.process(("a", [10, 20]))
            harness.later()
            assert harness.watermark(watermark_ms) == [10, 20]


def test_timers_that_wait_are_saved_in_the_order_of_their_turns() -> None:
    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        if timestamp == 10:
            ctx.timer_service().register_event_time_timer(15)
        else:
            await asyncio.sleep(0.01)
        return [timestamp]

    with harness_of(sets_timers, on_timer) as harness:
        harness.process(("a", [10, 20]))
        harness.later()
        assert harness.watermark(30) == [10]
        saved = harness.snapshot()
    factory = AsyncKeyedFactory(Scripted(sets_timers, on_timer))
    with OperatorHarness(factory, key_by=lambda record: record[0], restored=[saved]) as harness:
        assert harness.advance_time(20) == [15, 20, 10], "the last one is of processing time"


def test_at_the_end_of_a_batch_job_timers_of_processing_time_are_called_if_nothing_else_is_left() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(5)

    with harness_of(body, counting([])) as harness:
        harness.operator.context = replace(harness.operator.context, all_keys=True)
        harness.process(("a", 0), ("b", 0))
        harness.later()
        assert not harness.operator.has_pending
        harness.watermark(MAX_TIMESTAMP)
        assert harness.advance_time(3) == [5, 5]


def test_in_a_batch_job_timers_of_processing_time_end_although_they_set_more() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_processing_time_timer(5)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        await asyncio.sleep(0)
        ctx.timer_service().register_processing_time_timer(timestamp + 1)
        return [timestamp]

    with harness_of(body, on_timer) as harness:
        harness.operator.context = replace(harness.operator.context, all_keys=True)
        harness.process(("a", 0), ("b", 0))
        harness.later()
        assert sorted(harness.watermark(MAX_TIMESTAMP)) == [5, 5, 10, 10, 11, 11]
