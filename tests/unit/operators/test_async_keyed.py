"""Asynchronous functions on keyed streams: what is under way, what is seen of it, timers, failures, reads together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from headgate import options
from headgate.config import Settings
from headgate.errors import SerializationError, StateAccessError, StorageError
from headgate.functions.api import AggregateFunction, KeyedProcessFunction
from headgate.functions.context import RuntimeContext, TimeDomain
from headgate.operators.async_keyed import AsyncKeyedFactory
from headgate.operators.base import UserCodeError
from headgate.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headgate.testing.harness import OperatorHarness, Setup
from headgate.testing.saved_operator import SavedOperator
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

Body = Callable[["Scripted", Any, Any], Any]
LATE = OutputTag("late")


class Mean(AggregateFunction):
    """The mean of numbers."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Scripted(KeyedProcessFunction):
    """Has states of all kinds, and does what a test says. A record is `(key, what it is about)`."""

    def __init__(self, body: Body, on_timer: Body | None = None) -> None:
        self.body = body
        self.timer_body = on_timer
        self.closes: Callable[[], None] | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LONG()))
        self.most = runtime_context.get_reducing_state(ReducingStateDescriptor("most", max, Types.LONG()))
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def close(self) -> None:
        if self.closes is not None:
            self.closes()

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.body(self, value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return None if self.timer_body is None else self.timer_body(self, timestamp, ctx)


def harness_of(
    body: Body, on_timer: Body | None = None, *, backend: str = "hashmap", limit: int = 100, cache_bytes: int = 2**20
) -> OperatorHarness:
    given = Settings().with_value(options.STATE_BACKEND, backend).with_value(options.ASYNC_STATE_LIMIT, limit)
    given = given.with_value(options.ROCKSDB_CACHE_SIZE, cache_bytes)
    factory = AsyncKeyedFactory(Scripted(body, on_timer))
    return OperatorHarness(factory, key_by=lambda record: record[0], setup=Setup(settings=given))


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_states_of_all_kinds_have_coroutines_and_plain_methods(backend: str) -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        number = record[1]
        await self.value.async_update([number])
        await self.list.async_update([number])
        await self.list.async_add_all([number + 1, number + 2])
        await self.map.async_put("a", number)
        await self.map.async_put_all({"b": number, "c": number})
        await self.map.async_remove("b")
        await self.most.async_add(number)
        await self.mean.async_add(number)
        seen = await self.value.async_value(), list(await self.list.async_get()), await self.most.async_get()
        more = await self.mean.async_get(), await self.map.async_get("a"), await self.map.async_contains("b")
        entries = (
            list(await self.map.async_keys()),
            list(await self.map.async_values()),
            await self.map.async_is_empty(),
        )
        plain = self.value.value(), list(self.list.get()), self.most.get()
        assert plain == seen
        return [(*seen, *more, *entries)]

    with harness_of(body, backend=backend) as harness:
        harness.process(("k", 4), ("k", 2))
        first, second = harness.advance_time(1)
        assert first == ([4], [4, 5, 6], 4, 4.0, 4, False, ["a", "c"], [4, 4], False)
        assert second == ([2], [2, 3, 4], 4, 3.0, 2, False, ["a", "c"], [2, 2], False)
        assert harness.state("map") == {"k": {"a": 2, "c": 2}}


async def clears(self: Scripted, record: Any, ctx: Any) -> None:
    if record[1] == "fill":
        self.list.add(1)
        self.map.put_all({"a": 1, "b": 2})
        self.value.update(1)
    elif record[1] == "remove":
        self.map.remove("a")
        assert list(self.map.items()) == [("b", 2)]
    else:
        await self.list.async_clear()
        await self.map.async_clear()
        await self.value.async_clear()
        assert list(self.list.get()) == []
        assert self.map.is_empty()
        assert self.value.value() is None


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_what_is_cleared_is_gone(backend: str) -> None:
    with harness_of(clears, backend=backend) as harness:
        harness.process(("k", "fill"))
        harness.later()
        assert (harness.state("list"), harness.state("map")) == ({"k": [1]}, {"k": {"a": 1, "b": 2}})
        harness.process(("k", "remove"))
        harness.later()
        assert harness.state("map") == {"k": {"b": 2}}
        harness.process(("k", "clear"))
        harness.later()
        assert [harness.state(name) for name in ("list", "map", "value")] == [{}, {}, {}]


async def slow_add(self: Scripted, record: Any, ctx: Any) -> AsyncIterator[Any]:
    self.list.add(record[1])
    yield record[0], list(self.list.get())
    await asyncio.sleep(record[1] / 1e3)
    yield record[0], "done"


def test_a_snapshot_has_nothing_of_a_call_under_way_but_its_input() -> None:
    with harness_of(slow_add) as harness:
        harness.process(("a", 50), ("a", 1), ("b", 10))
        assert harness.advance_time(20) == [("b", [10]), ("b", "done")]
        assert harness.state("list") == {"b": [10]}
        saved = harness.snapshot()
    factory = AsyncKeyedFactory(Scripted(slow_add))
    with OperatorHarness(factory, key_by=lambda record: record[0], restored=[saved]) as harness:
        harness.process(("a", 2))
        expected = [("a", [50]), ("a", "done"), ("a", [50, 1]), ("a", "done"), ("a", [50, 1, 2]), ("a", "done")]
        assert harness.advance_time(100) == expected
        assert harness.state("list") == {"a": [50, 1, 2], "b": [10]}


def test_records_behind_a_watermark_begin_once_it_has_left() -> None:
    begun: list[tuple[str, int]] = []

    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        begun.append((record[0], ctx.timer_service().current_watermark()))
        await asyncio.sleep(record[1])
        return [record[0]]

    with harness_of(body) as harness:
        harness.process(("a", 1.0))
        harness.watermark(5)
        harness.process(("b", 0.0))
        harness.later()
        assert [key for key, _ in begun] == ["a"]
        assert harness.advance_time(1_000) == ["a", "b"]
        assert begun[1] == ("b", 5)


def written(saved: SavedOperator) -> list[Any]:
    """What the files of a snapshot hold."""
    assert saved.keyed is not None
    return [file.handle for file in saved.keyed.base]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_call_that_has_only_read_leaves_nothing_in_a_snapshot(backend: str) -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        assert self.value.value() is None
        await asyncio.sleep(1.0)

    with harness_of(body, backend=backend) as harness:
        empty = harness.snapshot()
        harness.process(("k", 1))
        harness.later()
        assert written(harness.snapshot()) == written(empty)


def test_values_read_are_copies_until_they_are_written() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        values = self.value.value() or []
        values.append(record[1])
        if record[1] != "spoil":
            self.value.update(values)
        values.append("later")
        return [list(self.value.value() or [])]

    with harness_of(body) as harness:
        harness.process(("a", 1), ("a", "spoil"))
        assert harness.later()[0] == [1]
        assert harness.state("value") == {"a": [1]}


def test_a_limit_holds_for_all_that_wait_or_are_under_way() -> None:
    with harness_of(slow_add, limit=2) as harness:
        harness.process(("a", 5), ("b", 5))
        assert harness.operator.room == 0
        harness.advance_time(10)
        assert harness.operator.room == 2


def test_timers_of_both_clocks_are_calls_of_their_own() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(30)
        ctx.timer_service().register_event_time_timer(40)
        ctx.timer_service().register_event_time_timer(50)
        ctx.timer_service().delete_event_time_timer(50)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        await asyncio.sleep(0.005)
        return [(timestamp, ctx.time_domain(), ctx.get_current_key(), ctx.timestamp())]

    with harness_of(body, on_timer) as harness:
        harness.process(("a", 0))
        assert harness.advance_time(29) == []
        assert harness.advance_time(1) == []
        assert harness.advance_time(5) == [(30, TimeDomain.PROCESSING_TIME, "a", 30)]
        assert harness.watermark(100) == []
        assert harness.advance_time(5) == [(40, TimeDomain.EVENT_TIME, "a", 40)]


def test_a_fired_timer_can_be_deleted_before_its_call_and_is_not_fired_twice() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        for timestamp in (10, 20, 30):
            ctx.timer_service().register_event_time_timer(timestamp)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        if timestamp == 10:
            ctx.timer_service().delete_event_time_timer(20)
            ctx.timer_service().register_event_time_timer(15)
            ctx.timer_service().register_event_time_timer(30)
        return [timestamp]

    with harness_of(body, on_timer) as harness:
        harness.process(("a", 0))
        harness.later()
        assert harness.watermark(100) == [10, 15, 30]


def test_side_outputs_leave_with_the_rest() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        return [record[1], (LATE, -record[1])]

    with harness_of(body) as harness:
        harness.process(("a", 1), ("b", 2))
        assert sorted(harness.later()) == [1, 2]
        assert sorted(harness.side(LATE)) == [-2, -1]


def test_an_error_has_the_record_and_the_key_or_the_timer() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        if record[1] == "bad":
            raise ValueError("no such thing")
        ctx.timer_service().register_event_time_timer(7)

    async def on_timer(self: Scripted, timestamp: int, ctx: Any) -> list[Any]:
        raise ValueError("too late")

    with harness_of(body, on_timer) as harness:
        harness.process(("a", "bad"))
        with pytest.raises(UserCodeError) as failed:
            harness.later()
        assert (failed.value.record, failed.value.key) == (("a", "bad"), "a")
    with harness_of(body, on_timer) as harness:
        harness.process(("a", "good"))
        harness.later()
        with pytest.raises(UserCodeError, match=r"on_timer\(7\)"):
            harness.watermark(10)


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError(), GeneratorExit(), BaseException("own")])
def test_nothing_that_a_call_raises_is_lost(raised: BaseException) -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        raise raised

    with harness_of(body) as harness:
        harness.process(("a", 1))
        with pytest.raises(UserCodeError):
            harness.later()


