"""From a plan to its machines, and from a restore point to what each slot is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.messages import RestoredOperator
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import Partitioning
from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.plain_functions import MapFactory
from headgate.runtime.job_storage.restore import RestorePoint, deploy_messages
from headgate.runtime.master.assembly import committing_subtasks, restart_of
from headgate.runtime.master.restart_strategies import Backoff, ExponentialDelay, FailureRate, FixedDelay, NoRestart
from headgate.runtime.master.services import typed_batches
from headgate.state.operator.list_elements import ListElements
from tests.unit.checkpoint.manifests import manifest, operator
from tests.unit.runtime.plans import LINEAGE, Step, line_plan

PEERS = {SlotIndex(index): ("host", 1000 + index) for index in range(3)}
PLACED = Placement(parallelism=(1, 3, 1), addresses=PEERS)
FRESH = RestorePoint(placement=PLACED, manifest=None, last_id=CheckpointId(0))


def job(settings: dict[str, Any] | None = None) -> JobGraph:
    return line_plan([1], Step(MapFactory(str), Partitioning.REBALANCE, None, 3), CollectFactory(), settings=settings)


def test_on_a_fresh_start_the_splits_of_a_source_are_dealt_to_its_subtasks() -> None:
    messages = deploy_messages(job(), Attempt(1), LINEAGE, replace(FRESH, splits={0: ["a", "b", "c"]}))
    assert {slot: message.splits for slot, message in messages.items()} == {
        0: {SubtaskId(0, 0): ["a", "b", "c"]},
        1: {},
        2: {},
    }
    assert all(message.placement == PLACED and message.checkpoint_id is None for message in messages.values())


def test_on_a_restore_no_splits_are_dealt_and_each_slot_gets_the_state_of_its_subtasks() -> None:
    state = {"op1": RestoredOperator(lists={"x": ListElements(elements=[b"1"])})}
    point = RestorePoint(
        placement=PLACED,
        manifest=manifest(7, operator("op0", None)),
        last_id=CheckpointId(9),
        restored={SubtaskId(1, 2): state, SubtaskId(0, 0): {}},
    )
    messages = deploy_messages(job(), Attempt(2), LINEAGE, replace(point, splits={0: ["a"]}))
    assert all(message.splits == {} and message.checkpoint_id == 7 for message in messages.values())
    assert [message.restored for message in messages.values()] == [{SubtaskId(0, 0): {}}, {}, {SubtaskId(1, 2): state}]


def test_a_source_that_the_program_did_not_have_when_the_checkpoint_was_taken_reads_from_its_beginning() -> None:
    point = RestorePoint(placement=PLACED, manifest=manifest(7, operator("op1", None)), last_id=CheckpointId(9))
    messages = deploy_messages(job(), Attempt(2), LINEAGE, replace(point, splits={0: ["a"]}))
    assert messages[SlotIndex(0)].splits == {SubtaskId(0, 0): ["a"]}


def test_only_subtasks_that_report_commits_are_waited_for() -> None:
    plan = job()
    last = len(plan.vertices) - 1
    assert committing_subtasks(plan, PLACED) == frozenset({SubtaskId(last, 0)})


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        ({}, NoRestart()),
        ({"restart-strategy.type": "none", "execution.checkpointing.interval": "1 s"}, NoRestart()),
        ({"execution.checkpointing.interval": "1 s"}, ExponentialDelay(Backoff(), float)),
        (
            {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "5 s",
            },
            FixedDelay(attempts=3, delay_ms=5000),
        ),
        (
            {
                "restart-strategy": "failurerate",
                "restart-strategy.failure-rate.max-failures-per-interval": "4",
                "restart-strategy.failure-rate.failure-rate-interval": "5 min",
                "restart-strategy.failure-rate.delay": "10 s",
            },
            FailureRate(failures_max=4, interval_ms=300_000, delay_ms=10_000),
        ),
        (
            {
                "restart-strategy.type": "exponential-delay",
                "restart-strategy.exponential-delay.attempts-before-reset-backoff": "8",
            },
            ExponentialDelay(Backoff(attempts_max=8), float),
        ),
    ],
)
def test_without_a_strategy_a_job_restarts_if_it_makes_checkpoints(settings: dict[str, str], strategy: Any) -> None:
    assert restart_of(job(settings), float).describe() == strategy.describe()


def test_the_delay_of_a_job_with_checkpoints_grows_as_configured() -> None:
    prefix = "restart-strategy.exponential-delay"
    settings = {
        "execution.checkpointing.interval": "1 s",
        f"{prefix}.initial-backoff": "100 ms",
        f"{prefix}.max-backoff": "350 ms",
        f"{prefix}.backoff-multiplier": "2",
        f"{prefix}.reset-backoff-threshold": "10 s",
        f"{prefix}.jitter-factor": "0.5",
    }
    restart = restart_of(job(settings), lambda: 0.25)
    delays = [restart.on_failure(now_ms) for now_ms in (0.0, 1_000.0, 2_000.0, 3_000.0, 13_350.0)]
    assert delays == [75.0, 150.0, 262.5, 262.5, 75.0]


COMPILED, IN_PYTHON = {"native": "compiled"}, {"native": "Python (headgate._native is not built)"}


@pytest.mark.parametrize(
    ("choice", "slots", "typed"),
    [
        ("auto", [COMPILED, COMPILED], True),
        ("on", [COMPILED, COMPILED], True),
        ("off", [COMPILED, COMPILED], False),
        ("auto", [COMPILED, IN_PYTHON], False),
        ("auto", [IN_PYTHON, IN_PYTHON], False),
        ("auto", [COMPILED, {}], False),
    ],
)
def test_slots_send_typed_batches_only_if_all_have_the_compiled_module(
    choice: str, slots: list[dict[str, str]], typed: bool
) -> None:
    assert typed_batches(job({"headgate.native": choice}).settings, slots) is typed
