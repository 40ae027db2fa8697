"""Deployment: from a job's plan to its machines, and from a restore point to what each slot is told. Pure."""

from __future__ import annotations

from typing import Any

from headgate import options
from headgate.checkpoint.coordination import CheckpointSettings
from headgate.checkpoint.coordinator import CheckpointCoordinator
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.registry import SharedStateRegistry
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, SlotIndex, SubtaskId
from headgate.operators.sink import CommittingFactory
from headgate.runtime.control.messages import Deploy
from headgate.runtime.master.job_storage import RestorePoint
from headgate.runtime.master.restart import FixedDelay, NoRestart, RestartStrategy
from headgate.runtime.master.supervisor import Supervisor

UNLIMITED_RESTARTS = 2**31 - 1


def supervisor_of(plan: JobPlan) -> Supervisor:
    """Return the supervisor of a job, by its settings."""
    return Supervisor(
        slots=plan.slots,
        restart=restart_of(plan),
        teardown_timeout_ms=plan.settings.get(options.TEARDOWN_TIMEOUT),
        start_timeout_ms=plan.settings.get(options.START_TIMEOUT),
    )


def restart_of(plan: JobPlan) -> RestartStrategy:
    """Return the restart strategy: as set, else without end when checkpoints are made, else none."""
    kind = plan.settings.get(options.RESTART_STRATEGY)
    delay_ms = plan.settings.get(options.RESTART_DELAY)
    if kind == "fixed-delay":
        return FixedDelay(attempts=plan.settings.get(options.RESTART_ATTEMPTS), delay_ms=delay_ms)
    if kind is None and plan.checkpointing:
        return FixedDelay(attempts=UNLIMITED_RESTARTS, delay_ms=delay_ms)
    return NoRestart()


def coordinator_of(plan: JobPlan) -> CheckpointCoordinator:
    """Return the checkpoint coordinator of a job, by its settings."""
    get = plan.settings.get
    checkpoint_settings = CheckpointSettings(
        interval_ms=get(options.CHECKPOINT_INTERVAL) if plan.checkpointing else None,
        timeout_ms=get(options.CHECKPOINT_TIMEOUT),
        min_pause_ms=get(options.CHECKPOINT_MIN_PAUSE),
        max_concurrent=get(options.CHECKPOINT_MAX_CONCURRENT),
        tolerable_failures=get(options.CHECKPOINT_TOLERABLE_FAILURES),
        num_retained=get(options.CHECKPOINTS_RETAINED),
    )
    return CheckpointCoordinator(checkpoint_settings, frozenset(plan.subtasks()), committing_subtasks(plan))


def registry_of(plan: JobPlan) -> SharedStateRegistry:
    """Return the registry of shared files of a job, by its settings."""
    get = plan.settings.get
    return SharedStateRegistry(get(options.CHECKPOINTS_RETAINED) + get(options.CHECKPOINT_MAX_CONCURRENT))


def committing_subtasks(plan: JobPlan) -> frozenset[SubtaskId]:
    """Return the subtasks whose sinks report their commits."""
    return frozenset(
        subtask
        for subtask in plan.subtasks()
        if any(isinstance(operator.factory, CommittingFactory) for operator in plan.vertex_of(subtask).operators)
    )


def deploy_messages(
    plan: JobPlan,
    attempt: Attempt,
    point: RestorePoint,
    splits: dict[int, list[Any]],
    peers: dict[SlotIndex, tuple[str, int]],
) -> dict[SlotIndex, Deploy]:
    """Return what each slot is told. `splits` are those of each source vertex, dealt out on a fresh start only."""
    fresh = point.checkpoint_id is None

    def message(slot: SlotIndex) -> Deploy:
        own = plan.subtasks_of(slot)
        restored: dict[SubtaskId, dict[str, RestoredOperator]] = {
            subtask: point.restored[subtask] for subtask in own if subtask in point.restored
        }
        dealt = {
            subtask: splits[subtask.vertex][subtask.index :: plan.vertex_of(subtask).parallelism]
            for subtask in own
            if fresh and subtask.vertex in splits
        }
        return Deploy(attempt=attempt, peers=peers, checkpoint_id=point.checkpoint_id, restored=restored, splits=dealt)

    return {SlotIndex(index): message(SlotIndex(index)) for index in range(plan.slots)}
