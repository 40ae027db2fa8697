"""A job of one keyed operator and nothing else: its subtasks with their backends, its checkpoints, its storage.

It drives backends as operators and slots do, one step at a time, so that a test decides what happens between any two.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from headgate.clock import VirtualClock
from headgate.config import Settings
from headgate.elements import SavepointFormat
from headgate.ids import CheckpointId
from headgate.state.backend import BackendContext, KeyedBackend, KeyedSnapshot, StateWriter
from headgate.state.canonical.writer import write_canonical
from headgate.state.descriptors import StateDescriptor
from headgate.state.files import SHARED, FetchedKeyed, FileHandle, InlineHandle, KeyedState, StateFile, StateHandle
from headgate.state.formats.snapshot import decode
from headgate.state.keyed.cells import GENERATION
from headgate.state.keygroups import key_group, key_group_range, subtask_of_group
from headgate.types.keys import hash_code
from tests.contract.backends.keyed_states import KINDS, KindUnderTest

INLINE_BYTES_MAX: Final = 4096
CONCURRENT_MAX: Final = 3
"""Checkpoints that a test may have under way at one time."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BackendUnderTest:
    """How to open a backend, with what settings, and the kinds of state that it is to keep."""

    open: Callable[[BackendContext], KeyedBackend]
    settings: Settings = field(default_factory=Settings)
    max_parallelism: int = 32
    kinds: Mapping[str, KindUnderTest] = field(default_factory=lambda: KINDS)


@final
class Storage:
    """Files in memory, in the layout of a job's checkpoint storage."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def fetch(self, state: KeyedState, folder: Path, *, owned: bool) -> FetchedKeyed:
        """Return state with its files at hand; those that a backend reads from disk are put into `folder`."""
        found: dict[StateFile, bytes | Path] = {}
        for file in state.base:
            found[file] = self.read(file) if state.kind == "entries" else self._download(file, folder)
        for file in state.log:
            found[file] = self.read(file)
        return FetchedKeyed(state=state, files=found, owned=owned)

    def read(self, file: StateFile) -> bytes:
        """Return the contents of a file."""
        return file.handle.data if isinstance(file.handle, InlineHandle) else self.files[file.handle.path]

    def _download(self, file: StateFile, folder: Path) -> Path:
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.read(file))
        return path


@final
class ContractWriter:
    """Writes the files of one subtask into a folder of the storage."""

    def __init__(self, storage: Storage, exclusive: str, mark: str) -> None:
        self._storage = storage
        self._exclusive = exclusive
        self._mark = mark

    def write(self, name: str, pieces: list[bytes], *, shared: bool) -> StateHandle:
        """Store bytes; few become part of the handle."""
        data = b"".join(pieces)
        return InlineHandle(data) if len(data) <= INLINE_BYTES_MAX else self._file(name, data, shared=shared)

    def _file(self, name: str, data: bytes, *, shared: bool) -> FileHandle:
        path = f"{SHARED if shared else self._exclusive}/{self._mark}-{name}"
        assert path not in self._storage.files, f"{path} is written twice"
        self._storage.files[path] = data
        return FileHandle(path, len(data), 0)

    def upload(self, name: str, source: Path, *, shared: bool) -> StateHandle:
        """Store the contents of a local file."""
        return self._file(name, source.read_bytes(), shared=shared)


@final
class ContractServices:
    """What is done on an I/O thread waits here until a test lets it happen."""

    def __init__(self, storage: Storage, mark: str) -> None:
        self._storage = storage
        self._mark = mark
        self._writers = 0
        self._waiting: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def submit(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Keep the work for `run`."""
        self._waiting.append((work, done))

    def state_writer(self) -> StateWriter:
        """Return a writer of files that belong to no checkpoint yet."""
        self._writers += 1
        return ContractWriter(self._storage, "ahead", f"{self._mark}-w{self._writers}")

    def run(self) -> None:
        """Do what waits, oldest first."""
        waiting, self._waiting = self._waiting, []
        for work, done in waiting:
            done(work())


@final
class ContractSubtask:
    """One backend, with its share of the key groups."""

    def __init__(self, backend: KeyedBackend, services: ContractServices, mark: str) -> None:
        self.backend = backend
        self.services = services
        self.mark = mark
        self.handles: dict[tuple[str, bool], Any] = {}

    def handle(self, descriptor: StateDescriptor, *, namespaced: bool) -> Any:
        """Return the handle of a state, asked for when it is first used."""
        known = (descriptor.name, namespaced)
        if known not in self.handles:
            declare = self.backend.namespaces.state if namespaced else self.backend.state
            self.handles[known] = declare(descriptor)
        return self.handles[known]

    def enter(self, key: Any) -> None:
        """Make `key` the current one, as the loop of an operator does."""
        backend = self.backend
        cell = backend.cells.get(key)
        if cell is None or cell[GENERATION] != backend.generation:
            cell = backend.enter(key, cell)
        backend.current.cell = cell


