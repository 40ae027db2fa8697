"""The inputs that sources make for a job, such as copies of what they read: made, kept, and removed at the end."""

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
    """The sources of one job. All methods except `interrupt` block, and run one at a time."""

    def __init__(self, plan: JobGraph) -> None:
        self._plan = plan
        self._sources = sources_of(plan)
        self._listed: Splits = {}
        self._acknowledgers: Acknowledgers | None = None

    @property
    def acknowledges(self) -> bool:
        """Whether sources acknowledge their input. Known after `begin`. Does not block."""
        return self._acknowledgers is not None and self._acknowledgers.any

    def begin(self, known: frozenset[str] | None) -> None:
        """Check and prepare all sources, and list the splits of sources that read from the beginning.

        `known` are the uids of sources that the restored snapshot knows; None: this is not known yet. Raises
        `SourceError`, `ProgramError`.
        """
        self._acknowledgers = Acknowledgers(self._plan)
        for vertex, source in self._sources.items():
            check_discovery(self._plan.vertices[vertex].operators[0].name, source)
        self.prepare()
        if known is not None:
            self.splits(known)

    def prepare(self) -> None:
        """Prepare all sources for the job."""
        for source in self._sources.values():
            source.prepare(self._plan.job_id)

    def splits(self, known: frozenset[str]) -> Splits:
        """Return the splits of the sources whose uid is not `known`. Raises what `Source.splits` raises.

        If that raises and no snapshot knows a source, the inputs made for the job are removed.
        """
        wanted = [vertex for vertex in self._sources if self._uid(vertex) not in known]
        try:
            return self._list(wanted)
        except BaseException:
            if len(wanted) == len(self._sources):
                self.discard()
            raise

    def start(self, store: CheckpointStore, point: RestorePoint) -> Splits:
        """Tell sources that acknowledge the snapshot in `store` that an attempt starts from, unless it only commits.

        Return the splits of all sources that read from the beginning. Raises `RestoreError`, `StorageError`.
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
        """Yield the splits of all sources, for a job without snapshots. The context removes the inputs at its end.

        Raises what `Source.prepare` and `Source.splits` raise.
        """
        try:
            self.prepare()
            yield {vertex: self._of_all_stages(vertex) for vertex in self._sources}
        finally:
            for end in (self.discard, self.release):
                with contextlib.suppress(Exception):  # leftovers do no harm
                    end()

    def interrupt(self) -> None:
        """Interrupt sources for which `splits` waits. Does not block."""
        for source in self._sources.values():
            source.interrupt()

    def keep_for(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Tell sources to keep their inputs if the savepoint in `store` still reads from them. Raises StorageError."""
        for vertex in self._unread(store, manifest):
            self._sources[vertex].keep()

    def acknowledge(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Have sources acknowledge the input of a complete snapshot in `store`. Raises `StorageError`."""
        if self._acknowledgers is not None:
            self._acknowledgers.completed(store, manifest)

    def close(self) -> None:
        """Close the acknowledgers of sources: the job has ended. Logs failures."""
        try:
            if self._acknowledgers is not None:
                self._acknowledgers.close()
        except Exception:  # noqa: BLE001  # a source cannot change how the job has ended
            _log.exception("a source could not be told that the job is over")

    def discard_unread(self, store: CheckpointStore, manifests: Sequence[Manifest]) -> None:
        """Tell all sources to remove their inputs, unless one of these checkpoints still reads from them."""
        if not any(self._unread(store, manifest) for manifest in manifests):
            self.discard()

    def discard(self) -> None:
        """Tell all sources to remove their inputs. Raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for source in self._sources.values():
                stack.callback(source.discard, self._plan.job_id)

    def discard_new(self) -> None:
        """Tell all sources to remove their inputs, if this driver has made them all: no checkpoint reads them."""
        if self._listed.keys() == self._sources.keys():
            self.discard()

    def release(self) -> None:
        """Release all sources. Raise the first failure at the end."""
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
