"""Assignment of data in flight: the batches of a checkpoint that each subtask processes first. Pure.

Batches that were on their way to an operator go to this operator. Where records are partitioned by key, a subtask gets
every part that may hold records of its key groups, and keeps only those records. Where records are broadcast, all
subtasks get all parts. Otherwise the parts for old subtask i go to new subtask i modulo the number of new subtasks. An
operator that is chained now, but received its records from an exchange before, gets its part in the middle of its
chain. The parts of one channel stay in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Arrival, Manifest, OperatorManifest, OperatorShape
from headgate.errors import RestoreError
from headgate.ids import SubtaskId
from headgate.options import IGNORE_UNCLAIMED_STATE
from headgate.state.keygroups import key_group_range


def assign_in_flight(
    manifest: Manifest, shapes: Iterable[OperatorShape], *, allow_non_restored: bool = False
) -> dict[SubtaskId, tuple[InFlightState, ...]]:
    """Return the parts that each subtask processes before anything else. Subtasks without parts are missing.

    Raises RestoreError, naming the operator, when a part cannot be processed: the operator has fewer inputs, or is gone
    (with `allow_non_restored` its part is dropped).
    """
    current = {shape.uid: shape for shape in shapes}
    old = {operator.uid: operator for operator in manifest.operators}
    assigned: dict[SubtaskId, list[InFlightState]] = {}
    for part in sorted(manifest.in_flight, key=_place):
        shape = current.get(part.uid)
        if shape is None:
            _check_may_be_dropped(part, manifest, current, allowed=allow_non_restored)
            continue
        _check_input(part, shape)
        for index in _targets(part, old.get(part.uid), shape):
            assigned.setdefault(SubtaskId(shape.vertex, index), []).append(part)
    return {subtask: tuple(parts) for subtask, parts in assigned.items()}


def _place(part: InFlightState) -> tuple[int, str, int, int, int]:
    return part.input_index, part.source_uid, part.source, part.target, part.sequence


def _targets(part: InFlightState, old: OperatorManifest | None, shape: OperatorShape) -> Iterable[int]:
    match shape.inputs[part.input_index]:
        case Arrival.COPIED:
            return range(shape.parallelism)
        case Arrival.DEALT:
            return (part.target % shape.parallelism,)
        case Arrival.KEYED:
            return [index for index in range(shape.parallelism) if _may_own(part, old, shape, index)]


def _may_own(part: InFlightState, old: OperatorManifest | None, shape: OperatorShape, index: int) -> bool:
    """Return whether the part may hold records of the subtask's key groups. Only its batches know for certain."""
    if old is None or not part.keyed or old.max_parallelism != shape.max_parallelism:
        return True
    groups = key_group_range(part.target, old.parallelism, old.max_parallelism)
    own = key_group_range(index, shape.parallelism, shape.max_parallelism)
    return groups.start < own.stop and own.start < groups.stop


def _check_may_be_dropped(
    part: InFlightState, manifest: Manifest, current: Mapping[str, OperatorShape], *, allowed: bool
) -> None:
    if not allowed:
        raise RestoreError(
            f"checkpoint {manifest.checkpoint_id} has records that were on their way to the operator of uid "
            f"{part.uid!r}, but the job has no operator of that uid (it has: {', '.join(sorted(current))}). Give the "
            "operator its uid back, start from a savepoint, which has no such records, or drop them with "
            f"{IGNORE_UNCLAIMED_STATE.key} (`headgate run -n`)"
        )


def _check_input(part: InFlightState, shape: OperatorShape) -> None:
    if part.input_index >= len(shape.inputs):
        raise RestoreError(
            f"records were on their way to input {part.input_index + 1} of operator {shape.name!r} (uid "
            f"{shape.uid!r}), which has {len(shape.inputs)} now: restore the job as it was, make a savepoint, which "
            "has no such records, and start the changed job from that"
        )
