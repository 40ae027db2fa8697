"""Fetches the state that the subtasks of a slot restore. Blocks, so it runs on an I/O thread."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import final

from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.errors import DamagedFileError, StorageError
from headgate.ids import CheckpointId
from headgate.operators.base import RestoredState
from headgate.runtime.slot_storage.in_flight import FetchedFlight
from headgate.state.files import FetchedKeyed, FileHandle, KeyedState, StateFile, StateHandle


@final
class Fetch:
    """Fetches the state of one attempt. State that several operators or subtasks need is read once.

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
