"""Discovery: finds new splits while a job runs, and the splits of the next stage, and deals them to subtasks. Pure.

A look for splits blocks, so the job master runs it on an I/O thread, one look at a time for each source. If a look
never returns, no more splits of its source are found, and everything else continues. Found splits travel on the
connection that also triggers checkpoints: a split that is sent after a trigger reaches its reader after the barrier.
Found splits are not stored here. Each subtask's state contains all splits that the subtask was given. So an attempt
knows exactly the splits of its checkpoint, and finds the others again.

A source that acknowledges waits for checkpoints: a checkpoint is taken when its readers have read all their splits.
A source that reads in stages is then asked for the next stage. All splits of a stage are dealt at once, so that a
checkpoint contains all of them or none.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, final

from headgate import options
from headgate.checkpoint.restore.splits import KNOWN_STATE, SPLITS_STATE, ordinals_of
from headgate.errors import SuppressRestartsException
from headgate.functions.source import NO_MORE_SPLITS, NO_MORE_STAGES, NoMoreSplits, Source, SplitAssignment
from headgate.graph.job_graph import JobGraph, VertexPlan
from headgate.ids import Attempt, SubtaskId
from headgate.operators.base import expect
from headgate.operators.error_text import causes
from headgate.runtime.control.messages import AddSplits, SplitsRead
from headgate.runtime.job_storage.restore import RestorePoint
from headgate.runtime.job_storage.sources import sources_of
from headgate.runtime.master.services import SendToSubtask
from headgate.runtime.master.supervisor_vocabulary import AttemptFailed
from headgate.state.operator.list_elements import ListElements

_log = logging.getLogger(__name__)

CHECKPOINT_RETRY_MS: Final = 1_000.0
"""Milliseconds before the next checkpoint when the checkpoint that a source waits for has failed."""


@final
class Reading:
    """Counts the splits that the subtasks of one source were given in an attempt, and notices when all are read."""

    def __init__(self, parallelism: int, *, unfinished: bool, after: int = 0) -> None:
        """`unfinished`: the attempt starts with unread splits, or reads in stages. Ordinals below `after` are taken."""
        self._next = after
        self._given = [0] * parallelism
        self._read: list[int | None] = [None] * parallelism
        self._any = unfinished

    @property
    def parallelism(self) -> int:
        """The number of subtasks."""
        return len(self._given)

    def deal(self, splits: list[Any], known: int) -> dict[int, list[tuple[int, Any]]]:
        """Deal splits out in turn, continuing after the last dealt split.

        Return each subtask's splits with their ordinals. `known` is the number of splits known before: the new ordinals
        are not below it.
        """
        self._next = max(self._next, known)
        dealt: dict[int, list[tuple[int, Any]]] = {}
        for split in splits:
            dealt.setdefault(self._next % len(self._given), []).append((self._next, split))
            self._next += 1
        for index, some in dealt.items():
            self._given[index] += len(some)
            self._any = True
        return dealt

    def ended(self, index: int, given: int) -> bool:
        """Note that a subtask has read all `given` splits; return whether now all splits of the source are read."""
        self._read[index] = given
        if self._read != self._given or not self._any:
            return False
        self._any = False
        return True


@final
@dataclass(slots=True)
class _Looking:
    """One source of the running attempt. `known` are the ids of its known splits, None before the first look."""

    source: Source[Any]
    starts_from: Callable[[], frozenset[str]]
    """Returns the ids of the splits that the attempt begins with."""
    due_ms: float
    reading: Reading
    stages_follow: bool
    """Whether more stages may follow."""
    known: frozenset[str] | None = None
    stage_ended: bool = False
    """Whether all splits are read, so that the source is to be asked for the next stage."""
    trouble: str = ""
    """The last error of a look, empty after a success: a repeated error is logged once."""
    checkpoint_ms: float = math.inf
    """When to take a checkpoint after which the source can acknowledge."""


@final
@dataclass(frozen=True, slots=True)
class FoundSplits:
    """The result of a look: the ids known before, and the new splits by id.

    `no_more`: the source will never find more splits. `stages_follow`: this was not the last stage.
    """

    before: frozenset[str]
    new: dict[str, Any]
    no_more: bool
    stages_follow: bool


@final
@dataclass(frozen=True, slots=True)
class FindSplits:
    """Call `find` on an I/O thread that may wait for long, then `Discovery.found` with the result or the exception."""

    attempt: Attempt
    vertex: int
    stage_ended: bool
    find: Callable[[], FoundSplits]


@final
@dataclass(frozen=True, slots=True)
class CheckpointToAcknowledge:
    """Take a checkpoint, so that a source can acknowledge; then call `Discovery.checkpoint_over`."""

    attempt: Attempt
    vertex: int


DiscoveryEffect = FindSplits | CheckpointToAcknowledge | SendToSubtask | AttemptFailed


@final
class Discovery:
    """The sources of one job that discover splits. Owned by the job master's loop."""

    def __init__(self, plan: JobGraph) -> None:
        self._plan = plan
        self._sources = [
            (plan.vertices[vertex], source)
            for vertex, source in sources_of(plan).items()
            if source.in_stages or source.discovery_interval_ms is not None
        ]
        self._attempt: Attempt | None = None
        self._looking: dict[int, _Looking] = {}
        self._asked: set[int] = set()

    def attempt_started(self, attempt: Attempt, point: RestorePoint, now_ms: float) -> None:
        """Begin to look for splits: at once for sources in a restored snapshot, which may be old."""
        self._attempt = None if point.finishing else attempt
        for vertex, source in self._sources:
            restored = _restored(vertex, point)
            if restored:
                starts_from = partial(self._restored_ids, vertex, source, restored)
            else:
                starts_from = partial(_ids, source, point.splits.get(vertex.id, []))
            due_ms = now_ms if restored or source.in_stages else _next_ms(source, now_ms)
            reading = _reading(vertex, source, restored, point)
            self._looking[vertex.id] = _Looking(source, starts_from, due_ms, reading, source.in_stages)

    def attempt_ended(self) -> None:
        """Stop: the attempt has ended."""
        self._attempt = None
        self._looking = {}

    @property
    def wake_ms(self) -> float | None:
        """When to call `step` next, None: no need."""
        if self._attempt is None:
            return None
        due = [own.due_ms for vertex, own in self._looking.items() if vertex not in self._asked]
        wake_ms = min([*due, *(own.checkpoint_ms for own in self._looking.values())], default=math.inf)
        return None if math.isinf(wake_ms) else wake_ms

    def step(self, now_ms: float) -> list[DiscoveryEffect]:
        """Return the looks and checkpoints that are due."""
        effects: list[DiscoveryEffect] = []
        if self._attempt is None:
            return effects
        for vertex, looking in self._looking.items():
            if vertex not in self._asked and now_ms >= looking.due_ms:
                effects.append(self._look(self._attempt, vertex, looking))
            if now_ms >= looking.checkpoint_ms:
                looking.checkpoint_ms = math.inf
                effects.append(CheckpointToAcknowledge(self._attempt, vertex))
        return effects

    def splits_read(self, message: SplitsRead, now_ms: float) -> None:
        """Note that a subtask of the running attempt has read all splits that it was given."""
        looking = self._looking.get(message.subtask.vertex)
        if looking is None or message.attempt != self._attempt:
            return
        if looking.reading.ended(message.subtask.index, message.given):
            if looking.stages_follow:
                looking.stage_ended, looking.due_ms = True, now_ms
            if looking.source.acknowledger() is not None:
                looking.checkpoint_ms = now_ms

    def checkpoint_over(self, order: CheckpointToAcknowledge, failure: str | None, now_ms: float) -> None:
        """Note the end of a checkpoint: `failure` None: it is complete. Otherwise a later step takes another one."""
        if failure is not None and order.attempt == self._attempt:
            self._looking[order.vertex].checkpoint_ms = now_ms + CHECKPOINT_RETRY_MS

    def found(self, order: FindSplits, result: FoundSplits | BaseException, now_ms: float) -> list[DiscoveryEffect]:
        """Handle the result of a look: deal the splits. After an error, fail the attempt if it needs the next stage."""
        self._asked.discard(order.vertex)
        if order.attempt != self._attempt:
            return []
        looking = self._looking[order.vertex]
        looking.due_ms = min(looking.due_ms, _next_ms(looking.source, now_ms))
        if isinstance(result, BaseException):
            return self._failed(order, looking, result, now_ms)
        return self._deal(order, looking, result)

    def _restored_ids(
        self, vertex: VertexPlan, source: Source[Any], restored: list[dict[str, ListElements]]
    ) -> frozenset[str]:
        """Return the ids of the splits in a snapshot."""
        moved = self._plan.settings.get(options.MOVED_CLASSES)
        where = f"the splits of source {vertex.operators[0].name!r}"

        def every(name: str) -> list[Any]:
            return [value for lists in restored if name in lists for value in lists[name].values(where, moved)]

        return frozenset(every(KNOWN_STATE)) | _ids(source, every(SPLITS_STATE))

    def _look(self, attempt: Attempt, vertex: int, looking: _Looking) -> FindSplits:
        source, known, stage_ended = looking.source, looking.known, looking.stage_ended
        looking.stage_ended, looking.due_ms = False, math.inf

        def find() -> FoundSplits:
            before = looking.starts_from() if known is None else known
            return _found(source, before, looking.reading.parallelism if stage_ended else None)

        self._asked.add(vertex)
        return FindSplits(attempt, vertex, stage_ended, find)

    def _deal(self, order: FindSplits, looking: _Looking, found: FoundSplits) -> list[DiscoveryEffect]:
        source, reading = looking.source, looking.reading
        looking.trouble = ""
        looking.known = frozenset(source.to_remember([*found.before, *found.new]))
        dealt = reading.deal(list(found.new.values()), len(found.before))
        effects: list[DiscoveryEffect] = [_given(order, index, splits) for index, splits in dealt.items()]
        if found.no_more or (looking.stages_follow and not found.stages_follow):
            looking.stages_follow = False
            ends = found.no_more or source.discovery_interval_ms is None
            if ends:
                looking.due_ms = math.inf
            last = NO_MORE_SPLITS if ends else NO_MORE_STAGES
            effects += [_given(order, index, last) for index in range(reading.parallelism)]
        return effects

    def _failed(
        self, order: FindSplits, looking: _Looking, error: BaseException, now_ms: float
    ) -> list[DiscoveryEffect]:
        source = self._plan.vertices[order.vertex].operators[0].name
        retriable = not any(isinstance(each, SuppressRestartsException) for each in causes(error))
        if order.stage_ended or not retriable:
            cause = f"{source}: {error}"
            return [AttemptFailed(attempt=order.attempt, cause=cause, retriable=retriable, now_ms=now_ms)]
        if str(error) != looking.trouble:
            looking.trouble = str(error)
            _log.warning("no new splits of %r: %s", source, error)
        return []


