"""The savepoint reader: the state of a savepoint or a retained checkpoint as tables."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.checkpoint.file_store import FileSystemStore
from headgate.checkpoint.handles import ListStateHandle
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.restore.snapshots import open_snapshot
from headgate.checkpoint.store import read_state
from headgate.errors import ProgramError, RestoreError
from headgate.ids import CheckpointId, JobId
from headgate.savepoints.tables import ALL_GROUPS, KeyedTables
from headgate.state.canonical.layout import KEY, NAMESPACE, VALUE, ColumnPair, pickle_of, refined_type
from headgate.state.canonical.reader import CanonicalFile
from headgate.state.formats.unpickle import loader
from headgate.state.keyed.cells import namespace_of, plain_key
from headgate.state.operator.list_elements import ListMode
from headgate.time.timers import EVENT_TIMERS, PROCESSING_TIMERS
from headgate.types.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation, Types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorInfo:
    """An operator of a snapshot. `size_bytes` is the size of all its state as it is stored."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    has_keyed_state: bool
    list_states: tuple[str, ...]
    broadcast_states: tuple[str, ...]
    size_bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateInfo:
    """A keyed state that has values. `kind` and `type` are texts; `entries` is the number of keys (and namespaces).

    `size_bytes` is the size of the state's tables. The state of a checkpoint is converted to tables first.
    """

    name: str
    kind: str
    type: str
    has_time_to_live: bool
    entries: int
    size_bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """The value of a state for a key, as objects of the program.

    For timers, `value` is the list of their times. `last_access_ms` is None without a time to live. For a list or a map
    it is a list, with a time for each element or entry.
    """

    key: Any
    namespace: Any
    value: Any
    last_access_ms: Any


def element_table(types: Mapping[str, TypeInformation], columns: list[list[Any]]) -> pa.Table:
    """Return a table with a column for each type, and a column of pickles if the column does not show values exactly.

    >>> from headgate.types.typeinfo import Types
    >>> element_table({"value": Types.LONG()}, [[1, 2]])["value"].to_pylist()
    [1, 2]
    """
    arrays: dict[str, pa.Array] = {}
    for (name, declared), values in zip(types.items(), columns, strict=True):
        pair = ColumnPair(name, refined_type(declared, values))
        for value in values:
            pair.add(value, value)
        taken = pair.take()
        exact = taken.pop(pickle_of(name))
        arrays |= taken if exact.null_count == len(exact) else {**taken, pickle_of(name): exact}
    return pa.table(arrays)


TIMER_STATES: Final = {"event": EVENT_TIMERS, "processing": PROCESSING_TIMERS}
"""The names of the states that store timers, by clock."""

_EXACT = (pickle_of(KEY), pickle_of(NAMESPACE), pickle_of(VALUE))


