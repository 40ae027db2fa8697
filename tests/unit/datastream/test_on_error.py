"""What programs say of failing records: where that is possible, what is refused before they run, what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from headgate.common import Types, WatermarkStrategy
from headgate.datastream import (
    BroadcastProcessFunction,
    BroadcastStream,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    DataStreamSink,
    FailedRecord,
    KeyedProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessFunction,
    RecordErrors,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import MapStateDescriptor
from headgate.errors import JobFailedError, ProgramError
from tests.unit.datastream.environments import environment, numbers, plan_of

BAD = OutputTag("bad")
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
SKIP = RecordErrors.skip()


class Doing(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any]:
        yield value


class KeyedDoing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value


class CoMapping(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class CoDoing(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any]:
        yield value


class Ruling(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        pass


def same(value: Any) -> Any:
    return value


def keyed(stream: DataStream) -> KeyedStream:
    return stream.key_by(same)


def rules(stream: DataStream) -> BroadcastStream:
    return numbers(stream.get_execution_environment()).broadcast(RULES)


def other(stream: DataStream) -> DataStream:
    return numbers(stream.get_execution_environment())


POSSIBLE: dict[str, Callable[[DataStream], DataStream]] = {
    "map": lambda stream: stream.map(same),
    "flat_map": lambda stream: stream.flat_map(lambda value: [value]),
    "filter": lambda stream: stream.filter(same),
    "process": lambda stream: stream.process(Doing()),
    "keyed map": lambda stream: keyed(stream).map(same),
    "keyed flat_map": lambda stream: keyed(stream).flat_map(lambda value: [value]),
    "keyed filter": lambda stream: keyed(stream).filter(same),
    "keyed process": lambda stream: keyed(stream).process(KeyedDoing()),
    "reduce": lambda stream: keyed(stream).reduce(lambda one, two: one),
    "sum": lambda stream: keyed(stream).sum(),
    "min_by": lambda stream: keyed(stream).min_by(),
    "co-map": lambda stream: stream.connect(other(stream)).map(CoMapping()),
    "co-process": lambda stream: stream.connect(other(stream)).process(CoDoing()),
    "keyed co-process": lambda stream: stream.connect(other(stream)).key_by(same, same).process(CoDoing()),
    "broadcast process": lambda stream: stream.connect(rules(stream)).process(Ruling()),
}
IMPOSSIBLE: dict[str, tuple[Callable[[DataStream], DataStream | DataStreamSink], str]] = {
    "source": (lambda stream: stream, "a source: have it read raw records"),
    "key_by": (lambda stream: stream.map(same).key_by(same), "the result of key_by"),
    "union": (lambda stream: stream.map(same).union(stream), "this stream is a union"),
    "rebalance": (lambda stream: stream.map(same).rebalance(), "rebalance"),
    "side output": (lambda stream: stream.map(same).get_side_output(BAD), "get_side_output"),
    "watermarks": (
        lambda stream: stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()),
        "to give each record a timestamp",
    ),
    "sink": (lambda stream: stream.print().name("the end"), "sink 'the end', which writes records in batches"),
}


@pytest.mark.parametrize("operator", POSSIBLE)
def test_an_operator_with_a_function_takes_a_policy_and_runs(operator: str) -> None:
    stream = POSSIBLE[operator](numbers(environment()))
    assert stream.on_error(SKIP) is stream
    assert list(stream.execute_and_collect())


@pytest.mark.parametrize("operator", IMPOSSIBLE)
def test_what_is_no_such_operator_refuses_it_in_words(operator: str) -> None:
    make, words = IMPOSSIBLE[operator]
    with pytest.raises(ProgramError, match=words):
        make(numbers(environment())).on_error(SKIP)


@pytest.mark.parametrize("policy", ["skip", None, RecordErrors, ValueError])
def test_a_policy_is_made_by_record_errors(policy: Any) -> None:
    with pytest.raises(ProgramError, match=r"takes RecordErrors.skip\(\)"):
        numbers(environment()).map(same).on_error(policy)


@pytest.mark.parametrize("operator", POSSIBLE)
def test_a_policy_changes_no_generated_uid(operator: str) -> None:
    plans = []
    for policy in (RecordErrors.fail(), SKIP, RecordErrors.side_output(BAD)):
        env = environment()
        stream = POSSIBLE[operator](numbers(env)).on_error(policy)
        if policy.tag is not None:
            stream.get_side_output(BAD).print()
        stream.map(same).print()
        plans.append([node["uid"] for node in plan_of(env) if not node["type"].startswith("Sink")])
    assert plans[0] == plans[1] == plans[2]


def test_a_side_output_that_nobody_reads_is_refused() -> None:
    env = environment()
    halves = numbers(env).map(same).name("halving").on_error(RecordErrors.side_output(BAD))
    halves.get_side_output(OutputTag("other")).print()
    halves.print()
    with pytest.raises(ProgramError, match=r"operator 'halving' fails for would be lost: .*OutputTag\('bad'\)"):
        env.execute()


def test_the_last_policy_counts() -> None:
    env = environment()
    inverse = numbers(env).map(lambda n: 6 // (n - 2)).on_error(RecordErrors.side_output(BAD)).on_error(SKIP)
    assert list(inverse.execute_and_collect()) == [-6, 6]
    failing = numbers(env).map(lambda n: 6 // (n - 2)).on_error(SKIP).on_error(RecordErrors.fail())
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        list(failing.execute_and_collect())


def test_failed_records_come_out_of_the_side_output_and_go_on_as_records() -> None:
    env = environment().set_parallelism(2)
    words = env.from_collection(["1", "x", "3", "", "5"]).key_by(len)
    parsed = words.map(int, Types.LONG()).name("parse").on_error(RecordErrors.side_output(BAD, ValueError))
    failed = parsed.get_side_output(BAD)
    assert failed.get_type() == Types.PICKLED_BYTE_ARRAY()
    shown = failed.key_by(lambda one: one.operator).map(lambda one: (one.record, one.key, one.timestamp_ms))
    both = shown.union(parsed.map(lambda number: ("ok", number, None)))
    assert sorted(both.execute_and_collect()) == [
        ("", 0, None),
        ("ok", 1, None),
        ("ok", 3, None),
        ("ok", 5, None),
        ("x", 1, None),
    ]


def collected_failures(env: StreamExecutionEnvironment, policy: RecordErrors) -> list[FailedRecord]:
    stream = env.from_collection([1, 2, 3]).map(lambda n: 6 // (n - 2)).on_error(policy)
    stream.filter(lambda n: False).print()
    return list(stream.get_side_output(BAD).execute_and_collect())


def test_the_main_output_need_not_wait_for_the_failed_records() -> None:
    (failed,) = collected_failures(environment(), RecordErrors.side_output(BAD))
    assert (failed.record, failed.operator) == (2, "Map")
    assert "6 // (n - 2)" in failed.error


def test_an_operator_is_named_in_an_error_that_does_not_count() -> None:
    env = environment()
    stream = numbers(env).map(lambda n: 6 // (n - 2)).name("halving").on_error(RecordErrors.skip(KeyError))
    with pytest.raises(JobFailedError, match="operator 'halving'") as caught:
        list(stream.execute_and_collect())
    assert "record: 2" in str(caught.value)
    assert "record_guard" not in str(caught.value)