def test_reads_of_many_keys_that_wait_together_are_one() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        return [await self.value.async_value()]

    with harness_of(body, backend="rocksdb") as harness:
        operator: Any = harness.operator
        read: list[list[Any]] = []
        load = operator._backend.prefetch

        def noted(keys: list[Any]) -> None:
            read.append(keys)
            load(keys)

        operator._backend.prefetch = noted
        harness.process(("a", 0), ("b", 0), ("c", 0), ("a", 0))
        assert harness.later() == [None] * 4
        assert [keys for keys in read if len(keys) > 1] == [["a", "b", "c"]]


async def fills_and_reads(self: Scripted, record: Any, ctx: Any) -> list[Any]:
    if record[1] == "fill":
        self.map.put("there", 1)
        self.map.put_all({f"more {number}": number for number in range(record[2] if len(record) > 2 else 0)})
        return []
    if record[1] == "remove":
        await self.map.async_remove("there")
    return [await self.map.async_get("there"), await self.map.async_contains("not there")]


def test_entries_of_many_keys_that_wait_together_are_read_in_one_go() -> None:
    with harness_of(fills_and_reads, backend="rocksdb", cache_bytes=1) as harness:
        harness.process(("a", "fill"), ("b", "fill"), ("c", "fill"))
        harness.later()
        operator: Any = harness.operator
        database = operator._backend._store.database
        read: list[int] = []
        get_many = database.get_many

        def noted(keys: list[bytes]) -> Any:
            read.append(len(keys))
            return get_many(keys)

        database.get_many, database.get = noted, None
        harness.process(("a", "read"), ("b", "read"), ("c", "read"))
        assert harness.later() == [1, False] * 3
        assert read == [3, 3], "the entries that are there, and those that are not"
        harness.process(("a", "remove"))
        assert harness.later() == [None, False]
        assert sorted(harness.state("map")) == ["b", "c"]


