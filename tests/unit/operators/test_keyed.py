"""The keyed operator: state for each key, timestamps, snapshots, and other parallelisms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from headgate.elements import Batch
from headgate.errors import DamagedFileError, ProgramError, RestoreError, StateAccessError
from headgate.functions.api import KeyedProcessFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.base import UserCodeError
from headgate.state.descriptors import ValueStateDescriptor
from headgate.state.files import InlineHandle, StateFile
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import TypeInformation, Types
from tests.unit.operators.functions import time_of


class Counting(KeyedProcessFunction):
    def __init__(self, kind: TypeInformation | None = None) -> None:
        self.kind = kind or Types.LONG()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", self.kind))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), time_of(ctx)


class Appending(KeyedProcessFunction):
    """Changes the list in its state in place and, as is right, updates the state then."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        seen = self.seen.value() or []
        seen.append(value[1])
        self.seen.update(seen)
        return [list(seen)]


def first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def test_each_key_has_its_own_state_and_results_keep_timestamps() -> None:
    with OperatorHarness.of(Counting(), key_by=str.lower) as harness:
        out = harness.process_batch(Batch(["a", "B", "A", "b", "a"], [1, 2, 3, 4, 5]))
    assert out.records == [("a", 1, 1), ("b", 1, 2), ("a", 2, 3), ("b", 2, 4), ("a", 3, 5)]
    assert out.timestamps == [1, 2, 3, 4, 5]
    assert out.keys is None


def test_records_without_timestamps_are_counted() -> None:
    with OperatorHarness.of(Counting(), key_by=str) as harness:
        assert harness.process("a") == [("a", 1, None)]


def test_state_used_in_open_is_refused_with_clear_words() -> None:
    class TooEarly(Counting):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            self.count.value()

    with pytest.raises(UserCodeError, match=r"open\(\)") as caught:
        OperatorHarness.of(TooEarly(), key_by=str).open()
    assert isinstance(caught.value.__cause__, StateAccessError)
    assert "only while a record is processed" in str(caught.value.__cause__)


