"""Timers of keyed functions: known by key and time, fired in order, kept in snapshots, and moved with their keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from headgate.errors import StateAccessError
from headgate.functions.api import KeyedProcessFunction, ProcessFunction
from headgate.functions.context import RuntimeContext, TimeDomain
from headgate.operators.base import UserCodeError
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import Types
from tests.unit.operators.functions import time_of


class Timing(KeyedProcessFunction):
    """Does what a record `(key, "event"|"processing"|"-event"|"-processing", time)` says; yields what fires."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        _, action, time = value
        timers = ctx.timer_service()
        {
            "event": timers.register_event_time_timer,
            "processing": timers.register_processing_time_timer,
            "-event": timers.delete_event_time_timer,
            "-processing": timers.delete_processing_time_timer,
        }[action](time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        assert time_of(ctx) == timestamp
        yield ctx.get_current_key(), timestamp


def key_of(value: Any) -> Any:
    return value[0]


def timing(**options: Any) -> OperatorHarness:
    return OperatorHarness.of(Timing(), key_by=key_of, **options)


@pytest.fixture(params=["event", "processing"])
def clock(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def go_to(harness: OperatorHarness, clock: str, time: int) -> list[Any]:
    return harness.watermark(time) if clock == "event" else harness.advance_time(time - harness.clock.wall_ms())


def test_a_timer_asked_for_twice_fires_once(clock: str) -> None:
    with timing() as harness:
        harness.process(("a", clock, 5), ("a", clock, 5))
        harness.process(("a", clock, 5))
        assert go_to(harness, clock, 10) == [("a", 5)]
        assert go_to(harness, clock, 20) == []


def test_timers_fire_in_the_order_of_their_times_whatever_the_order_of_asking(clock: str) -> None:
    with timing() as harness:
        harness.process(("a", clock, 30_000), ("b", clock, 10), ("c", clock, 20_000), ("a", clock, 15))
        assert go_to(harness, clock, 40_000) == [("b", 10), ("a", 15), ("c", 20_000), ("a", 30_000)]


def test_timers_of_later_times_wait(clock: str) -> None:
    with timing() as harness:
        harness.process(("a", clock, 10), ("a", clock, 11))
        assert go_to(harness, clock, 9) == []
        assert go_to(harness, clock, 10) == [("a", 10)]
        assert go_to(harness, clock, 11) == [("a", 11)]


def test_a_deleted_timer_does_not_fire_and_to_delete_none_is_no_error(clock: str) -> None:
    with timing() as harness:
        harness.process(("a", f"-{clock}", 5))
        harness.process(("a", clock, 5), ("b", clock, 5), ("a", f"-{clock}", 5), ("b", f"-{clock}", 6))
        assert go_to(harness, clock, 10) == [("b", 5)]


def test_the_clocks_have_timers_of_their_own() -> None:
    with timing() as harness:
        harness.process(("a", "event", 5), ("a", "processing", 5), ("b", "-processing", 5), ("a", "-processing", 6))
        assert harness.watermark(5) == [("a", 5)]
        assert harness.advance_time(5) == [("a", 5)]


def test_many_keys_may_have_a_timer_at_one_time(clock: str) -> None:
    keys = [f"key {n}" for n in range(5000)]
    with timing() as harness:
        harness.process(*[(key, clock, 7) for key in keys])
        assert go_to(harness, clock, 7) == [(key, 7) for key in keys]


def test_firing_goes_on_in_pieces() -> None:
    with timing() as harness:
        harness.process(*[(n, "event", n // 3) for n in range(30)])
        pieces = []
        while (fired := harness.operator.advance(100, 7)) is not None:
            pieces.append(len(fired))
    assert sum(pieces) == 30
    assert max(pieces) <= 9


def test_a_piece_ends_when_timers_have_put_out_much() -> None:
    class Loud(Timing):
        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
            return [timestamp] * 50

    with OperatorHarness.of(Loud(), key_by=key_of) as harness:
        harness.process(*[(n, "event", n) for n in range(20)])
        fired = harness.operator.advance(100, 100)
        assert fired is not None
        assert len(fired) == 100
        assert len(harness.watermark(100)) == 900


def test_a_timer_of_event_time_may_ask_for_one_of_processing_time() -> None:
    class Switching(Timing):
        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
            if ctx.time_domain() is TimeDomain.EVENT_TIME:
                ctx.timer_service().register_processing_time_timer(40)
                return []
            return [timestamp]

    with OperatorHarness.of(Switching(), key_by=key_of) as harness:
        harness.advance_time(10)
        harness.process(("a", "event", 5))
        harness.watermark(5)
        assert harness.operator.wake_ms == 40
        assert harness.advance_time(30) == [40]


def test_timers_at_the_end_of_time_fire_when_the_input_ends() -> None:
    with timing() as harness:
        harness.process(("a", "event", MAX_TIMESTAMP), ("b", "event", MIN_TIMESTAMP))
        assert harness.watermark(MAX_TIMESTAMP - 1) == [("b", MIN_TIMESTAMP)]
        assert harness.watermark(MAX_TIMESTAMP) == [("a", MAX_TIMESTAMP)]
        assert harness.watermark(MAX_TIMESTAMP) == []


def test_records_that_timers_put_out_have_the_time_of_the_timer() -> None:
    with timing() as harness:
        harness.process(("a", "event", 3), ("a", "event", 5))
        fired = harness.operator.advance(10, 100)
        assert fired is not None
        assert fired.timestamps == [3, 5]


class Chaining(KeyedProcessFunction):
    """A timer asks for the next one, until a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value[1])
        ctx.timer_service().register_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        timers = ctx.timer_service()
        yield ctx.get_current_key(), timestamp
        if timestamp < self.limit:
            if ctx.time_domain() is TimeDomain.EVENT_TIME:
                timers.register_event_time_timer(timestamp + 10)
            else:
                timers.register_processing_time_timer(timestamp + 10)


def test_a_timer_asked_for_by_a_timer_has_its_turn_at_once_if_it_is_due(clock: str) -> None:
    with OperatorHarness.of(Chaining(25), key_by=key_of) as harness:
        harness.process(("a", 5), ("b", 16))
        assert go_to(harness, clock, 40) == [("a", 5), ("a", 15), ("b", 16), ("a", 25), ("b", 26)]


def test_a_timer_asked_for_by_a_timer_waits_if_it_is_not_due() -> None:
    with OperatorHarness.of(Chaining(100), key_by=key_of) as harness:
        harness.process(("a", 5))
        assert harness.watermark(8) == [("a", 5)]
        assert harness.watermark(14) == []
        assert harness.watermark(15) == [("a", 15)]


def test_a_timer_of_the_past_fires_with_the_next_watermark_or_at_once() -> None:
    with timing() as harness:
        harness.watermark(100)
        harness.advance_time(100)
        harness.process(("a", "event", 50), ("b", "processing", 50))
        assert harness.watermark(100) == [("a", 50)]
        assert harness.advance_time(0) == [("b", 50)]


def test_the_operator_asks_to_be_woken_for_the_next_timer_of_processing_time() -> None:
    with timing() as harness:
        assert harness.advance_time(0) == []
        harness.process(("a", "processing", 500), ("a", "processing", 300))
        assert harness.operator.wake_ms == 300
        harness.advance_time(300)
        assert harness.operator.wake_ms == 500


class Telling(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(time_of(ctx) or 0)
        timers.register_processing_time_timer(50)
        yield timers.current_watermark(), timers.current_processing_time(), time_of(ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        timers = ctx.timer_service()
        yield ctx.time_domain(), timers.current_watermark(), timers.current_processing_time(), time_of(ctx)


def test_functions_are_told_the_times_and_the_clock_of_a_timer() -> None:
    with OperatorHarness.of(Telling(), key_by=str) as harness:
        assert harness.process("a", timestamp_ms=7) == [(MIN_TIMESTAMP, 0, 7)]
        assert harness.watermark(9) == [(TimeDomain.EVENT_TIME, 9, 0, 7)]
        assert harness.advance_time(60) == [(TimeDomain.PROCESSING_TIME, 9, 60, 50)]
        assert harness.process("a") == [(9, 60, None)]


class Refilling(KeyedProcessFunction):
    """State and timer of a key end together."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ctx.get_current_key(), self.count.value()
        self.count.clear()


def test_a_timer_sees_the_state_of_its_key_and_a_key_without_state_and_timers_is_gone() -> None:
    with OperatorHarness.of(Refilling(), key_by=key_of) as harness:
        harness.process(("a", 5), ("b", 6), ("a", 7))
        assert harness.watermark(6) == [("a", 2), ("b", 1)]
        assert harness.watermark(7) == [("a", None)]
        assert len(harness.operator._backend) == 0  # type: ignore[attr-defined]  # nobody else can tell


# --- checkpoints


def snapshots(parallelism: int, keys: list[str], clock: str) -> list[SavedOperator]:
    saved = []
    for subtask in range(parallelism):
        with timing(setup=Setup(subtask=subtask, parallelism=parallelism)) as harness:
            harness.process(*[(key, clock, 10 + n) for n, key in enumerate(keys) if harness.owns(key)])
            saved.append(harness.snapshot())
    return saved


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 3), (3, 2)])
def test_restored_timers_fire_where_their_keys_are_now(before: int, after: int, clock: str) -> None:
    keys = [f"key {n}" for n in range(60)]
    saved = snapshots(before, keys, clock)
    fired = []
    for subtask in range(after):
        with timing(restored=saved, setup=Setup(subtask=subtask, parallelism=after)) as harness:
            out = go_to(harness, clock, 100)
            assert out == sorted(out, key=lambda each: each[1])
            assert all(harness.owns(key) for key, _ in out)
            fired += out
    assert sorted(fired) == sorted((key, 10 + n) for n, key in enumerate(keys))


def test_restored_timers_of_processing_time_that_are_late_fire_right_after_the_start() -> None:
    (saved,) = snapshots(1, ["a", "b", "c"], "processing")
    again = timing(restored=[saved])
    again.clock.advance(11)
    with again:
        assert again.advance_time(0) == [("a", 10), ("b", 11)]
        assert again.advance_time(1) == [("c", 12)]


def test_a_timer_that_has_fired_or_was_deleted_is_not_in_the_next_snapshot() -> None:
    with timing() as harness:
        harness.process(("a", "event", 5), ("b", "event", 6), ("c", "event", 7))
        harness.snapshot()
        harness.watermark(5)
        harness.process(("b", "-event", 6))
        saved = harness.snapshot()
    with timing(restored=[saved]) as again:
        assert again.watermark(100) == [("c", 7)]


def test_a_snapshot_under_way_keeps_the_timers_of_its_barrier() -> None:
    with timing() as harness:
        harness.process(("a", "event", 5), ("b", "event", 6))
        barrier = harness.barrier()
        harness.watermark(6)
        harness.process(("a", "event", 8))
        saved = harness.finish(barrier)
    with timing(restored=[saved]) as again:
        assert again.watermark(100) == [("a", 5), ("b", 6)]


def test_the_watermark_starts_fresh_after_a_restore() -> None:
    with OperatorHarness.of(Telling(), key_by=str) as harness:
        harness.watermark(500)
        saved = harness.snapshot()
    with OperatorHarness.of(Telling(), key_by=str, restored=[saved]) as again:
        assert again.process("a", timestamp_ms=1) == [(MIN_TIMESTAMP, 0, 1)]


# --- what goes wrong


def test_what_on_timer_raises_names_key_and_time() -> None:
    class Failing(Timing):
        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
            raise ValueError("no")

    with OperatorHarness.of(Failing(), key_by=key_of) as harness:
        harness.process(("a", "event", 5))
        with pytest.raises(UserCodeError) as caught:
            harness.watermark(5)
        assert (caught.value.key, caught.value.during) == ("a", "on_timer(5)")


@pytest.mark.parametrize("time", [1.5, "5", None, 2**63])
def test_a_time_that_is_none_is_refused(time: Any) -> None:
    with timing() as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process(("a", "event", time))
        assert isinstance(caught.value.__cause__, StateAccessError)
        assert "the time of a timer " in str(caught.value.__cause__)


def test_a_timer_cannot_be_set_where_there_is_no_key() -> None:
    class Keeping(Timing):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self.timers = ctx.timer_service()

    function = Keeping()
    with OperatorHarness.of(function, key_by=key_of) as harness:
        harness.process(("a",))
        with pytest.raises(StateAccessError):
            function.timers.register_event_time_timer(5)


@pytest.mark.parametrize("action", ["register", "delete"])
@pytest.mark.parametrize("kind", ["event", "processing"])
def test_timers_on_a_stream_without_keys_are_refused(action: str, kind: str) -> None:
    class Unkeyed(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
            timers = ctx.timer_service()
            yield timers.current_watermark(), timers.current_processing_time(), time_of(ctx)
            getattr(timers, f"{action}_{kind}_time_timer")(5)

    with OperatorHarness.of(Unkeyed()) as harness, pytest.raises(UserCodeError) as caught:
        harness.process("a", timestamp_ms=3)
    assert isinstance(caught.value.__cause__, StateAccessError)
    assert "timers is only supported on a keyed stream" in str(caught.value.__cause__)


def test_a_function_on_a_stream_without_keys_is_told_the_times() -> None:
    class Asking(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
            yield ctx.timer_service().current_watermark(), ctx.timer_service().current_processing_time()

    with OperatorHarness.of(Asking()) as harness:
        assert harness.process("a") == [(MIN_TIMESTAMP, 0)]
        harness.watermark(8)
        harness.advance_time(4)
        assert harness.process("a") == [(8, 4)]
