"""The sources of a job in the driver: their checks and their acknowledgers."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any, final

from headgate import options
from headgate.checkpoint.handles import ListStateHandle
from headgate.checkpoint.manifest import Manifest, OperatorManifest
from headgate.checkpoint.restore.splits import KNOWN_STATE, SPLITS_STATE
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import ProgramError
from headgate.functions.acknowledging import Acknowledger, SourceProgress
from headgate.functions.source import Source
from headgate.graph.job_graph import JobGraph
from headgate.operators.source import SourceFactory
from headgate.state.operator.list_elements import ListElements

Splits = dict[int, list[Any]]
"""The splits of each source, by vertex."""


def sources_of(plan: JobGraph) -> dict[int, Source[Any]]:
    """Return the sources of a job by vertex."""
    return {
        vertex.id: vertex.operators[0].factory.source
        for vertex in plan.vertices
        if isinstance(vertex.operators[0].factory, SourceFactory)
    }


def check_discovery(name: str, source: Source[Any]) -> None:
    """Check the discovery settings of a source. Raises ProgramError, naming the operator, if they contradict."""
    interval_ms, kind = source.discovery_interval_ms, type(source).__name__
    if interval_ms is None:
        return
    if interval_ms <= 0:
        raise ProgramError(
            f"source {name!r} ({kind}) looks for new splits every {interval_ms} ms: its discovery_interval_ms must be "
            "above 0, or None for never"
        )
    if source.bounded and not source.discovery_ends:
        raise ProgramError(
            f"source {name!r} ({kind}) looks for new splits while it runs, so it never ends: set bounded = False, or "
            "discovery_interval_ms = None"
        )


@final
class Acknowledgers:
    """The acknowledgers of a job's sources. All methods except `any` block."""

    def __init__(self, plan: JobGraph) -> None:
        self._moved = plan.settings.get(options.MOVED_CLASSES)
        found = {plan.vertices[vertex].operators[0].uid: source for vertex, source in sources_of(plan).items()}
        acknowledging = {uid: source.acknowledger() for uid, source in found.items()}
        self._acknowledgers = {uid: each for uid, each in acknowledging.items() if each is not None}

    @property
    def any(self) -> bool:
        """Whether any source acknowledges."""
        return bool(self._acknowledgers)

    def restored(self, store: CheckpointStore, manifest: Manifest | None) -> None:
        """Tell them the snapshot that an attempt starts from, None for none. Raises `RestoreError`, `StorageError`."""
        for acknowledger, progress in self._progress(store, manifest):
            acknowledger.restored(progress)

    def completed(self, store: CheckpointStore, manifest: Manifest) -> None:
        """Tell them that a checkpoint or savepoint in `store` is complete. Raises `StorageError`."""
        for acknowledger, progress in self._progress(store, manifest):
            acknowledger.completed(progress)

    def close(self) -> None:
        """Close all acknowledgers. Raise the first failure at the end."""
        with contextlib.ExitStack() as stack:
            for acknowledger in self._acknowledgers.values():
                stack.callback(acknowledger.close)

    def _progress(
        self, store: CheckpointStore, manifest: Manifest | None
    ) -> Iterator[tuple[Acknowledger[Any], SourceProgress[Any]]]:
        operators = {} if manifest is None else {operator.uid: operator for operator in manifest.operators}
        for uid, acknowledger in self._acknowledgers.items():
            yield acknowledger, self._held(store, operators[uid]) if uid in operators else SourceProgress()

    def _held(self, store: CheckpointStore, operator: OperatorManifest) -> SourceProgress[Any]:
        def every(name: str) -> list[Any]:
            held = [state.lists[name] for state in operator.subtasks.values() if name in state.lists]
            where = f"the splits of source {operator.name!r}"
            return [value for each in held for value in read_list(store, each).values(where, self._moved)]

        return SourceProgress(known=frozenset(every(KNOWN_STATE)), unfinished=tuple(every(SPLITS_STATE)))


def read_list(store: CheckpointStore, state: ListStateHandle) -> ListElements:
    """Return the elements of a list state that headgate itself keeps. Blocks. Raises `StorageError`."""
    # From the job's own storage, with the checksum that its manifest names.
    return ListElements(elements=pickle.loads(read_state(store, state.handle)))  # noqa: S301
