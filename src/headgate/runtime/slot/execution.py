"""Execution: the subtasks of one attempt in one slot, built from the plan, and the order in which they work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, final

from headgate import options
from headgate.dataflow.chain import restored_waiting
from headgate.elements import Barrier
from headgate.functions.api import KeySelector
from headgate.functions.metrics import MetricGroup
from headgate.functions.source import SplitAssignment
from headgate.graph.job_graph import JobGraph, OperatorPlan
from headgate.graph.logical import AnyKeySelector, Partitioning
from headgate.graph.placement import Placement
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import (
    USER_ERRORS,
    Operator,
    OperatorContext,
    RestoredState,
    close_function,
    open_function,
)
from headgate.operators.failure import UserFailure, failure_of
from headgate.operators.keys import KeySelection
from headgate.operators.runtime_context import Runtime
from headgate.operators.sink import SinkOperator
from headgate.runtime.control.messages import Deploy
from headgate.runtime.control.subtask_metrics import SubtaskMetrics
from headgate.runtime.exchange import Exchange
from headgate.runtime.slot.metrics import scope_of
from headgate.runtime.slot.services import SubtaskServices
from headgate.runtime.slot.subtask import RestoredBatch, Subtask
from headgate.runtime.slot.wiring import SlotWiring
from headgate.runtime.slot_storage.in_flight import FetchedFlight, Share, restored_batches
from headgate.state.keygroups import key_group_range

if TYPE_CHECKING:
    from headgate.runtime.slot.slot import Slot

_log = logging.getLogger(__name__)

ROUNDS_WITHOUT_SOURCES_MAX: Final = 32
"""The greatest number of rounds of work before the sources are polled, whatever other work there is."""


@final
class FailedToOpenError(Exception):
    """An operator, or its key selector, could not be opened or started; `failure` is the report of `error`."""

    def __init__(self, subtask: SubtaskId, failure: UserFailure, error: BaseException) -> None:
        super().__init__(failure.describe())
        self.subtask = subtask
        self.failure = failure
        self.error = error


@final
class Execution:
    """The subtasks of one attempt in one slot. Owned by the slot's loop."""

    def __init__(self, plan: JobGraph, placement: Placement, exchange: Exchange, slot: Slot) -> None:
        """The partitionings of the edges of `plan` are resolved for the placement."""
        self._plan = plan
        self._placement = placement
        self._wiring = SlotWiring(plan, placement, exchange, slot.index)
        self._exchange = exchange
        self._slot = slot
        self._batch_records = plan.settings.get(options.BATCH_RECORDS)
        self._own = placement.subtasks_of(slot.index)
        self.subtasks: dict[SubtaskId, Subtask] = {}
        self._downstream_first: list[Subtask] = []
        self.sources: list[Subtask] = []
        self._opened: list[Operator] = []
        self._selectors: list[tuple[KeySelector, OperatorContext]] = []
        self._rounds_without_sources = 0
        self._metrics: dict[SubtaskId, list[tuple[str, MetricGroup]]] = {}
        self._clock = slot.clock
        self._now_ms = 0.0
        self._at_work: Subtask | None = None

    def build(
        self,
        deploy: Deploy,
        restored: dict[SubtaskId, dict[str, RestoredState]],
        in_flight: dict[SubtaskId, tuple[FetchedFlight, ...]],
    ) -> None:
        """Make, restore and open all subtasks of the slot. Runs user code. Raises `FailedToOpenError`."""
        self._exchange.listen(deploy.attempt, self._wiring.inputs)
        for subtask in self._own:
            operators = self._operators(subtask, deploy, restored.get(subtask, {}))
            last = operators[-1].context
            for selector in self._wiring.selectors(subtask):
                self._open_selector(selector, subtask, last)
            wiring = self._wiring.of(subtask, last)
            built = Subtask(subtask, operators, wiring, self._slot, self._batch_records)
            if in_flight.get(subtask):
                shares = [(part, self._share(part, subtask, operators[0].context)) for part in in_flight[subtask]]
                built.recover(self._restored_batches(subtask, shares))
            if deploy.finishing:
                built.stop()
            else:
                built.restore(restored_waiting(operators))
            self.subtasks[subtask] = built
        ordered = sorted(self.subtasks.values(), key=lambda subtask: subtask.id, reverse=True)
        self._downstream_first = [subtask for subtask in ordered if not subtask.is_source]
        self.sources = [subtask for subtask in ordered if subtask.is_source]

    def start(self) -> None:
        """Start all operators: every subtask of the job is restored. Runs user code. Raises `FailedToOpenError`."""
        for id_, subtask in self.subtasks.items():
            for operator in subtask.operators:
                with _opening(id_, operator.context):
                    operator.start()

    def _operators(self, subtask: SubtaskId, deploy: Deploy, restored: dict[str, RestoredState]) -> list[Operator]:
        vertex = self._plan.vertex_of(subtask)
        operators: list[Operator] = []
        for operator_plan in vertex.operators:
            operator: Operator = operator_plan.factory.create()
            context = OperatorContext(
                job_id=self._plan.job_id,
                lineage=deploy.lineage,
                name=operator_plan.name,
                uid=operator_plan.uid,
                subtask=subtask.index,
                parallelism=self._placement.parallelism[subtask.vertex],
                max_parallelism=vertex.max_parallelism,
                attempt=deploy.attempt,
                checkpointing=self._plan.checkpointing,
                parameters=self._plan.parameters,
                services=SubtaskServices(self._slot, subtask, self._slot.clock),
                restored=replace(
                    restored.get(operator_plan.uid, RestoredState(checkpoint_id=deploy.checkpoint_id)),
                    job_id=deploy.restored_job,
                    moved_classes=self._plan.settings.get(options.MOVED_CLASSES),
                ),
                splits=deploy.splits.get(subtask),
                settings=self._plan.settings,
                metrics=self._metrics_of(subtask, operator_plan, deploy.attempt),
                output_type=operator_plan.output_type,
            )
            self._opened.append(operator)
            with _opening(subtask, context):
                operator.open(context)
            operators.append(operator)
        return operators

    def _metrics_of(self, subtask: SubtaskId, operator: OperatorPlan, attempt: Attempt) -> MetricGroup:
        group = MetricGroup(scope_of(self._plan, subtask, operator, attempt))
        self._metrics.setdefault(subtask, []).append((operator.uid, group))
        return group

    def _open_selector(self, selector: KeySelector, subtask: SubtaskId, context: OperatorContext) -> None:
        """Open a key selector, but only once if a union uses it for several streams."""
        if not any(selector is known for known, _ in self._selectors):
            self._selectors.append((selector, context))
            with _opening(subtask, context):
                open_function(selector, Runtime(context))

    # --- data in flight

    def _share(self, flight: FetchedFlight, subtask: SubtaskId, context: OperatorContext) -> Share | None:
        """Return the subtask's share of the records, by key; None: all records, because the operator is not keyed."""
        vertex = self._plan.vertex_of(subtask)
        selector = self._selector_of(flight, subtask)
        if selector is None:
            return None
        if not flight.state.keyed and isinstance(selector, KeySelector):
            self._open_selector(selector, subtask, context)
        return Share(
            selection=KeySelection(selector),
            key_groups=key_group_range(subtask.index, context.parallelism, vertex.max_parallelism),
            max_parallelism=vertex.max_parallelism,
        )

    def _selector_of(self, flight: FetchedFlight, subtask: SubtaskId) -> AnyKeySelector | None:
        vertex = self._plan.vertex_of(subtask)
        if vertex.operators[0].uid != flight.state.uid:
            return None
        for edge in self._plan.edges:
            is_input = edge.target_vertex == vertex.id and edge.input_index == flight.state.input_index
            if is_input and edge.partitioning is Partitioning.KEY_GROUP:
                return edge.key_selector
        return None

    def _restored_batches(
        self, subtask: SubtaskId, shares: list[tuple[FetchedFlight, Share | None]]
    ) -> Iterator[RestoredBatch]:
        """Yield the restored batches of a chain, the last operator's batches first, because they are the oldest."""
        uids = [operator.uid for operator in self._plan.vertex_of(subtask).operators]
        moved = self._plan.settings.get(options.MOVED_CLASSES)
        for flight, share in sorted(shares, key=lambda one: uids.index(one[0].state.uid), reverse=True):
            first = uids.index(flight.state.uid)
            for batch in restored_batches(flight, share, moved, self._wiring.read):
                yield RestoredBatch(first, flight.state.input_index, batch)

    # --- work

    def work(self) -> bool:
        """Do one round of work; return whether there was any.

        Downstream subtasks go first, and sources only when there was no other work: a slot processes its records before
        it reads more. But records from other slots may never end, so after some rounds the sources get their turn.
        """
        worked = False
        self._now_ms = self._clock.monotonic_ms()
        for subtask in self._downstream_first:
            if self._run(subtask):
                worked = True
        self._rounds_without_sources += 1
        if worked and self._rounds_without_sources < ROUNDS_WITHOUT_SOURCES_MAX:
            return True
        self._rounds_without_sources = 0
        for subtask in self.sources:
            if self._run(subtask):
                worked = True
        return worked

    @property
    def worked_until_ms(self) -> float:
        """When the last piece of work ended, on the monotonic clock."""
        return self._now_ms

    @property
    def at_work(self) -> Operator | None:
        """The operator that runs now or ran last: log lines name it."""
        if self._at_work is not None:
            return self._at_work.current
        return self._opened[-1] if self._opened else None

    def tick(self, now_ms: float) -> bool:
        """Do the periodic work that is due; return whether any was done."""
        worked = False
        began_ms = self._clock.monotonic_ms()
        for subtask in self.subtasks.values():
            if self._guard(subtask, partial(subtask.tick, now_ms)):
                worked = True
                ended_ms = self._clock.monotonic_ms()
                subtask.meter.worked(began_ms, ended_ms)
                began_ms = ended_ms
        return worked

    def _run(self, subtask: Subtask) -> bool:
        """Do a piece of work and measure it. It begins when the previous piece, of any subtask, has ended."""
        began_ms = self._now_ms
        worked = self._guard(subtask, subtask.run)
        if worked:
            self._now_ms = ended_ms = self._clock.monotonic_ms()
            subtask.worked(began_ms, ended_ms)
            if subtask.outputs and subtask.has_more:
                subtask.meter.held_back(ended_ms)  # held back until its next turn: downstream subtasks go first
            return True
        subtask.rested(began_ms)
        if subtask.outputs:
            if subtask.is_held_back:
                subtask.meter.held_back(began_ms)
            else:
                subtask.meter.released(began_ms)
        return False

    def held_back_ms(self, subtask: SubtaskId) -> float:
        """Return the total milliseconds for which a subtask was back-pressured; 0 while it is being built."""
        built = self.subtasks.get(subtask)
        return 0.0 if built is None else built.meter.held_back_ms(self._clock.monotonic_ms())

    def metrics(self) -> dict[SubtaskId, SubtaskMetrics]:
        """Return the metrics of all subtasks and of their functions. Calls the gauges of functions."""
        now_ms = self._slot.clock.monotonic_ms()
        return {
            id_: subtask.metrics(
                now_ms, tuple((uid, report) for uid, group in self._metrics[id_] for report in group.report(now_ms))
            )
            for id_, subtask in self.subtasks.items()
        }

    def trigger(self, barrier: Barrier) -> None:
        """Inject a barrier at all sources."""
        for subtask in self.sources:
            self._guard(subtask, partial(subtask.trigger, barrier))

    def add_splits(self, splits: dict[SubtaskId, SplitAssignment]) -> None:
        """Give splits to sources, or tell them that no more splits follow."""
        for id_, some in splits.items():
            self._guard(self.subtasks[id_], partial(self.subtasks[id_].add_splits, some))

    def allow_watermarks(self, allowed: dict[int, int]) -> None:
        """Tell aligned sources up to which watermark they may read; `allowed` is keyed by vertex."""
        for subtask in self.sources:
            if subtask.id.vertex in allowed:
                self._guard(subtask, partial(subtask.allow_watermark, allowed[subtask.id.vertex]))

    def end_sources(self, over: CheckpointId) -> None:
        """End the data of all sources. All checkpoints up to `over` are over: no subtask waits for their barriers."""
        for subtask in self.subtasks.values():
            self._guard(subtask, partial(subtask.give_up, over))
        for subtask in self.sources:
            self._guard(subtask, subtask.end)

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """Tell all subtasks that the checkpoint was given up."""
        for subtask in self.subtasks.values():
            self._guard(subtask, partial(subtask.abort, checkpoint_id))

    def notify_completed(self, checkpoint_id: CheckpointId) -> None:
        """Tell all operators that the checkpoint is complete."""
        for subtask in self.subtasks.values():
            self._guard(subtask, partial(subtask.notify_completed, checkpoint_id))

    def _guard(self, subtask: Subtask, work: Callable[[], bool | None]) -> bool:
        """Do a piece of the subtask's work and return its result. An exception fails the subtask."""
        self._at_work = subtask
        try:
            return bool(work())
        except USER_ERRORS as error:
            self._report(subtask, error)
            return False

    def _report(self, subtask: Subtask, error: BaseException) -> None:
        index = subtask.operators.index(subtask.current)
        name = self._plan.vertex_of(subtask.id).operators[index].name
        self._slot.failed(subtask.id, failure_of(error, name, subtask.id.index), error)

    def flush(self) -> bool:
        """Send all buffered records; return whether there were any."""
        return max([self._guard(subtask, subtask.flush) for subtask in self.subtasks.values()], default=False)

    def flush_due(self, now_ms: float) -> bool:
        """Send the records whose buffer timeout has passed; return whether there were any."""
        subtasks = self.subtasks.values()
        return max([self._guard(subtask, partial(subtask.flush_due, now_ms)) for subtask in subtasks], default=False)

    def wake_ms(self) -> float | None:
        """Return when a subtask has work without further input; None for never."""
        times = (subtask.next_ms() for subtask in self.subtasks.values())
        return min((time_ms for time_ms in times if time_ms is not None), default=None)

    def close(self) -> UserFailure | None:
        """Close all user code that was opened, even partly. Log all failures, and return the first failure."""
        results = [_closed(context, partial(close_function, selector)) for selector, context in self._selectors]
        results += [_closed(operator.context, operator.close) for operator in self._opened]
        self._exchange.end()
        return next((failure for failure in results if failure is not None), None)

    def abandon(self, after: CheckpointId) -> None:
        """Tell the sinks, which are closed, to remove the output prepared for checkpoints after this one."""
        for operator in self._opened:
            if isinstance(operator, SinkOperator):
                try:
                    operator.abandon(after)
                except Exception:
                    _log.exception("%r could not remove what it had prepared", operator.context.name)


def _closed(context: OperatorContext, close: Callable[[], None]) -> UserFailure | None:
    """Close a part of an operator. Log its failure and return it, None for none."""
    try:
        close()
    except USER_ERRORS as error:
        failure = failure_of(error, context.name, context.subtask)
        _log.error(  # without a traceback: the failure has the user's frames
            "a function failed to close: what it holds may not be released, and what it was to write in close() may be "
            "missing: %s",
            failure.describe(),
        )
        return failure
    return None


@contextlib.contextmanager
def _opening(subtask: SubtaskId, context: OperatorContext) -> Iterator[None]:
    """Raise `FailedToOpenError` for exceptions of user code in the context."""
    try:
        yield
    except USER_ERRORS as error:
        raise FailedToOpenError(subtask, failure_of(error, context.name, context.subtask), error) from error
