"""The job master with real slots: failures, restarts, cancellation in every state, and the end of a job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint import paths
from headgate.checkpoint.drivers import job_records
from headgate.errors import SuppressRestartsException
from headgate.functions.api import KeyedProcessFunction, MapFunction
from headgate.functions.context import RuntimeContext
from headgate.functions.source import END_OF_INPUT, NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.graph.logical import Partitioning
from headgate.ids import CheckpointId, Launch, SlotIndex, SubtaskId
from headgate.job_status import JobStatus
from headgate.operators.collect import CollectFactory
from headgate.operators.keyed_functions import KeyedProcessFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.control.messages import Deploy, RegisterSlot, Shutdown
from headgate.runtime.monitoring import statistics_json
from headgate.runtime.monitoring.outcome import FailureOrigin
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.runtime.masters import Link, MasterRig
from tests.unit.runtime.plans import Step, line_plan

CHECKPOINTS = {
    "execution.checkpointing.interval": "50 ms",
    "restart-strategy.exponential-delay.initial-backoff": "20 ms",
}
ONE_RESTART = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1"}
LOG: list[str] = []
FAIL_AT: set[int] = set()
"""Numbers of calls, over all attempts, at which `Failing` fails."""
CALLS = [0]


@pytest.fixture(autouse=True)
def _clear() -> None:
    LOG.clear()


class Ticking(Source[int]):
    """The numbers up to a limit, one each 10 ms."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def splits(self, parallelism: int) -> list[int]:
        return [0]

    def reader(self, context: SourceContext) -> SourceReader[int]:
        return TickingReader(context, self.limit)


class TickingReader(SourceReader[int]):
    def __init__(self, context: SourceContext, limit: int) -> None:
        self.context = context
        self.limit = limit
        self.position = 0
        self.due_ms = 0.0

    def add_splits(self, splits: list[int]) -> None:
        for split in splits:
            self.position = split

    def poll(self, records_max: int) -> Poll:
        if self.position >= self.limit:
            return END_OF_INPUT
        now_ms = self.context.monotonic_ms()
        if now_ms < self.due_ms:
            return NotReady(self.due_ms)
        self.due_ms = now_ms + 10
        self.position += 1
        return Records([self.position - 1])

    def snapshot(self) -> list[int]:
        return [self.position]


class Failing(MapFunction):
    def map(self, value: Any) -> Any:
        CALLS[0] += 1
        if CALLS[0] in FAIL_AT:
            raise ValueError(f"call {CALLS[0]} fails")
        return value


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def counting_rig(limit: int = 100, settings: dict[str, str] | None = None) -> MasterRig:
    """Numbers counted by their last digit in two slots, records collected with each checkpoint."""
    steps = (
        MapFactory(Failing()),
        Step(KeyedProcessFactory(Counting()), Partitioning.KEY_GROUP, lambda n: n % 10, 2),
        CollectFactory(),
    )
    return MasterRig(line_plan(Ticking(limit), *steps, settings=CHECKPOINTS | (settings or {})))