def _given(order: FindSplits, index: int, splits: SplitAssignment) -> SendToSubtask:
    subtask = SubtaskId(order.vertex, index)
    return SendToSubtask(subtask, AddSplits(attempt=order.attempt, splits={subtask: splits}))


def _found(source: Source[Any], before: frozenset[str], next_stage_of: int | None) -> FoundSplits:
    """Look for splits that are not in `before`: for the next stage, at parallelism `next_stage_of`, if given."""
    asked = "discover()"
    found: list[Any] | NoMoreSplits = []
    if next_stage_of is not None and not source.is_last_stage(before):
        asked, found = "next_stage()", source.next_stage(before, next_stage_of)
    elif source.discovery_interval_ms is not None:
        found = source.discover(before)
    if isinstance(found, NoMoreSplits):
        return FoundSplits(before, {}, no_more=True, stages_follow=False)
    named = {source.split_id(split): split for split in expect(list, found, source, asked)}
    new = {split_id: split for split_id, split in named.items() if split_id not in before}
    stages_follow = source.in_stages and not source.is_last_stage(before.union(new))
    return FoundSplits(before, new, no_more=False, stages_follow=stages_follow)


def _ids(source: Source[Any], splits: list[Any]) -> frozenset[str]:
    return frozenset(map(source.split_id, splits))


def _next_ms(source: Source[Any], now_ms: float) -> float:
    return math.inf if source.discovery_interval_ms is None else now_ms + source.discovery_interval_ms


def _reading(
    vertex: VertexPlan, source: Source[Any], restored: list[dict[str, ListElements]], point: RestorePoint
) -> Reading:
    unfinished = any(lists[SPLITS_STATE].elements for lists in restored if SPLITS_STATE in lists) or source.in_stages
    after = 1 + max((ordinal for lists in restored for ordinal, _ in ordinals_of(lists)), default=-1)
    return Reading(point.placement.parallelism[vertex.id], unfinished=unfinished, after=after)


def _restored(vertex: VertexPlan, point: RestorePoint) -> list[dict[str, ListElements]]:
    """Return the source's list states in the snapshot, for each subtask; empty if the snapshot lacks the source."""
    subtasks = [point.restored.get(subtask, {}) for subtask in point.placement.instances_of(vertex.id)]
    uid = vertex.operators[0].uid
    return [operators[uid].lists for operators in subtasks if uid in operators]
