"""The operator of asynchronous calls, on a clock that stands still unless it is told to move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import pytest

from headgate.common import Duration, Time, Types
from headgate.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, DataStream, RuntimeContext
from headgate.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
    retry_after_predicate,
)
from headgate.datastream.async_retry_strategies import NoRetryStrategy, RetryAfter
from headgate.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.datastream.state import ListStateDescriptor
from headgate.elements import Batch, Watermark
from headgate.errors import ProgramError
from headgate.ids import CheckpointId
from headgate.operators.base import UserCodeError
from headgate.testing.harness import OperatorHarness, SavedOperator

TIMEOUT = Time.milliseconds(1000)
EACH = (empty_result_predicate, has_exception_predicate)


class Naps(AsyncFunction):
    """Takes records (name, ms), and emits the name after these ms."""

    def __init__(self) -> None:
        self.log: list[str] = []

    async def async_invoke(self, value: tuple[str, int]) -> Iterable[Any]:
        name, duration_ms = value
        self.log.append(name)
        try:
            await asyncio.sleep(duration_ms / 1000)
        except asyncio.CancelledError:
            self.log.append(f"{name} cancelled")
            raise
        return [name]


def harness(
    function: AsyncFunction,
    method: str = "unordered_wait",
    restored: tuple[SavedOperator, ...] = (),
    key_by: Callable[[Any], Any] | None = None,
    **arguments: Any,
) -> OperatorHarness:
    """Return a harness around the operator that the method of `AsyncDataStream` makes."""

    def build(stream: DataStream) -> DataStream:
        keyed = stream if key_by is None else stream.key_by(key_by)
        made: DataStream = getattr(AsyncDataStream, method)(keyed, function, **{"timeout": TIMEOUT, **arguments})
        return made

    return OperatorHarness.of_stream(build, restored=restored)


def failure(run: OperatorHarness, record: Any, by_ms: float) -> UserCodeError:
    """Return how the operator fails within this time, once it has the record."""
    with run:
        run.process(record)
        with pytest.raises(UserCodeError) as failure:
            run.advance_time(by_ms)
    return failure.value


def test_results_leave_as_they_come() -> None:
    with harness(Naps()) as run:
        assert run.process(("a", 30), ("b", 10), ("c", 20)) == []
        assert run.advance_time(9) == []
        assert run.advance_time(12) == ["b", "c"]
        assert run.advance_time(10) == ["a"]


def test_results_leave_in_order() -> None:
    with harness(Naps(), "ordered_wait") as run:
        run.process(("a", 30), ("b", 10), ("c", 20))
        assert run.advance_time(25) == []
        assert run.advance_time(5) == ["a", "b", "c"]


def test_no_result_passes_a_watermark() -> None:
    with harness(Naps()) as run:
        run.process(("a", 30), ("b", 10))
        assert run.operator.hold(Watermark(7))
        run.process(("c", 5))
        assert run.advance_time(20) == ["b"]
        assert run.advance_time(10) == ["a", "c"]


def test_a_watermark_that_is_alone_in_waiting_is_passed_by_no_other() -> None:
    with harness(Naps()) as run:
        run.process(("a", 0))
        assert run.operator.hold(Watermark(7))
        run.services.event_loop().step()
        flows = run.operator.resume(1)
        assert run.operator.hold(Watermark(8)), "the result has left, its watermark has not"
        flows += run.operator.resume(10)
        assert flows[1:] == [Watermark(7), Watermark(8)]


def test_timestamps_stay_with_the_results() -> None:
    with harness(Naps()) as run:
        run.process_batch(Batch([("a", 0), ("b", 0)], [4, 5]))
        loop = run.services.event_loop()
        loop.step()
        (batch,) = run.operator.resume(10)
        assert isinstance(batch, Batch)
        assert (batch.records, batch.timestamps) == (["a", "b"], [4, 5])


def test_results_with_a_timestamp_and_without_leave_in_batches_of_their_own() -> None:
    with harness(Naps(), "ordered_wait") as run:
        run.process_batch(Batch([("a", 0)], [4]))
        run.process_batch(Batch([("b", 0)]))
        run.process_batch(Batch([("c", 0)], [5]))
        run.services.event_loop().step()
        batches = [flow for flow in run.operator.resume(10) if isinstance(flow, Batch)]
        assert [(batch.records, batch.timestamps) for batch in batches] == [(["a"], [4]), (["b"], None), (["c"], [5])]


def test_at_most_as_many_calls_are_under_way_as_there_is_capacity() -> None:
    function = Naps()
    with harness(function, capacity=2) as run:
        run.process(("a", 10), ("b", 20), ("c", 10))
        assert run.later() == []
        assert function.log == ["a", "b"]
        assert run.advance_time(10) == ["a"]
        assert function.log == ["a", "b", "c"]
        assert run.advance_time(10) == ["b", "c"]


class Waits(Naps):
    """Has names for those that do not come back in time."""

    def timeout(self, value: tuple[str, int]) -> Iterable[Any]:
        return [f"no {value[0]}"]


def test_a_call_that_takes_too_long_is_cancelled_and_timeout_says_what_comes_instead() -> None:
    function = Waits()
    with harness(function, timeout=Duration.of_millis(50)) as run:
        run.process(("a", 49), ("b", 60))
        assert run.advance_time(20) == []
        run.process(("c", 49), ("d", 70))
        assert run.advance_time(30) == ["a", "no b"]
        assert run.advance_time(19) == ["c"]
        assert run.advance_time(1) == ["no d"]
        assert function.log == ["a", "b", "c", "d", "b cancelled", "d cancelled"]
        run.process(("e", 60))
        assert run.advance_time(49) == []
        assert run.advance_time(1) == ["no e"], "the timer is set again after it has had nothing to do"


def test_the_default_timeout_names_the_record() -> None:
    error = failure(harness(Naps()), ("a", 5000), 1000)
    assert (error.record, error.during) == (("a", 5000), "timeout()")
    assert isinstance(error.__cause__, TimeoutError)
    assert "('a', 5000)" in str(error.__cause__)


class Stubborn(Naps):
    """Goes on when it is cancelled."""

    async def async_invoke(self, value: tuple[str, int]) -> Iterable[Any]:
        try:
            return await super().async_invoke(value)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return ["too late"]

    def timeout(self, value: tuple[str, int]) -> Iterable[Any]:
        return ()


def test_a_result_that_comes_after_the_timeout_is_dropped() -> None:
    with harness(Stubborn()) as run:
        run.process(("a", 5000))
        assert run.advance_time(9000) == []
        assert not run.operator.has_pending


class Fails(AsyncFunction):
    async def async_invoke(self, value: Any) -> Iterable[Any]:
        await asyncio.sleep(0.01)
        if value % 2:
            raise ValueError(f"{value} is odd")
        return [value]


def test_what_a_call_raises_names_the_record_and_the_key() -> None:
    error = failure(harness(Fails(), key_by=lambda value: value % 10), 13, 10)
    assert (error.record, error.key) == (13, 3)
    assert isinstance(error.__cause__, ValueError)


RAISED = [SystemExit(3), asyncio.CancelledError(), StopAsyncIteration(), GeneratorExit(), BaseException("own")]


@pytest.mark.parametrize("raised", RAISED)
def test_nothing_that_a_call_raises_is_lost(raised: BaseException) -> None:
    class Raises(AsyncFunction):
        async def async_invoke(self, value: Any) -> Iterable[Any]:
            raise raised

    assert failure(harness(Raises()), 1, 0).record == 1


def test_an_interrupt_from_the_keyboard_is_no_failure_of_a_record() -> None:
    class Interrupted(AsyncFunction):
        async def async_invoke(self, value: Any) -> Iterable[Any]:
            raise KeyboardInterrupt

    with harness(Interrupted()) as run:
        run.process(1)
        with pytest.raises(KeyboardInterrupt):
            run.later()


@pytest.mark.parametrize("raised", RAISED)
def test_nothing_that_timeout_raises_is_lost_though_the_call_goes_on(raised: BaseException) -> None:
    class Endless(AsyncFunction):
        async def async_invoke(self, value: Any) -> Iterable[Any]:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(9)

        def timeout(self, value: Any) -> Iterable[Any]:
            raise raised

    assert failure(harness(Endless()), 1, 1000).during == "timeout()"


class Returns(AsyncFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    async def async_invoke(self, value: Any) -> Iterable[Any]:
        return self.result  # type: ignore[no-any-return]

    def timeout(self, value: Any) -> Iterable[Any]:
        return self.result  # type: ignore[no-any-return]


@pytest.mark.parametrize("strategy", [NoRetryStrategy(), AsyncRetryStrategy.fixed_delay(1, 1, *EACH)])
def test_a_call_that_returns_no_list_is_named(strategy: AsyncRetryStrategy) -> None:
    cause = failure(harness(Returns(None), "ordered_wait_with_retry", async_retry_strategy=strategy), "a", 0).__cause__
    assert isinstance(cause, ProgramError)
    assert "async_invoke() of Returns returned None, of type NoneType" in str(cause)


@pytest.mark.parametrize("result", ["ab", b"ab", {"a": 1, "b": 2}])
def test_one_record_that_would_be_taken_apart_is_no_list(result: Any) -> None:
    cause = failure(harness(Returns(result), "ordered_wait"), "a", 0).__cause__
    assert f"async_invoke() of Returns returned {result!r}, of type {type(result).__name__}" in str(cause)


@pytest.mark.parametrize("result", [["a", "b"], ("a", "b"), iter("ab")])
def test_any_number_of_records_may_come_of_one(result: Any) -> None:
    with harness(Returns(result)) as run:
        run.process(1)
        assert run.later() == ["a", "b"]


class Flaky(AsyncFunction):
    """Fails, or finds nothing, at the times of each record's first calls, as `plan` says; notes when it is called."""

    def __init__(self, *plan: str) -> None:
        self.plan = list(plan)
        self.called_ms: list[float] = []

    async def async_invoke(self, value: Any) -> Iterable[Any]:
        self.called_ms.append(round(asyncio.get_running_loop().time() * 1000, 3))
        await asyncio.sleep(0.1)
        step = self.plan.pop(0) if self.plan else "found"
        if step == "fails":
            raise OSError(f"no answer for {value}")
        return [] if step == "empty" else [f"{value} {step}"]