def expected(limit: int = 100) -> list[tuple[int, int]]:
    return sorted((n % 10, n // 10 + 1) for n in range(limit))


# --- without faults


def test_a_job_runs_to_its_end_and_leaves_only_its_result_in_storage() -> None:
    rig = counting_rig()
    outcome = rig.run()
    assert (outcome.status, outcome.cause) == (JobStatus.FINISHED, None)
    assert sorted(rig.collected()) == expected()
    assert rig.launches == [1]
    left = [path for path in rig.store.list_files("") if not path.startswith(paths.ATTEMPTS)]
    assert left == [paths.RESULT]
    assert len(rig.master.progress.checkpoints) > 5


def test_the_result_is_durable_before_the_checkpoints_are_deleted() -> None:
    rig = counting_rig(settings={"execution.checkpointing.num-retained": "1000"})
    delete = rig.store.delete
    results: list[Any] = []

    def watched(paths: Iterable[str]) -> None:
        results.append(job_records.read_result(rig.store))
        delete(paths)

    rig.store.delete = watched  # type: ignore[method-assign]
    assert rig.run().status is JobStatus.FINISHED
    assert results[-1] is not None
    assert results[-1].status is JobStatus.FINISHED


def test_a_job_counts_as_running_until_its_result_is_stored() -> None:
    rig = counting_rig()
    write, seen = rig.store.write, list[JobStatus]()

    def watched(path: str, chunks: Iterable[bytes]) -> None:
        if path == paths.RESULT:
            seen.append(rig.master.status)
        write(path, chunks)

    rig.store.write = watched  # type: ignore[method-assign, assignment]
    assert rig.run().status is rig.master.status is JobStatus.FINISHED
    assert seen == [JobStatus.RUNNING]


def test_a_driver_that_starts_again_after_the_end_runs_nothing() -> None:
    rig = counting_rig()
    rig.run()
    again = MasterRig(rig.plan, rig.store)
    assert again.run().status is JobStatus.FINISHED
    assert again.launches == []


# --- failures and restarts


@pytest.mark.slow
@pytest.mark.parametrize("calls", [{1}, {30}, {30, 31}, {10, 50, 110}])
def test_an_exception_restarts_the_job_in_place_and_each_record_counts_once(calls: set[int]) -> None:
    FAIL_AT.update(calls)
    rig = counting_rig()
    assert rig.run().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == expected()
    assert rig.launches == [1]
    assert rig.master.progress.restarts == len(calls)
    assert rig.master.progress.failures[0].cause.startswith("ValueError: call")


def test_the_history_of_failures_tells_when_where_and_what_came_of_them() -> None:
    FAIL_AT.update((30, 31))
    rig = counting_rig(settings={"restart-strategy.exponential-delay.jitter-factor": "0"})
    rig.run()
    first, second = rig.master.progress.failures
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.wall_ms < second.wall_ms
    assert "ValueError: call 30 fails" in first.cause
    assert replace(first.origin, user=None) == FailureOrigin(operator="op1", subtask=0, slot=0)
    assert first.origin.user is not None
    assert (first.origin.user.record, first.origin.user.error) == ("29", "ValueError: call 30 fails")
    assert (first.restart_delay_ms, second.restart_delay_ms) == (20.0, 30.0)


def test_a_lost_slot_and_the_final_failure_are_in_the_history_too() -> None:
    rig = counting_rig(settings=ONE_RESTART)
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.checkpoints)
    rig.master.slot_lost(Launch(1), SlotIndex(1), "killed")
    rig.run_until(lambda: rig.master.status is JobStatus.RUNNING)
    rig.end_launch(2, "executor lost")
    assert rig.end().status is JobStatus.FAILED
    lost, ended = rig.master.progress.failures
    assert (lost.cause, lost.origin) == ("slot 1 was lost: killed", FailureOrigin(slot=1))
    assert "executor lost" in ended.cause
    assert (lost.restart_delay_ms, ended.restart_delay_ms) == (1000, None)


def test_user_code_that_rules_a_restart_out_ends_the_job_at_once() -> None:
    def refusing(value: Any) -> Any:
        raise SuppressRestartsException("the table has no such column")

    rig = MasterRig(line_plan(Ticking(10), MapFactory(refusing), settings=CHECKPOINTS))
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert outcome.cause is not None
    assert "the table has no such column" in outcome.cause
    assert rig.master.progress.restarts == 0
    assert rig.master.progress.failures[0].restart_delay_ms is None


def test_statistics_count_what_the_coordinator_did() -> None:
    FAIL_AT.add(30)
    rig = counting_rig()
    rig.run()
    statistics = rig.master.progress.statistics
    shown = statistics_json.overview(statistics)
    counts = shown["counts"]
    assert (counts["restored"], counts["in_progress"]) == (1, 0)
    assert counts["completed"] == len(rig.master.progress.checkpoints)
    assert counts["total"] == counts["completed"] + counts["failed"]
    newest = shown["history"][0]
    assert (newest["status"], newest["num_acknowledged_subtasks"]) == ("COMPLETED", newest["num_subtasks"])
    assert shown["latest"]["completed"]["external_path"].endswith(f"chk-{newest['id']}")
    record = statistics.find(newest["id"])
    assert record is not None
    assert record.subtasks[SubtaskId(1, 1)].state_bytes > 0


def test_a_lost_slot_is_launched_anew_and_each_record_counts_once() -> None:
    rig = counting_rig()
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 3)
    rig.master.slot_lost(Launch(1), SlotIndex(1), "killed")
    assert rig.end().status is JobStatus.FINISHED
    assert (rig.launches, rig.kills) == ([1, 2], [1])
    assert sorted(rig.collected()) == expected()


