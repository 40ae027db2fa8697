"""AsyncDataStream: what its arguments must be, and what it makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.common import Time, Types
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    RecordErrors,
    StreamExecutionEnvironment,
)
from headgate.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from headgate.datastream.async_retry_strategies import FixedDelayRetryStrategy, NoRetryStrategy, RetryPredicate
from headgate.errors import ProgramError

METHODS = ("unordered_wait", "ordered_wait", "unordered_wait_with_retry", "ordered_wait_with_retry")


class Asks(AsyncFunction):
    async def async_invoke(self, value: Any) -> Iterable[Any]:
        return [value]


class AsksAtOnce(AsyncFunction):
    def async_invoke(self, value: Any) -> Iterable[Any]:  # type: ignore[override]
        return [value]


class Yields(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        yield value


class OpensLater(Asks):
    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        pass


class MapsLater(MapFunction):
    async def map(self, value: Any) -> Any:
        return value


async def later(value: Any) -> Any:
    return value


class Maps(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.fixture
def numbers() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2, 3])


def call(method: str, stream: Any, function: Any = None, **arguments: Any) -> DataStream:
    arguments = {"timeout": Time.seconds(1), **arguments}
    if method.endswith("retry"):
        arguments = {"async_retry_strategy": NoRetryStrategy(), **arguments}
    made: DataStream = getattr(AsyncDataStream, method)(stream, function or Asks(), **arguments)
    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": Asks}, "was given the class Asks itself: pass an instance"),
        ({"function": Maps()}, "takes an AsyncFunction, but Maps is a MapFunction: call map"),
        ({"function": lambda value: [value]}, "takes an AsyncFunction, not <function"),
        ({"function": AsksAtOnce()}, r"async_invoke\(\) of AsksAtOnce must be declared with async def"),
        ({"function": Yields()}, r"async_invoke\(\) of Yields must be .*async def, and return a list"),
        ({"function": OpensLater()}, r"open\(\) of OpensLater is declared with async def, but would not be awaited"),
        ({"capacity": 0}, r"the capacity of \w+\(\) must be a whole number of at least 1, not 0"),
        ({"capacity": 2.5}, "at least 1, not 2.5"),
        ({"timeout": Time.milliseconds(0)}, r"takes a timeout of at least 1 ms, such as Time.seconds\(10\)"),
        ({"timeout": Time.milliseconds(-1)}, "takes a timeout of at least 1 ms"),
        ({"timeout": 10}, r"the timeout of \w+\(\) must be a length of time such as .*, not 10"),
        ({"output_type": int}, "must be a type such as"),
    ],
)
def test_wrong_arguments_are_refused(method: str, arguments: dict[str, Any], message: str, numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match=message):
        call(method, numbers, **arguments)


@pytest.mark.parametrize("given", [later, MapsLater()])
@pytest.mark.parametrize("method", ["map", "flat_map", "filter"])
def test_functions_that_nothing_awaits_are_refused(method: str, given: Any, numbers: DataStream) -> None:
    kind = {"flat_map": FlatMapFunction, "filter": FilterFunction}.get(method)
    if isinstance(given, MapsLater) and kind is not None:
        given = type("Later", (kind,), {method: staticmethod(later)})()
    with pytest.raises(ProgramError, match=r"is declared with async def.* awaited: make calls .* AsyncDataStream, or"):
        getattr(numbers, method)(given)


@pytest.mark.parametrize("method", METHODS)
def test_only_a_stream_is_taken(method: str) -> None:
    with pytest.raises(ProgramError, match="takes a stream first, not"):
        call(method, [1, 2, 3])


def test_a_strategy_must_be_one(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match=r"takes an AsyncRetryStrategy, such as .*fixed_delay\(...\), not 3"):
        call("ordered_wait_with_retry", numbers, async_retry_strategy=3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedDelayRetryStrategy(0, 10, None, None),
        lambda: FixedDelayRetryStrategy(3, 0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(3, -1, 10, 2.0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(3, 1, 0, 2.0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff(3, 1, 10, 0, None, None),
        lambda: AsyncRetryStrategy.exponential_backoff("3", 1, 10, 2, None, None),  # type: ignore[arg-type]
    ],
)
def test_numbers_of_strategies_must_be_above_0(make: Any) -> None:
    with pytest.raises(ProgramError, match="must be a number above 0, not"):
        make()


def test_predicates_must_be_functions() -> None:
    with pytest.raises(ProgramError, match="exception_predicate must be a function that says whether to call again"):
        RetryPredicate(None, OSError("not a function"))  # type: ignore[arg-type]


def test_predicates_tell_what_they_are_given() -> None:
    assert [empty_result_predicate(given) for given in ([], None, [0])] == [True, True, False]
    assert [has_exception_predicate(given) for given in (OSError(), None)] == [True, False]
    assert [exception_type_predicate(OSError(), kind) for kind in (OSError, ValueError)] == [True, False]


def test_the_fixed_delay_is_for_as_many_further_calls_as_it_says() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 10, None, has_exception_predicate)
    assert [strategy.can_retry(calls) for calls in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 10
    assert AsyncRetryStrategy.no_restart().can_retry(1) is False


@pytest.mark.parametrize("method", METHODS)
def test_the_operator_has_the_name_of_flink_and_its_type(method: str, numbers: DataStream) -> None:
    made = call(method, numbers, output_type=Types.LONG())
    assert made.get_name() == "async wait operator"
    assert made.get_type() == Types.LONG()


def test_a_policy_for_records_that_fail_is_refused(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match="which is an asynchronous call: catch in async_invoke"):
        call("ordered_wait", numbers).on_error(RecordErrors.skip())
