"""What functions of each kind of operator do to their arguments is seen nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pytest

from headgate.common import Duration, Time, Types, WatermarkStrategy
from headgate.common.watermark_strategy import TimestampAssigner
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RecordErrors,
    StreamExecutionEnvironment,
)
from headgate.datastream.async_retry_predicates import has_exception_predicate
from headgate.datastream.async_retry_strategies import FixedDelayRetryStrategy
from headgate.datastream.functions import AggregateFunction, KeyedBroadcastProcessFunction, ProcessJoinFunction
from headgate.datastream.state import MapStateDescriptor
from headgate.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headgate.functions.watermarks import WatermarkGenerator, WatermarkOutput
from headgate.pattern import CEP, Pattern
from tests.property.program_functions import SEEN, Gather
from tests.unit.datastream.environments import environment

ANY: Final = Types.PICKLED_BYTE_ARRAY()
SIDE: Final = OutputTag("side", ANY)
FAILED: Final = OutputTag("failed", ANY)
RULES: Final = MapStateDescriptor("rules", Types.STRING(), ANY)
Record = dict[str, Any]


def record(number: int, time: int = 0) -> Record:
    return {"n": number, "time": time, "tags": []}


def one_key(value: Record) -> str:
    return "all"


class OfRecord(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return int(value["time"])


def timed(env: StreamExecutionEnvironment, records: list[Record], late_ms: int = 0) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(late_ms))
    stream: DataStream = env.from_collection(records)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(OfRecord()))


def ran(
    build: Callable[[StreamExecutionEnvironment], DataStream], mode: str = "STREAMING", **options: str
) -> list[Any]:
    env = environment(**{"execution.runtime-mode": mode, "pipeline.auto-watermark-interval": "1 ms"} | options)
    env.set_parallelism(1)
    SEEN.clear()
    build(env).add_sink(Gather("out"))
    env.execute()
    return SEEN["out"]


def tags(values: Iterable[Record]) -> list[Any]:
    return [value["tags"] for value in values]


modes = pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])


class Both(CoMapFunction, CoProcessFunction):
    def __init__(self) -> None:
        self.kept: list[Record] = []

    def map1(self, value: Record) -> Record:
        for old in self.kept:
            old["tags"].append("later")
        self.kept.append(value)
        return value

    map2 = map1

    def process_element1(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield self.map1(value)
        value["tags"].append("after")

    process_element2 = process_element1


@modes
@pytest.mark.parametrize("method", ["map", "process"])
def test_connected(mode: str, method: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([record(1), record(2)])
        connected = stream.connect(env.from_collection([record(3), record(4)]))
        return connected.map(Both()) if method == "map" else connected.process(Both())

    assert tags(ran(build, mode)) == [[]] * 4


class _Rules:
    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield value
        value["tags"].append("after")

    def process_broadcast_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        value["tags"].append("rule")
        ctx.get_broadcast_state(RULES).put("rule", value)
        yield value
        value["tags"].append("after")


class Rules(_Rules, BroadcastProcessFunction[Any, Any, Any]):
    """Changes records and rules before and after it emits them."""


class KeyedRules(_Rules, KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """The same on a keyed stream."""


@pytest.mark.parametrize("keyed", [False, True])
def test_broadcast_to_several_subtasks_of_a_slot(keyed: bool) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream: Any = env.from_collection([record(1)])
        rules = env.from_collection([record(2)]).broadcast(RULES)
        stream = stream.key_by(one_key) if keyed else stream.rebalance()
        out: DataStream = stream.connect(rules).process(KeyedRules() if keyed else Rules()).set_parallelism(3)
        return out

    out = ran(build)
    assert sorted(tags(out)) == [[], ["rule"], ["rule"], ["rule"]]


class Retag(ProcessWindowFunction[Record, Record, str, Any]):
    """Emits how many tags the elements have, and tags them; also what it emits itself."""

    def process(self, key: Any, context: Any, elements: Iterable[Record]) -> Iterator[Record]:
        given = list(elements)
        out: Record = {"n": sum(len(each["tags"]) for each in given), "count": len(given), "tags": []}
        for each in given:
            each["tags"].append("seen")
        elements.clear()  # type: ignore[attr-defined]
        yield out
        out["tags"].append("after")


def summed(first: Record, second: Record) -> Record:
    first["n"] += second["n"]
    second["tags"].append("summed")
    return first


class Listed(AggregateFunction):
    def create_accumulator(self) -> list[Record]:
        return []

    def add(self, value: Record, accumulator: list[Record]) -> list[Record]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Record]) -> list[Record]:
        return accumulator

    def merge(self, acc_a: list[Record], acc_b: list[Record]) -> list[Record]:
        acc_a.extend(acc_b)
        return acc_a


SLIDING: Final = SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10))
TUMBLING: Final = TumblingEventTimeWindows.of(Time.milliseconds(20))
SESSIONS: Final = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
FOUR: Final = [(1, 1), (2, 11), (3, 13), (4, 25)]


def four() -> list[Record]:
    return [record(number, time) for number, time in FOUR]


@modes
@pytest.mark.parametrize("trigger", [None, CountTrigger.of(1)], ids=["at the end", "early"])
@pytest.mark.parametrize("assigner", [SLIDING, TUMBLING, SESSIONS], ids=["sliding", "tumbling", "sessions"])
def test_elements_of_windows(assigner: Any, trigger: Any, mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = timed(env, four()).key_by(one_key).window(assigner)
        return (windowed if trigger is None else windowed.trigger(trigger)).process(Retag())

    out = ran(build, mode)
    assert {value["n"] for value in out} == {0}
    assert tags(out) == [[]] * len(out)
    expected = {"sliding": (4, 8), "tumbling": (2, 4), "sessions": (3, 4)}
    name = {id(SLIDING): "sliding", id(TUMBLING): "tumbling", id(SESSIONS): "sessions"}[id(assigner)]
    assert len(out) == expected[name][trigger is not None]


@pytest.mark.parametrize("assigner", [SLIDING, TUMBLING, SESSIONS], ids=["sliding", "tumbling", "sessions"])
def test_windows_that_wait_for_late_records(assigner: Any) -> None:
    records = [record(1, 1), record(2, 60), record(3, 2), record(4, 3), record(5, 200)]

    def build(env: StreamExecutionEnvironment) -> DataStream:
        return timed(env, records).key_by(one_key).window(assigner).allowed_lateness(100).process(Retag())

    out = ran(build, **{"headgate.batch.records": "1"})
    assert {value["n"] for value in out} == {0}
    assert max(value["count"] for value in out) == 3


@modes
@pytest.mark.parametrize("trigger", [None, CountTrigger.of(1)], ids=["at the end", "early"])
def test_reduce_that_changes_its_arguments(trigger: Any, mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = timed(env, four()).key_by(one_key).window(SLIDING)
        return (windowed if trigger is None else windowed.trigger(trigger)).reduce(summed)

    sums = [value["n"] for value in ran(build, mode)]
    early = [1, 1, 3, 2, 6, 5, 9, 4]  # sums of -10..10, 0..20, 10..30, ... as they grow
    assert sorted(sums) == ([1, 4, 6, 9] if trigger is None else sorted(early))[: len(sums)]


@modes
@pytest.mark.parametrize("trigger", [None, CountTrigger.of(1)], ids=["at the end", "early"])
def test_accumulators_that_are_results(trigger: Any, mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = timed(env, four()).key_by(one_key).window(SLIDING)
        windowed = windowed if trigger is None else windowed.trigger(trigger)
        return windowed.aggregate(Listed()).map(emptied)

    out = ran(build, mode)
    wanted = [[1], [1, 2, 3], [2, 3, 4], [4]]
    grown = [[1], [1], [1, 2], [2], [1, 2, 3], [2, 3], [2, 3, 4], [4]]
    assert sorted(out) == sorted(wanted if trigger is None else grown)


def emptied(values: list[Record]) -> list[int]:
    numbers = [value["n"] for value in values]
    for value in values:
        value["n"] = -1
    values.clear()
    return numbers


def test_a_sliding_count_window() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([record(n) for n in range(6)]).key_by(one_key).count_window(4, 2).process(Retag())

    out = ran(build)
    assert [(value["n"], value["count"]) for value in out] == [(0, 4), (0, 4)]


def test_a_window_that_fires_early_and_keeps_all() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([record(n) for n in range(3)]).key_by(one_key)
        return stream.window(GlobalWindows.create()).trigger(CountTrigger.of(1)).process(Retag())

    assert [(value["n"], value["count"]) for value in ran(build)] == [(0, 1), (0, 2), (0, 3)]


class EachRecord(WatermarkGenerator):
    """Every timestamp is a watermark."""

    def on_event(self, event: Record, timestamp_ms: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp_ms)


@modes
def test_late_records_go_to_the_side_as_they_came(mode: str) -> None:
    records = [record(1, 1), record(2, 100), record(3, 2), record(4, 3)]

    def build(env: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_generator(EachRecord).with_timestamp_assigner(OfRecord())
        stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy).key_by(one_key)
        main = stream.window(TUMBLING).side_output_late_data(SIDE).process(Retag())
        return main.get_side_output(SIDE)

    out = ran(build, mode, **{"headgate.batch.records": "1"})
    assert out == ([record(3, 2), record(4, 3)] if mode == "STREAMING" else [])


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: Any) -> Iterator[Any]:
        yield left["n"], right["n"], len(left["tags"]), len(right["tags"])
        left["tags"].append("left")
        right["tags"].append("right")


@modes
def test_interval_join(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left = timed(env, [record(1, 10), record(2, 11)]).key_by(one_key)
        right = timed(env, [record(3, 10), record(4, 12)]).key_by(one_key)
        return left.interval_join(right).between(Time.milliseconds(-5), Time.milliseconds(5)).process(Pairs())

    out = ran(build, mode)
    assert sorted(out) == [(a, b, 0, 0) for a in (1, 2) for b in (3, 4)]


def joined(left: Record, right: Record) -> Any:
    found = left["n"], right["n"], len(left["tags"]), len(right["tags"])
    left["tags"].append("left")
    right["tags"].append("right")
    return found


@modes
def test_window_join(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = timed(env, [record(1, 1), record(2, 2)]), timed(env, [record(3, 1), record(4, 2)])
        both = left.join(right).where(one_key).equal_to(one_key)
        return both.window(TUMBLING).apply(joined)

    assert sorted(ran(build, mode)) == [(a, b, 0, 0) for a in (1, 2) for b in (3, 4)]


class Called(AsyncFunction):
    """Changes its argument before it fails for the first time, and what it returns afterwards."""

    def __init__(self) -> None:
        self.failed: set[int] = set()

    async def async_invoke(self, value: Record) -> list[Record]:
        value["tags"].append("called")
        if value["n"] not in self.failed:
            self.failed.add(value["n"])
            raise ConnectionError("not yet")
        return [value, value]


def test_a_call_that_is_made_again_gets_the_record_as_it_came() -> None:
    retries = FixedDelayRetryStrategy(3, 1, None, has_exception_predicate)

    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_collection([record(1), record(2)])
        called = AsyncDataStream.ordered_wait_with_retry(stream, Called(), Time.seconds(60), retries, 10)
        return called.map(tagged)

    assert tags(ran(build)) == [["called", "mapped"]] * 4


def tagged(value: Record) -> Record:
    value["tags"].append("mapped")
    return value


class KeyedCalls(KeyedProcessFunction):
    async def process_element(self, value: Record, ctx: Any) -> Any:
        yield value
        value["tags"].append("between")
        yield value
        value["tags"].append("after")


def test_coroutines_on_a_keyed_stream() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([record(1)]).key_by(one_key).enable_async_state().process(KeyedCalls()).map(tagged)

    assert tags(ran(build)) == [["mapped"], ["between", "mapped"]]


class Scores:
    def __init__(self) -> None:
        self.kept: list[Record] = []

    def __call__(self, records: list[Record]) -> list[Record]:
        for old in self.kept:
            old["tags"].append("later")
        self.kept += records
        for each in records:
            each["tags"].append("scored")
        return self.kept[-len(records) :]


@modes
def test_map_batches(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([record(n) for n in range(4)]).map_batches(Scores, batch_size=1)

    assert tags(ran(build, mode)) == [["scored"]] * 4


class Failing(ProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        value["tags"].append("begun")
        if value["n"] % 2:
            raise ValueError("odd")
        yield value
        value["tags"].append("after")


@modes
def test_a_failed_record_goes_to_the_side_as_it_came(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        done = env.from_collection([record(1), record(2)]).process(Failing()).on_error(RecordErrors.side_output(FAILED))
        failed = done.get_side_output(FAILED).map(lambda each: each.record)
        return done.union(failed)

    assert sorted(tags(ran(build, mode))) == [[], ["begun"]]


class Remind(KeyedProcessFunction):
    """Emits what it keeps, also when timers fire."""

    def __init__(self) -> None:
        self.kept: list[Record] = []

    def process_element(self, value: Record, ctx: Any) -> None:
        self.kept.append(value)
        ctx.timer_service().register_event_time_timer(value["time"])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        for value in self.kept:
            value["n"] = timestamp
            yield value


def test_timers() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return timed(env, [record(1, 5), record(2, 9)]).key_by(one_key).process(Remind())

    assert [value["n"] for value in ran(build)] == [5, 5, 9, 9]


class FailsOnce(MapFunction):
    tries = 0

    def map(self, value: Record) -> Record:
        value["tags"].append("mapped")
        FailsOnce.tries += 1
        if FailsOnce.tries == 2:
            raise RuntimeError("once")
        return value


def test_a_collection_is_replayed_as_it_was() -> None:
    FailsOnce.tries = 0

    def build(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_collection([record(1), record(2), record(3)]).map(FailsOnce())

    settings = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}
    assert tags(ran(build, **settings))[-3:] == [["mapped"]] * 3


def test_object_reuse_shares_records() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        env.get_config().enable_object_reuse()
        return env.from_collection([record(1)]).process(ChangesAfterwards())

    assert tags(ran(build)) == [["after"]]


class ChangesAfterwards(ProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        yield value
        value["tags"].append("after")


def retagged(match: dict[str, list[Record]]) -> Any:
    found = [(value["n"], len(value["tags"])) for values in match.values() for value in values]
    for values in match.values():
        for value in values:
            value["tags"].append("matched")
        values.clear()
    return found


@modes
def test_matches_of_a_pattern_that_share_records(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        pattern = Pattern.begin("one").followed_by_any("other")
        stream = timed(env, [record(number, number) for number in range(1, 5)]).key_by(one_key)
        return CEP.pattern(stream, pattern).select(retagged)

    pairs = [(one, other) for one in range(1, 5) for other in range(one + 1, 5)]
    assert sorted(ran(build, mode)) == [[(one, 0), (other, 0)] for one, other in pairs]


@modes
def test_as_of_join(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        left = timed(env, [record(number, 10 + number) for number in range(3)]).key_by(one_key)
        right = timed(env, [record(9, 5)]).key_by(one_key)
        return left.join_asof(right).process(Pairs())

    assert sorted(ran(build, mode)) == [(0, 9, 0, 0), (1, 9, 0, 0), (2, 9, 0, 0)]


def test_reduce_behind_an_evictor_changes_no_element() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = env.from_collection([record(1) for _ in range(4)]).key_by(one_key).window(GlobalWindows.create())
        return windowed.trigger(CountTrigger.of(1)).evictor(CountEvictor.of(2)).reduce(summed)

    assert [value["n"] for value in ran(build)] == [1, 2, 2, 2]
