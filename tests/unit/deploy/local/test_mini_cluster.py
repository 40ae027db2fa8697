"""MiniCluster end to end: what the program gets is right, whatever fails on the way."""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headgate.common.serialization import Encoder
from headgate.connectors.files.sink import FileSink
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import DataStream, StreamExecutionEnvironment
from headgate.datastream.checkpoint_storage import FileSystemCheckpointStorage
from headgate.deploy.local.mini_cluster import MiniCluster
from headgate.errors import JobFailedError
from headgate.functions.api import KeyedProcessFunction, KeySelector, MapFunction, SinkFunction
from headgate.functions.context import RuntimeContext
from headgate.operators.collect import CollectFactory
from headgate.state.descriptors import ValueStateDescriptor
from headgate.types.typeinfo import Types
from tests.unit.datastream.environments import environment
from tests.unit.deploy.sources import CarelessSource, CountingSource
from tests.unit.runtime.plans import line_plan

CALLS: Counter[str] = Counter()
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def _clear() -> None:
    CALLS.clear()
    SEEN.clear()


def restarting(parallelism: int = 2) -> StreamExecutionEnvironment:
    settings = {
        "execution__checkpointing__interval": "20 ms",
        "restart-strategy__fixed-delay__delay": "0 ms",
        "restart-strategy__type": "fixed-delay",
        "restart-strategy__fixed-delay__attempts": "10",
    }
    return environment(**settings).set_parallelism(parallelism)


class FailingAt(MapFunction):
    """Fails at some of its calls, counted over all subtasks and attempts."""

    def __init__(self, *calls: int) -> None:
        self.calls = calls

    def map(self, value: Any) -> Any:
        CALLS["map"] += 1
        if CALLS["map"] in self.calls:
            raise ValueError("planned")
        return value


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


def slow_numbers(env: StreamExecutionEnvironment, count: int) -> DataStream:
    """Numbers at a rate at which several checkpoints are made before the last."""
    return env.from_source(RateLimitedSource(NumberSequenceSource(0, count - 1), 4 * count), None, "numbers")


def counted(env: StreamExecutionEnvironment, count: int, *failures: int) -> DataStream:
    return slow_numbers(env, count).map(FailingAt(*failures)).key_by(lambda n: n % 7).process(RunningCount())


