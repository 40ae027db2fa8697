"""S01-S08, S10, S13: unaligned checkpoints under back-pressure, restored after failures and at another parallelism.

Two sources are joined into a union, tallied by key, passed on over an exchange in order, dealt out to a slow map, and
tallied by key again, together with a third source. Each tally finds out whether a record was lost, doubled, or has
overtaken another of its key and source.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Types
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    MapFunction,
)
from headgate.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headgate.functions.context import Context
from tests.scenarios.rescaled import PAIRS, finished, rescale
from tests.scenarios.runs import Runs, wait_until

pytestmark = pytest.mark.slow

COUNT: Final = 600
KEYS: Final = 11
SOURCES: Final = ("one", "two", "three")
UNALIGNED: Final = {
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.interval": "30 ms",
    "headgate.batch.records": "8",
    "execution.buffer-timeout.interval": "5 ms",
}
HURRY: Final = threading.Event()
"""Nothing is slow any more."""
PLANNED: set[str | int] = set()
"""Where the map still fails, once each: at a record, or in one of its methods."""
SEEN: list[tuple[int, str, int, int]] = []
"""What the sink of the run was given: key and source, how many there were of both, and the sum of the key's numbers."""

Item = tuple[str, int]


def key_of(item: Item) -> int:
    return item[1] % KEYS


class Tally(KeyedProcessFunction):
    """Passes on what it sees, and fails when a record of a source is not the next one of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_map_state(MapStateDescriptor("last", Types.STRING(), Types.LONG()))

    def process_element(self, value: Item, ctx: KeyedProcessFunction.Context) -> Iterator[Item]:
        source, number = value
        last = self.last.get(source)
        assert number == (number % KEYS if last is None else last + KEYS), f"{value} after {last}"
        self.last.put(source, number)
        yield value


def strike(where: str | int) -> None:
    if where in PLANNED:
        PLANNED.remove(where)
        raise ValueError(f"planned fault: {where}")


class Slow(MapFunction, CheckpointedFunction):
    """Takes a moment for each record, so that what lies before it fills up."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        if context.is_restored():
            strike("initialize")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if context.get_checkpoint_id() > 1:
            strike("snapshot")

    def close(self) -> None:
        strike("close")

    def map(self, value: Item) -> Item:
        if not HURRY.is_set():
            time.sleep(0.001)
        strike(value[1])
        return value


