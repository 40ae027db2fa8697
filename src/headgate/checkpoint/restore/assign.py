"""State assignment: the state that each subtask of the job gets from a checkpoint, at any parallelism. Pure.

Keyed state moves in whole key groups: a subtask gets every part of the snapshot that overlaps its range, and reads its
own key groups from it. Operator list state moves in elements, by the mode of the state:

- split: at the same parallelism every subtask gets its own elements back. At another parallelism the elements of all
  old subtasks, in the order of these, are dealt out evenly. The remainder of each state begins at the subtask after the
  previous state's remainder, so that remainders do not pile up on the first subtasks
- union: every subtask gets the elements of all old subtasks, in their order, also at the same parallelism
- broadcast: every old subtask has the same copy. New subtask i gets the copy of old subtask i modulo the number of old
  subtasks, or the copy of the next old subtask that has one

The splits of sources are dealt out by their ordinals: see `headgate.checkpoint.restore.splits`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headgate.checkpoint.manifest import Manifest, OperatorManifest, OperatorShape
from headgate.checkpoint.messages import RestoredOperator
from headgate.checkpoint.restore.splits import SPLITS_STATE, assign_splits
from headgate.errors import RestoreError
from headgate.ids import SubtaskId
from headgate.options import IGNORE_UNCLAIMED_STATE
from headgate.state.files import KeyedState
from headgate.state.keygroups import key_group, key_group_range, subtask_of_group
from headgate.state.operator.list_elements import ListElements, ListMode, code_of

StoredElements = Mapping[tuple[str, int, str], list[bytes]]
"""The elements of each operator list state in a snapshot, by operator uid, subtask index and state name."""

Assignment = dict[SubtaskId, dict[str, RestoredOperator]]
"""The state that each subtask starts from, by operator uid. Subtasks without state are missing."""


def assign(
    manifest: Manifest, shapes: Iterable[OperatorShape], elements: StoredElements, *, allow_non_restored: bool
) -> Assignment:
    """Return the state that each subtask starts from.

    Raises RestoreError, naming operator and reason, when the job lacks the operator of some state (unless
    `allow_non_restored`), or when keyed state was written with another max parallelism.
    """
    current = {shape.uid: shape for shape in shapes}
    assignment: Assignment = {}
    for operator in manifest.operators:
        if not operator.handles():
            continue
        shape = current.get(operator.uid)
        if shape is None:
            _check_may_be_dropped(operator, manifest, current, allow_non_restored)
            continue
        _check_max_parallelism(operator, shape)
        old = [_lists_of(operator, index, elements) for index in range(operator.parallelism)]
        assign_all = assign_lists if shape.inputs else assign_source_lists
        lists = assign_all(old, shape.parallelism, shape.max_parallelism)
        for index in range(shape.parallelism):
            restored = RestoredOperator(keyed=_overlapping(operator, shape, index), lists=lists[index])
            if restored.keyed or restored.lists:
                assignment.setdefault(SubtaskId(shape.vertex, index), {})[operator.uid] = restored
    return assignment


def told_of_state(manifest: Manifest, shapes: Iterable[OperatorShape]) -> str:
    """Return which operators of a job get their state from a snapshot, and which do not, as text."""
    stored = {operator.uid: operator.name for operator in manifest.operators if operator.handles()}
    current = {shape.uid: shape.name for shape in shapes}
    kept = [f"{current[uid]!r} (uid {uid})" for uid in stored if uid in current]
    new = [f"{name!r} (uid {uid})" for uid, name in current.items() if uid not in stored]
    left = [f"{name!r} (uid {uid})" for uid, name in stored.items() if uid not in current]
    told = f"with their state: {', '.join(kept) or 'no operators'}; without state: {', '.join(new) or 'no operators'}"
    return f"{told}; left behind: {', '.join(left)}" if left else told


def follow_uid_hashes(manifest: Manifest, shapes: Iterable[OperatorShape]) -> Manifest:
    """Return the manifest with current uids: an operator's `uid_hash` names the uid that its state was stored under."""
    shapes = list(shapes)
    current = {shape.uid for shape in shapes}
    stored = {operator.uid for operator in manifest.operators}
    now = {
        shape.uid_hash: shape.uid
        for shape in shapes
        if shape.uid_hash is not None and shape.uid_hash not in current and shape.uid not in stored
    }
    if not now:
        return manifest
    return replace(
        manifest,
        operators=tuple(replace(operator, uid=now.get(operator.uid, operator.uid)) for operator in manifest.operators),
        in_flight=tuple(
            replace(part, uid=now.get(part.uid, part.uid), source_uid=now.get(part.source_uid, part.source_uid))
            for part in manifest.in_flight
        ),
    )


def check_backend(manifest: Manifest, shapes: Iterable[OperatorShape], backend: str) -> None:
    """Check that the backend can read all keyed state. Raises RestoreError, naming the operator and the next step."""
    current = {shape.uid for shape in shapes}
    for operator in manifest.operators:
        kinds = {state.keyed.kind for state in operator.subtasks.values() if state.keyed is not None}
        if "rocksdb" in kinds and backend != "rocksdb" and operator.uid in current:
            raise RestoreError(
                f"the keyed state of operator {operator.name!r} (uid {operator.uid!r}) is in files of RocksDB, which "
                f"the backend {backend} cannot read: restore with state.backend.type: rocksdb. To change the backend, "
                "make a savepoint in the canonical format and start from that"
            )


