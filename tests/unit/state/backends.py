"""Backends driven as the keyed operator drives them, for the tests."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from headgate.clock import VirtualClock
from headgate.config import Settings
from headgate.ids import CheckpointId
from headgate.options import resolve
from headgate.state.backend import BackendContext, KeyedBackend, KeyedSnapshot
from headgate.state.descriptors import ValueState, ValueStateDescriptor
from headgate.state.files import FetchedKeyed, FileHandle, InlineHandle, KeyedState, StateFile, StateHandle
from headgate.state.keyed.cells import GENERATION
from headgate.state.keyed.hashmap import HashMapBackend
from headgate.types.typeinfo import Types

GROUPS = 128
_ids = count(1)


class Files:
    """Checkpoint storage in memory: a `StateWriter`, and the services of a backend that work at once."""

    def __init__(self, inline_bytes: int = 20_000) -> None:
        self.files: dict[str, bytes] = {}
        self.inline_bytes = inline_bytes
        self._ids = count(1)

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        data = b"".join(pieces)
        return InlineHandle(data) if len(data) < self.inline_bytes else self._file(name, data, shared=shared)

    def _file(self, name: str, data: bytes, *, shared: bool) -> FileHandle:
        path = f"{'shared' if shared else 'chk'}/{next(self._ids)}-{name}"
        self.files[path] = data
        return FileHandle(path, len(data), zlib.crc32(data))

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        return self._file(name, source.read_bytes(), shared=shared)

    def fetch(self, state: KeyedState) -> FetchedKeyed:
        """Return the state with its files; those of a RocksDB checkpoint as local copies."""
        contents: dict[StateFile, bytes | Path] = {file: self._read(file.handle) for file in (*state.base, *state.log)}
        if state.kind == "rocksdb":
            folder = Path(mkdtemp(prefix="headgate-test-"))
            for file in state.base:
                (folder / file.name).write_bytes(self._read(file.handle))
                contents[file] = folder / file.name
        return FetchedKeyed(state=state, files=contents)

    def _read(self, handle: StateHandle) -> bytes:
        return handle.data if isinstance(handle, InlineHandle) else self.files[handle.path]

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        done(work())

    def state_writer(self) -> Files:
        return self


def context_of(
    groups: range = range(GROUPS),
    settings: Mapping[str, Any] | Settings | None = None,
    clock: VirtualClock | None = None,
    files: Files | None = None,
) -> BackendContext:
    """Return what a backend is opened with."""
    return BackendContext(
        uid="the-uid",
        name="the operator",
        subtask=0,
        key_groups=groups,
        max_parallelism=GROUPS,
        clock=clock or VirtualClock(),
        settings=settings if isinstance(settings, Settings) else resolve(settings),
        services=files or Files(),
        scratch=lambda: Path(mkdtemp(prefix="headgate-test-")),
    )


def backend_of(groups: range = range(GROUPS)) -> HashMapBackend:
    return HashMapBackend(context_of(groups))


def value_state(backend: KeyedBackend, name: str = "v") -> ValueState[Any]:
    state: ValueState[Any] = backend.state(ValueStateDescriptor(name, Types.PICKLED_BYTE_ARRAY()))
    return state


@contextmanager
def at(backend: KeyedBackend, *keys: Any) -> Iterator[None]:
    """Make the last key the current one, after the others; leave the batch at the end."""
    for key in keys:
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell
    try:
        yield
    finally:
        backend.leave()


def put(backend: KeyedBackend, state: ValueState[Any], key: Any, value: Any) -> None:
    with at(backend, key):
        state.update(value)


def get(backend: KeyedBackend, state: ValueState[Any], key: Any) -> Any:
    with at(backend, key):
        return state.value()


def begin(backend: KeyedBackend) -> KeyedSnapshot:
    return backend.snapshot(CheckpointId(next(_ids)))


def finish(backend: KeyedBackend, pending: KeyedSnapshot, files: Files | None = None) -> FetchedKeyed:
    """Walk the snapshot to its end, store it, and return what a restore would get."""
    files = files or Files()
    while not pending.advance():
        pass
    state = pending.store(files)
    backend.forget(pending)
    return files.fetch(state)


def saved(backend: KeyedBackend) -> FetchedKeyed:
    return finish(backend, begin(backend))


def restored(*parts: FetchedKeyed, groups: range = range(GROUPS)) -> HashMapBackend:
    backend = backend_of(groups)
    backend.restore(parts, "the file")
    return backend


def contents(backend: KeyedBackend, name: str = "v") -> dict[Any, Any]:
    state = value_state(backend, name)
    found = {key: get(backend, state, key) for key in list(backend.cells)}
    return {key: value for key, value in found.items() if value is not None}