def test_calls_are_made_again_after_a_while() -> None:
    function = Flaky("fails", "empty", "found")
    strategy = AsyncRetryStrategy.exponential_backoff(5, 50, 1000, 2.0, *EACH)
    with harness(function, "unordered_wait_with_retry", async_retry_strategy=strategy) as run:
        run.process("a")
        assert run.advance_time(449) == []
        assert run.advance_time(1) == ["a found"]
        assert function.called_ms == [0, 150, 350]


def test_a_service_may_say_when_to_call_again() -> None:
    class Refused(Flaky):
        async def async_invoke(self, value: Any) -> Iterable[Any]:
            try:
                return await super().async_invoke(value)
            except OSError as error:
                raise RetryAfter(0.3) from error

    function = Refused("fails", "found")
    strategy = AsyncRetryStrategy.fixed_delay(5, 50, None, retry_after_predicate)
    with harness(function, "unordered_wait_with_retry", async_retry_strategy=strategy) as run:
        run.process("a")
        assert run.advance_time(900) == ["a found"]
    assert function.called_ms == [0, 400]


@pytest.mark.parametrize(
    ("plan", "predicates", "expected"),
    [
        (["empty"], (None, has_exception_predicate), []),
        (["empty", "empty", "empty"], EACH, []),
        (["fails", "fails"], EACH, ["a found"]),
    ],
)
def test_calls_are_made_again_only_where_the_strategy_says_so(
    plan: list[str], predicates: tuple[Any, Any], expected: Any
) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 10, *predicates)
    with harness(Flaky(*plan), "ordered_wait_with_retry", async_retry_strategy=strategy) as run:
        run.process("a")
        assert run.advance_time(500) == expected
        assert not run.operator.has_pending