class Total(KeyedCoProcessFunction):
    """Yields each record with how many of its source and key there were: what was doubled or lost shows at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_map_state(MapStateDescriptor("count", Types.STRING(), Types.LONG()))
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element1(self, value: Item, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        return self._counted(value)

    def process_element2(self, value: Item, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        return self._counted(value)

    def _counted(self, value: Item) -> Iterator[Any]:
        source, number = value
        self.count.put(source, (self.count.get(source) or 0) + 1)
        self.sum.update((self.sum.value() or 0) + number)
        yield number % KEYS, source, self.count.get(source), self.sum.value()


class Keeping(SinkFunction):
    """Notes all records."""

    def invoke(self, value: Any, context: Context) -> None:
        SEEN.append(value)


def numbers(env: StreamExecutionEnvironment, name: str) -> DataStream:
    source = DataGeneratorSource(lambda index: (name, index), COUNT)
    return env.from_source(source, None, name).uid(name).set_parallelism(1)


def pipeline(env: StreamExecutionEnvironment, tallies: int = 2) -> None:
    """Build the job; the first tally has a parallelism of its own."""
    SEEN.clear()
    one, two, three = (numbers(env, name) for name in SOURCES)
    tallied = one.union(two).key_by(key_of).process(Tally()).uid("tally").set_parallelism(tallies)
    in_order = tallied.map(lambda item: item).uid("in order").disable_chaining().set_parallelism(tallies)
    slow = in_order.rebalance().map(Slow()).uid("slow")
    total = slow.connect(three).key_by(key_of, key_of).process(Total()).uid("total")
    total.add_sink(Keeping()).uid("sink")


def totals() -> dict[tuple[int, str], int]:
    """The highest count of each key and source."""
    found: dict[tuple[int, str], int] = {}
    for key, source, count, _ in SEEN:
        found[key, source] = max(found.get((key, source), 0), count)
    return found


def sums() -> dict[int, int]:
    found: dict[int, int] = {}
    for key, _, _, total in SEEN:
        found[key] = max(found.get(key, 0), total)
    return found


def check_exact() -> None:
    expected = {key: len(range(key, COUNT, KEYS)) for key in range(KEYS)}
    assert totals() == {(key, source): count for key, count in expected.items() for source in SOURCES}
    assert sums() == {key: len(SOURCES) * sum(range(key, COUNT, KEYS)) for key in range(KEYS)}


def run_a_while(runs: Runs, parallelism: int, tallies: int = 2, **settings: str) -> None:
    """Run under back-pressure, until some unaligned checkpoints are complete."""
    env = runs.environment(parallelism, **settings)
    pipeline(env, tallies)
    runs.stop(env)


@pytest.fixture(autouse=True)
def _slowly() -> Iterator[None]:
    HURRY.clear()
    PLANNED.clear()
    yield
    HURRY.set()


@pytest.mark.parametrize("after", ["1 ms", "0 ms", "20 ms"])
def test_failures_under_back_pressure_lose_and_double_nothing(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a time after which barriers overtake, some subtasks are aligned and others are not."""
    PLANNED.update({COUNT // 4, "initialize", "snapshot", COUNT * 3 // 4, "close"})
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED, **{"execution.checkpointing.aligned-checkpoint-timeout": after})
    env = runs.environment(2)
    pipeline(env)
    runs.finish(env)
    assert not PLANNED
    check_exact()


@pytest.mark.parametrize("parallelisms", [((2, 2), (2, 2)), ((2, 1), (3, 2)), ((3, 2), (1, 3))], ids=str)
def test_data_in_flight_goes_on_where_operators_differ_in_parallelism(
    parallelisms: tuple[tuple[int, int], tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two tallies by key may differ in parallelism, too."""
    check_in_flight_goes_on(Runs(tmp_path, monkeypatch, **UNALIGNED), *parallelisms)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_data_in_flight_goes_on_at_another_parallelism(
    pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = pair
    check_in_flight_goes_on(Runs(tmp_path, monkeypatch, **UNALIGNED), (before, before), (after, after))


def check_in_flight_goes_on(runs: Runs, before: tuple[int, int], after: tuple[int, int]) -> None:
    run_a_while(runs, *before)
    in_flight = runs.manifests()[-1].in_flight
    assert {part.uid for part in in_flight} <= {"tally", "slow", "total"}
    assert in_flight != ()
    assert runs.missing() == []
    HURRY.set()
    env = runs.environment(after[0])
    pipeline(env, after[1])
    runs.finish(env)
    check_exact()


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if len(set(pair)) > 1], ids=str)
def test_data_in_flight_goes_on_at_another_parallelism_of_a_job_that_runs_on(
    pair: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = pair
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED, **{"execution.checkpointing.num-retained": "100"})
    env = runs.environment(before)
    pipeline(env, before)
    job: Any = env.submit()
    wait_until(lambda: any(manifest.in_flight for manifest in runs.manifests()), job)
    rescale(job, after)
    restored = job.progress.statistics.latest.restored.checkpoint_id
    assert next(each for each in runs.manifests() if each.checkpoint_id == restored).in_flight != ()
    HURRY.set()
    finished(job)
    check_exact()


def test_data_in_flight_can_be_left_behind_and_is_lost_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED)
    run_a_while(runs, 2)
    HURRY.set()
    key = "execution.checkpointing.recover-without-channel-state.checkpoint-id"
    env = runs.environment(2, **{key: str(runs.latest)})
    monkeypatch.setattr(Tally, "process_element", lambda self, value, ctx: iter([value]))
    pipeline(env)
    runs.finish(env)
    assert 0 < sum(totals().values()) < COUNT * len(SOURCES)


@pytest.mark.parametrize("order", [("true", "false"), ("false", "true")], ids=str)
def test_aligned_and_unaligned_checkpoints_are_restored_into_each_others_jobs(
    order: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = ({"execution.checkpointing.unaligned.enabled": unaligned} for unaligned in order)
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED)
    run_a_while(runs, 2, 2, **before)
    HURRY.set()
    env = runs.environment(2, **after)
    pipeline(env)
    runs.finish(env)
    check_exact()


def test_at_least_once_loses_nothing_and_may_double_only_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**UNALIGNED, "execution.checkpointing.unaligned.enabled": "false"}
    runs = Runs(tmp_path, monkeypatch, **settings, **{"execution.checkpointing.mode": "AT_LEAST_ONCE"})
    monkeypatch.setattr(Tally, "process_element", lambda self, value, ctx: iter([value]))
    PLANNED.add(COUNT // 2)
    env = runs.environment(2)
    pipeline(env)
    runs.finish(env)
    expected = {key: len(range(key, COUNT, KEYS)) for key in range(KEYS)}
    assert all(count >= expected[key] for (key, _), count in totals().items())
    assert {source for _, source in totals()} == set(SOURCES)


# --- broadcast streams

RULES: Final = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class Ruled(KeyedBroadcastProcessFunction[int, Item, Item, Any]):
    """Yields what it was told by then, and how many records of the key there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        if not HURRY.is_set():
            time.sleep(0.001)
        self.count.update((self.count.value() or 0) + 1)
        rules = list(ctx.get_broadcast_state(RULES).keys())
        assert rules == list(range(len(rules))), f"a rule is missing: {rules}"
        yield ctx.get_current_key(), "ruled", self.count.value(), len(rules)

    def process_broadcast_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        assert not state.contains(value[1]), f"rule {value[1]} came twice"
        state.put(value[1], value[1])
        return iter(())


def ruled_pipeline(env: StreamExecutionEnvironment) -> None:
    SEEN.clear()
    rules = numbers(env, "rules").filter(lambda item: item[1] < 50).uid("few").set_parallelism(1)
    ruled = numbers(env, "one").key_by(key_of).connect(rules.broadcast(RULES)).process(Ruled()).uid("ruled")
    ruled.add_sink(Keeping()).uid("sink")


@pytest.mark.parametrize("parallelisms", [(2, 3), (3, 2)], ids=str)
def test_a_broadcast_stream_is_aligned_beside_a_keyed_one_that_is_overtaken(
    parallelisms: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(tmp_path, monkeypatch, **UNALIGNED, **{"state.checkpoints.num-retained": "100"})
    env = runs.environment(parallelisms[0])
    ruled_pipeline(env)
    runs.stop(env)
    assert {part.source_uid for manifest in runs.manifests() for part in manifest.in_flight} == {"one"}
    HURRY.set()
    env = runs.environment(parallelisms[1])
    ruled_pipeline(env)
    runs.finish(env)
    assert totals() == {(key, "ruled"): len(range(key, COUNT, KEYS)) for key in range(KEYS)}
