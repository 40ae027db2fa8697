"""Connected and broadcast streams: what is refused when a program is built, and programs that fail on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from headgate.common import WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import (
    BroadcastProcessFunction,
    BroadcastStream,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from headgate.elements import MAX_TIMESTAMP
from headgate.errors import ProgramError
from headgate.types.instant import Duration, Time
from headgate.types.typeinfo import Types
from tests.unit.datastream.environments import environment, numbers, plan_of

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
LAST = MAX_TIMESTAMP - 1
"""A timer for when all input has ended."""
CALLS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _clear() -> None:
    CALLS.clear()


def key_of(value: int) -> int:
    return value % 7


class Pair(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return 1, value

    def map2(self, value: Any) -> Any:
        return 2, value


class Flat(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return [value]

    def flat_map2(self, value: Any) -> Any:
        return [value, value]


class Plain(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield 1, value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
        yield 2, value


class Meeting(KeyedCoProcessFunction):
    """Puts out a timer 50 after each record of the first stream, and in the end how many of each were counted."""

    timed = OutputTag("timed", Types.LONG())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.LONG()))
        self.second = runtime_context.get_state(ValueStateDescriptor("second", Types.LONG()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.first.update((self.first.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value + 50)
        ctx.timer_service().register_event_time_timer(LAST)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.second.update((self.second.value() or 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any]:
        if timestamp == LAST:
            yield ctx.get_current_key(), self.first.value(), self.second.value()
        else:
            yield self.timed, timestamp


class Ruling(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield value, ctx.get_broadcast_state(RULES).is_empty()

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(str(value), value)


class KeyedRuling(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Counts the records of a key; in the end emits the count, and the sum of the rules."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(LAST)

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(RULES).put(str(value), value)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ctx.get_current_key(), self.count.value(), sum(ctx.get_broadcast_state(RULES).values())


# --- programs


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class FailingAt(MapFunction):
    """Fails at some of its calls, counted over all subtasks and attempts."""

    def __init__(self, *calls: int) -> None:
        self.calls = calls

    def map(self, value: Any) -> Any:
        CALLS["map"] += 1
        if CALLS["map"] in self.calls:
            raise ValueError("planned")
        return value


def restarting() -> StreamExecutionEnvironment:
    settings = {
        "execution__checkpointing__interval": "20 ms",
        "restart-strategy__fixed-delay__delay": "0 ms",
        "restart-strategy__type": "fixed-delay",
        "restart-strategy__fixed-delay__attempts": "10",
    }
    return environment(**settings).set_parallelism(2)


def timed(env: StreamExecutionEnvironment, count: int, *failures: int) -> DataStream:
    """Numbers with themselves as timestamps, at a rate at which several checkpoints are made before the last."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    source = RateLimitedSource(NumberSequenceSource(0, count - 1), 4 * count)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(FailingAt(*failures))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Itself()))


@pytest.mark.parametrize("failures", [(), (150,), (90, 250, 300)])
@pytest.mark.slow
def test_records_of_both_streams_and_timers_count_once_through_restarts(failures: tuple[int, ...]) -> None:
    env = restarting()
    met = timed(env, 200, *failures).connect(timed(env, 140)).key_by(key_of, key_of).process(Meeting())
    out = met.map(lambda total: ("total", total)).union(met.get_side_output(Meeting.timed).map(lambda ms: ("at", ms)))
    found = Counter(out.execute_and_collect())
    totals = [("total", (key, len(range(key, 200, 7)), len(range(key, 140, 7)))) for key in range(7)]
    assert found == Counter([*totals, *(("at", value + 50) for value in range(200))])


@pytest.mark.parametrize("failures", [(), (150,), (90, 250, 300)])
@pytest.mark.slow
def test_every_subtask_has_all_broadcast_elements_through_restarts(failures: tuple[int, ...]) -> None:
    env = restarting()
    rules = timed(env, 30).broadcast(RULES)
    out = timed(env, 200, *failures).key_by(key_of).connect(rules).process(KeyedRuling())
    expected = [(key, len(range(key, 200, 7)), sum(range(30))) for key in range(7)]
    assert sorted(out.execute_and_collect()) == expected


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        (lambda both: both.map(Pair()), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]),
        (lambda both: both.flat_map(Flat()), [1, 1, 1, 2, 2, 2, 3, 3, 3]),
        (lambda both: both.process(Plain()), [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]),
    ],
)
@pytest.mark.parametrize("is_keyed", [False, True])
def test_functions_read_both_streams(
    apply: Callable[[ConnectedStreams], DataStream], expected: list[Any], is_keyed: bool
) -> None:
    env = environment().set_parallelism(2)
    both = numbers(env).connect(numbers(env))
    if is_keyed:
        both = both.key_by(str, str)
    assert sorted(apply(both).execute_and_collect()) == expected