def test_a_read_that_fails_fails_the_job() -> None:
    def fail(keys: list[Any]) -> None:
        raise StorageError("the disk is gone")

    with harness_of(fills_and_reads, backend="rocksdb") as harness:
        operator: Any = harness.operator
        operator._backend.prefetch = fail
        harness.process(("a", "read"), ("b", "read"))
        with pytest.raises(UserCodeError) as failed:
            harness.later()
        assert isinstance(failed.value.__cause__, StorageError)


def test_who_asks_for_an_entry_that_cannot_be_read_is_named() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> list[Any]:
        self.map.put("there", 1)
        return [await self.map.async_get(record[1])]

    with harness_of(body, backend="rocksdb", cache_bytes=1) as harness:
        harness.process(("a", "there"), ("b", "there"))
        harness.later()
        harness.process(("a", "not there"), ("b", 1j))
        with pytest.raises(UserCodeError) as failed:
            harness.later()
        assert failed.value.record == ("b", 1j)
        assert isinstance(failed.value.__cause__, SerializationError)


def test_a_task_that_outlives_its_call_changes_nothing_and_is_told_so() -> None:
    left: list[asyncio.Task[None]] = []
    over = "of key 'a' were used after their call had ended: a call must await every task"

    async def later(self: Scripted, ctx: Any) -> None:
        await asyncio.sleep(0.01)
        with pytest.raises(StateAccessError, match=over):
            self.value.update(2)
        with pytest.raises(StateAccessError, match=over):
            await self.map.async_get("x")
        with pytest.raises(StateAccessError, match=over):
            ctx.timer_service().register_event_time_timer(5)

    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        self.value.update(1)
        left.append(asyncio.create_task(later(self, ctx)))

    with harness_of(body, backend="rocksdb") as harness:
        harness.process(("a", 1))
        harness.advance_time(20)
        left[0].result()
        assert harness.state("value") == {"a": 1}