@final
class SavepointReader:
    """Reads the state of one savepoint, in either format, or of a retained checkpoint of any kind and backend.

    A context manager: leaving it removes temporary files. Methods block. All methods that read state also raise
    `DamagedFileError` for a damaged file, `StorageError` if storage does not answer, and `RestoreError` for pickled
    objects of a class that does not exist any more.
    """

    def __init__(self, location: str, moved_classes: Mapping[str, str]) -> None:
        self._opened = open_snapshot(location, FileSystemStore.open_folder)
        self._moved = dict(moved_classes)
        self._tables = KeyedTables(self._opened, self._moved)

    @classmethod
    def read(cls, path: str, *, moved_classes: Mapping[str, str] | None = None) -> SavepointReader:
        """Open the snapshot at `path`: the folder of a savepoint or checkpoint, or the `_metadata` file in it.

        `moved_classes` maps the old names of moved classes to their new names. Only the manifest is read. Raises
        `RestoreError` if there is no complete snapshot at `path`, and `StorageError` if storage does not answer.
        Reading state unpickles objects, which can run code: read only snapshots of jobs that you trust.
        """
        return cls(str(path), moved_classes or {})

    def __enter__(self) -> SavepointReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove temporary files. Tables that were returned before stay usable."""
        self._tables.close()

    # --- the snapshot and its operators

    @property
    def job_id(self) -> JobId:
        """The job that took the snapshot."""
        return self._opened.manifest.job_id

    @property
    def checkpoint_id(self) -> CheckpointId:
        """The id of the checkpoint or savepoint; both are numbered in one sequence."""
        return self._opened.manifest.checkpoint_id

    @property
    def taken_ms(self) -> int:
        """The time when the snapshot was triggered, in milliseconds since 1970 UTC."""
        return self._opened.manifest.trigger_ms

    @property
    def form(self) -> Literal["checkpoint", "canonical", "native"]:
        """The kind of snapshot: a checkpoint, or the format of a savepoint."""
        form = self._opened.manifest.savepoint
        return "checkpoint" if form is None else form.value

    @property
    def operators(self) -> list[OperatorInfo]:
        """The operators of the job, including operators without state."""
        return [_described(operator) for operator in self._opened.manifest.operators]

    def states(self, uid: str) -> list[StateInfo]:
        """Return the keyed states of an operator that have values, including timers. Reads all its keyed state.

        Raises `RestoreError` if there is no operator with this uid.
        """
        found = self._tables.all_files(self._operator(uid))
        return [_info(name, files) for name, files in sorted(found.items())]

    # --- keyed state

    def keyed_state(self, uid: str, name: str) -> pa.Table:
        """Return a keyed state as a table with a row for each key (and namespace).

        The columns are the canonical format's (docs/reference/savepoint-format.md), without empty `_pickle` columns.
        The whole state is loaded into memory; use `batches` for large states. Raises `RestoreError` if there is no
        operator with this uid, or if it has no values of this state.
        """
        table = pa.Table.from_batches(self.batches(uid, name)).replace_schema_metadata(None)
        empty = [column for column in _EXACT if column in table.column_names and _is_empty(table[column])]
        return table.drop_columns(empty)

    def batches(self, uid: str, name: str) -> Iterator[pa.RecordBatch]:
        """Yield a keyed state in pieces of about a thousand rows, all columns included. Raises as `keyed_state`."""
        files = self._files(uid, name)
        return (batch for file in files for batch in file.batches(ALL_GROUPS))

    def subtasks(self, uid: str) -> list[int]:
        """Return the indices of subtasks with keyed state. Raises `RestoreError` if there is no such operator."""
        found = self._operator(uid).subtasks.items()
        return [subtask for subtask, state in sorted(found) if state.keyed is not None]

    def batches_of(self, uid: str, name: str, subtask: int) -> Iterator[pa.RecordBatch]:
        """Yield one subtask's rows of a keyed state, with the column types of that subtask.

        Yields nothing if the subtask has no values of the state. No other subtask is read, so several processes may
        read an operator in parallel. Raises `RestoreError` if there is no such operator.
        """
        files = self._tables.files_of_state(self._operator(uid), name, subtask)
        return (batch for file in files for batch in file.batches(ALL_GROUPS))

    def entries(self, uid: str, name: str) -> Iterator[StateEntry]:
        """Yield the entries of a keyed state as objects of the program. Raises as `keyed_state`."""
        files = self._files(uid, name)
        return (entry for file in files for entry in _entries(file))

    def timers(self, uid: str, clock: Literal["event", "processing"] = "event") -> pa.Table:
        """Return the timers of an operator: `key_group`, `key`, `timestamp_ms`, and `namespace` if timers have one.

        Without timers the table has neither columns nor rows. Raises `RestoreError` if there is no operator with this
        uid, and `ProgramError` if there is no such clock.
        """
        name = TIMER_STATES.get(clock)
        if name is None:
            raise ProgramError(f"there are no timers of the clock {clock!r}: ask for 'event' or 'processing'")
        if not self._tables.files(self._operator(uid), name):
            return pa.table({})
        table = self.keyed_state(uid, name).combine_chunks()
        rows = pc.list_parent_indices(table[VALUE])
        times = pc.list_flatten(table[VALUE])
        return table.drop_columns([VALUE]).take(rows).append_column("timestamp_ms", times)

    def _files(self, uid: str, name: str) -> list[CanonicalFile]:
        operator = self._operator(uid)
        files = self._tables.files(operator, name)
        if not files:
            known = ", ".join(sorted(self._tables.all_files(operator))) or "none"
            raise RestoreError(
                f"operator {operator.name!r} (uid {uid!r}) has no values of a keyed state {name!r} in {self}; "
                f"states that have: {known}"
            )
        return files

    # --- operator state

    def list_state(self, uid: str, name: str) -> pa.Table:
        """Return an operator list state (split or union) with the columns `subtask` and `value`, a row per element.

        Elements that a column cannot show exactly are also in `value_pickle`. Raises `RestoreError` if there is no
        such state.
        """
        found = self._lists(uid, name, (ListMode.SPLIT, ListMode.UNION))
        rows = [(index, element) for index, own in found for element in self._elements(own, name)]
        declared = _declared(found[0][1])
        element = declared.element_type if isinstance(declared, ListTypeInfo) else Types.PICKLED_BYTE_ARRAY()
        table = element_table({VALUE: element}, [[value for _, value in rows]])
        return table.add_column(0, "subtask", pa.array([index for index, _ in rows], pa.int32()))

    def broadcast_state(self, uid: str, name: str) -> pa.Table:
        """Return a broadcast state, which is the same in all subtasks, with the columns `key` and `value`.

        Keys and values that a column cannot show exactly are also in `key_pickle` and `value_pickle`. Raises
        `RestoreError` if there is no such state.
        """
        _, own = self._lists(uid, name, (ListMode.BROADCAST,))[0]
        pairs = self._elements(own, name)
        declared = _declared(own)
        types: dict[str, TypeInformation] = {KEY: Types.PICKLED_BYTE_ARRAY(), VALUE: Types.PICKLED_BYTE_ARRAY()}
        if isinstance(declared, MapTypeInfo):
            types = {KEY: declared.key_type_info, VALUE: declared.value_type_info}
        return element_table(types, [[key for key, _ in pairs], [value for _, value in pairs]])

    def _lists(self, uid: str, name: str, modes: tuple[ListMode, ...]) -> list[tuple[int, ListStateHandle]]:
        operator = self._operator(uid)
        found = [
            (index, state.lists[name])
            for index, state in sorted(operator.subtasks.items())
            if name in state.lists and state.lists[name].mode in modes
        ]
        if not found:
            known = sorted({each for state in operator.subtasks.values() for each in state.lists}) or ["none"]
            raise RestoreError(
                f"operator {operator.name!r} (uid {uid!r}) has no {' or '.join(modes)} state {name!r} in {self}; its "
                f"operator states: {', '.join(known)}"
            )
        return found

    def _elements(self, own: ListStateHandle, name: str) -> list[Any]:
        pickles: list[bytes] = pickle.loads(read_state(self._opened.store, own.handle))  # noqa: S301  # see `read`
        return list(map(loader(self._moved, f"state {name!r} in {self}"), pickles))

    # --- Spark

    def to_spark(self, uid: str, name: str, spark: SparkSession | None = None) -> DataFrame:
        """Return a keyed state as a Spark DataFrame with the columns of `keyed_state`.

        Spark's executors read the files of a canonical savepoint themselves. The driver converts any other snapshot to
        an Arrow table first. `spark` is the session, by default the active one. Raises as `keyed_state`, and
        `ConfigError` if pyspark is not installed.
        """
        from headgate.deploy.spark import savepoints  # noqa: PLC0415  # pyspark is an extra

        self._files(uid, name)
        places = self._tables.places(self._operator(uid), name)
        if places is None:
            return savepoints.frame_of_table(self.keyed_state(uid, name), spark)
        return savepoints.frame_of_files(places, spark)

    # --- the rest

    def _operator(self, uid: str) -> OperatorManifest:
        operators = {operator.uid: operator for operator in self._opened.manifest.operators}
        if uid not in operators:
            raise RestoreError(f"there is no operator of uid {uid!r} in {self}; there are: {', '.join(operators)}")
        return operators[uid]

    def __str__(self) -> str:
        return self._opened.store.locate(self._opened.metadata)

    def __repr__(self) -> str:
        return f"SavepointReader({str(self)!r})"


def _described(operator: OperatorManifest) -> OperatorInfo:
    lists = {name: own.mode for state in operator.subtasks.values() for name, own in state.lists.items()}
    return OperatorInfo(
        uid=operator.uid,
        name=operator.name,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        has_keyed_state=any(state.keyed is not None for state in operator.subtasks.values()),
        list_states=tuple(sorted(name for name, mode in lists.items() if mode in (ListMode.SPLIT, ListMode.UNION))),
        broadcast_states=tuple(sorted(name for name, mode in lists.items() if mode is ListMode.BROADCAST)),
        size_bytes=sum(handle.size_bytes for handle in operator.handles()),
    )


def _info(name: str, files: list[CanonicalFile]) -> StateInfo:
    meta = files[0].facts.meta
    return StateInfo(
        name=name,
        kind=meta.kind,
        type=str(meta.type),
        has_time_to_live=meta.ttl,
        entries=sum(file.rows for file in files),
        size_bytes=sum(file.size_bytes for file in files),
    )


def _entries(file: CanonicalFile) -> Iterator[StateEntry]:
    meta = file.facts.meta
    for _, key, stored in file.entries(ALL_GROUPS):
        time, value = meta.form.split(stored, ttl=meta.ttl) or (None, stored)
        yield StateEntry(key=plain_key(key), namespace=namespace_of(key), value=value, last_access_ms=time)


def _is_empty(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count == len(column))


def _declared(own: ListStateHandle) -> TypeInformation | None:
    """Return the declared type of the whole state, None for a state that the library itself uses."""
    return TypeInformation.from_json(json.loads(own.type)) if own.type else None
