"""map_batches: what its arguments must be, and what it makes of them."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import pytest

from headgate.common import Time, Types
from headgate.datastream import AsyncFunction, DataStream, MapFunction, RecordErrors, StreamExecutionEnvironment
from headgate.datastream.async_retry_strategies import RetryAfter
from headgate.errors import ProgramError
from headgate.functions.asynchronous import is_coroutine_function


class Model:
    def __init__(self, weight: int = 1) -> None:
        self.weight = weight

    def __call__(self, records: list[int]) -> list[int]:
        return [self.weight * record for record in records]


class AsyncModel:
    async def __call__(self, records: list[int]) -> list[int]:
        return records


class NoModel:
    pass


class Maps(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Asks(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        return [value]


async def ask(records: list[int]) -> list[int]:
    return records


@pytest.fixture
def numbers() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2, 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"func": 3}, "takes a function of a batch, or a class with a method __call__ that is one, not 3"),
        ({"func": NoModel}, "not <class"),
        ({"func": NoModel()}, "not <"),
        ({"func": Maps()}, "but Maps is a function of single records"),
        ({"func": Asks}, "but Asks is a function of single records"),
        ({"func": partial(Asks)}, "but Asks is a function of single records"),
        ({"batch_format": "pandas"}, r"map_batches\(\) takes batch_format='rows' or 'arrow', not 'pandas'"),
        ({"batch_format": "arrow"}, "needs to know the columns: give the operator before it an output_type"),
        ({"batch_size": 0}, r"the batch_size of map_batches\(\) must be a whole number of at least 1, not 0"),
        ({"concurrency": 2.5}, r"the concurrency of map_batches\(\) must be a whole number of at least 1, not 2.5"),
        ({"max_wait": 10}, r"the max_wait of map_batches\(\) must be a length of time"),
        ({"max_wait": Time.milliseconds(-1)}, r"the max_wait of map_batches\(\) must be at least 0 ms, not -1 ms"),
        ({"timeout": Time.milliseconds(0)}, r"the timeout of map_batches\(\) must be at least 1 ms, not 0 ms"),
        ({"async_retry_strategy": 3}, r"takes an AsyncRetryStrategy, such as .*fixed_delay\(...\), not 3"),
        ({"calls_per_second": 0}, r"calls_per_second of map_batches\(\) must be a number above 0, not 0"),
        ({"calls_per_second": True}, "must be a number above 0, not True"),
        ({"calls_per_second": float("nan")}, "must be a number above 0, not nan"),
        ({"return_dtype": int}, "must be a type such as"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str, numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match=message):
        numbers.map_batches(**{"func": Model, **arguments})


def test_a_column_that_no_arrow_batch_holds_is_named(numbers: DataStream) -> None:
    objects = numbers.map(str, Types.ROW_NAMED(["thing"], [Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(ProgramError, match="'thing'"):
        objects.map_batches(Model, batch_format="arrow")


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (ask, True),
        (partial(ask), True),
        (AsyncModel, True),
        (AsyncModel(), True),
        (partial(AsyncModel), True),
        (Model, False),
        (Model(), False),
        (partial(Model, 3), False),
        (list, False),
        (lambda records: records, False),
    ],
)
def test_what_is_declared_with_async_def_is_known(func: Any, expected: bool) -> None:
    assert is_coroutine_function(func) is expected


def test_the_operator_has_a_name_and_its_type(numbers: DataStream) -> None:
    made = numbers.map_batches(Model, return_dtype=Types.LONG())
    assert made.get_name() == "MapBatches"
    assert made.get_type() == Types.LONG()


def test_a_policy_for_records_that_fail_is_refused(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match="which is a call for batches of records: catch in the function the errors"):
        numbers.map_batches(Model).on_error(RecordErrors.skip())


def test_a_refusal_can_be_copied() -> None:
    copied = copy.copy(RetryAfter(1.5, "busy"))
    assert (copied.retry_after, str(copied)) == (1.5, "busy")
