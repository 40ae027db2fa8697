"""User functions with operator state, in every operator: restore, snapshot, notification, errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headgate.errors import StateAccessError
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    Function,
    MapFunction,
    ProcessFunction,
    SinkFunction,
)
from headgate.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headgate.functions.context import Context, RuntimeContext
from headgate.ids import CheckpointId
from headgate.operators.base import UserCodeError
from headgate.operators.plain_functions import MapFactory
from headgate.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from headgate.testing.harness import OperatorHarness, SavedOperator, Setup
from headgate.types.typeinfo import Types

SEEN = ListStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY())


class Remembering(CheckpointedFunction, CheckpointListener, Function):
    """Keeps what it has seen, and notes what is called."""

    def __init__(self, union: bool = False) -> None:
        self.union = union
        self.calls: list[Any] = []
        self.seen: list[Any] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append("open")

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.calls.append(("initialize", context.is_restored(), context.get_restored_checkpoint_id()))
        store = context.get_operator_state_store()
        self.saved = store.get_union_list_state(SEEN) if self.union else store.get_list_state(SEEN)
        self.seen = self.saved.get()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self.saved.update(self.seen)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))

    def take(self, value: Any) -> Any:
        self.seen.append(value)
        return value


class Mapping(Remembering, MapFunction):
    def map(self, value: Any) -> Any:
        return self.take(value)


class FlatMapping(Remembering, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        yield self.take(value)


class Filtering(Remembering, FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(self.take(value))


class Processing(Remembering, ProcessFunction):
    def process_element(self, value: Any, ctx: Context) -> Iterable[Any]:
        yield self.take(value)


class Sinking(Remembering, SinkFunction):
    def invoke(self, value: Any, context: Context) -> None:
        self.take(value)


KINDS = [Mapping, FlatMapping, Filtering, Processing, Sinking]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_function_goes_on_with_its_state(kind: type[Remembering]) -> None:
    with OperatorHarness.of(kind()) as harness:
        harness.process("a", "b")
        saved = harness.snapshot()
    again = kind()
    with OperatorHarness.of(again, restored=[saved]) as harness:
        harness.process("c")
    assert again.seen == ["a", "b", "c"]


def test_state_is_initialised_before_open_and_told_of_each_checkpoint() -> None:
    function = Mapping()
    with OperatorHarness.of(function) as harness:
        harness.clock.advance(50)
        harness.snapshot()
        harness.complete()
        harness.operator.notify_aborted(CheckpointId(2))
    assert function.calls == [
        ("initialize", False, None),
        "open",
        ("snapshot", 1, 50),
        ("complete", 1),
        ("aborted", 2),
    ]


def test_a_restored_function_learns_from_which_checkpoint() -> None:
    with OperatorHarness.of(Mapping()) as harness:
        harness.snapshot()
        saved = harness.snapshot()
    again = Mapping()
    with OperatorHarness.of(again, restored=[saved]):
        pass
    assert again.calls[0] == ("initialize", True, 2)


def test_without_checkpoints_nothing_is_saved_and_nobody_is_told() -> None:
    function = Mapping()
    with OperatorHarness.of(function, setup=Setup(checkpointing=False)) as harness:
        saved = harness.snapshot()
        harness.complete()
    assert (saved.lists, function.calls) == ({}, [("initialize", False, None), "open"])


class Plain(CheckpointedFunction):
    """A callable that is no `Function`."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(SEEN)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """The list holds all there is."""

    def __call__(self, value: Any) -> Any:
        self.saved.add(value)
        return len(self.saved)


def test_a_plain_callable_may_have_state() -> None:
    with OperatorHarness(MapFactory(Plain())) as harness:
        assert harness.process("a", "b") == [1, 2]
        saved = harness.snapshot()
    with OperatorHarness(MapFactory(Plain()), restored=[saved]) as harness:
        assert harness.process("c") == [3]


# --- another parallelism


def snapshots(function: type[Remembering], parallelism: int, seen: list[list[Any]], **how: Any) -> list[SavedOperator]:
    """Return the snapshots of subtasks that have seen these records."""
    taken = []
    for subtask in range(parallelism):
        setup = Setup(subtask=subtask, parallelism=parallelism)
        with OperatorHarness.of(function(**how), setup=setup) as harness:
            harness.process(*seen[subtask])
            taken.append(harness.snapshot())
    return taken


def restored(saved: list[SavedOperator], parallelism: int, **how: Any) -> list[list[Any]]:
    """Return what each of the new subtasks has seen."""
    seen = []
    for subtask in range(parallelism):
        function = Mapping(**how)
        with OperatorHarness.of(function, restored=saved, setup=Setup(subtask=subtask, parallelism=parallelism)):
            seen.append(function.seen)
    return seen


@pytest.mark.parametrize(
    ("old", "parallelism", "new"),
    [
        ([[1, 2, 3, 4]], 3, [[1, 2], [3], [4]]),
        ([[1, 2], [], [3]], 2, [[1, 2], [3]]),
        ([[1, 2], [3]], 2, [[1, 2], [3]]),
        ([[]], 3, [[], [], []]),
        ([[], [], []], 2, [[], []]),
    ],
)
def test_a_list_is_split_evenly_or_given_back_as_it_was(
    old: list[list[int]], parallelism: int, new: list[list[int]]
) -> None:
    assert restored(snapshots(Mapping, len(old), old), parallelism) == new


@pytest.mark.parametrize(
    ("old", "parallelism"),
    [([[1, 2, 3]], 3), ([[1], [], [2, 3]], 2), ([[1], [2, 3]], 2), ([[], []], 3)],
)
def test_of_a_union_everybody_gets_everything(old: list[list[int]], parallelism: int) -> None:
    everything = [value for each in old for value in each]
    saved = snapshots(Mapping, len(old), old, union=True)
    assert restored(saved, parallelism, union=True) == [everything] * parallelism


# --- keyed state


class AsksForKeyedState(Mapping):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        descriptor = ValueStateDescriptor("count", Types.LONG())
        self.count = context.get_keyed_state_store().get_state(descriptor)

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value(), len(self.seen)


def test_on_a_keyed_stream_a_function_has_both_kinds_of_state() -> None:
    function = AsksForKeyedState()
    with OperatorHarness.of(function, key_by=str) as harness:
        assert harness.process("a", "b", "a") == [("a", 1, 0), ("b", 1, 0), ("a", 2, 0)]
        function.seen = [1, 2]
        saved = harness.snapshot()
    with OperatorHarness.of(AsksForKeyedState(), key_by=str, restored=[saved]) as harness:
        assert harness.process("a") == [("a", 3, 2)]


def test_keyed_state_is_refused_on_a_stream_without_keys() -> None:
    with pytest.raises(UserCodeError) as caught:
        OperatorHarness.of(AsksForKeyedState()).open()
    assert caught.value.during == "initialize_state()"
    assert isinstance(caught.value.__cause__, StateAccessError)
    assert "key_by" in str(caught.value.__cause__)


# --- errors


class Failing(Mapping):
    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        self._fail("initialize_state")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._fail("snapshot_state")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._fail("notify_checkpoint_complete")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._fail("notify_checkpoint_aborted")

    def _fail(self, method: str) -> None:
        if self.at == method:
            raise OSError("disk full")


def run_through_checkpoints(function: Remembering) -> None:
    with OperatorHarness.of(function) as harness:
        harness.snapshot()
        harness.complete()
        harness.operator.notify_aborted(CheckpointId(2))


@pytest.mark.parametrize(
    "method", ["initialize_state", "snapshot_state", "notify_checkpoint_complete", "notify_checkpoint_aborted"]
)
def test_what_a_function_raises_is_told_with_the_method(method: str) -> None:
    with pytest.raises(UserCodeError) as caught:
        run_through_checkpoints(Failing(method))
    assert caught.value.during == f"{method}()"
    assert str(caught.value.__cause__) == "disk full"