def test_the_current_key_is_unknown_after_the_record() -> None:
    class Keeping(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self.ctx = ctx

    function = Keeping()
    with OperatorHarness.of(function, key_by=str) as harness:
        harness.process("a")
        with pytest.raises(StateAccessError):
            function.ctx.get_current_key()


def test_a_generator_sees_the_state_of_its_own_record_only() -> None:
    class Twice(Counting):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
            yield from super().process_element(value, ctx)
            yield from super().process_element(value, ctx)

    with OperatorHarness.of(Twice(), key_by=str) as harness:
        counts = [count for _, count, _ in harness.process("a", "b", "a")]
    assert counts == [1, 2, 1, 2, 3, 4]


def test_one_name_declared_with_two_types_is_refused() -> None:
    class Twofold(Counting):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            runtime_context.get_state(ValueStateDescriptor("count", Types.STRING()))

    with pytest.raises(UserCodeError) as caught:
        OperatorHarness.of(Twofold(), key_by=str).open()
    assert isinstance(caught.value.__cause__, ProgramError)


def test_a_restored_operator_goes_on_where_the_snapshot_was_taken() -> None:
    with OperatorHarness.of(Counting(), key_by=str) as harness:
        harness.process("a", "a", "b")
        saved = harness.snapshot()
        harness.process("a", "c")
    with OperatorHarness.of(Counting(), key_by=str, restored=[saved]) as again:
        assert again.process("a", "b", "c") == [("a", 3, None), ("b", 2, None), ("c", 1, None)]


def test_what_happens_after_the_barrier_is_not_in_the_snapshot_however_late_it_is_walked() -> None:
    with OperatorHarness.of(Appending(), key_by=first) as harness:
        harness.process(("a", 1), ("b", 1))
        barrier = harness.barrier()
        harness.process(("a", 2), ("c", 1), ("a", 3))
        saved = harness.finish(barrier)
        assert harness.process(("a", 4)) == [[1, 2, 3, 4]]
    with OperatorHarness.of(Appending(), key_by=first, restored=[saved]) as again:
        assert again.process(("a", 9), ("b", 9), ("c", 9)) == [[1, 9], [1, 9], [9]]


@pytest.mark.parametrize("after_a_barrier", [False, True])
def test_a_key_that_cannot_be_one_is_named_with_its_record(after_a_barrier: bool) -> None:
    with OperatorHarness.of(Counting(), key_by=first) as harness:
        if after_a_barrier:
            harness.process(("a", 1))
            harness.snapshot()
        with pytest.raises(UserCodeError) as caught:
            harness.process(("a", 2), (1j, 3), ("a", 4))
    assert (caught.value.record, caught.value.key) == ((1j, 3), 1j)


def test_a_failed_batch_leaves_no_current_key() -> None:
    class Failing(Counting):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
            raise ValueError

    function = Failing()
    with OperatorHarness.of(function, key_by=str) as harness:
        with pytest.raises(UserCodeError):
            harness.process("a")
        with pytest.raises(StateAccessError):
            function.count.value()


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3), (3, 2)])
def test_rescaled_subtasks_go_on_with_every_key_exactly_once(before: int, after: int) -> None:
    keys = [f"key {n}" for n in range(200)]
    saved: list[SavedOperator] = []
    for index in range(before):
        place = Setup(subtask=index, parallelism=before)
        with OperatorHarness.of(Counting(), key_by=str, setup=place) as harness:
            harness.process(*[key for key in keys if harness.owns(key)])
            saved.append(harness.snapshot())
    counts: dict[str, int] = {}
    for index in range(after):
        place = Setup(subtask=index, parallelism=after)
        with OperatorHarness.of(Counting(), key_by=str, setup=place, restored=saved) as harness:
            own = [key for key in keys if harness.owns(key)]
            counts |= {key: count for key, count, _ in harness.process(*own)}
    assert counts == dict.fromkeys(keys, 2)


def test_state_of_another_type_is_refused_on_restore() -> None:
    with OperatorHarness.of(Counting(), key_by=str) as harness:
        harness.process("a")
        saved = harness.snapshot()
    with pytest.raises(UserCodeError) as caught:
        OperatorHarness.of(Counting(Types.STRING()), key_by=str, restored=[saved]).open()
    assert isinstance(caught.value.__cause__, RestoreError)
    assert "'count' was saved as" in str(caught.value.__cause__)


def test_state_of_another_max_parallelism_is_refused_on_restore() -> None:
    with OperatorHarness.of(Counting(), key_by=str, setup=Setup(max_parallelism=64)) as harness:
        harness.process("a")
        saved = harness.snapshot()
    with pytest.raises(RestoreError, match=r"written with max parallelism 64.*pass setup=Setup\(max_parallelism=64\)"):
        OperatorHarness.of(Counting(), key_by=str, restored=[saved]).open()


def test_a_damaged_snapshot_is_refused_naming_the_operator() -> None:
    with OperatorHarness.of(Counting(), key_by=str) as harness:
        harness.process("a")
        saved = harness.snapshot()
    assert saved.keyed is not None
    (file,) = saved.keyed.base
    assert isinstance(file.handle, InlineHandle)
    torn = StateFile(file.name, InlineHandle(file.handle.data[:-1]))
    half = SavedOperator(checkpoint_id=saved.checkpoint_id, keyed=replace(saved.keyed, base=(torn,)))
    with pytest.raises(DamagedFileError, match="operator 'operator'"):
        OperatorHarness.of(Counting(), key_by=str, restored=[half]).open()


def test_without_checkpoints_no_state_is_saved() -> None:
    with OperatorHarness.of(Counting(), key_by=str, setup=Setup(checkpointing=False)) as harness:
        harness.process("a")
        assert harness.snapshot().keyed is None
