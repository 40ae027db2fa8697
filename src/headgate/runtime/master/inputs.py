"""What the sources of a job have made for it, such as a copy of what they read: when it is made, kept and removed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

from headgate.checkpoint.manifest import Manifest, OperatorManifest
from headgate.checkpoint.restore.splits import SPLITS_STATE
from headgate.checkpoint.store import CheckpointStore
from headgate.checkpoint.workflow import JobResult
from headgate.graph.physical import JobPlan
from headgate.ids import Attempt, SubtaskId
from headgate.operators.base import expect
from headgate.runtime.master.restoring import RestorePoint, begins_anew
from headgate.runtime.master.sources import read_list, sources_of

Splits = dict[int, list[Any]]
"""The splits of each source, by vertex."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a driver knows before the first attempt: the splits of a fresh start, and what drivers before it have done.

    `ended` is how the job ended, if it has: nothing may run a second time then.
    """

    splits: Splits
    last_attempt: Attempt
    ended: JobResult | None = None


@final
class Inputs:
    """The sources of one job. Its methods block, `interrupt` excepted."""

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._sources = sources_of(plan)
        self._listed: set[int] = set()

    def prepare(self) -> None:
        """Tell sources of the job."""
        for source in self._sources.values():
            source.prepare(self._plan.job_id)

    def splits(self, known: frozenset[str]) -> Splits:
        """Return the splits of the sources whose uid is not `known`. Raises what `Source.splits` raises.

        What was made for the job is then removed, if no snapshot knows of it.
        """
        wanted = [vertex for vertex in self._sources if self._uid(vertex) not in known]
        try:
            return self._list(wanted)
        except BaseException:
            if len(wanted) == len(self._sources):
                self.discard()
            raise

    def late_splits(self, point: RestorePoint) -> Splits:
        """Return the splits of sources that begin anew from here, but were thought to go on from a snapshot."""
        return self._list(
            [
                vertex
                for vertex in self._sources.keys() - self._listed
                if any(begins_anew(self._plan, subtask, point) for subtask in self._subtasks(vertex))
            ]
        )

    def _list(self, vertices: list[int]) -> Splits:
        found: Splits = {}
        for vertex in vertices:
            source = self._sources[vertex]
            found[vertex] = expect(list, source.splits(self._plan.vertices[vertex].parallelism), source, "splits()")
            self._listed.add(vertex)
        return found

    @contextlib.contextmanager
    def listed(self) -> Iterator[Splits]:
        """Have the splits of all sources, for a job without snapshots: what was made for it goes with the context.

        Raises what `Source.prepare` and `Source.splits` raise.
        """
        try:
            self.prepare()
            yield self.splits(frozenset())
        finally:
            for end in (self.discard, self.release):
                with contextlib.suppress(Exception):  # what is left over harms nothing
                    end()

    def interrupt(self) -> None:
        """End what `splits` waits for. Does not block."""
        for source in self._sources.values():
            source.interrupt()

    def keep_for(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Have those sources keep what they have made that a savepoint in `store` still reads. Raises StorageError."""
        for vertex in self._unread(store, manifest):
            self._sources[vertex].keep()

    def needed_by(self, store: CheckpointStore, manifests: Sequence[Manifest]) -> bool:
        """Return whether one of these checkpoints still reads of any source. Raises StorageError."""
        return any(self._unread(store, manifest) for manifest in manifests)

    def discard(self) -> None:
        """Have all sources remove what they have made; raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for source in self._sources.values():
                stack.callback(source.discard, self._plan.job_id)

    def discard_new(self) -> None:
        """Have all sources remove what they have made, if all have made it for this driver: no checkpoint reads it."""
        if self._listed == self._sources.keys():
            self.discard()

    def release(self) -> None:
        """Have all sources let go of what they hold; raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for source in self._sources.values():
                stack.callback(source.release, self._plan.job_id)

    def _unread(self, store: CheckpointStore, manifest: Manifest) -> list[int]:
        by_uid = {operator.uid: operator for operator in manifest.operators}
        return [
            vertex
            for vertex in self._sources
            if self._uid(vertex) in by_uid and _has_splits(store, by_uid[self._uid(vertex)])
        ]

    def _uid(self, vertex: int) -> str:
        return self._plan.vertices[vertex].operators[0].uid

    def _subtasks(self, vertex: int) -> list[SubtaskId]:
        return [SubtaskId(vertex, index) for index in range(self._plan.vertices[vertex].parallelism)]


def _has_splits(store: CheckpointStore, operator: OperatorManifest) -> bool:
    held = [state.lists[SPLITS_STATE] for state in operator.subtasks.values() if SPLITS_STATE in state.lists]
    return any(read_list(store, each).elements for each in held)
