"""Planned operators: the state of each operator in a savepoint to be written, and how it is written."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.handles import ListStateHandle, OperatorState
from headgate.checkpoint.manifest import OperatorManifest
from headgate.checkpoint.store import CheckpointStore, read_state
from headgate.ids import Attempt
from headgate.savepoints.input_data import InputColumns, given
from headgate.savepoints.state_files import StateTarget
from headgate.savepoints.tables import KeyedTables
from headgate.state.files import FileHandle, InlineHandle, KeyedState, StateFile, StateHandle
from headgate.state.formats.schema import StateMeta
from headgate.state.keygroups import key_group_range
from headgate.state.operator.list_elements import ListElements

ATTEMPT: Final = Attempt(1)
_INLINE_BYTES: Final = 20_000
"""Operator state of fewer bytes is stored in the manifest, not in a file."""


@final
@dataclass(frozen=True, slots=True)
class PlannedState:
    """A keyed state with its data, in the form that the user gave."""

    meta: StateMeta
    data: Any
    reading: InputColumns


@final
@dataclass(slots=True, kw_only=True)
class PlannedOperator:
    """An operator to be written. `source` is its manifest in the existing snapshot, None for a new operator."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    source: OperatorManifest | None = None
    keyed: dict[str, PlannedState] = field(default_factory=dict)
    lists: dict[str, list[ListElements]] = field(default_factory=dict)
    """New operator states by name, each with the elements of every subtask."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTarget:
    """The folder of a savepoint: `location` for other processes, `store` for this one."""

    location: str
    store: CheckpointStore
    now_ms: int


def write_operator(operator: PlannedOperator, tables: KeyedTables | None, target: PlannedTarget) -> OperatorManifest:
    """Write the state of an operator. `tables` has the keyed state of the existing snapshot, None without. Blocks."""
    new = _write_new(operator, target)
    return OperatorManifest(
        uid=operator.uid,
        name=operator.name,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        subtasks={
            subtask: OperatorState(
                uid=operator.uid,
                keyed=_keyed(operator, subtask, [*_kept(operator, subtask, tables, target), *new.get(subtask, [])]),
                lists=_lists(operator, subtask, tables, target),
            )
            for subtask in range(operator.parallelism)
        },
    )


def _keyed(operator: PlannedOperator, subtask: int, files: list[StateFile]) -> KeyedState | None:
    if not files:
        return None
    groups = key_group_range(subtask, operator.parallelism, operator.max_parallelism)
    return KeyedState(key_groups=(groups[0], groups[-1]), kind="canonical", base=tuple(files))


def _write_new(operator: PlannedOperator, target: PlannedTarget) -> dict[int, list[StateFile]]:
    found: dict[int, list[StateFile]] = {}
    for state in operator.keyed.values():
        terms = StateTarget(
            uid=operator.uid,
            attempt=ATTEMPT,
            meta=state.meta,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            now_ms=target.now_ms,
        )
        for subtask, file in _write_state(state, terms, target):
            found.setdefault(subtask, []).append(file)
    return found


def _write_state(state: PlannedState, terms: StateTarget, target: PlannedTarget) -> Iterable[tuple[int, StateFile]]:
    if type(state.data).__module__.partition(".")[0] != "pyspark":
        return terms.write(given(state.data, state.reading), target.store)
    from headgate.deploy.spark import savepoints  # noqa: PLC0415  # pyspark is an extra
    from headgate.savepoints.spark_tasks import WRITTEN, TaskWriter, written_files  # noqa: PLC0415

    names = state.reading.columns(state.data.columns)
    state.reading.check(savepoints.schema_of(state.data, names))  # in the driver: errors of tasks are hard to read
    rows = savepoints.rows_of_tasks(state.data, names, TaskWriter(terms, state.reading, target.location), WRITTEN)
    return written_files(rows)


def _kept(
    operator: PlannedOperator, subtask: int, tables: KeyedTables | None, target: PlannedTarget
) -> Iterable[StateFile]:
    """Copy the subtask's keyed state from the existing snapshot, except states that are replaced."""
    if operator.source is None or tables is None:
        return
    for file, table in tables.files_of(operator.source, subtask):
        if table.facts.meta.name not in operator.keyed:
            path = paths.savepoint_state(paths.Writer(ATTEMPT, operator.uid, subtask), file.name)
            yield StateFile(file.name, _copied(table.source, path, target.store))


def _copied(source: bytes | Path, path: str, store: CheckpointStore) -> FileHandle:
    return store.write(path, [source]) if isinstance(source, bytes) else store.upload(path, source)


def _lists(
    operator: PlannedOperator, subtask: int, tables: KeyedTables | None, target: PlannedTarget
) -> dict[str, ListStateHandle]:
    own: dict[str, ListStateHandle] = {}
    if operator.source is not None and tables is not None and subtask in operator.source.subtasks:
        for name, state in operator.source.subtasks[subtask].lists.items():
            if name not in operator.lists:
                data = read_state(tables.store, state.handle)
                own[name] = ListStateHandle(state.mode, _stored(operator, subtask, (name, data), target), state.type)
    for name, parts in operator.lists.items():
        if subtask < len(parts):
            elements = parts[subtask]
            data = pickle.dumps(elements.elements, 5)
            own[name] = ListStateHandle(elements.mode, _stored(operator, subtask, (name, data), target), elements.type)
    return own


def _stored(operator: PlannedOperator, subtask: int, state: tuple[str, bytes], target: PlannedTarget) -> StateHandle:
    name, data = state
    if len(data) < _INLINE_BYTES:
        return InlineHandle(data)
    return target.store.write(paths.savepoint_list(paths.Writer(ATTEMPT, operator.uid, subtask), name), [data])
