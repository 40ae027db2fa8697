"""Restores the keyed state of an operator from a snapshot into a backend of this process, as a rescaled job does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, final

from headgate import options
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.restore.snapshots import OpenedSnapshot
from headgate.checkpoint.store import CheckpointStore
from headgate.clock import SystemClock
from headgate.errors import InternalError
from headgate.runtime.slot_storage.slot_storage import Fetch
from headgate.state.backend import BackendContext, KeyedBackend, StateWriter, open_backend
from headgate.state.files import FetchedKeyed, KeyedState

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class StateRestorer:
    """Restores keyed state of a snapshot. `new_folder` returns a new temporary folder. The methods block.

    They raise `DamagedFileError`, `RestoreError` and `StorageError`.
    """

    opened: OpenedSnapshot
    moved: Mapping[str, str]
    new_folder: Callable[[str], Path]

    def where(self, operator: OperatorManifest) -> str:
        """Return the operator and the location of the state, for error messages."""
        return f"state of operator {operator.name!r} in {self.opened.store.locate(self.opened.metadata)}"

    def fetched(self, store: CheckpointStore, keyed: KeyedState) -> FetchedKeyed:
        """Fetch the files of a subtask's state."""
        fetch = Fetch(store, self.new_folder, None, owned=False)
        return fetch.operators({"": RestoredOperator(keyed=(keyed,), lists={})})[""].keyed[0]

    @contextmanager
    def backend(
        self, operator: OperatorManifest, subtask: int, fetched: FetchedKeyed, groups: range
    ) -> Iterator[KeyedBackend]:
        """Provide a backend with these key groups of a subtask's fetched state, and close it afterwards."""
        backend = open_backend(self._context(operator, subtask, fetched.state, groups))
        try:
            backend.restore([fetched], self.where(operator))
            yield backend
        finally:
            backend.close()

    def _context(self, operator: OperatorManifest, subtask: int, keyed: KeyedState, groups: range) -> BackendContext:
        settings = {
            options.STATE_BACKEND.key: "rocksdb" if keyed.kind == "rocksdb" else "hashmap",
            options.MOVED_CLASSES.key: dict(self.moved),
        }
        return BackendContext(
            uid=operator.uid,
            name=operator.name,
            subtask=subtask,
            key_groups=groups,
            max_parallelism=operator.max_parallelism,
            clock=SystemClock(),
            settings=options.resolve(settings),
            services=_NoSlot(),
            scratch=lambda: self.new_folder("state"),
            checkpointing=False,
        )


@final
class _NoSlot:
    """The services of a backend that only restores state and is saved. It needs none."""

    def submit(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        done(work())

    def state_writer(self) -> StateWriter:
        raise InternalError("a backend that takes no checkpoints wants to write ahead of them")
