"""The operator that calls a function for batches, on a clock that stands still unless it is told to move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.common import Row, Time, Types
from headgate.datastream import AsyncRetryStrategy, DataStream
from headgate.datastream.async_retry_predicates import has_exception_predicate, retry_after_predicate
from headgate.datastream.async_retry_strategies import RetryAfter
from headgate.elements import MAX_TIMESTAMP, Batch, Watermark
from headgate.errors import ProgramError, SerializationError
from headgate.operators.base import UserCodeError
from headgate.operators.slot_function import results_of
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup


class Model:
    """Takes 50 ms for each batch, and notes the batches and when they came; loaded and closed are counted."""

    def __init__(self, log: list[Any] | None = None) -> None:
        self.log: list[Any] = [] if log is None else log

    async def __call__(self, records: list[Any]) -> list[Any]:
        now_ms = round(asyncio.get_running_loop().time() * 1000)
        self.log.append((now_ms, records))
        await asyncio.sleep(0.05)
        return [(record, "scored") for record in records]


def harness(
    func: Callable[..., Any],
    restored: tuple[SavedOperator, ...] = (),
    key_by: Callable[[Any], Any] | None = None,
    setup: Setup | None = None,
    **arguments: Any,
) -> OperatorHarness:
    """Return a harness around the operator that `map_batches` adds."""

    def build(stream: DataStream) -> DataStream:
        keyed = stream if key_by is None else stream.key_by(key_by)
        return keyed.map_batches(func, **{"batch_size": 3, **arguments})

    return OperatorHarness.of_stream(build, restored=restored, setup=setup)


def failure(run: OperatorHarness, records: list[Any], by_ms: float) -> UserCodeError:
    """Return how the operator fails within this time, once it has the records."""
    with run:
        run.process(*records)
        with pytest.raises(UserCodeError) as failure:
            run.advance_time(by_ms)
    return failure.value


def scored(*records: Any) -> list[Any]:
    return [(record, "scored") for record in records]


def test_a_batch_is_called_when_it_is_full_and_its_results_leave_in_order() -> None:
    model = Model()
    with harness(model, concurrency=2) as run:
        assert run.process("a", "b") == []
        run.later()
        assert model.log == []
        run.process("c", "d", "e", "f")
        assert run.advance_time(49) == []
        assert model.log == [(0, ["a", "b", "c"]), (0, ["d", "e", "f"])]
        assert run.advance_time(1) == scored(*"abcdef")


def test_a_batch_is_called_when_its_oldest_record_has_waited_for_long_enough() -> None:
    model = Model()
    with harness(model, max_wait=Time.milliseconds(20)) as run:
        run.process("a")
        run.advance_time(15)
        run.process("b")
        run.advance_time(6)
        run.process("c")
        run.advance_time(100)
    assert model.log == [(20, ["a", "b"]), (70, ["c"])]


def test_a_full_batch_takes_the_wait_of_its_records_with_it() -> None:
    model = Model()
    with harness(model, max_wait=Time.milliseconds(20), concurrency=2) as run:
        run.process("a", "b", "c")
        run.advance_time(15)
        run.process("d")
        run.advance_time(19)
        assert len(model.log) == 1
        run.advance_time(50)
    assert model.log[1][1] == ["d"]


@pytest.mark.parametrize(("records", "sizes"), [("ab", [2]), ("abcdefg", [3, 3, 1])])
def test_nothing_waits_when_no_records_are_to_follow(records: str, sizes: list[int]) -> None:
    model = Model()
    with harness(model, max_wait=Time.hours(1)) as run:
        run.process(*records)
        assert run.operator.hold(Watermark(MAX_TIMESTAMP))
        assert run.advance_time(200) == scored(*records)
        assert not run.operator.has_pending
    assert [len(records) for _, records in model.log] == sizes


def test_a_watermark_waits_for_the_batch_of_the_records_before_it() -> None:
    with harness(Model(), max_wait=Time.milliseconds(10)) as run:
        run.process_batch(Batch(["a", "b"], [4, 5]))
        assert run.operator.hold(Watermark(7))
        run.process_batch(Batch(["c"], [6]))
        loop = run.services.event_loop()
        loop.step()
        run.clock.advance(50)
        loop.step()
        before, watermark, after = run.operator.resume(10)
        assert isinstance(before, Batch)
        assert isinstance(after, Batch)
        assert (before.records, before.timestamps) == (scored("a", "b"), [4, 5])
        assert watermark == Watermark(7)
        assert (after.records, after.timestamps) == (scored("c"), [6])


def test_at_most_as_many_batches_are_called_at_a_time_as_is_said() -> None:
    model = Model()
    with harness(model, concurrency=2) as run:
        run.process(*range(12))
        assert run.operator.room == -3
        run.later()
        assert [records[0] for _, records in model.log] == [0, 3]
        run.advance_time(50)
        assert [records[0] for _, records in model.log] == [0, 3, 6, 9]
        assert run.operator.room == 3


def test_a_slow_batch_holds_the_results_behind_it() -> None:
    async def naps(records: list[int]) -> list[int]:
        await asyncio.sleep(max(records) / 1000)
        return records

    with harness(naps, batch_size=2, concurrency=2) as run:
        run.process(30, 10, 5, 7)
        assert run.advance_time(29) == []
        assert run.advance_time(1) == [30, 10, 5, 7]


def test_a_function_that_blocks_is_called_through_the_threads_of_the_slot() -> None:
    calls: list[Any] = []

    def double(records: list[int]) -> list[int]:
        return [record * 2 for record in records]

    with harness(double) as run:
        run.services.submit_waiting = lambda work, done: calls.append((work, done))  # type: ignore[method-assign]
        run.process(1, 2, 3)
        assert run.later() == []
        ((work, done),) = calls
        done(work())
        assert run.later() == [2, 4, 6]


# --- what is shared by the subtasks of a slot


class Counted:
    """A model whose instances are counted."""

    made: int = 0
    closed: int = 0

    def __init__(self, factor: int = 2) -> None:
        Counted.made += 1
        self.factor = factor

    def __call__(self, records: list[int]) -> list[int]:
        return [record * self.factor for record in records]

    def close(self) -> None:
        Counted.closed += 1


@pytest.fixture(autouse=True)
def _none_is_made() -> None:
    Counted.made = Counted.closed = 0


def test_subtasks_of_a_slot_share_the_instance_until_the_last_one_is_closed() -> None:
    one, other = harness(partial(Counted, factor=3)), harness(partial(Counted, factor=3))
    other.services = one.services
    one.open()
    other.open()
    assert Counted.made == 1
    one.process(1, 2, 3)
    other.process(4, 5, 6)
    assert (one.later(), other.later()) == ([3, 6, 9], [12, 15, 18])
    one.operator.close()
    assert Counted.closed == 0
    other.close()
    assert Counted.closed == 1


def test_subtasks_of_a_slot_share_the_limit_of_calls() -> None:
    model = Model()
    one, other = harness(model), harness(Model(model.log))
    other.services = one.services
    one.open()
    other.open()
    one.process(1, 2, 3)
    other.process(4, 5, 6)
    one.advance_time(49)
    other.later()
    assert model.log == [(0, [1, 2, 3])]
    one.advance_time(1)
    assert other.advance_time(50) == scored(4, 5, 6)
    one.operator.close()
    other.close()


def test_a_function_is_closed_only_when_the_last_call_has_left_its_thread() -> None:
    works: list[Callable[[], Any]] = []
    run = harness(Counted)
    run.open()
    run.services.submit_waiting = lambda work, done: works.append(work)  # type: ignore[method-assign]
    run.process(1, 2, 3)
    run.later()
    run.close()
    assert Counted.closed == 0
    assert works[0]() == [2, 4, 6]
    assert Counted.closed == 1


def test_an_instance_that_the_program_made_is_not_closed() -> None:
    with harness(Counted()) as run:
        run.process(1, 2, 3)
        assert run.later() == [2, 4, 6]
    assert Counted.closed == 0


class Client:
    """Makes and closes a client on the loop."""

    log: list[str]

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.loop = asyncio.get_running_loop()

    async def __call__(self, records: list[int]) -> list[int]:
        return records

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.log.append("client closed")


def test_a_coroutine_that_closes_the_function_is_waited_for() -> None:
    log: list[str] = []
    with harness(partial(Client, log)) as run:
        run.process(1, 2, 3)
        assert run.later() == [1, 2, 3]
    assert log == ["client closed"]


def test_what_cannot_be_made_fails_when_it_is_opened() -> None:
    def no_model() -> Any:
        raise OSError("no weights")

    class Refuses:
        def __init__(self) -> None:
            no_model()

        def __call__(self, records: list[Any]) -> list[Any]:
            return records

    run = harness(Refuses)
    with pytest.raises(UserCodeError, match=r"__init__\(\)"):
        run.open()
    assert run.operator.context.name == "operator", "whoever closes it tells of errors by its name"
    run.close()


# --- calls that fail, and limits


class Flaky:
    """Notes when it is called; its first calls raise what `plan` says."""

    def __init__(self, *plan: BaseException) -> None:
        self.plan = list(plan)
        self.called_ms: list[float] = []

    async def __call__(self, records: list[Any]) -> list[Any]:
        self.called_ms.append(round(asyncio.get_running_loop().time() * 1000, 3))
        if self.plan:
            raise self.plan.pop(0)
        return records


RETRIES = AsyncRetryStrategy.exponential_backoff(3, 100, 1000, 2.0, None, has_exception_predicate)


def test_calls_are_made_again_as_the_strategy_says() -> None:
    function = Flaky(OSError(), OSError())
    with harness(function, async_retry_strategy=RETRIES) as run:
        run.process(1, 2, 3)
        assert run.advance_time(1000) == [1, 2, 3]
    assert function.called_ms == [0, 100, 300]


def test_a_service_that_says_when_to_call_again_is_left_alone_until_then_by_all_calls() -> None:
    function = Flaky(RetryAfter(0.5))
    refusals = AsyncRetryStrategy.fixed_delay(3, 10, None, retry_after_predicate)
    with harness(function, async_retry_strategy=refusals, concurrency=2) as run:
        run.process(1, 2, 3)
        run.advance_time(20)
        run.process(4, 5, 6)
        assert run.advance_time(470) == []
        assert run.advance_time(10) == [1, 2, 3, 4, 5, 6]
    assert function.called_ms == [0, 500, 500]


def test_any_error_may_tell_when_to_call_again() -> None:
    class TooManyRequests(Exception):
        retry_after = 0.25

    function = Flaky(TooManyRequests())
    with harness(function, async_retry_strategy=RETRIES) as run:
        run.process(1, 2, 3)
        run.advance_time(1000)
    assert function.called_ms == [0, 250]


def test_what_a_strategy_does_not_have_made_again_fails_the_job() -> None:
    refusals = AsyncRetryStrategy.fixed_delay(3, 10, None, retry_after_predicate)
    error = failure(harness(Flaky(OSError("gone")), async_retry_strategy=refusals), [1, 2, 3], 100)
    assert repr(error.__cause__) == "OSError('gone')"


def test_calls_begin_no_more_often_than_is_said() -> None:
    function = Flaky(OSError())
    retries = AsyncRetryStrategy.fixed_delay(1, 10, None, has_exception_predicate)
    with harness(function, async_retry_strategy=retries, calls_per_second=2, concurrency=9) as run:
        run.process(*range(12))
        assert run.advance_time(3000) == [*range(12)]
    assert function.called_ms == [0, 0, 500, 1000, 1500], "calls that are made again count, too"


def test_an_error_tells_the_records_of_the_batch() -> None:
    def refuse(records: list[int]) -> list[int]:
        raise ValueError(f"cannot score {records[1]}")

    error = failure(harness(refuse), [7, 8, 9], 0)
    assert (error.record, error.key, error.during) == ([7, 8, 9], None, "a batch of 3 records")
    assert repr(error.__cause__) == "ValueError('cannot score 8')"


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError(), StopIteration(), BaseException("own")])
@pytest.mark.parametrize("is_async", [True, False])
def test_nothing_that_a_call_raises_is_lost(raised: BaseException, is_async: bool) -> None:
    def raises(records: list[int]) -> list[int]:
        raise raised

    async def raises_later(records: list[int]) -> list[int]:
        raise raised

    assert failure(harness(raises_later if is_async else raises), [1, 2, 3], 0).record == [1, 2, 3]


def test_a_call_that_takes_too_long_fails_the_job() -> None:
    async def hangs(records: list[int]) -> list[int]:
        await asyncio.sleep(3600)
        return records

    error = failure(harness(hangs, timeout=Time.milliseconds(200)), [1, 2, 3], 200)
    assert repr(error.__cause__) == "TimeoutError('the call for 3 records has not ended within 0.2 s')"


def test_the_timeout_is_that_of_all_calls_for_a_batch_and_begins_with_the_first() -> None:
    function = Flaky(*[OSError()] * 3)
    error = failure(harness(function, async_retry_strategy=RETRIES, timeout=Time.milliseconds(500)), [1, 2, 3], 2000)
    assert isinstance(error.__cause__, TimeoutError)
    assert function.called_ms == [0, 100, 300]
    with harness(Model(), timeout=Time.milliseconds(60)) as run:
        run.process(*range(9))
        assert run.advance_time(150) == scored(*range(9)), "a batch may wait for longer to be called"


def test_the_time_for_which_the_first_call_may_not_begin_is_not_part_of_the_timeout() -> None:
    model = Model()
    with harness(model, timeout=Time.milliseconds(60), calls_per_second=1, concurrency=3) as run:
        run.process(*range(9))
        assert run.advance_time(2050) == scored(*range(9))
    assert [now_ms for now_ms, _ in model.log] == [0, 1000, 2000]


def test_the_timeout_does_not_count_the_wait_for_the_first_call() -> None:
    with harness(Model(), timeout=Time.milliseconds(60), calls_per_second=1, concurrency=3) as run:
        run.process(*range(9))
        assert run.advance_time(2050) == scored(*range(9))


def test_a_timeout_of_the_function_itself_is_told_as_it_is() -> None:
    error = failure(harness(Flaky(TimeoutError("its own")), timeout=Time.hours(1)), [1, 2, 3], 0)
    assert repr(error.__cause__) == "TimeoutError('its own')"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returned None, of type NoneType, but must return a list with a result for each record"),
        ("abc", "returned 'abc', of type str, but must return a list"),
        ({1: 2}, "of type dict, but must return a list"),
        ([1, 2], "returned 2 results for a batch of 3 records, but must return one for each, in the same order"),
        ([1, 2, 3, 4], "returned 4 results for a batch of 3 records"),
        (np.float64(2.5), "of type float64, but must return a list"),
    ],
)
def test_what_is_no_result_for_each_record_is_refused_and_never_asked_for_again(returned: Any, message: str) -> None:
    cause = failure(harness(lambda records: returned, async_retry_strategy=RETRIES), [1, 2, 3], 0).__cause__
    assert isinstance(cause, ProgramError)
    assert message in str(cause)


@pytest.mark.parametrize("returned", [[1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), iter([1, 2, 3]), pa.array([1, 2, 3])])
def test_results_are_objects_of_python(returned: Any) -> None:
    with harness(lambda records: returned) as run:
        run.process("a", "b", "c")
        results = run.later()
    assert results == [1, 2, 3]
    assert {type(result) for result in results} == {int}


# --- Arrow


ORDER = Types.ROW_NAMED(["item", "price"], [Types.STRING(), Types.DOUBLE()])


def arrow(func: Callable[[Any], Any], input_type: Any) -> OperatorHarness:
    """Return a harness around an operator that gets Arrow batches of 2 records."""

    def build(stream: DataStream) -> DataStream:
        stream._output_type = input_type
        return stream.map_batches(func, batch_format="arrow", batch_size=2)

    return OperatorHarness.of_stream(build)


def test_arrow_batches_have_the_columns_of_the_stream() -> None:
    seen: list[pa.RecordBatch] = []

    def taxed(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch)
        return batch.set_column(1, "taxed", pc.multiply(batch["price"], 2.0))

    with arrow(taxed, ORDER) as run:
        run.process(Row(item="tea", price=2.0), Row(item="rum", price=8.0))
        assert run.later() == [Row(item="tea", taxed=4.0), Row(item="rum", taxed=16.0)]
    assert seen[0].schema == pa.schema([("item", pa.string()), ("price", pa.float64())])


def test_an_arrow_array_has_a_result_for_each_record() -> None:
    with arrow(lambda batch: pc.add(batch["value"], 1), Types.LONG()) as run:
        run.process(1, 2)
        assert run.later() == [2, 3]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1, 2], "must return a pyarrow.RecordBatch or a pyarrow.Array with a result for each record"),
        (pa.array([1]), "returned 1 results for a batch of 2 records"),
    ],
)
def test_what_is_no_arrow_result_for_each_record_is_refused(returned: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        results_of(returned, 2, pa.schema([("value", pa.int64())]))


def test_a_record_that_does_not_fit_the_columns_is_named() -> None:
    error = failure(arrow(lambda batch: batch, ORDER), [Row(item="tea", price="much"), Row(item="rum", price=1.0)], 0)
    assert isinstance(error.__cause__, SerializationError)
    assert "'price'" in str(error.__cause__)
    assert "much" in str(error.__cause__)


# --- in flight


def test_what_waits_or_is_called_is_in_the_snapshot_and_is_called_again() -> None:
    with harness(Model()) as run:
        run.process(*"abcde")
        run.advance_time(10)
        saved = run.snapshot()
    model = Model()
    with harness(model, (saved,)) as again:
        again.process("f")
        assert again.advance_time(200) == scored(*"abcdef")
    assert [records for _, records in model.log] == [["a", "b", "c"], ["d", "e", "f"]]


def test_results_that_have_not_left_are_asked_for_again() -> None:
    async def naps(records: list[int]) -> list[int]:
        await asyncio.sleep(max(records) / 1000)
        return records

    with harness(naps, batch_size=1, concurrency=2) as run:
        run.process(30, 10)
        assert run.advance_time(20) == []
        saved = run.snapshot()
        assert run.advance_time(20) == [30, 10]
    with harness(naps, (saved,), batch_size=1, concurrency=2) as again:
        assert again.advance_time(30) == [30, 10]


def test_by_key_batches_in_flight_go_to_the_subtask_of_their_keys() -> None:
    records = list(range(20))
    with harness(Model(), key_by=lambda record: record, batch_size=4) as run:
        run.process(*records)
        run.later()
        saved = run.snapshot()
    found: list[list[Any]] = []
    for subtask in range(2):
        place = Setup(subtask=subtask, parallelism=2)
        with harness(Model(), (saved,), key_by=lambda record: record, batch_size=4, setup=place) as again:
            found.append(again.advance_time(2000))
            assert all(again.owns(record) for record, _ in found[-1])
    assert sorted(found[0] + found[1]) == scored(*records)
    assert all(found)


def test_nothing_is_taken_of_calls_when_the_operator_is_closed() -> None:
    class Stubborn:
        async def __call__(self, records: list[int]) -> list[int]:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                await asyncio.sleep(0)
            return records

    run = harness(Stubborn)
    run.open()
    run.process(1, 2, 3)
    run.later()
    run.operator.close()
    run.services.event_loop().step()
    assert not run.operator.woken
    run.services.end_event_loop()


def test_calls_are_cancelled_when_the_operator_is_closed() -> None:
    log: list[str] = []

    async def hangs(records: list[int]) -> list[int]:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        return records

    run = harness(hangs)
    run.open()
    run.process(1, 2, 3)
    run.later()
    run.operator.close()
    assert log == ["cancelled"]
    run.services.end_event_loop()


def test_a_result_that_a_thread_brings_after_the_timeout_is_dropped() -> None:
    calls: list[Any] = []
    with harness(lambda records: records, timeout=Time.milliseconds(10)) as run:
        run.services.submit_waiting = lambda work, done: calls.append((work, done))  # type: ignore[method-assign]
        run.process(1, 2, 3)
        with pytest.raises(UserCodeError):
            run.advance_time(10)
        ((work, done),) = calls
        done(work())


def test_a_function_may_use_up_the_list_that_it_is_given() -> None:
    with harness(lambda records: [records.pop(0) for _ in range(3)]) as run:
        run.process(1, 2, 3)
        assert run.later() == [1, 2, 3]
