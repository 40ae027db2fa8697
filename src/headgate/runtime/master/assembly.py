"""Assembly: makes a job's state machines and its manifests from the plan. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from headgate import options
from headgate.checkpoint.coordination.coordinator import CheckpointCoordinator
from headgate.checkpoint.coordination.vocabulary import CheckpointSettings, StoreManifest
from headgate.checkpoint.manifest import Manifest, gather_operators
from headgate.config import Settings
from headgate.errors import InternalError
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import Placement, PlacementPolicy
from headgate.ids import CheckpointId, SubtaskId
from headgate.operators.sink import CommittingFactory
from headgate.operators.source import SourceFactory
from headgate.runtime.job_storage.restore import shapes_of
from headgate.runtime.master.rescales import Growth, GrowthSettings
from headgate.runtime.master.restart_strategies import (
    Backoff,
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartStrategy,
)
from headgate.runtime.master.supervisor import Supervisor
from headgate.runtime.master.watermark_aligner import WatermarkAligner

UNLIMITED_FAILURES: Final = 2**31 - 1


def supervisor_of(plan: JobGraph, placed: PlacementPolicy, random: Callable[[], float]) -> Supervisor:
    """Return the supervisor of a job, with the job's settings. `random` returns numbers from 0 to 1, 1 excluded."""
    get = plan.settings.get
    return Supervisor(
        place=partial(placed, plan),
        restart=restart_of(plan, random),
        teardown_timeout_ms=get(options.TEARDOWN_TIMEOUT),
        start_timeout_ms=get(options.START_TIMEOUT),
        slots_wait_ms=slots_wait_ms(plan.settings),
    )


def slots_wait_ms(settings: Settings) -> int | None:
    """Return the milliseconds that a launch waits for occupied or missing slots; None: no limit."""
    return settings.get(options.SLOTS_WAIT if options.is_adaptive(settings) else options.START_TIMEOUT)


def restart_of(plan: JobGraph, random: Callable[[], float]) -> RestartStrategy:
    """Return the restart strategy that is set; else exponential delay for a job with checkpoints, else no restarts."""
    get = plan.settings.get
    kind = get(options.RESTART_STRATEGY) or ("exponential-delay" if plan.checkpointing else "none")
    if kind == "fixed-delay":
        return FixedDelay(attempts=get(options.RESTART_ATTEMPTS), delay_ms=get(options.RESTART_DELAY))
    if kind == "failure-rate":
        return FailureRate(
            failures_max=get(options.FAILURE_RATE_MAX),
            interval_ms=get(options.FAILURE_RATE_INTERVAL),
            delay_ms=get(options.FAILURE_RATE_DELAY),
        )
    if kind == "exponential-delay":
        return ExponentialDelay(_backoff_of(plan), random)
    if kind == "none":
        return NoRestart()
    raise InternalError(f"there is no restart strategy {kind!r}")


def _backoff_of(plan: JobGraph) -> Backoff:
    get = plan.settings.get
    return Backoff(
        initial_ms=get(options.BACKOFF_INITIAL),
        max_ms=get(options.BACKOFF_MAX),
        multiplier=get(options.BACKOFF_MULTIPLIER),
        reset_threshold_ms=get(options.BACKOFF_RESET_THRESHOLD),
        jitter_factor=get(options.BACKOFF_JITTER),
        attempts_max=get(options.BACKOFF_ATTEMPTS),
    )


def coordinator_of(plan: JobGraph) -> CheckpointCoordinator:
    """Return the checkpoint coordinator of a job, by its settings."""
    get = plan.settings.get
    checkpoint_settings = CheckpointSettings(
        interval_ms=get(options.CHECKPOINT_INTERVAL) if plan.checkpointing else None,
        timeout_ms=get(options.CHECKPOINT_TIMEOUT),
        min_pause_ms=get(options.CHECKPOINT_MIN_PAUSE),
        max_concurrent=get(options.CHECKPOINT_MAX_CONCURRENT),
        tolerable_failures=_tolerable_failures(plan.settings),
        num_retained=get(options.CHECKPOINTS_RETAINED),
        unaligned_after_ms=get(options.ALIGNED_TIMEOUT) if get(options.UNALIGNED) else None,
        forced=get(options.CHECKPOINT_FORCED),
        after_tasks_ended=get(options.CHECKPOINTS_AFTER_TASKS_FINISH),
    )
    return CheckpointCoordinator(checkpoint_settings)


def _tolerable_failures(settings: Settings) -> int:
    """Return how many failed checkpoints in a row the job tolerates, by the setting or by its predecessor."""
    number = settings.get(options.CHECKPOINT_TOLERABLE_FAILURES)
    if number >= 0 and settings.is_given(options.CHECKPOINT_TOLERABLE_FAILURES):
        return number
    return 0 if settings.get(options.CHECKPOINT_FAIL_ON_ERRORS) else UNLIMITED_FAILURES


def watermark_aligner_of(plan: JobGraph) -> WatermarkAligner:
    """Return the machine that aligns the watermarks of the sources that ask for it."""
    factories = ((vertex.id, vertex.operators[0].factory) for vertex in plan.vertices)
    strategies = {vertex: own.strategy for vertex, own in factories if isinstance(own, SourceFactory)}
    return WatermarkAligner(
        {
            vertex: strategy.alignment
            for vertex, strategy in strategies.items()
            if strategy is not None and strategy.alignment is not None
        }
    )


def growth_of(plan: JobGraph) -> Growth:
    """Return the machine that lets a job grow. A job has fewer slots than it wants only with an adaptive scheduler."""
    get = plan.settings.get
    return Growth(
        GrowthSettings(
            cooldown_ms=get(options.RESCALE_COOLDOWN),
            stabilization_ms=get(options.RESCALE_STABILIZATION),
            increase_min=get(options.PARALLELISM_INCREASE_MIN),
        )
    )


def committing_subtasks(plan: JobGraph, placement: Placement) -> frozenset[SubtaskId]:
    """Return the subtasks whose sinks report their commits."""
    return frozenset(
        subtask
        for vertex in plan.vertices
        if any(isinstance(operator.factory, CommittingFactory) for operator in vertex.operators)
        for subtask in placement.instances_of(vertex.id)
    )


def manifest_of(plan: JobGraph, placement: Placement, order: StoreManifest, parent: CheckpointId | None) -> Manifest:
    """Return the manifest of a checkpoint that all subtasks of a placement have acknowledged."""
    return Manifest(
        job_id=plan.job_id,
        checkpoint_id=order.checkpoint_id,
        attempt=order.attempt,
        epoch=0,  # the lease sets epoch and nonce
        parent=parent,
        trigger_ms=order.trigger_ms,
        final=order.final,
        operators=gather_operators(shapes_of(plan, placement), order.states),
        savepoint=None if order.savepoint is None else order.savepoint.format,
        in_flight=tuple(each for state in order.states.values() for each in state.in_flight),
    )