def test_a_stage_that_ends_by_itself_is_launched_anew() -> None:
    rig = counting_rig()
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 3)
    rig.end_launch(1, "executor lost")
    assert rig.end().status is JobStatus.FINISHED
    assert rig.launches == [1, 2]
    assert sorted(rig.collected()) == expected()


def test_a_slot_that_does_not_answer_the_teardown_is_killed_with_its_launch() -> None:
    rig = counting_rig(settings={"headgate.slot.teardown-timeout": "200 ms"})
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 2)
    rig.deaf.add(1)
    FAIL_AT.add(CALLS[0] + 1)
    rig.run_until(lambda: rig.kills)
    rig.deaf.clear()
    assert rig.end().status is JobStatus.FINISHED
    assert rig.launches == [1, 2]
    assert sorted(rig.collected()) == expected()


def test_when_the_restarts_are_used_up_the_job_fails_with_the_users_error() -> None:
    FAIL_AT.update(range(1, 1000))
    rig = counting_rig(settings=ONE_RESTART)
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert outcome.cause is not None
    assert "ValueError: call 2 fails" in outcome.cause
    assert "in operator" in outcome.cause
    assert CALLS[0] == 2


def test_without_checkpoints_a_failure_ends_the_job() -> None:
    FAIL_AT.add(1)
    rig = MasterRig(line_plan([1], MapFactory(Failing()), CollectFactory()))
    assert rig.run().status is JobStatus.FAILED


def test_an_error_that_no_restart_mends_ends_the_job_at_once() -> None:
    class Twofold(Counting):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            runtime_context.get_state(ValueStateDescriptor("count", Types.STRING()))

    step = Step(KeyedProcessFactory(Twofold()), Partitioning.KEY_GROUP, lambda n: n)
    rig = MasterRig(line_plan(Ticking(10), step, CollectFactory(), settings=CHECKPOINTS))
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert "'count' is declared twice" in str(outcome.cause)
    assert rig.master.progress.restarts == 0


def test_damaged_state_fails_the_job_naming_the_file_and_never_restores_it() -> None:
    rig = counting_rig(200, {"execution.checkpointing.data-inline-threshold": "0"})
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) >= 3)
    # The reader of the next attempt finds another byte in every state file.
    honest = rig.store.read
    rig.store.read = lambda path: _damaged(path, honest(path))  # type: ignore[method-assign]
    rig.master.slot_lost(Launch(1), SlotIndex(1), "killed")
    outcome = rig.end()
    assert outcome.status is JobStatus.FAILED
    assert "checksum" in str(outcome.cause)
    assert rig.launches == [1, 2]


def _damaged(path: str, data: bytes | None) -> bytes | None:
    if data is None or "_metadata" in path or path == paths.RESULT:
        return data
    return data[:-1] + bytes([data[-1] ^ 1]) if data else data


def test_records_of_a_completed_checkpoint_are_delivered_though_the_slots_never_heard_of_it() -> None:
    rig = counting_rig()
    write = rig.store.write

    def deafening(path: str, chunks: Any) -> Any:
        if path == paths.metadata(CheckpointId(3)):
            rig.deaf.update(rig.slots)
        return write(path, chunks)

    rig.store.write = deafening  # type: ignore[method-assign]
    rig.master.submit()
    rig.run_until(lambda: len(rig.master.progress.checkpoints) == 3)
    rig.deaf.clear()
    rig.master.slot_lost(Launch(1), SlotIndex(0), "killed before it was told")
    assert rig.end().status is JobStatus.FINISHED
    assert sorted(rig.collected()) == expected()