@pytest.mark.parametrize(
    ("plan", "predicates"),
    [
        (["fails"], (empty_result_predicate, None)),
        (["fails", "fails", "fails"], EACH),
        (["fails"], (None, lambda error: isinstance(error, ValueError))),
    ],
)
def test_what_the_last_call_raises_fails_the_job(plan: list[str], predicates: tuple[Any, Any]) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 10, *predicates)
    run = harness(Flaky(*plan), "ordered_wait_with_retry", async_retry_strategy=strategy)
    assert isinstance(failure(run, "a", 500).__cause__, OSError)


def test_the_timeout_is_that_of_all_calls_for_a_record() -> None:
    function = Flaky(*["fails"] * 9)
    strategy = AsyncRetryStrategy.fixed_delay(9, 100, *EACH)
    calls = harness(function, "ordered_wait_with_retry", timeout=Time.milliseconds(450), async_retry_strategy=strategy)
    assert isinstance(failure(calls, "a", 2000).__cause__, TimeoutError)
    assert function.called_ms == [0, 200, 400]


def test_a_call_whose_time_is_over_is_not_made_again_whatever_it_raises_then() -> None:
    called: list[Any] = []

    class Converts(AsyncFunction):
        async def async_invoke(self, value: Any) -> Iterable[Any]:
            called.append(value)
            try:
                await asyncio.sleep(3)
            except asyncio.CancelledError:
                if value == "raises":
                    raise OSError("interrupted") from None
            return []

        def timeout(self, value: Any) -> Iterable[Any]:
            return [f"{value} too late"]

    strategy = AsyncRetryStrategy.fixed_delay(9, 100, *EACH)
    with harness(Converts(), "ordered_wait_with_retry", async_retry_strategy=strategy) as run:
        run.process("raises", "returns")
        assert run.advance_time(60_000) == ["raises too late", "returns too late"]
    assert called == ["raises", "returns"]


