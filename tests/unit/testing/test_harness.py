"""The operator harness refuses what it cannot run, and says what to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headgate.config import Settings
from headgate.datastream import (
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
)
from headgate.errors import RestoreError
from headgate.options import OBJECT_REUSE
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup, UserCodeError
from headgate.types.typeinfo import Types


class Latest(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest", Types.STRING()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        self.latest.update(value)


class Sides(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield "first", ctx.get_current_key(), ctx.timestamp()

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
        yield "second", ctx.get_current_key(), ctx.timestamp()


def first_letter(word: str) -> str:
    return word[0]


def last_letter(word: str) -> str:
    return word[-1]


def saved() -> SavedOperator:
    with OperatorHarness.of(Latest(), key_by=first_letter) as harness:
        harness.process("ann", "bob", "abe")
        return harness.snapshot()


@pytest.mark.parametrize(("key_by", "stream"), [(None, "a stream without keys"), (str, "a keyed stream")])
def test_what_is_no_function_is_refused_by_its_name(key_by: Any, stream: str) -> None:
    with pytest.raises(TypeError, match=f"a dict is not a function for {stream}"):
        OperatorHarness.of({}, key_by=key_by)


@pytest.mark.parametrize("operators", [0, 2])
def test_a_stream_of_no_operator_or_of_several_is_refused_with_their_number(operators: int) -> None:
    def build(stream: DataStream) -> DataStream:
        for _ in range(operators):
            stream = stream.map(str)
        return stream

    with pytest.raises(TypeError, match=f"one operator, not of {operators}"):
        OperatorHarness.of_stream(build)


def test_a_snapshot_of_another_max_parallelism_is_refused_with_its_own() -> None:
    harness = OperatorHarness.of(Latest(), key_by=first_letter, restored=[saved()], setup=Setup(max_parallelism=64))
    with pytest.raises(RestoreError, match=r"Setup\(max_parallelism=128\)"):
        harness.open()


def test_subtasks_take_of_a_snapshot_what_is_their_own() -> None:
    before, parts = saved(), []
    for subtask in range(3):
        setup = Setup(subtask=subtask, parallelism=3)
        with OperatorHarness.of(Latest(), key_by=first_letter, restored=[before], setup=setup) as harness:
            parts.append(harness.state("latest"))
            assert all(harness.owns(key) for key in parts[-1])
    assert {key: value for part in parts for key, value in part.items()} == {"a": "abe", "b": "bob"}
    assert sum(map(len, parts)) == 2


@pytest.mark.parametrize(("key_by_second", "key"), [(None, "d"), (last_letter, "l")])
def test_the_second_input_goes_by_its_own_key_if_it_has_one(key_by_second: Any, key: str) -> None:
    given = {} if key_by_second is None else {"key_by_second": key_by_second}
    with OperatorHarness.of(Sides(), key_by=first_letter, **given) as harness:
        assert harness.process("drill", timestamp_ms=5) == [("first", "d", 5)]
        assert harness.process_second("drill", timestamp_ms=7) == [("second", key, 7)]


class Appending(MapFunction):
    """Adds to the list that it gets, and keeps what it emits."""

    def __init__(self) -> None:
        self.emitted: list[list[int]] = []

    def map(self, value: list[int]) -> list[int]:
        value.append(1)
        self.emitted.append(value)
        return value


def test_a_function_shares_no_record_with_the_test() -> None:
    function, record = Appending(), [0]
    with OperatorHarness.of(function) as harness:
        out = harness.process(record)
        function.emitted[0].append(2)
    assert (record, out) == ([0], [[0, 1]])


def test_a_broadcast_element_shares_nothing_with_the_test_either() -> None:
    class Keeping(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self, value: list[int]) -> Any:
            value.append(1)
            return value

    record = [0]
    with OperatorHarness.of(Keeping()) as harness:
        assert harness.process_second(record) == [[0, 1]]
    assert record == [0]


@pytest.mark.parametrize("to_side", [False, True])
def test_what_cannot_travel_fails_the_test_with_the_record(to_side: bool) -> None:
    class Locking(ProcessFunction):
        side = OutputTag("side")

        def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield (self.side, threading.Lock()) if to_side else threading.Lock()

    with (
        OperatorHarness.of(Locking(), setup=Setup(settings=Settings().with_value(OBJECT_REUSE, True))) as harness,
        pytest.raises(UserCodeError) as caught,
    ):
        harness.process(1)
    assert isinstance(caught.value.record, type(threading.Lock()))
    assert "cannot be sent to another slot: cannot pickle '_thread.lock' object" in str(caught.value.__cause__)


def test_a_record_of_a_local_class_travels() -> None:
    @dataclass
    class Point:
        x: int

    with OperatorHarness.of(Appending()) as harness:
        assert harness.process([Point(3)]) == [[Point(3), 1]]
