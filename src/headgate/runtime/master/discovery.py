"""Discovery: looks for new splits while a job runs, and gives each to one subtask.

Looking blocks, and is done beside the loop. What was found is handed out on the loop, over the link that triggers
checkpoints as well: a split that is handed out behind a trigger reaches its reader behind the barrier. Nothing of it is
stored here: each subtask's state says which splits it was ever given, so an attempt knows exactly those of the
checkpoint that it starts from, and finds the others again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from headgate import options
from headgate.clock import Clock
from headgate.functions.source import Source
from headgate.graph.physical import JobPlan, VertexPlan
from headgate.ids import Attempt, SubtaskId
from headgate.operators.base import expect
from headgate.operators.source import KNOWN_STATE, SPLITS_STATE, SourceFactory
from headgate.runtime.io import Io
from headgate.runtime.master.job_storage import RestorePoint, Splits

_log = logging.getLogger(__name__)


class DiscoveryHost(Protocol):
    """What discovery asks of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def io(self) -> Io:
        """Where blocking work is done."""
        ...

    def assign(self, attempt: Attempt, subtask: SubtaskId, splits: list[Any]) -> None:
        """Send splits to the slot of a subtask."""
        ...


@final
@dataclass(slots=True)
class _Looking:
    """One source of the running attempt. `due_ms` is None while it is being asked."""

    source: Source[Any]
    known: set[str] = field(default_factory=set)
    due_ms: float | None = None


@final
class Discovery:
    """The sources of one job that discover. Owned by the job master's loop."""

    def __init__(self, plan: JobPlan, host: DiscoveryHost) -> None:
        self._plan = plan
        self._host = host
        self._sources = [
            (vertex, vertex.operators[0].factory.source)
            for vertex in plan.vertices
            if isinstance(vertex.operators[0].factory, SourceFactory)
            and vertex.operators[0].factory.source.discovery_interval_ms is not None
        ]
        self._attempt: Attempt | None = None
        self._looking: dict[int, _Looking] = {}

    def attempt_started(self, attempt: Attempt, point: RestorePoint, splits: Splits) -> None:
        """Look from now on: at once where the attempt starts from a snapshot, which may be old."""
        self._attempt = None if point.finishing else attempt
        now_ms = self._host.clock.monotonic_ms()
        for vertex, source in self._sources:
            known = self._known(vertex, source, point)
            if known is None:
                known = {source.split_id(split) for split in splits.get(vertex.id, [])}
                due_ms = now_ms + (source.discovery_interval_ms or 0)
            else:
                due_ms = now_ms
            self._looking[vertex.id] = _Looking(source, known, due_ms)

    def attempt_ended(self) -> None:
        """Hand out nothing more."""
        self._attempt = None
        self._looking = {}

    def step(self, now_ms: float) -> float | None:
        """Have those asked that are due; return when to call again, None for no need."""
        if self._attempt is None:
            return None
        for vertex, looking in self._looking.items():
            if looking.due_ms is not None and now_ms >= looking.due_ms:
                looking.due_ms = None
                self._look(self._attempt, vertex, looking)
        return min((own.due_ms for own in self._looking.values() if own.due_ms is not None), default=None)

    def _known(self, vertex: VertexPlan, source: Source[Any], point: RestorePoint) -> set[str] | None:
        """Return the ids of the splits that the snapshot knows of, None if it knows nothing of the source."""
        uid, moved = vertex.operators[0].uid, self._plan.settings.get(options.MOVED_CLASSES)
        where = f"the splits of source {vertex.operators[0].name!r}"
        restored = [
            point.restored[subtask][uid].lists
            for subtask in (SubtaskId(vertex.id, index) for index in range(vertex.parallelism))
            if uid in point.restored.get(subtask, {})
        ]
        if not restored:
            return None

        def every(name: str) -> list[Any]:
            return [value for lists in restored if name in lists for value in lists[name].values(where, moved)]

        return {*every(KNOWN_STATE), *map(source.split_id, every(SPLITS_STATE))}

    def _look(self, attempt: Attempt, vertex: int, looking: _Looking) -> None:
        known = frozenset(looking.known)

        def look() -> list[Any]:
            found: list[Any] = expect(list, looking.source.discover(known), looking.source, "discover()")
            return found

        def done(result: list[Any] | BaseException) -> None:
            if attempt != self._attempt:
                return
            looking.due_ms = self._host.clock.monotonic_ms() + (looking.source.discovery_interval_ms or 0)
            if isinstance(result, BaseException):
                _log.warning("no new splits of %s: %s", type(looking.source).__name__, result)
            else:
                self._assign(attempt, vertex, looking, result)

        self._host.io.submit(look, done)

    def _assign(self, attempt: Attempt, vertex: int, looking: _Looking, found: list[Any]) -> None:
        """Hand out what is new: in turn, beginning where those known before have ended."""
        parallelism = self._plan.vertices[vertex].parallelism
        dealt: dict[int, list[Any]] = {}
        for split in found:
            split_id = looking.source.split_id(split)
            if split_id not in looking.known:
                dealt.setdefault(len(looking.known) % parallelism, []).append(split)
                looking.known.add(split_id)
        for index, splits in dealt.items():
            self._host.assign(attempt, SubtaskId(vertex, index), splits)
