"""What the sources of a job have made for it, such as a copy of what they read: when it is made, kept and removed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any, final

from headgate.checkpoint.manifest import Manifest, OperatorManifest
from headgate.checkpoint.restore.splits import SPLITS_STATE
from headgate.checkpoint.store import CheckpointStore
from headgate.functions.source import splits_of_all_stages
from headgate.graph.job_graph import JobGraph
from headgate.operators.base import expect
from headgate.runtime.job_storage.restore import RestorePoint, starts_fresh
from headgate.runtime.job_storage.sources import Acknowledgers, Splits, check_discovery, read_list, sources_of

_log = logging.getLogger(__name__)


@final
class SourceInputs:
    """The sources of one job. Its methods block and are called one after the other, `interrupt` excepted."""

    def __init__(self, plan: JobGraph) -> None:
        self._plan = plan
        self._sources = sources_of(plan)
        self._listed: Splits = {}
        self._acknowledgers: Acknowledgers | None = None

    @property
    def acknowledges(self) -> bool:
        """Whether sources acknowledge what they have read, once they are prepared. Does not block."""
        return self._acknowledgers is not None and self._acknowledgers.any

    def begin(self, known: frozenset[str] | None) -> None:
        """Check and prepare all sources, and list the splits of those that are not `known` by what a job starts from.

        None: that cannot be said yet. Raises `SourceError`, `ProgramError`.
        """
        self._acknowledgers = Acknowledgers(self._plan)
        for vertex, source in self._sources.items():
            check_discovery(self._plan.vertices[vertex].operators[0].name, source)
        self.prepare()
        if known is not None:
            self.splits(known)

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

    def start(self, store: CheckpointStore, point: RestorePoint) -> Splits:
        """Tell sources that acknowledge what an attempt starts from, from `store`; none of a job that only commits.

        Return the splits of all sources that begin to read from here. Raises `RestoreError`, `StorageError`.
        """
        if self._acknowledgers is not None and not point.finishing:
            self._acknowledgers.restored(store, point.manifest)
        return self._list(
            [
                vertex
                for vertex in self._sources
                if any(starts_fresh(self._plan, each, point) for each in point.placement.instances_of(vertex))
            ]
        )

    def _list(self, vertices: list[int]) -> Splits:
        for vertex in vertices:
            if vertex not in self._listed:
                source, parallelism = self._sources[vertex], self._plan.vertices[vertex].parallelism
                self._listed[vertex] = expect(list, source.splits(parallelism), source, "splits()")
        return {vertex: self._listed[vertex] for vertex in vertices}

    def _of_all_stages(self, vertex: int) -> list[Any]:
        source = self._sources[vertex]
        every = splits_of_all_stages(source, self._plan.vertices[vertex].parallelism)
        splits: list[Any] = expect(list, every, source, "splits()")
        return splits

    @contextlib.contextmanager
    def listed(self) -> Iterator[Splits]:
        """Have the splits of all sources, for a job without snapshots: what was made for it goes with the context.

        Raises what `Source.prepare` and `Source.splits` raise.
        """
        try:
            self.prepare()
            yield {vertex: self._of_all_stages(vertex) for vertex in self._sources}
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

    def acknowledge(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Have sources acknowledge what a complete checkpoint or savepoint in `store` holds. Raises `StorageError`."""
        if self._acknowledgers is not None:
            self._acknowledgers.completed(store, manifest)

    def close(self) -> None:
        """Tell sources that acknowledge that the job is over."""
        try:
            if self._acknowledgers is not None:
                self._acknowledgers.close()
        except Exception:  # noqa: BLE001  # the job has ended, whatever a source makes of it
            _log.exception("a source could not be told that the job is over")

    def discard_unread(self, store: CheckpointStore, manifests: Sequence[Manifest]) -> None:
        """Have all sources remove what they have made, unless one of these checkpoints has still to read of it."""
        if not any(self._unread(store, manifest) for manifest in manifests):
            self.discard()

    def discard(self) -> None:
        """Have all sources remove what they have made; raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for source in self._sources.values():
                stack.callback(source.discard, self._plan.job_id)

    def discard_new(self) -> None:
        """Have all sources remove what they have made, if all have made it for this driver: no checkpoint reads it."""
        if self._listed.keys() == self._sources.keys():
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


def _has_splits(store: CheckpointStore, operator: OperatorManifest) -> bool:
    held = [state.lists[SPLITS_STATE] for state in operator.subtasks.values() if SPLITS_STATE in state.lists]
    return any(read_list(store, each).elements for each in held)