@pytest.mark.parametrize("raised", [ValueError("cannot close"), SystemExit(3)])
def test_state_is_let_go_of_though_the_function_cannot_be_closed(raised: BaseException) -> None:
    def fail() -> None:
        raise raised

    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        self.value.update(1)

    harness = harness_of(body, backend="rocksdb")
    harness.open()
    harness.process(("a", 1))
    harness.later()
    operator: Any = harness.operator
    operator._function.closes = fail
    database = operator._backend._store.database
    with pytest.raises(UserCodeError, match=r"close\(\)"):
        operator.close()
    with pytest.raises(Exception, match="closed"):
        database.get(b"a")
    harness.services.end_event_loop()


def test_state_is_not_at_hand_without_a_call() -> None:
    async def body(self: Scripted, record: Any, ctx: Any) -> None:
        pass

    with harness_of(body) as harness:
        function: Any = harness.operator._function  # type: ignore[attr-defined]
        with pytest.raises(StateAccessError, match="without a current key"):
            function.value.value()
        waiting = harness.services.event_loop().create_task(function.value.async_value())
        harness.later()
        with pytest.raises(StateAccessError, match="without a current key"):
            waiting.result()


def test_an_entry_is_removed_from_a_large_map_without_a_look_at_the_others() -> None:
    with harness_of(fills_and_reads, backend="rocksdb", cache_bytes=1) as harness:
        harness.process(("a", "fill", 1000))
        harness.later()
        operator: Any = harness.operator
        database = operator._backend._store.database
        rows, read = database.rows, []

        def noted(first: bytes, end: bytes) -> Any:
            for row in rows(first, end):
                read.append(row)
                yield row

        database.rows = noted
        harness.process(("a", "remove"))
        assert harness.later() == [None, False]
        assert len(read) <= 2, "one that is left is enough"