# --- cancel


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4, 5, 10, 40])
def test_a_job_can_be_cancelled_at_any_time(turns: int) -> None:
    FAIL_AT.add(5)
    rig = counting_rig(10**6)
    rig.master.submit()
    for _ in range(turns):
        rig.turn()
        rig.clock.advance(3)
    rig.master.cancel()
    rig.master.cancel()
    outcome = rig.end()
    assert outcome.status is JobStatus.CANCELED
    assert rig.slots == {}
    assert job_records.read_result(rig.store) is not None


def test_a_job_cancelled_while_a_slot_is_deaf_kills_the_launch() -> None:
    rig = counting_rig(10**6, {"headgate.slot.teardown-timeout": "100 ms"})
    rig.master.submit()
    rig.run_until(lambda: rig.master.progress.checkpoints)
    rig.deaf.add(0)
    rig.master.cancel()
    assert rig.end().status is JobStatus.CANCELED
    assert rig.kills == [1]


def test_cancelling_a_job_that_has_ended_changes_nothing() -> None:
    rig = counting_rig(5)
    rig.run()
    rig.master.cancel()
    assert rig.master.outcome is not None
    assert rig.master.outcome.status is JobStatus.FINISHED


# --- slots


def test_a_slot_of_an_old_launch_is_refused() -> None:
    rig = counting_rig()
    rig.master.submit()
    rig.run_until(lambda: rig.launches == [1])
    zombie = Link(rig.slots[0])
    rig.master.register(RegisterSlot(launch=Launch(0), slot=SlotIndex(0), host="", port=0), zombie)
    assert zombie.closed


def test_a_second_slot_of_the_same_place_is_refused() -> None:
    rig = counting_rig()
    rig.master.submit()
    rig.run_until(lambda: rig.launches == [1])
    double = Link(rig.slots[0])
    rig.master.register(RegisterSlot(launch=Launch(1), slot=SlotIndex(0), host="", port=0), double)
    assert double.closed
    assert rig.end().status is JobStatus.FINISHED


def test_too_few_slots_in_time_fail_the_job_with_what_to_do() -> None:
    rig = counting_rig(settings={"headgate.slot.start-timeout": "300 ms"})
    rig.withheld.add(1)
    outcome = rig.run()
    assert outcome.status is JobStatus.FAILED
    assert "only 1 of 2 slots registered within 300 ms (missing: 1)" in str(outcome.cause)


def test_a_slot_that_cannot_run_the_job_fails_it_with_the_reason() -> None:
    rig = counting_rig()
    rig.withheld.add(1)
    rig.master.submit()
    rig.run_until(lambda: rig.launches == [1])
    rig.master.slot_unfit(Launch(1), "Python 3.9 there, 3.11 here")
    outcome = rig.end()
    assert (outcome.status, outcome.cause) == (JobStatus.FAILED, "Python 3.9 there, 3.11 here")


def test_every_attempt_is_deployed_with_a_number_of_its_own() -> None:
    FAIL_AT.update({10, 30})
    rig = counting_rig()
    rig.run()
    deploys = [message.attempt for message in rig.links[0].told if isinstance(message, Deploy)]
    assert deploys == [1, 2, 3]
    assert isinstance(rig.links[0].told[-1], Shutdown)


# --- storage that fails


def test_a_manifest_whose_outcome_is_unknown_is_settled_before_the_job_goes_on() -> None:
    rig = counting_rig()
    honest_write, honest_read = rig.store.write, rig.store.read
    broken: list[str] = []

    def write(path: str, chunks: Any) -> Any:
        handle = honest_write(path, chunks)
        if "_metadata" in path and not broken:
            broken.append(path)
            raise OSError("connection reset after the write")
        return handle

    rig.store.write = write  # type: ignore[method-assign]
    rig.store.read = honest_read  # type: ignore[method-assign]
    assert rig.run().status is JobStatus.FINISHED
    assert broken
    assert sorted(rig.collected()) == expected()
    assert 1 in [figures.checkpoint_id for figures in rig.master.progress.checkpoints]