def test_a_stream_may_be_connected_with_itself() -> None:
    stream = numbers(environment())
    assert sorted(stream.connect(stream).map(Pair()).execute_and_collect()) == [
        *((1, 1), (1, 2), (1, 3)),
        *((2, 1), (2, 2), (2, 3)),
    ]


def test_operators_have_flinks_names() -> None:
    env = environment()
    one, other = numbers(env), numbers(env)
    both, rules = one.connect(other), other.broadcast(RULES)
    keyed = both.key_by(str, str)
    for stream in (both.map(Pair()), both.flat_map(Flat()), both.process(Plain()), keyed.process(Meeting())):
        stream.print()
    one.connect(rules).process(Ruling()).print()
    one.key_by(str).connect(rules).process(KeyedRuling()).print()
    names = [node["type"] for node in plan_of(env)]
    assert [name for name in names if name.startswith(("Co-", "Keyed"))] == [
        *("Co-Map", "Co-Flat Map", "Co-Process", "Keyed Co-Process"),
        *("Co-Process-Broadcast", "Co-Process-Broadcast-Keyed"),
    ]


# --- what is refused


def one_keyed(stream: DataStream) -> DataStream:
    return stream.key_by(str).connect(stream).map(Pair())


REFUSED: list[tuple[Callable[[Any], object], str]] = [
    (lambda s: s.connect([1]), r"connect\(\) takes streams, not \[1\]"),
    (lambda s: s.connect(numbers(environment())), "streams of the same environment"),
    (lambda s: s.connect(numbers(environment()).broadcast(RULES)), "streams of the same environment"),
    (one_keyed, "call key_by.* on the second stream, too"),
    (lambda s: s.connect(s.key_by(str)).process(Plain()), "call key_by.* on the first stream, too"),
    (lambda s: s.connect(s).key_by(str, 5), r"key_by\(\) takes a KeySelector"),
    (lambda s: s.connect(s).map(lambda value: value), r"connect\(...\).map\(\) takes a CoMapFunction, not <function"),
    (lambda s: s.connect(s).map(Pair), r"was given the class Pair itself: pass an instance"),
    (lambda s: s.connect(s).map(Flat()), r"Flat is a CoFlatMapFunction: call connect\(...\).flat_map\(...\) with it"),
    (lambda s: s.connect(s).process(Meeting()), r"call connect\(...\).key_by\(selector1, selector2\) before"),
    (lambda s: s.connect(s).process(Ruling()), r"pass the other stream's broadcast\(descriptor\) to connect"),
    (lambda s: s.connect(s.broadcast(RULES)).process(KeyedRuling()), r"call key_by\(...\) before connect"),
    (lambda s: s.key_by(str).connect(s.broadcast(RULES)).process(Ruling()), "derive it from KeyedBroadcastProcessF"),
    (lambda s: s.process(Plain()), r"Plain is a CoProcessFunction: call connect\(...\).process\(...\) with it"),
    (lambda s: s.broadcast(ValueStateDescriptor("v", Types.LONG())), r"broadcast\(\) takes a MapStateDescriptor"),
    (lambda s: s.broadcast(RULES, RULES), "two states with the name 'rules'"),
    (lambda s: s.key_by(str).broadcast(RULES), r"broadcast\(\) cannot follow key_by\(\)"),
    (lambda s: s.connect(s).map(Pair(), int), "output type of Co-Map"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_what_cannot_be_right_is_refused_at_once(wrong: Callable[[DataStream], object], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        wrong(numbers(environment()))


def test_broadcast_state_does_not_expire() -> None:
    expiring = MapStateDescriptor("expiring", Types.STRING(), Types.LONG())
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    with pytest.raises(ProgramError, match="'expiring' with a time to live"):
        numbers(environment()).broadcast(expiring)


def test_without_descriptors_broadcast_is_a_partitioning() -> None:
    env = environment().set_parallelism(2)
    stream = numbers(env).broadcast()
    assert not isinstance(stream, BroadcastStream)
    assert sorted(stream.map(lambda value: value).execute_and_collect()) == [1, 1, 2, 2, 3, 3]
