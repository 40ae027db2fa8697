"""State assignment: from a checkpoint to what each subtask of the job starts from, at any parallelism. Pure.

Keyed state moves in whole key groups: a subtask gets every part of the snapshot that overlaps its range, and takes its
own groups from it. Operator list state moves in elements. At the same parallelism every subtask gets back its own; at
another the elements of all, in the order of the old subtasks, are dealt out evenly, and what does not divide evenly
starts, for the next state, at the next subtask, so that remainders do not pile up on the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headgate.checkpoint.handles import OperatorState
from headgate.checkpoint.manifest import Manifest, OperatorManifest, OperatorShape
from headgate.checkpoint.messages import RestoredOperator
from headgate.errors import RestoreError
from headgate.ids import SubtaskId
from headgate.state.keygroups import key_group_range

ListElements = Mapping[tuple[str, int, str], list[bytes]]
"""The elements of each operator list state in a snapshot, by operator uid, subtask index and state name."""

Assignment = dict[SubtaskId, dict[str, RestoredOperator]]
"""What each subtask starts from, by operator uid. A subtask without state is not there."""


def assign(
    manifest: Manifest, shapes: Iterable[OperatorShape], elements: ListElements, *, allow_non_restored: bool
) -> Assignment:
    """Return what each subtask starts from.

    Raises RestoreError, naming operator and reason, when state has no operator to go to (unless that is allowed), or
    when keyed state was written under another max parallelism.
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
        lists = _assign_lists(operator, shape.parallelism, elements)
        for index in range(shape.parallelism):
            restored = RestoredOperator(keyed=_overlapping(operator, shape, index), lists=lists[index])
            if restored.keyed or restored.lists:
                assignment.setdefault(SubtaskId(shape.vertex, index), {})[operator.uid] = restored
    return assignment


def deal_evenly(states: Mapping[str, list[bytes]], parallelism: int) -> list[dict[str, list[bytes]]]:
    """Return the part of each of `parallelism` subtasks in the elements of each state, in the order of the states.

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


def _assign_lists(operator: OperatorManifest, parallelism: int, elements: ListElements) -> list[dict[str, list[bytes]]]:
    if parallelism == operator.parallelism:
        return [_own_lists(operator, index, elements) for index in range(parallelism)]
    states: dict[str, list[bytes]] = {}
    for index in sorted(operator.subtasks):
        for name, own in _own_lists(operator, index, elements).items():
            states.setdefault(name, []).extend(own)
    return deal_evenly(dict(sorted(states.items())), parallelism)


def _own_lists(operator: OperatorManifest, index: int, elements: ListElements) -> dict[str, list[bytes]]:
    state = operator.subtasks.get(index)
    names = state.lists if state is not None else ()
    return {name: list(elements[operator.uid, index, name]) for name in names}


def _overlapping(operator: OperatorManifest, shape: OperatorShape, index: int) -> tuple[OperatorState, ...]:
    own = key_group_range(index, shape.parallelism, shape.max_parallelism)
    return tuple(
        OperatorState(uid=state.uid, keyed=state.keyed, key_groups=state.key_groups)
        for _, state in sorted(operator.subtasks.items())
        if state.keyed is not None and _overlaps(state, own)
    )


def _overlaps(state: OperatorState, own: range) -> bool:
    if state.key_groups is None:
        raise RestoreError(f"the keyed state of operator {state.uid!r} does not say which key groups it holds")
    first, last = state.key_groups
    return first < own.stop and own.start <= last


def _check_may_be_dropped(
    operator: OperatorManifest, manifest: Manifest, current: Mapping[str, OperatorShape], allowed: bool
) -> None:
    if allowed:
        return
    known = ", ".join(sorted(current))
    raise RestoreError(
        f"checkpoint {manifest.checkpoint_id} has state of operator {operator.name!r} (uid {operator.uid!r}), but the "
        f"job has no operator of that uid (it has: {known}). Give the operator its uid back, or allow state that is "
        "not restored"
    )


def _check_max_parallelism(operator: OperatorManifest, shape: OperatorShape) -> None:
    has_keyed = any(state.keyed is not None for state in operator.subtasks.values())
    if has_keyed and operator.max_parallelism != shape.max_parallelism:
        raise RestoreError(
            f"the keyed state of operator {shape.name!r} (uid {shape.uid!r}) was written with max parallelism "
            f"{operator.max_parallelism}, which is fixed for the life of the state, but the job has "
            f"{shape.max_parallelism}: set the max parallelism back to {operator.max_parallelism}"
        )
