"""The subtask that a harness runs, the contents of its snapshot, and the state that a new harness restores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from headgate.checkpoint.restore.assign import assign_lists, assign_source_lists
from headgate.config import Settings
from headgate.errors import RestoreError
from headgate.ids import CheckpointId
from headgate.operators.base import RestoredState
from headgate.state.files import FetchedKeyed, InlineHandle, KeyedState, StateHandle
from headgate.state.formats.snapshot import decode
from headgate.state.keyed.cells import namespace_of, plain_key
from headgate.state.keygroups import key_group_range
from headgate.state.operator.list_elements import ListElements


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The subtask that a harness runs, and its job. `splits` are the splits that a source reads on a fresh start.

    >>> from headgate import options
    >>> on_rocksdb = Setup(settings=Settings().with_value(options.STATE_BACKEND, "rocksdb"))
    """

    subtask: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    checkpointing: bool = True
    splits: tuple[Any, ...] = ()
    settings: Settings = field(default_factory=Settings)

    @property
    def key_groups(self) -> range:
        """The key groups of this subtask."""
        return key_group_range(self.subtask, self.parallelism, self.max_parallelism)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SavedOperator:
    """The contents of a subtask's snapshot: its keyed state with all bytes, and the elements of its list states."""

    checkpoint_id: CheckpointId
    keyed: KeyedState | None = None
    lists: dict[str, ListElements] = field(default_factory=dict)
    max_parallelism: int = 128


def restored_state(saved: Sequence[SavedOperator], setup: Setup, *, is_source: bool) -> RestoredState:
    """Return a subtask's part of the snapshots of all subtasks. Raises `RestoreError` for another max parallelism."""
    if not saved:
        return RestoredState()
    for each in saved:
        _check(each, setup)
    keyed = tuple(_fetched(each.keyed) for each in saved if each.keyed is not None)
    assigned = assign_source_lists if is_source else assign_lists
    lists = assigned([each.lists for each in saved], setup.parallelism, setup.max_parallelism)
    last_id = max(each.checkpoint_id for each in saved)
    return RestoredState(checkpoint_id=last_id, keyed=keyed, lists=lists[setup.subtask])


def held(saved: SavedOperator, name: str, groups: range) -> dict[Any, Any]:
    """Return the values of a keyed state of a snapshot in these key groups, by key, or by key and window."""
    found = {}
    for file in saved.keyed.base if saved.keyed is not None else ():
        state = decode(_data(file.handle), "the state", {})
        names = [meta.name for meta in state.states]
        for _, key, *values in state.entries(groups):
            value = dict(zip(names, values, strict=True)).get(name)
            if value is not None:
                found[_place(key)] = value
    return found


def _check(saved: SavedOperator, setup: Setup) -> None:
    if saved.keyed is not None and saved.max_parallelism != setup.max_parallelism:
        raise RestoreError(
            f"the keyed state was written with max parallelism {saved.max_parallelism}, which is fixed for the "
            f"life of the state, but the harness has {setup.max_parallelism}: pass "
            f"setup=Setup(max_parallelism={saved.max_parallelism})"
        )


def _place(key: Any) -> Any:
    namespace = namespace_of(key)
    return plain_key(key) if namespace is None else (plain_key(key), namespace)


def _fetched(keyed: KeyedState) -> FetchedKeyed:
    return FetchedKeyed(state=keyed, files={file: _data(file.handle) for file in (*keyed.base, *keyed.log)})


def _data(handle: StateHandle) -> bytes:
    assert isinstance(handle, InlineHandle)
    return handle.data
