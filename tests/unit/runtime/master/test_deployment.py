"""From a plan to its machines, and from a restore point to what each slot is told."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.checkpoint.messages import RestoredOperator
from headgate.graph.logical import Partitioning
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.collect import CollectFactory
from headgate.operators.map import MapFactory
from headgate.runtime.master.deployment import UNLIMITED_RESTARTS, committing_subtasks, deploy_messages, restart_of
from headgate.runtime.master.job_storage import RestorePoint
from headgate.runtime.master.restart import FixedDelay, NoRestart
from headgate.state.operator.list_elements import ListElements
from tests.unit.checkpoint.manifests import manifest
from tests.unit.runtime.plans import Step, line_plan

FRESH = RestorePoint(manifest=None, last_id=CheckpointId(0))
PEERS = {SlotIndex(index): ("host", 1000 + index) for index in range(3)}


def job(settings: dict[str, Any] | None = None) -> JobPlan:
    return line_plan([1], Step(MapFactory(str), Partitioning.REBALANCE, None, 3), CollectFactory(), settings=settings)


def test_on_a_fresh_start_the_splits_of_a_source_are_dealt_to_its_subtasks() -> None:
    messages = deploy_messages(job(), Attempt(1), FRESH, {0: ["a", "b", "c"]}, PEERS)
    assert {slot: message.splits for slot, message in messages.items()} == {
        0: {SubtaskId(0, 0): ["a", "b", "c"]},
        1: {},
        2: {},
    }
    assert all(message.peers == PEERS and message.checkpoint_id is None for message in messages.values())


def test_on_a_restore_no_splits_are_dealt_and_each_slot_gets_the_state_of_its_subtasks() -> None:
    state = {"op1": RestoredOperator(lists={"x": ListElements(elements=[b"1"])})}
    point = RestorePoint(
        manifest=manifest(7),
        last_id=CheckpointId(9),
        restored={SubtaskId(1, 2): state, SubtaskId(0, 0): {}},
    )
    messages = deploy_messages(job(), Attempt(2), point, {0: ["a"]}, PEERS)
    assert all(message.splits == {} and message.checkpoint_id == 7 for message in messages.values())
    assert [message.restored for message in messages.values()] == [{SubtaskId(0, 0): {}}, {}, {SubtaskId(1, 2): state}]


def test_only_subtasks_that_report_commits_are_waited_for() -> None:
    plan = job()
    last = len(plan.vertices) - 1
    assert committing_subtasks(plan) == frozenset({SubtaskId(last, 0)})


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        ({}, NoRestart()),
        ({"restart-strategy.type": "none", "execution.checkpointing.interval": "1 s"}, NoRestart()),
        ({"execution.checkpointing.interval": "1 s"}, FixedDelay(attempts=UNLIMITED_RESTARTS, delay_ms=1000)),
        (
            {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "5 s",
            },
            FixedDelay(attempts=3, delay_ms=5000),
        ),
    ],
)
def test_without_a_strategy_a_job_restarts_if_it_makes_checkpoints(settings: dict[str, str], strategy: Any) -> None:
    assert restart_of(job(settings)).describe() == strategy.describe()