@final
class Checkpoint:
    """A checkpoint under way: a snapshot of each subtask, then what was stored of it."""

    def __init__(
        self, checkpoint_id: CheckpointId, snapshots: Sequence[KeyedSnapshot], form: SavepointFormat | None = None
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.form = form
        self.folder = f"{'savepoint' if form else 'chk'}-{checkpoint_id}"
        self.snapshots = snapshots
        self.states: list[KeyedState] = []
        self.created: set[str] = set()

    @property
    def is_savepoint(self) -> bool:
        """Whether it is a savepoint, which no checkpoint builds on."""
        return self.form is not None

    def may_name(self, path: str) -> bool:
        """Whether the file is its own, or one that later checkpoints may use, too."""
        return path.startswith(f"{self.folder}/") or (not self.is_savepoint and path.startswith(f"{SHARED}/"))


@final
class KeyedJob:
    """The subtasks of a keyed operator over the attempts of its job."""

    def __init__(self, under_test: BackendUnderTest, folder: Path, parallelism: int = 1) -> None:
        self.under_test = under_test
        self.clock = VirtualClock(1_000_000.0)
        self.storage = Storage()
        self.subtasks: list[ContractSubtask] = []
        self.complete: list[Checkpoint] = []
        self._history: list[Checkpoint] = []
        self._folder = folder
        self._attempt = 0
        self._next_id = 0
        self._start(parallelism, None)

    # --- attempts

    def _start(self, parallelism: int, checkpoint: Checkpoint | None) -> None:
        self._attempt += 1
        self.subtasks = [self._open(subtask, parallelism) for subtask in range(parallelism)]
        for index, subtask in enumerate(self.subtasks):
            if checkpoint is not None:
                groups = key_group_range(index, parallelism, self.under_test.max_parallelism)
                subtask.backend.restore(self._parts(checkpoint, groups, subtask.mark), f"checkpoint of {subtask.mark}")

    def _open(self, subtask: int, parallelism: int) -> ContractSubtask:
        mark = f"a{self._attempt}-s{subtask}"
        services = ContractServices(self.storage, mark)
        context = BackendContext(
            uid="keyed",
            name="keyed operator",
            subtask=subtask,
            key_groups=key_group_range(subtask, parallelism, self.under_test.max_parallelism),
            max_parallelism=self.under_test.max_parallelism,
            clock=self.clock,
            settings=self.under_test.settings,
            services=services,
            scratch=lambda: self._scratch(mark),
        )
        return ContractSubtask(self.under_test.open(context), services, mark)

    def _scratch(self, mark: str) -> Path:
        path = self._folder / mark
        path.mkdir(parents=True, exist_ok=True)
        return path

    def _parts(self, checkpoint: Checkpoint, groups: range, mark: str) -> list[FetchedKeyed]:
        parts = []
        for number, state in enumerate(checkpoint.states):
            first, last = state.key_groups
            if first < groups.stop and groups.start <= last:
                folder = self._folder / f"{mark}-restored-{number}"
                parts.append(self.storage.fetch(state, folder, owned=not checkpoint.is_savepoint))
        return parts

    def restore(self, checkpoint: Checkpoint, parallelism: int) -> None:
        """End this attempt, and start the next from a complete checkpoint."""
        self.close()
        self._start(parallelism, checkpoint)

    def close(self) -> None:
        """End this attempt."""
        for subtask in self.subtasks:
            subtask.backend.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- records

    def subtask_of(self, key: Any) -> ContractSubtask:
        """Return the subtask that a record of this key goes to."""
        max_parallelism = self.under_test.max_parallelism
        group = key_group(hash_code(key), max_parallelism)
        return self.subtasks[subtask_of_group(group, len(self.subtasks), max_parallelism)]

    @contextmanager
    def batch(self, keys: Iterable[Any]) -> Iterator[None]:
        """Work within one batch with records of these keys."""
        routed: dict[int, list[Any]] = {}
        for key in keys:
            routed.setdefault(self.subtasks.index(self.subtask_of(key)), []).append(key)
        for index, its_keys in routed.items():
            prefetch = self.subtasks[index].backend.prefetch
            if prefetch is not None:
                prefetch(its_keys)
        try:
            yield
        finally:
            for subtask in self.subtasks:
                subtask.backend.leave()

    def at(self, key: Any, descriptor: StateDescriptor, namespace: Any = None) -> Any:
        """Make the key (and namespace) the current one; return the handle of a state."""
        subtask = self.subtask_of(key)
        handle = subtask.handle(descriptor, namespaced=namespace is not None)
        subtask.enter(key)
        if namespace is not None:
            subtask.backend.namespaces.set(namespace)
        return handle

    def background(self) -> None:
        """Let all subtasks do their background work, once."""
        for subtask in self.subtasks:
            subtask.backend.background(self.clock.monotonic_ms())

    def run_io(self) -> None:
        """Let everything happen that waits on an I/O thread."""
        for subtask in self.subtasks:
            subtask.services.run()

    # --- checkpoints

    def begin(self) -> Checkpoint:
        """Let the barrier of a checkpoint pass all subtasks."""
        self._next_id += 1
        checkpoint_id = CheckpointId(self._next_id)
        return Checkpoint(checkpoint_id, [subtask.backend.snapshot(checkpoint_id) for subtask in self.subtasks])

    def begin_savepoint(self, form: SavepointFormat) -> Checkpoint:
        """Let the barrier of a savepoint pass all subtasks."""
        self._next_id += 1
        checkpoint_id = CheckpointId(self._next_id)
        snapshots = [subtask.backend.savepoint(checkpoint_id, form) for subtask in self.subtasks]
        return Checkpoint(checkpoint_id, snapshots, form)

    def advance(self, checkpoint: Checkpoint) -> bool:
        """Walk a piece of each snapshot; return whether all are done."""
        done = [snapshot.advance() for snapshot in checkpoint.snapshots]
        return all(done)

    def store(self, checkpoint: Checkpoint) -> None:
        """Walk to the end, and write the files."""
        for subtask, snapshot in zip(self.subtasks, checkpoint.snapshots, strict=True):
            while not snapshot.advance():
                pass
            before = set(self.storage.files)
            name = checkpoint.folder
            writer = ContractWriter(self.storage, name, f"{subtask.mark}-{name}")
            state = snapshot.store(writer)
            if checkpoint.form is SavepointFormat.CANONICAL:
                state = self._as_tables(state, writer)
            foreign = _paths_of([state]) - {path for path in self.storage.files if checkpoint.may_name(path)}
            assert not foreign, f"{name} names {foreign}: savepoints have all of their files, and nobody else theirs"
            checkpoint.states.append(state)
            checkpoint.created |= set(self.storage.files) - before
            subtask.backend.forget(snapshot)

    def _as_tables(self, state: KeyedState, writer: ContractWriter) -> KeyedState:
        """Write what is in a file of entries as tables."""
        (file,) = state.base
        saved = decode(self.storage.read(file), file.name, {})
        first, last = state.key_groups
        with tempfile.TemporaryDirectory() as folder:
            tables = write_canonical(saved.states, saved.entries(range(first, last + 1)), Path(folder))
            base = tuple(StateFile(table.name, writer.upload(table.name, table, shared=False)) for table in tables)
        return KeyedState(key_groups=state.key_groups, kind="canonical", base=base)

    def complete_it(self, checkpoint: Checkpoint, keep: int = 2) -> None:
        """Confirm a stored checkpoint, and delete what only older ones than the last `keep` need.

        Shared files go later: as long as a checkpoint under way may have been begun in ignorance of newer ones.
        """
        self.complete.append(checkpoint)
        self._history.append(checkpoint)
        for subtask in self.subtasks:
            subtask.backend.notify_completed(checkpoint.checkpoint_id)
        self._delete(_paths(self.complete[:-keep]) - _paths(self.complete[-keep:]), shared=False)
        self.complete = self.complete[-keep:]
        recent = keep + CONCURRENT_MAX
        self._delete(_paths(self._history[:-recent]) - _paths(self._history[-recent:]), shared=True)
        self._history = self._history[-recent:]

    def _delete(self, paths: set[str], *, shared: bool) -> None:
        for path in paths:
            if path.startswith(f"{SHARED}/") == shared:
                self.storage.files.pop(path, None)

    def abort(self, checkpoint: Checkpoint) -> None:
        """Give a checkpoint up, at whatever point, and delete what was written for it."""
        for subtask, snapshot in zip(self.subtasks, checkpoint.snapshots, strict=True):
            subtask.backend.forget(snapshot)
            subtask.backend.notify_aborted(checkpoint.checkpoint_id)
        for path in checkpoint.created:
            self.storage.files.pop(path, None)

    def checkpoint(self) -> Checkpoint:
        """Take a checkpoint from barrier to completion."""
        checkpoint = self.begin()
        self.store(checkpoint)
        self.complete_it(checkpoint)
        return checkpoint


def _paths(checkpoints: Iterable[Checkpoint]) -> set[str]:
    return _paths_of(state for checkpoint in checkpoints for state in checkpoint.states)


def _paths_of(states: Iterable[KeyedState]) -> set[str]:
    handles = [handle for state in states for handle in state.handles()]
    return {handle.path for handle in handles if isinstance(handle, FileHandle)}
