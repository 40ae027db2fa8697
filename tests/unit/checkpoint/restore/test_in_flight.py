"""Who processes what was in flight when a checkpoint was taken, at the same and at another parallelism."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.checkpoint.handles import InFlightState
from headgate.checkpoint.manifest import Arrival, Manifest, OperatorManifest, OperatorShape
from headgate.checkpoint.restore.in_flight import assign_in_flight
from headgate.errors import RestoreError
from headgate.ids import Attempt, CheckpointId, JobId, SubtaskId
from headgate.state.files import InlineHandle


def part(target: int, source: int = 0, *, keyed: bool = True, **rest: Any) -> InFlightState:
    given: dict[str, Any] = {"uid": "count", "input_index": 0, "source_uid": "source", "sequence": 0, **rest}
    return InFlightState(source=source, target=target, keyed=keyed, handle=InlineHandle(b""), **given)


def manifest(*parts: InFlightState, parallelism: int = 2, max_parallelism: int = 128) -> Manifest:
    count = OperatorManifest(
        uid="count", name="Count", parallelism=parallelism, max_parallelism=max_parallelism, subtasks={}
    )
    return Manifest(
        job_id=JobId("a"),
        checkpoint_id=CheckpointId(3),
        attempt=Attempt(1),
        epoch=1,
        parent=None,
        trigger_ms=0,
        final=False,
        operators=(count,),
        in_flight=parts,
    )


def shape(parallelism: int, *inputs: Arrival, max_parallelism: int = 128) -> OperatorShape:
    return OperatorShape(
        uid="count",
        name="Count",
        vertex=1,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        inputs=inputs or (Arrival.KEYED,),
    )


def targets(manifest: Manifest, shape: OperatorShape) -> dict[int, list[int]]:
    """New subtask -> the old ones whose parts it gets."""
    assigned = assign_in_flight(manifest, [shape])
    return {subtask.index: [each.target for each in parts] for subtask, parts in assigned.items()}


def test_at_the_same_parallelism_each_subtask_gets_what_was_on_its_way_to_it() -> None:
    assert targets(manifest(part(1), part(0)), shape(2)) == {0: [0], 1: [1]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 2, {0: [0], 1: [0]}),
        (2, 1, {0: [0, 1]}),
        (2, 3, {0: [0], 1: [0, 1], 2: [1]}),
        (3, 2, {0: [0, 1], 1: [1, 2]}),
    ],
)
def test_keyed_parts_go_to_all_that_may_own_some_of_their_records(
    old: int, new: int, expected: dict[int, list[int]]
) -> None:
    parts = [part(target) for target in range(old)]
    assert targets(manifest(*parts, parallelism=old), shape(new)) == expected


def test_records_that_went_without_keys_may_belong_to_anybody_where_they_come_by_key_now() -> None:
    assert targets(manifest(part(0, keyed=False)), shape(3)) == {0: [0], 1: [0], 2: [0]}


def test_under_another_max_parallelism_key_groups_say_nothing() -> None:
    assert targets(manifest(part(0), max_parallelism=64), shape(2)) == {0: [0], 1: [0]}


def test_without_keys_each_part_goes_to_one_and_where_everything_goes_to_all_to_all() -> None:
    parts = [part(target, keyed=False) for target in range(5)]
    assert targets(manifest(*parts, parallelism=5), shape(2, Arrival.DEALT)) == {0: [0, 2, 4], 1: [1, 3]}
    assert targets(manifest(part(1, keyed=False)), shape(2, Arrival.COPIED)) == {0: [1], 1: [1]}


def test_the_parts_of_one_channel_stay_in_order_the_receivers_first() -> None:
    parts = [part(0, 1, sequence=1), part(0, 0, sequence=1), part(0, 1, sequence=0), part(0, 0, sequence=0)]
    (assigned,) = assign_in_flight(manifest(*parts), [shape(1)]).values()
    assert [(each.source, each.sequence) for each in assigned] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_an_operator_that_is_chained_now_gets_its_part_in_its_new_vertex() -> None:
    chained = replace(shape(2, Arrival.DEALT), vertex=0)
    assert list(assign_in_flight(manifest(part(1, keyed=False)), [chained])) == [SubtaskId(0, 1)]


def test_records_without_an_operator_to_go_to_are_refused_and_never_lost_silently() -> None:
    gone = replace(shape(2), uid="other")
    with pytest.raises(RestoreError, match=r"on their way to the operator of uid 'count', but .*\(it has: other\)"):
        assign_in_flight(manifest(part(0)), [gone])
    assert assign_in_flight(manifest(part(0)), [gone], allow_non_restored=True) == {}


def test_an_input_that_is_gone_is_refused() -> None:
    with pytest.raises(RestoreError, match=r"input 2 of operator 'Count' \(uid 'count'\), which has 1 now"):
        assign_in_flight(manifest(part(0, input_index=1)), [shape(2)])
