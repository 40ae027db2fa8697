"""The end of keys in batch jobs: all timers fire, those of event time first; then nothing is known of the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from headgate.common import Duration
from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import UserCodeError
from headgate.operators.keyed import KeyedOperator
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.ttl import StateTtlConfig
from headgate.testing.harness import OperatorHarness
from headgate.types.output_tag import OutputTag
from headgate.types.typeinfo import Types

MANY = 10**6
SIDE = OutputTag("side")
Timers = Any


class Planned(KeyedProcessFunction):
    """Counts records, and does what a record says: a function of the timers, called now, or None."""

    def __init__(self, on_timer: Callable[[int, Timers], None] = lambda time, timers: None) -> None:
        self.then = on_timer

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if value[1] is not None:
            self.answer = value[1](ctx.timer_service())
        yield self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        self.then(timestamp, ctx.timer_service())
        yield ctx.time_domain().name, ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


def planned(*args: Any) -> OperatorHarness:
    return OperatorHarness.of(Planned(*args), key_by=lambda value: value[0])


def end(harness: OperatorHarness, records_max: int = MANY) -> list[Batch]:
    """End the keys; return what came out, where there was something."""
    assert isinstance(harness.operator, KeyedOperator)
    return [batch for batch in harness.operator.end_keys(records_max) if batch.records]


def fired(harness: OperatorHarness) -> list[Any]:
    return [record[:3] for batch in end(harness) for record in batch.records]


def event(*times: int) -> Callable[[Timers], object]:
    return lambda timers: [timers.register_event_time_timer(time) for time in times]


def processing(*times: int) -> Callable[[Timers], object]:
    return lambda timers: [timers.register_processing_time_timer(time) for time in times]


def test_all_timers_fire_in_order_those_of_event_time_first() -> None:
    with planned() as harness:
        harness.process(("a", processing(7, 3)), ("a", event(30, 10, MAX_TIMESTAMP)), ("b", event(20, 30)))
        assert fired(harness) == [
            ("EVENT_TIME", "a", 10),
            ("EVENT_TIME", "b", 20),
            ("EVENT_TIME", "a", 30),
            ("EVENT_TIME", "b", 30),
            ("EVENT_TIME", "a", MAX_TIMESTAMP),
            ("PROCESSING_TIME", "a", 3),
            ("PROCESSING_TIME", "a", 7),
        ]


def test_nothing_fires_that_was_taken_back() -> None:
    with planned() as harness:
        harness.process(("a", event(10, 20)), ("a", processing(5)))
        harness.process(("a", lambda timers: timers.delete_event_time_timer(10)))
        harness.process(("a", lambda timers: timers.delete_processing_time_timer(5)))
        assert fired(harness) == [("EVENT_TIME", "a", 20)]


def test_keys_without_timers_end_in_silence() -> None:
    with planned() as harness:
        harness.process(("a", None))
        assert end(harness) == []


def test_records_have_the_time_of_their_timer_but_none_of_the_clock() -> None:
    with planned() as harness:
        harness.process(("a", event(10, 20)), ("a", processing(5)))
        assert [batch.timestamps for batch in end(harness)] == [[10, 20], None]


def test_event_time_is_over_while_timers_fire_and_starts_fresh_afterwards() -> None:
    function = Planned()
    with OperatorHarness.of(function, key_by=lambda value: value[0]) as harness:
        harness.process(("a", event(10)), ("a", processing(5)))
        watermarks = [record[3] for batch in end(harness) for record in batch.records]
        assert watermarks == [MAX_TIMESTAMP, MAX_TIMESTAMP]
        harness.process(("b", lambda timers: timers.current_watermark()))
        assert function.answer == MIN_TIMESTAMP


def test_an_event_time_timer_that_a_timer_asks_for_fires_too() -> None:
    def again(time: int, timers: Timers) -> None:
        if time in (10, 5):
            timers.register_event_time_timer(time + 1)

    with planned(again) as harness:
        harness.process(("a", event(10)), ("a", processing(5)))
        assert fired(harness) == [
            ("EVENT_TIME", "a", 10),
            ("EVENT_TIME", "a", 11),
            ("PROCESSING_TIME", "a", 5),
            ("EVENT_TIME", "a", 6),
        ]


def test_a_timer_of_the_clock_that_asks_for_the_next_for_ever_comes_to_an_end() -> None:
    def again(time: int, timers: Timers) -> None:
        timers.register_processing_time_timer(time + 1)

    with planned(again) as harness:
        for key in ("a", "b"):  # the next key can have such timers again
            harness.process((key, processing(5, 9)))
            assert fired(harness) == [("PROCESSING_TIME", key, 5), ("PROCESSING_TIME", key, 9)]


def test_a_timer_may_take_back_a_later_one_of_the_clock() -> None:
    with planned(lambda time, timers: timers.delete_processing_time_timer(9)) as harness:
        harness.process(("a", processing(5, 9)))
        assert fired(harness) == [("PROCESSING_TIME", "a", 5)]


def test_what_many_timers_put_out_comes_in_pieces() -> None:
    with planned() as harness:
        harness.process(("a", event(*range(25))))
        assert [len(batch) for batch in end(harness, records_max=10)] == [10, 10, 5]


def test_state_goes_with_its_key() -> None:
    with planned() as harness:
        assert harness.process(("a", None), ("a", event(1))) == [1, 2]
        end(harness)
        assert harness.process(("a", None)) == [1]
        assert fired(harness) == []


def test_an_error_of_on_timer_names_key_and_timer() -> None:
    def fail(time: int, timers: Timers) -> None:
        raise ValueError("planned")

    with planned(fail) as harness:
        harness.process(("a", event(10)))
        with pytest.raises(UserCodeError) as caught:
            end(harness)
        assert (caught.value.key, caught.value.during) == ("a", "on_timer(10)")


def test_side_outputs_of_timers_are_there_with_each_piece() -> None:
    class Aside(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            event(10)(ctx.timer_service())
            processing(5)(ctx.timer_service())

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield SIDE, timestamp

    with OperatorHarness.of(Aside(), key_by=str) as harness:
        harness.process("a")
        assert isinstance(harness.operator, KeyedOperator)
        sides = [[batch.records for _, batch in harness.operator.sides] for _ in harness.operator.end_keys(MANY)]
        assert sides == [[[10]], [[5]]]


def test_a_clean_up_that_is_half_through_leaves_keys_alone_that_have_ended() -> None:
    ttl = StateTtlConfig.new_builder(Duration.of_millis(10)).cleanup_incrementally(1, True).build()

    class Expiring(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ValueStateDescriptor("count", Types.LONG())
            descriptor.enable_time_to_live(ttl)
            self.count = runtime_context.get_state(descriptor)

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            self.count.update((self.count.value() or 0) + 1)
            yield self.count.value()

    with OperatorHarness.of(Expiring(), key_by=lambda number: number) as harness:
        harness.process(*range(200))
        harness.advance_time(20)
        assert harness.process(200) == [1]  # the clean-up begins
        end(harness)
        assert harness.process(0, 200) == [1, 1]
