"""What holds for every operator around a user function: an error names the very record, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.elements import Batch
from headgate.errors import StateAccessError
from headgate.functions.api import Function, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import UserCodeError
from headgate.operators.plain_functions import MapFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, Setup
from headgate.types.typeinfo import Types
from tests.unit.operators.functions import KEYED, PLAIN, Judge, Opening

Make = Callable[[Judge], Function]
TIMES = [None, [1, 2, 3, 4, 5]]
RECORDS = ["a", "b", "c", "b", "e"]


def failing_at(position: int, error: BaseException) -> Judge:
    """Fail at the record at that position, counting calls: some records are equal."""
    seen: list[Any] = []

    def judge(value: Any) -> None:
        seen.append(value)
        if len(seen) == position + 1:
            raise error

    return judge


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("make", PLAIN)
def test_an_error_names_the_record_at_which_it_was_raised(make: Make, position: int, times: list[int] | None) -> None:
    records = [[letter, place] for place, letter in enumerate(RECORDS)]
    with OperatorHarness.of(make(failing_at(position, ValueError("bad")))) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process_batch(Batch(list(records), times))
        assert caught.value.record == records[position]
        assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("make", KEYED)
def test_an_error_on_a_keyed_stream_names_record_and_key(make: Make, position: int, times: list[int] | None) -> None:
    records = [("one", 0), ("one", 1), ("two", 2), ("one", 3), ("two", 4), ("one", 5), ("two", 6)]
    called = [record for record in records if record[1] not in (0, 2)]  # the first of a key is not reduced
    expected = called[position] if make.__name__ == "Reducing" else records[position]
    times = times and [*times, 6, 7]
    with OperatorHarness.of(make(failing_at(position, ValueError("bad"))), key_by=lambda r: r[0]) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process_batch(Batch(list(records), times))
        assert caught.value.record == expected
        assert caught.value.key == expected[0]


@pytest.mark.parametrize("make", PLAIN)
def test_stop_iteration_of_user_code_is_an_error_and_ends_no_batch(make: Make) -> None:
    with OperatorHarness.of(make(failing_at(1, StopIteration()))) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process(*RECORDS)
        assert caught.value.record == "b"


@pytest.mark.parametrize("make", KEYED)
def test_stop_iteration_of_user_code_on_a_keyed_stream_is_an_error(make: Make) -> None:
    with (
        OperatorHarness.of(make(failing_at(1, StopIteration())), key_by=lambda r: 0) as harness,
        pytest.raises(UserCodeError),
    ):
        harness.process(*RECORDS)


def test_an_error_in_open_says_so() -> None:
    with pytest.raises(UserCodeError, match=r"open\(\)") as caught:
        OperatorHarness.of(Opening()).open()
    assert isinstance(caught.value.__cause__, OSError)


def test_an_error_in_close_says_so() -> None:
    with pytest.raises(UserCodeError, match=r"close\(\)"):
        OperatorHarness.of(Opening()).close()


def test_keyed_state_without_keys_is_refused_with_the_method_to_call() -> None:
    class Counting(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def map(self, value: Any) -> Any:
            return value

    with pytest.raises(UserCodeError) as caught:
        OperatorHarness.of(Counting()).open()
    assert isinstance(caught.value.__cause__, StateAccessError)
    assert "call key_by(...) before it" in str(caught.value.__cause__)


def test_a_function_learns_where_it_runs() -> None:
    class Place(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.context = runtime_context

        def map(self, value: Any) -> Any:
            return (
                self.context.get_task_name_with_subtasks(),
                self.context.get_index_of_this_subtask(),
                self.context.get_number_of_parallel_subtasks(),
                self.context.get_max_number_of_parallel_subtasks(),
                self.context.get_attempt_number(),
                self.context.get_job_parameter("missing", "default"),
            )

    with OperatorHarness.of(Place(), setup=Setup(subtask=1, parallelism=3, max_parallelism=64)) as harness:
        assert harness.process("x") == [("operator (2/3)", 1, 3, 64, 0, "default")]


def test_a_plain_callable_needs_no_open_and_close() -> None:
    with OperatorHarness(MapFactory(str.upper)) as harness:
        assert harness.process("a", "b") == ["A", "B"]


def test_what_is_no_function_of_the_api_is_refused_by_the_harness() -> None:
    with pytest.raises(TypeError, match="not a function for a keyed stream"):
        OperatorHarness.of(object(), key_by=str)
