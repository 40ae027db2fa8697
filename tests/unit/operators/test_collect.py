"""Collect: with checkpoints, records leave when theirs is complete, and again after a restore."""

from __future__ import annotations

from collections import defaultdict

import pytest

from headgate.operators.base import UserCodeError
from headgate.operators.collect import CollectFactory
from headgate.testing.harness import OperatorHarness, Setup
from headgate.testing.saved_operator import SavedOperator


def test_without_checkpoints_records_are_handed_over_at_once() -> None:
    with OperatorHarness(CollectFactory(), setup=Setup(checkpointing=False)) as harness:
        assert harness.process("a", "b") == []
        assert harness.services.collections == [(None, ["a", "b"])]


def test_with_checkpoints_records_wait_for_the_completion_of_theirs() -> None:
    with OperatorHarness(CollectFactory()) as harness:
        harness.process("a", "b")
        harness.snapshot()
        harness.process("c")
        assert harness.services.collections == []
        harness.complete()
        assert harness.services.collections == [(1, ["a", "b"])]
        assert harness.services.commits == [1]


def test_a_completion_covers_earlier_checkpoints_that_never_completed() -> None:
    with OperatorHarness(CollectFactory()) as harness:
        harness.process("a")
        harness.snapshot()
        harness.process("b")
        harness.snapshot()
        harness.complete()
        assert harness.services.collections == [(1, ["a"]), (2, ["b"])]


def test_a_restored_operator_hands_over_what_its_checkpoint_holds_under_the_same_checkpoint() -> None:
    with OperatorHarness(CollectFactory()) as harness:
        harness.process("a")
        saved = harness.snapshot()
        harness.process("lost with the attempt")
    with OperatorHarness(CollectFactory(), restored=[saved]) as again:
        assert again.services.collections == [(1, ["a"])]
        assert again.services.commits == [1], "the job may have been stopped with this checkpoint, and wait for it"
        again.process("b")
        again.snapshot()
        again.complete()
        assert again.services.collections == [(1, ["a"]), (2, ["b"])]


def saved_of(subtask: int, *values: str) -> SavedOperator:
    """What one of two subtasks saves, with a part for each value."""
    with OperatorHarness(CollectFactory(), setup=Setup(subtask=subtask, parallelism=2)) as harness:
        for value in values:
            harness.process(value)
        return harness.snapshot()


def test_parts_of_several_subtasks_are_told_apart_by_the_one_that_gets_them() -> None:
    with OperatorHarness(CollectFactory(), restored=[saved_of(0, "a"), saved_of(1, "b")]) as one:
        assert one.services.collections == [(1, ["a"]), (1, ["b"])]
        assert one.services.parts == [(0, 0), (1, 0)]


def test_parts_of_a_subtask_stay_together_and_in_order_at_another_parallelism() -> None:
    saved = [saved_of(0, "a", "b", "c"), saved_of(1, "d", "e")]
    found: list[tuple[tuple[int, int], str]] = []
    for subtask in range(3):
        with OperatorHarness(CollectFactory(), restored=saved, setup=Setup(subtask=subtask, parallelism=3)) as harness:
            parts, records = harness.services.parts, [record for _, (record,) in harness.services.collections]
            found += zip(parts, records, strict=True)
            assert parts == sorted(parts)
    wanted = {(0, 0): "a", (0, 1): "b", (0, 2): "c", (1, 0): "d", (1, 1): "e"}
    assert len(found) == len(wanted)
    assert dict(found) == wanted


def test_nothing_collected_is_committed_all_the_same() -> None:
    with OperatorHarness(CollectFactory()) as harness:
        harness.snapshot()
        harness.complete()
        assert (harness.services.collections, harness.services.commits) == ([], [1])


def test_what_no_module_holds_is_handed_over_at_once_but_kept_in_no_checkpoint() -> None:
    record = defaultdict(lambda: 0, a=1)
    with OperatorHarness(CollectFactory(), setup=Setup(checkpointing=False)) as harness:
        harness.process(record)
        assert harness.services.collections == [(None, [record])]
    with OperatorHarness(CollectFactory()) as harness:
        with pytest.raises(UserCodeError) as caught:
            harness.process(record)
        assert caught.value.record == record
        assert "at the top level of a module or of the main script" in str(caught.value.__cause__)
