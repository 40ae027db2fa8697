"""Writes keys and values of a state into files of the canonical format, in the storage of a savepoint."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from headgate.checkpoint import paths
from headgate.checkpoint.store import CheckpointStore
from headgate.errors import ProgramError
from headgate.ids import Attempt
from headgate.savepoints.input_data import Given
from headgate.state.canonical.layout import SUFFIX, file_name
from headgate.state.canonical.writer import CanonicalTable
from headgate.state.files import StateFile
from headgate.state.formats.schema import StateMeta
from headgate.state.keygroups import group_of_key, subtask_of_group


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateTarget:
    """The state to write, and its operator's shape. `now_ms` is the last access to values without a time of access."""

    uid: str
    attempt: Attempt
    meta: StateMeta
    parallelism: int
    max_parallelism: int
    now_ms: int

    def write(self, entries: Iterable[Given], store: CheckpointStore, part: str = "") -> list[tuple[int, StateFile]]:
        """Write files into `store`, one for each subtask that gets any keys; return them with the subtask's index.

        Blocks. Memory holds a few thousand entries for each subtask at a time. `part` makes the file names unique if
        several processes write one state. Raises `SerializationError`, `ProgramError`, `StorageError`.
        """
        name = file_name(self.meta.name)
        if part:
            name = f"{name.removesuffix(SUFFIX)}.{part}{SUFFIX}"
        with TemporaryDirectory(prefix="headgate-") as folder:
            local = self._write_locally(entries, Path(folder))
            return [
                (subtask, StateFile(name, store.upload(self._path(subtask, name), path)))
                for subtask, path in sorted(local.items())
            ]

    def _write_locally(self, entries: Iterable[Given], folder: Path) -> dict[int, Path]:
        tables: dict[int, CanonicalTable] = {}
        with ExitStack() as files:
            for key, value, times in entries:
                group = group_of_key(key, self.max_parallelism)
                subtask = subtask_of_group(group, self.parallelism, self.max_parallelism)
                if subtask not in tables:
                    tables[subtask] = files.enter_context(CanonicalTable(self.meta, folder / f"{subtask}{SUFFIX}"))
                if value is not None:
                    tables[subtask].add(group, key, self._stored(key, value, times))
            for table in tables.values():
                table.flush()
        return {subtask: table.path for subtask, table in tables.items() if table.is_begun}

    def _stored(self, key: Any, value: Any, times: Any) -> Any:
        container = self.meta.form.plain_class
        if container is not None and type(value) is not container:
            raise ProgramError(
                f"{self.meta.kind} state {self.meta.name!r} takes a {container.__name__} for each key, but got a "
                f"{type(value).__name__} for {key!r}"
            )
        if not self.meta.ttl:
            return value
        if times is None:
            return self.meta.form.with_ttl(value, self.now_ms)
        return self.meta.form.join(times, value)

    def _path(self, subtask: int, name: str) -> str:
        return paths.savepoint_state(paths.Writer(self.attempt, self.uid, subtask), name)
