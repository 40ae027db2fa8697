"""Slot storage: the checkpoints that a slot writes and reads, in storage and on its own disk, attempt after attempt."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.handles import InFlightState, SubtaskState
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.config import Settings
from headgate.errors import DamagedFileError, StorageError
from headgate.graph.job_graph import JobGraph
from headgate.ids import Attempt, CheckpointId, SubtaskId
from headgate.operators.base import RestoredState
from headgate.runtime.control.messages import Deploy
from headgate.runtime.slot_storage.in_flight import FetchedFlight
from headgate.runtime.slot_storage.local_copies import LocalCopies
from headgate.runtime.slot_storage.savepoint_writers import SavepointTerms, SlotWriters
from headgate.runtime.slot_storage.scratch import Scratch
from headgate.runtime.slot_storage.state_writers import InlineWriters, StateWriters, StoreWriters
from headgate.state.files import FetchedKeyed, FileHandle, KeyedState, StateFile, StateHandle

_COPIES = "copies"


@final
class Fetch:
    """Fetches the state that subtasks restore. State that several operators or subtasks need is read once. Blocks.

    `folder` makes a new local folder, for backends that work on files. `owned`: the state belongs to the job itself,
    not to a savepoint or another job.
    """

    def __init__(
        self,
        store: CheckpointStore,
        folder: Callable[[str], Path],
        checkpoint_id: CheckpointId | None,
        *,
        owned: bool = True,
    ) -> None:
        self.files = 0
        """The number of files read from storage."""
        self._store = store
        self._folder = folder
        self._checkpoint_id = checkpoint_id
        self._owned = owned
        self._data: dict[StateHandle, bytes] = {}
        self._numbers = count()

    def operators(self, restored: Mapping[str, RestoredOperator]) -> dict[str, RestoredState]:
        """Return the state of a subtask's operators. Raises `StorageError`, `DamagedFileError`."""
        return {
            uid: RestoredState(
                checkpoint_id=self._checkpoint_id,
                keyed=tuple(self._keyed(part) for part in operator.keyed),
                lists=operator.lists,
            )
            for uid, operator in restored.items()
        }

    def in_flight(self, parts: Iterable[InFlightState]) -> tuple[FetchedFlight, ...]:
        """Return the data in flight to a subtask. Raises `StorageError`, `DamagedFileError`."""
        # The payloads are a list of bytes, so unpickling loads no class.
        return tuple(FetchedFlight(part, pickle.loads(self._bytes(part.handle))) for part in parts)  # noqa: S301

    def _keyed(self, state: KeyedState) -> FetchedKeyed:
        files: dict[StateFile, bytes | Path] = {file: self._bytes(file.handle) for file in state.log}
        if state.kind == "entries":
            files |= {file: self._bytes(file.handle) for file in state.base}
        else:
            folder = self._folder(str(next(self._numbers)))
            files |= {file: self._local_file(file, folder) for file in state.base}
        return FetchedKeyed(state=state, files=files, owned=self._owned)

    def _bytes(self, handle: StateHandle) -> bytes:
        if handle not in self._data:
            self.files += isinstance(handle, FileHandle)
            self._data[handle] = read_state(self._store, handle)
        return self._data[handle]

    def _local_file(self, file: StateFile, folder: Path) -> Path:
        target = folder / file.name
        if target.parent != folder or file.name == "..":
            raise DamagedFileError(f"a state file is called {file.name!r}, which is not the name of a file")
        try:
            if isinstance(file.handle, FileHandle):
                self.files += 1
                self._store.download(file.handle, target)
            else:
                target.write_bytes(file.handle.data)
        except OSError as error:
            raise StorageError(f"cannot write the local file {target}: {error}") from error
        return target


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedAttempt:
    """The state that the subtasks of a slot restore, and the numbers of files read from local copies and storage."""

    restored: dict[SubtaskId, dict[str, RestoredState]]
    in_flight: dict[SubtaskId, tuple[FetchedFlight, ...]]
    local_files: int
    remote_files: int


