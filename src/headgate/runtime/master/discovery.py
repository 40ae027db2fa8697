"""Discovery: looks for new splits while a job runs, and gives each to one subtask.

Looking blocks, and is done beside the loop, for each source once at a time: where it never returns, nothing more is
found, and all else goes on. What was found is handed out on the loop, over the link that triggers
checkpoints as well: a split that is handed out behind a trigger reaches its reader behind the barrier. Nothing of it is
stored here: each subtask's state says which splits it was ever given, so an attempt knows exactly those of the
checkpoint that it starts from, and finds the others again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, final

from headgate import options
from headgate.clock import Clock
from headgate.functions.source import Source
from headgate.graph.physical import JobPlan, VertexPlan
from headgate.ids import Attempt, SubtaskId
from headgate.operators.base import expect
from headgate.operators.source import KNOWN_STATE, SPLITS_STATE
from headgate.runtime.io import WaitingIo
from headgate.runtime.master.job_storage import RestorePoint, Splits
from headgate.runtime.master.sources import sources_of
from headgate.state.operator.list_elements import ListElements

_log = logging.getLogger(__name__)


class DiscoveryHost(Protocol):
    """What discovery asks of the job master."""

    @property
    def clock(self) -> Clock:
        """The injected clock."""
        ...

    @property
    def io(self) -> WaitingIo:
        """Where blocking work is done."""
        ...

    def assign(self, attempt: Attempt, subtask: SubtaskId, splits: list[Any]) -> None:
        """Send splits to the slot of a subtask."""
        ...


@final
@dataclass(slots=True)
class _Looking:
    """One source of the running attempt. `known` is None until it has been asked for the first time."""

    source: Source[Any]
    starts_from: Callable[[], frozenset[str]]
    """Returns the ids of the splits that the attempt begins with."""
    due_ms: float
    known: frozenset[str] | None = None


@final
class Discovery:
    """The sources of one job that discover. Owned by the job master's loop."""

    def __init__(self, plan: JobPlan, host: DiscoveryHost) -> None:
        self._plan = plan
        self._host = host
        self._sources = [
            (plan.vertices[vertex], source)
            for vertex, source in sources_of(plan).items()
            if source.discovery_interval_ms is not None
        ]
        self._attempt: Attempt | None = None
        self._looking: dict[int, _Looking] = {}
        self._asked: set[int] = set()

    def attempt_started(self, attempt: Attempt, point: RestorePoint, splits: Splits) -> None:
        """Look from now on: at once where the attempt starts from a snapshot, which may be old."""
        self._attempt = None if point.finishing else attempt
        now_ms = self._host.clock.monotonic_ms()
        for vertex, source in self._sources:
            restored = _restored(vertex, point)
            if restored:
                starts_from, due_ms = partial(self._restored_ids, vertex, source, restored), now_ms
            else:
                starts_from = partial(_ids, source, splits.get(vertex.id, []))
                due_ms = now_ms + (source.discovery_interval_ms or 0)
            self._looking[vertex.id] = _Looking(source, starts_from, due_ms)

    def attempt_ended(self) -> None:
        """Hand out nothing more."""
        self._attempt = None
        self._looking = {}

    def step(self, now_ms: float) -> float | None:
        """Have those asked that are due; return when to call again, None for no need."""
        if self._attempt is None:
            return None
        for vertex, looking in self._looking.items():
            if vertex not in self._asked and now_ms >= looking.due_ms:
                self._look(self._attempt, vertex, looking)
        return min((own.due_ms for vertex, own in self._looking.items() if vertex not in self._asked), default=None)

    def _restored_ids(
        self, vertex: VertexPlan, source: Source[Any], restored: list[dict[str, ListElements]]
    ) -> frozenset[str]:
        """Return the ids of the splits that a snapshot knows of."""
        moved = self._plan.settings.get(options.MOVED_CLASSES)
        where = f"the splits of source {vertex.operators[0].name!r}"

        def every(name: str) -> list[Any]:
            return [value for lists in restored if name in lists for value in lists[name].values(where, moved)]

        return frozenset(every(KNOWN_STATE)) | _ids(source, every(SPLITS_STATE))

    def _look(self, attempt: Attempt, vertex: int, looking: _Looking) -> None:
        source, known = looking.source, looking.known

        def look() -> tuple[frozenset[str], dict[str, Any]]:
            before = looking.starts_from() if known is None else known
            found: list[Any] = expect(list, source.discover(before), source, "discover()")
            named = {source.split_id(split): split for split in found}
            return before, {split_id: split for split_id, split in named.items() if split_id not in before}

        def done(result: tuple[frozenset[str], dict[str, Any]] | BaseException) -> None:
            self._asked.discard(vertex)
            if attempt != self._attempt:
                return
            looking.due_ms = self._host.clock.monotonic_ms() + (source.discovery_interval_ms or 0)
            if isinstance(result, BaseException):
                _log.warning("no new splits of %s: %s", type(source).__name__, result)
                return
            before, new = result
            looking.known = before | new.keys()
            self._assign(attempt, vertex, len(before), list(new.values()))

        self._asked.add(vertex)
        self._host.io.submit_waiting(look, done)

    def _assign(self, attempt: Attempt, vertex: int, number: int, new: list[Any]) -> None:
        """Hand splits out in turn, beginning where the `number` known before have ended."""
        parallelism = self._plan.vertices[vertex].parallelism
        dealt: dict[int, list[Any]] = {}
        for place, split in enumerate(new, number):
            dealt.setdefault(place % parallelism, []).append(split)
        for index, splits in dealt.items():
            self._host.assign(attempt, SubtaskId(vertex, index), splits)


def _ids(source: Source[Any], splits: list[Any]) -> frozenset[str]:
    return frozenset(map(source.split_id, splits))


def _restored(vertex: VertexPlan, point: RestorePoint) -> list[dict[str, ListElements]]:
    """Return what the snapshot holds of a source, for each subtask; nothing if it knows nothing of the source."""
    subtasks = [point.restored.get(SubtaskId(vertex.id, index), {}) for index in range(vertex.parallelism)]
    uid = vertex.operators[0].uid
    return [operators[uid].lists for operators in subtasks if uid in operators]