def expected(count: int) -> list[tuple[int, int]]:
    return sorted((n % 7, n // 7 + 1) for n in range(count))


@pytest.mark.parametrize("failures", [(), (100,), (1, 2, 150, 300)])
@pytest.mark.slow
def test_collected_records_are_exact_through_restarts(failures: tuple[int, ...]) -> None:
    assert sorted(counted(restarting(), 400, *failures).execute_and_collect()) == expected(400)
    assert CALLS["map"] >= 400


@pytest.mark.slow
def test_a_file_sink_holds_each_record_once_through_restarts(tmp_path: Path) -> None:
    env = restarting()
    encoder: Any = Encoder.simple_string_encoder()
    sink = FileSink.for_row_format(str(tmp_path / "out"), encoder).build()
    counted(env, 400, 1, 90, 210).map(lambda pair: json.dumps(pair)).sink_to(sink)
    env.execute()
    lines = [line for file in (tmp_path / "out").rglob("part-*") for line in file.read_text().splitlines()]
    assert sorted(tuple(json.loads(line)) for line in lines) == expected(400)
    assert [file.name for file in (tmp_path / "out").rglob("*") if "inprogress" in file.name] == []


def test_a_function_object_is_fresh_in_each_subtask_and_each_attempt() -> None:
    class Numbering(MapFunction):
        def __init__(self) -> None:
            self.mine = 0

        def map(self, value: Any) -> Any:
            self.mine += 1
            CALLS["numbered"] += 1
            if CALLS["numbered"] == 3:
                raise ValueError("planned")
            return self.mine

    env = environment(**{"restart-strategy__type": "fixed-delay", "restart-strategy__fixed-delay__delay": "0 ms"})
    numbers = env.set_parallelism(2).from_collection([1, 2, 3, 4]).rebalance().map(Numbering())
    numbers.add_sink(Seeing())
    env.execute()
    assert sorted(SEEN[-4:]) == [1, 1, 2, 2]


class Seeing(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        SEEN.append(value)


def test_one_function_object_used_for_two_streams_is_two_objects() -> None:
    class Numbering(MapFunction):
        def __init__(self) -> None:
            self.mine = 0

        def map(self, value: Any) -> Any:
            self.mine += 1
            return self.mine

    env, function = environment(), Numbering()
    one, other = env.from_collection([*"ab"]).map(function), env.from_collection([*"cde"]).map(function)
    assert sorted(one.union(other).execute_and_collect()) == [1, 1, 2, 2, 3]


def test_the_users_own_function_object_is_left_alone() -> None:
    function = FailingAt()
    function.calls = (0,)
    list(environment().from_collection([1]).map(function).execute_and_collect())
    assert vars(function) == {"calls": (0,)}


def test_without_restarts_left_the_users_error_ends_the_job() -> None:
    env = environment(**{"execution__checkpointing__interval": "20 ms", "restart-strategy__type": "none"})
    with pytest.raises(JobFailedError, match="ValueError: planned"):
        list(env.from_collection(range(10)).map(FailingAt(5)).execute_and_collect())


@pytest.mark.parametrize(
    ("key", "words"), [(bytearray(b"a"), r"key on bytes\(the bytearray\)"), ((1, 1j), "make it a dataclass")]
)
def test_a_key_that_cannot_be_one_is_refused_with_what_to_do(key: Any, words: str) -> None:
    env = environment()
    with pytest.raises(JobFailedError, match=words):
        list(env.from_collection([1]).key_by(lambda n: key).map(lambda n: n).execute_and_collect())


class ByTable(KeySelector):
    """Takes keys from a table that it makes in `open`."""

    def __init__(self, error: str = "") -> None:
        self.error = error

    def open(self, runtime_context: RuntimeContext) -> None:
        CALLS["selector opened"] += 1
        if self.error:
            raise ValueError(self.error)
        self.table = {0: "even", 1: "odd"}

    def get_key(self, value: int) -> str:
        return self.table[value % 2]

    def close(self) -> None:
        CALLS["selector closed"] += 1


def test_a_key_selector_is_opened_and_closed_once_in_each_slot_that_selects() -> None:
    env = environment().set_parallelism(2)
    numbers = env.from_source(NumberSequenceSource(1, 4), None, "numbers")
    counts = numbers.union(env.from_collection([5])).key_by(ByTable()).process(RunningCount())
    assert sorted(counts.execute_and_collect()) == [("even", 1), ("even", 2), ("odd", 1), ("odd", 2), ("odd", 3)]
    assert (CALLS["selector opened"], CALLS["selector closed"]) == (2, 2)


def test_a_key_selector_that_cannot_be_opened_fails_the_job_with_its_error() -> None:
    stream = environment().from_collection([1]).key_by(ByTable("no table")).map(lambda n: n)
    with pytest.raises(JobFailedError, match=r"ValueError: no table \(in open\(\)\)"):
        list(stream.execute_and_collect())
    assert (CALLS["selector opened"], CALLS["selector closed"]) == (1, 1)


def test_state_used_in_open_is_refused_without_restarts_for_ever() -> None:
    class Early(RunningCount):
        def open(self, runtime_context: RuntimeContext) -> None:
            super().open(runtime_context)
            self.count.value()

    env = environment(**{"restart-strategy__type": "none"})
    with pytest.raises(JobFailedError, match="only while a record is processed"):
        list(env.from_collection([1]).key_by(lambda n: n).process(Early()).execute_and_collect())


def test_the_counters_of_a_short_job_are_complete() -> None:
    """A job that ends within a second, before progress is reported by the clock."""
    outcome = MiniCluster().submit(line_plan(CountingSource(50), CollectFactory())).wait()
    assert outcome is not None
    assert outcome.counters == {"skipped": 50}


@pytest.mark.parametrize("end", ["finish", "fail", "cancel"])
def test_a_job_leaves_no_thread_and_no_folder_behind(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before_threads = set(threading.enumerate())
    local = {"execution__checkpointing__local-backup__enabled": "true"}
    env = environment(**{"execution__checkpointing__interval": "20 ms", "restart-strategy__type": "none", **local})
    ends: dict[str, Callable[[], Any]] = {
        "finish": lambda: list(env.from_collection([1]).execute_and_collect()),
        "fail": lambda: _failing(env),
        "cancel": lambda: list(slow_numbers(env, 10**6).execute_and_collect(limit=1)),
    }
    ends[end]()
    assert list(tmp_path.iterdir()) == []
    assert [thread for thread in threading.enumerate() if thread not in before_threads] == []


def _failing(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError):
        list(env.from_collection([0]).map(lambda n: 1 / n).execute_and_collect())


def test_storage_that_cannot_be_written_to_fails_the_job_at_once_with_its_path() -> None:
    env = restarting()
    env.get_checkpoint_config().set_checkpoint_storage(FileSystemCheckpointStorage("/proc/nothing-can-be-made-here"))
    env.from_collection([1]).print()
    with pytest.raises(JobFailedError, match="/proc/nothing-can-be-made-here"):
        env.execute()


def test_a_source_that_returns_nothing_from_poll_fails_the_job_though_restarts_are_left() -> None:
    env = restarting(1)
    env.from_source(CarelessSource(), None, "careless").print()
    with pytest.raises(JobFailedError, match=r"poll\(\) of CarelessReader returned None"):
        env.execute()


def test_a_cause_of_restarts_is_told_with_its_record_and_traceback_once_and_then_in_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = restarting(2)
    env.from_collection([1, 2, 3]).map(fails_at_2).name("planned").print()
    with pytest.raises(JobFailedError):
        env.execute()
    first, second, *_ = (line.splitlines() for line in caplog.messages if "starts again" in line)
    assert first[:3] == [
        "the job starts again (restart 1): ValueError: planned",
        "  in operator 'planned', subtask 0",
        "  record: 2",
    ]
    assert any("fails_at_2" in line for line in first[3:])
    assert second == ["the job starts again (restart 2): ValueError: planned"]


def fails_at_2(value: int) -> int:
    if value == 2:
        raise ValueError("planned")
    return value


class Marked(MapFunction):
    """Adds the subtask to the list that it gets, and gives it away."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: list[int]) -> list[int]:
        value.append(self.subtask)
        return value


def test_a_broadcast_record_is_an_object_of_its_own_in_each_slot() -> None:
    env = environment().set_parallelism(3)
    found = env.from_collection([[]]).broadcast().map(Marked())
    assert sorted(found.execute_and_collect()) == [[0], [1], [2]]


def test_a_record_that_cannot_travel_fails_with_its_operator_and_itself() -> None:
    env = environment(**{"restart-strategy__type": "none", "pipeline__object-reuse": "true"}).set_parallelism(2)
    locks = env.from_collection(range(10)).map(lambda n: threading.Lock()).name("locks")
    with pytest.raises(JobFailedError, match="cannot be sent to another slot") as caught:
        list(locks.rebalance().map(str).execute_and_collect())
    assert "in operator 'locks'" in str(caught.value)
    assert "record: <unlocked _thread.lock" in str(caught.value)


def test_what_has_left_a_slot_does_not_change_with_what_its_sender_does_later() -> None:
    class Growing(MapFunction):
        def __init__(self) -> None:
            self.all: list[int] = []

        def map(self, value: int) -> list[int]:
            self.all.append(value)
            return self.all

    env = environment(headgate__batch__records="1").set_parallelism(2)
    grown = env.from_collection([*range(40)]).map(Growing()).set_parallelism(1).rebalance().map(len)
    assert sorted(grown.execute_and_collect()) == [*range(1, 41)]


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_records_of_local_classes_and_with_lambdas_travel(mode: str) -> None:
    @dataclass
    class Order:
        shop: str
        counts: dict[str, int]

    env = environment(**{"execution__runtime-mode": mode}).set_parallelism(2)
    orders = env.from_collection([*"abab"]).map(lambda shop: Order(shop, defaultdict(lambda: 7)))
    found = orders.key_by(lambda order: order.shop).map(
        lambda order: (type(order) is Order, isinstance(order, Order), order.shop, order.counts["new"])
    )
    assert sorted(found.execute_and_collect()) == [(True, True, shop, 7) for shop in "aabb"]


def test_state_with_a_lambda_is_refused_with_what_to_do() -> None:
    class Keeping(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PICKLED_BYTE_ARRAY()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self.kept.update(defaultdict(lambda: 0))

    env = restarting(1)
    env.from_collection([1]).key_by(lambda n: n).process(Keeping()).print()
    with pytest.raises(JobFailedError, match=r"state .kept. of key 1 holds a defaultdict .* keep plain data in state"):
        env.execute()