def assign_lists(
    old: Sequence[Mapping[str, ListElements]], parallelism: int, max_parallelism: int
) -> list[dict[str, ListElements]]:
    """Return the list states of each of `parallelism` subtasks, from the list states of the `old` subtasks.

    >>> old = [{"seen": ListElements(ListMode.UNION, [b"1"])}, {"seen": ListElements(ListMode.UNION, [b"2"])}]
    >>> [new["seen"].elements for new in assign_lists(old, 3, 128)]
    [[b'1', b'2'], [b'1', b'2'], [b'1', b'2']]
    """
    kinds = {name: state for own in old for name, state in sorted(own.items())}
    names = sorted(kinds)
    is_dealt = {name: kinds[name].mode is ListMode.SPLIT and parallelism != len(old) for name in names}
    dealt = deal_evenly({name: _all(old, name) for name in names if is_dealt[name]}, parallelism)

    owned = {
        name: _by_owner(_all(old, name), parallelism, max_parallelism)
        for name in names
        if kinds[name].mode is ListMode.KEYED
    }

    def own(name: str, index: int) -> list[bytes]:
        if is_dealt[name]:
            return dealt[index].get(name, [])
        if kinds[name].mode is ListMode.UNION:
            return _all(old, name)
        if kinds[name].mode is ListMode.KEYED:
            return owned[name][index]
        if kinds[name].mode is ListMode.BROADCAST:
            return _a_copy(old, name, index % len(old))
        return old[index][name].elements if name in old[index] else []

    return [
        {name: ListElements(kinds[name].mode, list(own(name, index)), kinds[name].type) for name in names}
        for index in range(parallelism)
    ]


def assign_source_lists(
    old: Sequence[Mapping[str, ListElements]], parallelism: int, max_parallelism: int
) -> list[dict[str, ListElements]]:
    """Return the list states of each of `parallelism` subtasks of a source, including its splits."""
    lists = assign_lists(old, parallelism, max_parallelism)
    if not any(SPLITS_STATE in own for own in old):
        return lists
    return [own | splits for own, splits in zip(lists, assign_splits(old, parallelism), strict=True)]


def _all(old: Sequence[Mapping[str, ListElements]], name: str) -> list[bytes]:
    return [element for own in old if name in own for element in own[name].elements]


def _by_owner(elements: list[bytes], parallelism: int, max_parallelism: int) -> list[list[bytes]]:
    owned: list[list[bytes]] = [[] for _ in range(parallelism)]
    for element in elements:
        group = key_group(code_of(element), max_parallelism)
        owned[subtask_of_group(group, parallelism, max_parallelism)].append(element)
    return owned


def _a_copy(old: Sequence[Mapping[str, ListElements]], name: str, wanted: int) -> list[bytes]:
    holders = [index for index, own in enumerate(old) if name in own]
    return old[min(holders, key=lambda holder: (holder < wanted, holder))][name].elements


def deal_evenly(states: Mapping[str, list[bytes]], parallelism: int) -> list[dict[str, list[bytes]]]:
    """Return the elements that each of `parallelism` subtasks gets of each state.

    >>> deal_evenly({"a": [b"1", b"2", b"3"], "b": [b"4"]}, 2)
    [{'a': [b'1', b'2']}, {'a': [b'3'], 'b': [b'4']}]
    """
    dealt: list[dict[str, list[bytes]]] = [{} for _ in range(parallelism)]
    start = 0
    for name, elements in states.items():
        share, rest = divmod(len(elements), parallelism)
        position = 0
        for turn in range(parallelism):
            end = position + share + (turn < rest)
            if end > position:
                dealt[(start + turn) % parallelism][name] = elements[position:end]
            position = end
        start = (start + rest) % parallelism
    return dealt


def _lists_of(operator: OperatorManifest, index: int, stored: StoredElements) -> dict[str, ListElements]:
    state = operator.subtasks.get(index)
    lists = {} if state is None else state.lists
    return {name: ListElements(own.mode, stored[operator.uid, index, name], own.type) for name, own in lists.items()}


def _overlapping(operator: OperatorManifest, shape: OperatorShape, index: int) -> tuple[KeyedState, ...]:
    own = key_group_range(index, shape.parallelism, shape.max_parallelism)
    return tuple(
        state.keyed
        for _, state in sorted(operator.subtasks.items())
        if state.keyed is not None and _overlaps(state.keyed, own)
    )


def _overlaps(keyed: KeyedState, own: range) -> bool:
    first, last = keyed.key_groups
    return first < own.stop and own.start <= last


def _check_may_be_dropped(
    operator: OperatorManifest, manifest: Manifest, current: Mapping[str, OperatorShape], allowed: bool
) -> None:
    if allowed:
        return
    known = ", ".join(sorted(current))
    raise RestoreError(
        f"checkpoint {manifest.checkpoint_id} has state of operator {operator.name!r} (uid {operator.uid!r}), but the "
        f"job has no operator of that uid (it has: {known}). Give the operator its uid back, or leave its state "
        f"behind with {IGNORE_UNCLAIMED_STATE.key} (`headgate run -n`)"
    )


def _check_max_parallelism(operator: OperatorManifest, shape: OperatorShape) -> None:
    has_keyed = any(state.keyed is not None for state in operator.subtasks.values())
    if has_keyed and operator.max_parallelism != shape.max_parallelism:
        raise RestoreError(
            f"the keyed state of operator {shape.name!r} (uid {shape.uid!r}) was written with max parallelism "
            f"{operator.max_parallelism}, which is fixed for the life of the state, but the job has "
            f"{shape.max_parallelism}: set the max parallelism back to {operator.max_parallelism}"
        )
