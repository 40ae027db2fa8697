"""Collect: with checkpoints, records leave when theirs is complete, and again after a restore."""

from __future__ import annotations

from headgate.operators.collect import CollectFactory
from headgate.testing.harness import OperatorHarness, Setup


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


def test_parts_of_several_subtasks_are_told_apart_by_the_one_that_gets_them() -> None:
    saved = []
    for value in ("a", "b"):
        with OperatorHarness(CollectFactory()) as harness:
            harness.process(value)
            saved.append(harness.snapshot())
    with OperatorHarness(CollectFactory(), restored=saved) as one:
        assert one.services.collections == [(1, ["a"]), (1, ["b"])]
        assert one.services.parts == [0, 1]


def test_nothing_collected_is_committed_all_the_same() -> None:
    with OperatorHarness(CollectFactory()) as harness:
        harness.snapshot()
        harness.complete()
        assert (harness.services.collections, harness.services.commits) == ([], [1])
