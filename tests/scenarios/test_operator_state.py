"""S16, S17: a job with list or union list state goes on at another parallelism; the same beside keyed state."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import CheckpointedFunction, FunctionInitializationContext, FunctionSnapshotContext
from headgate.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headgate.errors import JobFailedError
from headgate.functions.context import Context
from tests.scenarios.rescaled import Change, Rescaled, on_every_change
from tests.scenarios.runs import Runs

COUNT = 1200
COUNTS = ListStateDescriptor("counts", Types.TUPLE([Types.INT(), Types.LONG()]))

RESTORED: dict[int, list[tuple[int, int]]] = {}
"""What each subtask of the last run was given."""

REACHED: dict[int, int] = {}
"""What each subtask of the last run has counted, with what it was given."""


KEYS: Counter[int] = Counter()
"""The highest count of each key that came out of the last run."""


class Counting(MapFunction, CheckpointedFunction):
    """Counts the records of its subtask, and those that its share of a list says were counted before."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(COUNTS)

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.parallelism = runtime_context.get_number_of_parallel_subtasks()
        for gone in range(self.parallelism, len(REACHED)):
            del RESTORED[gone], REACHED[gone]
        RESTORED[self.subtask] = self.saved.get()
        REACHED[self.subtask] = self.counted_before()

    def counted_before(self) -> int:
        return sum(count for _, count in self.saved)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([(self.subtask, REACHED[self.subtask])])

    def map(self, value: Any) -> Any:
        REACHED[self.subtask] += 1
        return value


class CountingInUnion(Counting):
    """The same with a list that all get; each takes its own share of it."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_union_list_state(COUNTS)

    def counted_before(self) -> int:
        return sum(count for subtask, count in self.saved if subtask % self.parallelism == self.subtask)


class KeyedCount(KeyedProcessFunction):
    """Yields the key and how often it came."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class Reaching(SinkFunction):
    """Notes the highest count of each key."""

    def invoke(self, value: tuple[int, int], context: Context) -> None:
        KEYS[value[0]] = max(value[1], KEYS[value[0]])


def counted(env: StreamExecutionEnvironment, function: Counting, per_second: float | None) -> DataStream:
    """Begin a run that counts numbers."""
    RESTORED.clear()
    REACHED.clear()
    KEYS.clear()
    source = DataGeneratorSource(lambda index: index, COUNT, per_second)
    numbers = env.from_source(source, None, "numbers").uid("numbers").set_parallelism(1)
    return numbers.rebalance().map(function).uid("counting")


@on_every_change
@pytest.mark.parametrize("function", [Counting, CountingInUnion])
@pytest.mark.slow
def test_no_element_is_lost_or_given_twice(function: Callable[[], Counting], change: Change, tmp_path: Path) -> None:
    _, before, after = change
    Rescaled(tmp_path, lambda env: counted(env, function(), None).filter(lambda _: False).print(), COUNT).run(change)
    given = RESTORED if function is Counting else {0: RESTORED[0]}
    assert sorted(subtask for elements in given.values() for subtask, _ in elements) == list(range(before))
    assert sum(count for elements in given.values() for _, count in elements) > 0
    assert sorted(REACHED) == list(range(after))
    assert sum(REACHED.values()) == COUNT


def test_every_subtask_gets_the_whole_union(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, monkeypatch)
    env = runs.environment(3)
    counted(env, CountingInUnion(), 500).filter(lambda _: False).uid("nothing").print()
    runs.stop(env)
    env = runs.environment(2)
    counted(env, CountingInUnion(), None).filter(lambda _: False).uid("nothing").print()
    runs.finish(env)
    assert RESTORED[0] == RESTORED[1]
    assert [subtask for subtask, _ in RESTORED[0]] == [0, 1, 2]


@pytest.mark.slow
def test_where_only_keyed_state_is_rescaled_lists_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch)
    for parallelism, per_second, end in ((2, 500, runs.stop), (3, None, runs.finish)):
        env = runs.environment(parallelism)
        lists = counted(env, Counting(), per_second).set_parallelism(2)
        lists.key_by(lambda number: number % 13).process(KeyedCount()).uid("keyed").add_sink(Reaching()).uid("reaching")
        end(env)
    assert {subtask: [owner for owner, _ in elements] for subtask, elements in RESTORED.items()} == {0: [0], 1: [1]}
    assert sum(REACHED.values()) == COUNT
    assert Counter(number % 13 for number in range(COUNT)) == KEYS


class Hoarding(Counting):
    """Has something in its state that cannot be saved."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.add((self.subtask, threading.Lock()))


def test_an_element_that_cannot_be_saved_ends_the_job_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = Runs(tmp_path, monkeypatch).environment(1)
    counted(env, Hoarding(), 1500).print()
    with pytest.raises(JobFailedError, match=r"operator list state 'counts' holds a tuple that cannot be pickled"):
        env.execute()