@pytest.mark.parametrize("method", ["ordered_wait", "unordered_wait"])
def test_what_is_in_flight_is_in_the_snapshot_and_is_called_again(method: str) -> None:
    first, second = Naps(), Naps()
    with harness(first, method, capacity=2) as run:
        run.process(("a", 30), ("b", 10), ("c", 30))
        run.later()
        saved = run.snapshot()
    assert first.log == ["a", "b", "a cancelled", "b cancelled"]
    with harness(second, method, (saved,)) as again:
        assert again.later() == []
        assert second.log == ["a", "b", "c"]
        assert sorted(again.advance_time(30)) == ["a", "b", "c"]


def test_a_result_that_has_not_left_is_asked_for_again_after_a_restore() -> None:
    with harness(Naps(), "ordered_wait") as run:
        run.process(("a", 30), ("b", 10))
        assert run.advance_time(20) == []
        saved = run.snapshot()
    function = Naps()
    with harness(function, "ordered_wait", (saved,)) as again:
        assert again.advance_time(30) == ["a", "b"]
    assert function.log == ["a", "b"]


class Counts(Naps, CheckpointedFunction):
    """Knows in its operator state how many calls there were."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("calls", Types.INT()))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update([len(self.log)])


def test_a_function_may_have_operator_state() -> None:
    with harness(Counts()) as run:
        run.process(("a", 30), ("b", 10))
        run.later()
        saved = run.snapshot()
    restored = Counts()
    with harness(restored, "unordered_wait", (saved,)):
        assert list(restored.state.get()) == [2]


class Client(Naps):
    """Has a client that belongs to the loop, and takes a while to be closed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.loop = asyncio.get_running_loop()

    async def _close(self) -> None:
        await asyncio.sleep(0)
        self.log.append("client closed")

    def close(self) -> None:
        self.closing = self.loop.create_task(self._close())


def test_open_and_close_are_on_the_loop_and_calls_end_before_their_client() -> None:
    function = Client()
    with harness(function) as run:
        run.process(("a", 30))
        run.later()
    assert function.log == ["a", "a cancelled", "client closed"]


def test_a_function_that_cannot_be_opened_is_closed() -> None:
    class Refuses(Client):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            raise OSError("no such service")

    function = Refuses()
    run = harness(function)
    with pytest.raises(UserCodeError, match=r"open\(\)"):
        run.open()
    run.close()
    assert function.log == ["client closed"]


class Listens(Naps, CheckpointListener):
    """Notes what became of checkpoints."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.log.append(f"{checkpoint_id} complete")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.log.append(f"{checkpoint_id} aborted")


def test_a_function_may_listen_to_checkpoints() -> None:
    function = Listens()
    with harness(function) as run:
        run.operator.notify_completed(CheckpointId(1))
        run.operator.notify_aborted(CheckpointId(2))
    assert function.log == ["1 complete", "2 aborted"]


def test_nothing_is_taken_of_calls_when_the_operator_is_closed() -> None:
    function = Stubborn()
    run = harness(function)
    run.open()
    run.process(("a", 30))
    run.later()
    run.operator.close()
    run.services.event_loop().step()
    assert not run.operator.woken
    run.services.end_event_loop()
