"""State writers: they write the state of checkpoints to files in storage, or into acknowledgements."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol, final

from headgate import options
from headgate.checkpoint import paths
from headgate.checkpoint.store import CheckpointStore
from headgate.elements import Barrier
from headgate.errors import StorageError
from headgate.ids import CheckpointId
from headgate.state.backend import KeyedSnapshot, StateWriter
from headgate.state.files import InlineHandle, KeyedState, StateHandle


class CheckpointWriter(StateWriter, Protocol):
    """Writes all state of one operator of a subtask for one checkpoint. Blocks; raises `StorageError`."""

    def write_keyed(self, snapshot: KeyedSnapshot) -> KeyedState:
        """Store a snapshot of keyed state after its walk."""
        ...

    def write_list(self, name: str, elements: list[bytes]) -> StateHandle:
        """Store the elements of an operator list state."""
        ...


class StateWriters(Protocol):
    """Makes the writers of one slot. May be used from several threads."""

    def of(self, own: paths.Writer, barrier: Barrier) -> CheckpointWriter:
        """Return a writer for the checkpoint or savepoint of a barrier. Blocks; raises `StorageError`."""
        ...

    def ahead(self, own: paths.Writer) -> StateWriter:
        """Return a writer for files of keyed state that belong to no checkpoint yet."""
        ...

    def write_in_flight(
        self, own: paths.Writer, checkpoint_id: CheckpointId, name: str, payloads: list[bytes]
    ) -> StateHandle:
        """Store batches that a barrier has overtaken. `name` is the `Side` of the channel.

        Not for savepoints, which have no data in flight. Blocks; raises `StorageError`.
        """
        ...


# --- files


@final
class StoreWriters:
    """Writers of files. State of less than `inline_bytes` is part of the acknowledgement and the manifest instead."""

    def __init__(self, store: CheckpointStore, inline_bytes: int) -> None:
        self._store = store
        self._inline_bytes = inline_bytes
        self._numbers: dict[paths.Writer, Iterator[int]] = {}

    def of(self, own: paths.Writer, barrier: Barrier) -> StoreWriter:
        return StoreWriter(self._store, own, barrier.checkpoint_id, self._inline_bytes)

    def ahead(self, own: paths.Writer) -> AheadWriter:
        return AheadWriter(self._store, own, self._numbers.setdefault(own, count(1)), self._inline_bytes)

    def write_in_flight(
        self, own: paths.Writer, checkpoint_id: CheckpointId, name: str, payloads: list[bytes]
    ) -> StateHandle:
        data = pickle.dumps(payloads, 5)
        if len(data) < self._inline_bytes:
            return InlineHandle(data)
        return self._store.write(paths.in_flight(checkpoint_id, own, name), [data])


@final
class StoreWriter:
    """A `CheckpointWriter` that writes files."""

    def __init__(
        self, store: CheckpointStore, own: paths.Writer, checkpoint_id: CheckpointId, inline_bytes: int
    ) -> None:
        self._store = store
        self._own = own
        self._checkpoint_id = checkpoint_id
        self._inline_bytes = inline_bytes

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        return self._write(self._path(name, shared=shared), pieces)

    def write_keyed(self, snapshot: KeyedSnapshot) -> KeyedState:
        return snapshot.store(self)

    def write_list(self, name: str, elements: list[bytes]) -> StateHandle:
        return self._write(paths.list_state(self._checkpoint_id, self._own, name), [pickle.dumps(elements, 5)])

    def _write(self, path: str, pieces: list[bytes]) -> StateHandle:
        if sum(map(len, pieces)) < self._inline_bytes:
            return InlineHandle(b"".join(pieces))
        return self._store.write(path, pieces)

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        if not shared and source.stat().st_size < self._inline_bytes:
            return InlineHandle(source.read_bytes())
        return self._store.upload(self._path(name, shared=shared), source)

    def _path(self, name: str, *, shared: bool) -> str:
        path_of = paths.shared_state if shared else paths.keyed_state
        return path_of(self._checkpoint_id, self._own, name)


@final
class AheadWriter:
    """A `StateWriter` of numbered files that later checkpoints will use."""

    def __init__(self, store: CheckpointStore, own: paths.Writer, numbers: Iterator[int], inline_bytes: int) -> None:
        self._store = store
        self._own = own
        self._numbers = numbers
        self._inline_bytes = inline_bytes

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        if sum(map(len, pieces)) < self._inline_bytes:
            return InlineHandle(b"".join(pieces))
        return self._store.write(self._path(name), pieces)

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        return self._store.upload(self._path(name), source)

    def _path(self, name: str) -> str:
        return paths.ahead_state(next(self._numbers), self._own, name)


# --- the memory of the job master


@final
class InlineWriters:
    """Writers for checkpoints in the job master's memory: all state is part of the acknowledgement."""

    def __init__(self, state_bytes_max: int) -> None:
        self._state_bytes_max = state_bytes_max

    def of(self, own: paths.Writer, barrier: Barrier) -> InlineWriter:
        return InlineWriter(own, self._state_bytes_max)

    def ahead(self, own: paths.Writer) -> InlineWriter:
        return InlineWriter(own, self._state_bytes_max)

    def write_in_flight(
        self, own: paths.Writer, checkpoint_id: CheckpointId, name: str, payloads: list[bytes]
    ) -> StateHandle:
        return InlineWriter(own, self._state_bytes_max).write_in_flight(payloads)


@final
class InlineWriter:
    """A `CheckpointWriter` that writes no file, and refuses state that is too large."""

    def __init__(self, own: paths.Writer, state_bytes_max: int) -> None:
        self._own = own
        self._state_bytes_max = state_bytes_max

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> InlineHandle:
        self._check("keyed state", sum(map(len, pieces)))
        return InlineHandle(b"".join(pieces))

    def write_keyed(self, snapshot: KeyedSnapshot) -> KeyedState:
        return snapshot.store(self)

    def write_list(self, name: str, elements: list[bytes]) -> InlineHandle:
        data = pickle.dumps(elements, 5)
        self._check(f"operator state {name!r}", len(data))
        return InlineHandle(data)

    def write_in_flight(self, payloads: list[bytes]) -> InlineHandle:
        """Store batches that a barrier has overtaken on one channel."""
        data = pickle.dumps(payloads, 5)
        self._check("data in flight on one channel", len(data))
        return InlineHandle(data)

    def upload(self, name: str, source: Path, *, shared: bool) -> InlineHandle:
        try:
            self._check("keyed state", source.stat().st_size)
            return InlineHandle(source.read_bytes())
        except OSError as error:
            raise StorageError(f"cannot read the local file {source}: {error}") from error

    def _check(self, name: str, size_bytes: int) -> None:
        if size_bytes > self._state_bytes_max:
            raise StorageError(
                f"its {name} has {size_bytes:,} bytes in subtask {self._own.subtask}, but checkpoints in the driver's "
                f"memory hold at most {self._state_bytes_max:,} of each state: keep them in files "
                f"({options.CHECKPOINT_STORAGE.key}: filesystem, with {options.CHECKPOINT_DIR.key}), or raise "
                f"{options.MAX_STATE_SIZE.key}"
            )
