"""What a function may return for any number of records: what Python iterates over, as in PyFlink, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from headgate.common import Row, Types
from headgate.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from headgate.datastream.state import MapStateDescriptor
from headgate.functions.record_errors import RecordErrors
from headgate.operators.base import UserCodeError
from headgate.operators.plain_functions import FlatMapFactory
from headgate.testing.harness import OperatorHarness

RULES: Final = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
RECORDS: Final = [7, 1.5, True]
ITEMS: Final = [("ab", ["a", "b"]), (b"ab", [97, 98]), ({"key": 1}, ["key"]), (Row(1, 2), [1, 2])]

returned = pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)


class Flat(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return value


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value


class CoFlat(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return value

    def flat_map2(self, value: Any) -> Any:
        return value


class Co(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return value


class KeyedCo(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return value


class Broadcast(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return value


class KeyedBroadcast(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return value


def same(value: Any) -> str:
    return "key"


PLAIN: Final[list[Callable[[], OperatorHarness]]] = [
    lambda: OperatorHarness.of(Flat()),
    lambda: OperatorHarness(FlatMapFactory(lambda value: value)),
    lambda: OperatorHarness(FlatMapFactory(lambda value: value, errors=RecordErrors.skip())),
    lambda: OperatorHarness.of(Flat(), key_by=same),
    lambda: OperatorHarness.of(Plain()),
    lambda: OperatorHarness.of(Keyed(), key_by=same),
]
TWO_INPUTS: Final[list[Callable[[], OperatorHarness]]] = [
    lambda: OperatorHarness.of(CoFlat()),
    lambda: OperatorHarness.of(CoFlat(), key_by=same),
    lambda: OperatorHarness.of(Co()),
    lambda: OperatorHarness.of(Co(), key_by=same),
    lambda: OperatorHarness.of(KeyedCo(), key_by=same),
    lambda: OperatorHarness.of(Broadcast(), broadcast=[RULES]),
    lambda: OperatorHarness.of(KeyedBroadcast(), key_by=same, broadcast=[RULES], key_by_second=None),
]


def check_refused(process: Callable[[Any], Any], record: Any) -> None:
    assert process([1, 2]) == [1, 2]
    assert process((1, 2)) == [1, 2]
    assert process(None) == []
    with pytest.raises(UserCodeError) as caught:
        process(record)
    cause = str(caught.value.__cause__)
    assert f"of type {type(record).__name__}" in cause
    assert "yield it" in cause


@returned
@pytest.mark.parametrize("of", PLAIN)
def test_a_record_that_is_returned_is_refused(of: Callable[[], OperatorHarness], record: Any) -> None:
    with of() as harness:
        check_refused(harness.process, record)


@pytest.mark.parametrize(("result", "records"), ITEMS)
@pytest.mark.parametrize("of", PLAIN)
def test_all_that_is_iterable_is_any_number_of_records(
    of: Callable[[], OperatorHarness], result: Any, records: list[Any]
) -> None:
    with of() as harness:
        assert harness.process(result) == records


@returned
@pytest.mark.parametrize("of", TWO_INPUTS)
def test_a_record_that_is_returned_for_either_input_is_refused(of: Callable[[], OperatorHarness], record: Any) -> None:
    with of() as harness:
        check_refused(harness.process, record)
        check_refused(harness.process_second, record)


class Alarm(KeyedProcessFunction):
    """Returns the record of the key when its timer is due."""

    record: Any = None

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.record = value
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        return self.record


@returned
def test_a_record_that_on_timer_returns_is_refused(record: Any) -> None:
    with OperatorHarness.of(Alarm(), key_by=same) as harness:
        harness.process(record)
        with pytest.raises(UserCodeError, match="on_timer") as caught:
            harness.watermark(2)
    assert "on_timer() returned" in str(caught.value.__cause__)