@final
class SlotStorage:
    """The storage of one slot. Owned by the slot's loop; I/O threads call the methods that block."""

    def __init__(self, store: CheckpointStore, scratch: Scratch, open_store: Callable[[str], CheckpointStore]) -> None:
        """`store` is the folder of the job; `open_store` opens another folder by its location."""
        self._store = store
        self._scratch = scratch
        self._open_store = open_store
        self._copies: LocalCopies | None = None
        self._attempt = Attempt(0)

    @property
    def keeps_copies(self) -> bool:
        """Whether the slot keeps local copies. Otherwise `completed` and `aborted` need not be called."""
        return self._copies is not None

    def writers(self, plan: JobGraph) -> StateWriters:
        """Return the writers of an attempt, by the job's settings."""
        attempt = self._attempt
        terms = SavepointTerms(
            open_store=self._open_store,
            scratch=lambda: self._scratch.folder(_folder_of(attempt), "savepoints"),
            inline_bytes=plan.settings.get(options.CHECKPOINT_INLINE_THRESHOLD),
            moved_classes=plan.settings.get(options.MOVED_CLASSES),
        )
        return SlotWriters(self._checkpoint_writers(plan), terms)

    def _checkpoint_writers(self, plan: JobGraph) -> StateWriters:
        get = plan.settings.get
        if not plan.checkpointing:
            # The final snapshot holds only the sinks' last committables. It must work without shared storage.
            return StoreWriters(self._store, sys.maxsize)
        if get(options.CHECKPOINT_STORAGE) == "jobmanager":
            return InlineWriters(get(options.MAX_STATE_SIZE))
        return StoreWriters(self._copies or self._store, get(options.CHECKPOINT_INLINE_THRESHOLD))

    def begin(self, attempt: Attempt) -> None:
        """Begin an attempt, which replaces the one before it."""
        self._attempt = attempt

    def fetch(self, deploy: Deploy, settings: Settings) -> FetchedAttempt:
        """Fetch the state that the attempt's subtasks restore, and remove local files of earlier attempts. Blocks.

        Raises `StorageError`, `DamagedFileError`.
        """
        self._scratch.clear_all_but(_COPIES, _folder_of(self._attempt))
        try:
            return self._fetch(deploy, settings)
        finally:
            if deploy.attempt != self._attempt:  # the next attempt began meanwhile, and has removed files before
                self._scratch.clear_all_but(_COPIES, _folder_of(self._attempt))

    def _fetch(self, deploy: Deploy, settings: Settings) -> FetchedAttempt:
        copies = self._copies_for(settings)
        store: CheckpointStore = self._store
        if copies is not None:
            copies.begin(deploy.attempt, deploy.checkpoint_id, _files_of(deploy))
            store = copies if _reads_copies(settings) else store
        if deploy.root is not None:
            store = self._open_store(deploy.root)
        served = copies.served if copies is not None else 0
        fetch = Fetch(
            store,
            lambda name: self._scratch.folder(_folder_of(deploy.attempt), "fetched", name),
            deploy.checkpoint_id,
            owned=deploy.root is None,
        )
        restored = {subtask: fetch.operators(own) for subtask, own in deploy.restored.items()}
        in_flight = {subtask: fetch.in_flight(parts) for subtask, parts in deploy.in_flight.items()}
        local = copies.served - served if copies is not None else 0
        return FetchedAttempt(
            restored=restored, in_flight=in_flight, local_files=local, remote_files=fetch.files - local
        )

    def _copies_for(self, settings: Settings) -> LocalCopies | None:
        if self._copies is None and settings.get(options.LOCAL_BACKUP):
            self._copies = LocalCopies(self._store, self._scratch.folder(_COPIES))
        return self._copies

    def work_folder(self, attempt: Attempt, subtask: SubtaskId, uid: str) -> Path:
        """Return the folder for the working files of an operator's backend. It is empty when an attempt begins."""
        own = paths.Writer(attempt, uid, subtask.index).own()
        return self._scratch.folder(_folder_of(attempt), "work", f"{subtask.vertex}-{own}")

    # --- the outcome of checkpoints

    def taken(self, checkpoint_id: CheckpointId, state: SubtaskState) -> None:
        """Note that the state of a subtask for a checkpoint is in storage."""
        if self._copies is not None:
            keyed = [operator.keyed for operator in state.operators if operator.keyed is not None]
            handles = [handle for each in keyed for handle in each.handles()]
            handles += [each.handle for each in state.in_flight]
            self._copies.taken(checkpoint_id, [handle.path for handle in handles if isinstance(handle, FileHandle)])

    def completed(self, checkpoint_id: CheckpointId) -> None:
        """Remove copies that are not needed after this checkpoint is complete. Blocks."""
        if self._copies is not None:
            self._copies.completed(checkpoint_id)

    def aborted(self, checkpoint_id: CheckpointId) -> None:
        """Remove the copies of a checkpoint that was given up. Blocks."""
        if self._copies is not None:
            self._copies.aborted(checkpoint_id)


def _folder_of(attempt: Attempt) -> str:
    return f"a{attempt}"


def _reads_copies(settings: Settings) -> bool:
    chosen = settings.get(options.RECOVER_FROM_LOCAL)
    return chosen is None or chosen


def _files_of(deploy: Deploy) -> list[str]:
    """Return the job's own files that the attempt restores."""
    if deploy.root is not None:
        return []
    parts = [part for own in deploy.restored.values() for operator in own.values() for part in _parts_of(operator)]
    parts += [each.handle for own in deploy.in_flight.values() for each in own]
    return [handle.path for handle in parts if isinstance(handle, FileHandle)]


def _parts_of(operator: RestoredOperator) -> list[object]:
    return [handle for part in operator.keyed for handle in part.handles()]
