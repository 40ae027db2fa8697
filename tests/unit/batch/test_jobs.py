"""Batch jobs end to end, in this process: inputs, order, errors, what functions are told, and the client."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Types, WatermarkStrategy
from headgate.common.job_status import JobStatus
from headgate.connectors.datagen import DataGeneratorSource
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.connectors.rate import RateLimitedSource
from headgate.datastream import (
    DataStream,
    FailedRecord,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RecordErrors,
    StreamExecutionEnvironment,
)
from headgate.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headgate.errors import CheckpointError, JobCancelledError, JobFailedError, SourceError
from headgate.functions.api import KeySelector
from headgate.functions.context import RuntimeContext
from headgate.functions.source import Source, SourceContext, SourceReader
from headgate.ids import JobId
from tests.unit.batch.environments import batch
from tests.unit.deploy.sources import CarelessSource

CALLS: list[str] = []
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())


@pytest.fixture(autouse=True)
def _clear() -> None:
    CALLS.clear()


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect())


# --- inputs and their order


def test_sources_are_read_to_their_end(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\nb\n")
    env = batch().set_parallelism(2)
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "lines")).build()
    streams = [
        env.from_collection(["c"]),
        env.from_source(files, None, "files"),
        env.from_source(NumberSequenceSource(1, 3), None, "numbers").map(str),
        env.from_source(DataGeneratorSource(lambda n: f"made {n}", 2), None, "made"),
        env.from_source(RateLimitedSource(NumberSequenceSource(8, 9), 1_000.0), None, "limited").map(str),
    ]
    assert collected(streams[0].union(*streams[1:])) == ["1", "2", "3", "8", "9", "a", "b", "c", "made 0", "made 1"]


def test_no_input_is_input_too() -> None:
    env = batch().set_parallelism(2)
    assert collected(env.from_collection([]).key_by(lambda n: n).sum()) == []


def test_a_source_that_breaks_the_rules_is_named() -> None:
    env = batch()
    env.from_source(CarelessSource(), None, "careless").print()
    with pytest.raises(JobFailedError, match=r"poll\(\) of CarelessReader returned None"):
        env.execute()


class Places(KeyedProcessFunction):
    """Puts out each record with its place among those of the key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


def test_records_of_a_key_come_in_the_order_of_their_times_and_those_of_one_time_as_they_were_made() -> None:
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
    records = [("a", 30, "x"), ("b", 20, "y"), ("a", 10, "z"), ("a", 30, "u"), ("a", -5, "v"), ("b", 20, "w")]
    stream = batch().from_collection(records).assign_timestamps_and_watermarks(by_time)
    places = {
        record[2]: place for record, place in stream.key_by(lambda r: r[0]).process(Places()).execute_and_collect()
    }
    assert places == {"v": 1, "z": 2, "x": 3, "u": 4, "y": 1, "w": 2}


def test_records_without_a_time_come_before_those_with_one() -> None:
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: -5)
    env = batch()
    timed = env.from_collection(["timed"]).assign_timestamps_and_watermarks(by_time)
    stream = timed.union(env.from_collection(["first", "second"])).key_by(lambda record: 0).process(Places())
    assert collected(stream) == [("first", 1), ("second", 2), ("timed", 3)]


@pytest.mark.slow
def test_a_program_may_have_hundreds_of_edges() -> None:
    numbers = batch().from_collection([1]).rebalance().map(lambda number: number)
    copies = [numbers.map(lambda number: number) for _ in range(80)]
    assert collected(copies[0].union(*copies[1:])) == [1] * 80


def test_one_key_ends_before_the_next_begins() -> None:
    stream = batch().from_collection(["a", "b"] * 3).key_by(lambda each: each).process(Places())
    keys = [key for key, _ in stream.execute_and_collect()]
    assert keys in (["a"] * 3 + ["b"] * 3, ["b"] * 3 + ["a"] * 3)


class Limited(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, dict(ctx.get_broadcast_state(LIMITS).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(*value)
        yield from ctx.apply_to_keyed_state(ValueStateDescriptor("x", Types.LONG()), lambda key, state: [1 // 0])


def test_broadcast_elements_are_there_before_all_records() -> None:
    env = batch().set_parallelism(3)
    limits = env.from_collection([("gold", 9), ("silver", 5)]).broadcast(LIMITS)
    stream = env.from_collection([1, 2]).key_by(lambda n: n).connect(limits).process(Limited())
    assert collected(stream) == [(number, {"gold": 9, "silver": 5}) for number in (1, 2)]


def test_everything_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    env = batch()
    env.from_collection([1, 2]).print()
    env.execute()
    assert capfd.readouterr().out == "1\n2\n"


# --- settings


@pytest.mark.parametrize("settings", [{"state.backend.type": "rocksdb"}, {"state.changelog.enabled": "true"}])
def test_settings_of_state_and_checkpoints_change_nothing(settings: dict[str, str], tmp_path: Path) -> None:
    checkpoints = {"execution.checkpointing.dir": str(tmp_path / "c"), "execution.checkpointing.interval": "10 ms"}
    env = batch(**settings, **checkpoints)
    assert collected(env.from_collection([1, 1, 2]).key_by(lambda n: n).process(Places())) == [(1, 1), (1, 2), (2, 1)]
    assert not (tmp_path / "c").exists()


class Telling(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        context = self.context
        return (
            context.get_index_of_this_subtask(),
            context.get_number_of_parallel_subtasks(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_attempt_number(),
            context.get_task_name(),
            context.get_job_parameter("who", None),
        )


def test_functions_are_told_where_they_run() -> None:
    env = batch(**{"pipeline.global-job-parameters": "who:me", "pipeline.max-parallelism": "7"}).set_parallelism(2)
    told = env.from_collection([1, 2]).rebalance().map(Telling()).name("telling")
    assert collected(told) == [(index, 2, 7, 0, "telling", "me") for index in range(2)]


class Selecting(KeySelector):
    def open(self, runtime_context: RuntimeContext) -> None:
        CALLS.append("open")
        self.table = {0: "even", 1: "odd"}

    def get_key(self, value: Any) -> Any:
        return self.table[value % 2]

    def close(self) -> None:
        CALLS.append("close")


def test_a_key_selector_is_opened_and_closed_where_it_selects() -> None:
    env = batch()
    both = env.from_collection([1]).union(env.from_collection([2, 3])).key_by(Selecting()).process(Places())
    assert collected(both) == [(1, 1), (2, 1), (3, 2)]
    assert sorted(CALLS) == ["close"] * 3 + ["open"] * 3  # in two tasks that send, and in the one that reads


# --- errors


def test_a_failing_function_names_operator_key_and_record() -> None:
    stream = batch().from_collection([("a", 0)]).key_by(lambda pair: pair[0]).map(lambda pair: 1 // pair[1])
    with pytest.raises(JobFailedError) as caught:
        list(stream.name("invert").execute_and_collect())
    for part in ("ZeroDivisionError", "invert", "'a'", "('a', 0)"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("key", "words"), [(bytearray(b"a"), r"key on bytes\(the bytearray\)"), ((1, 1j), "make it a dataclass")]
)
def test_a_key_that_cannot_be_one_is_refused_with_what_to_do(key: Any, words: str) -> None:
    with pytest.raises(JobFailedError, match=words):
        list(batch().from_collection([1]).key_by(lambda n: key).map(lambda n: n).execute_and_collect())


class Closing(MapFunction):
    """Tells that it is closed; fails then, or for a record."""

    def __init__(self, name: str, fails: str) -> None:
        self.name = name
        self.fails = fails

    def map(self, value: Any) -> Any:
        return value if self.fails != "map" else 1 // 0

    def close(self) -> None:
        CALLS.append(self.name)
        if self.fails:
            raise ValueError(f"{self.name} does not close")


def test_a_function_that_fails_to_close_fails_the_job_under_its_own_name() -> None:
    stream = batch().from_collection([1]).map(Closing("first", "close")).name("the first")
    with pytest.raises(JobFailedError, match=r"first does not close(.|\n)*in operator 'the first'"):
        list(stream.map(Closing("second", "")).execute_and_collect())


def test_when_a_function_fails_all_others_are_closed() -> None:
    stream = batch().from_collection([1]).rebalance().map(Closing("first", "close"))
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        list(stream.map(Closing("second", "map")).map(Closing("third", "close")).execute_and_collect())
    assert sorted(CALLS) == ["first", "second", "third"]


def test_sys_exit_in_a_function_fails_the_job() -> None:
    with pytest.raises(JobFailedError, match="SystemExit"):
        list(batch().from_collection([1]).map(lambda n: exit(3)).execute_and_collect())


def test_records_that_a_function_fails_for_may_be_left_out_or_put_aside() -> None:
    bad = OutputTag("bad")
    env = batch()
    kept = env.from_collection([1, 0, 2]).key_by(lambda n: 0).map(lambda n: 4 // n).on_error(RecordErrors.skip())
    assert collected(kept) == [2, 4]
    env = batch()
    inverted = env.from_collection([1, 0, 2]).map(lambda n: 4 // n).on_error(RecordErrors.side_output(bad))
    inverted.print()
    failed = list(inverted.get_side_output(bad).execute_and_collect())
    assert [type(each) for each in failed] == [FailedRecord]


# --- the client


def slow(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(RateLimitedSource(NumberSequenceSource(0, 10**6), 100.0), None, "slow")


def test_a_job_can_be_cancelled_while_a_source_is_read() -> None:
    env = batch()
    slow(env).print()
    client = env.execute_async()
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()


class StuckSource(Source[Any]):
    """Has nothing to read, and cannot remove what it has made."""

    def splits(self, parallelism: int) -> list[Any]:
        return []

    def reader(self, context: SourceContext) -> SourceReader[Any]:
        return NumberSequenceSource(0, 1).reader(context)

    def interrupt(self) -> None:
        CALLS.append("interrupt")

    def discard(self, job_id: JobId) -> None:
        raise SourceError("it is still there")

    def release(self, job_id: JobId) -> None:
        CALLS.append("release")


def test_cancelling_a_job_that_has_ended_does_nothing() -> None:
    env = batch()
    env.from_source(StuckSource(), None, "stuck").print()
    client = env.execute_async()
    client.get_job_execution_result().result()
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert "interrupt" not in CALLS


def test_a_source_that_cannot_remove_what_it_has_made_is_given_back() -> None:
    env = batch()
    env.from_source(StuckSource(), None, "stuck").print()
    env.execute()
    assert CALLS == ["release"]


def test_checkpoints_and_savepoints_are_refused_with_the_reason(tmp_path: Path) -> None:
    env = batch()
    slow(env).print()
    client = env.execute_async()
    for ask in (client.trigger_savepoint, client.cancel_with_savepoint):
        with pytest.raises(CheckpointError, match="runs in BATCH mode, which takes no checkpoints and no savepoints"):
            ask(str(tmp_path)).result()
    with pytest.raises(CheckpointError, match="set the runtime mode to STREAMING"):
        client.stop_with_savepoint(True, str(tmp_path)).result()
    client.cancel().result()


def test_a_job_tells_how_it_ended() -> None:
    env = batch()
    env.from_collection([1]).print()
    client = env.execute_async("count")
    result = client.get_job_execution_result().result()
    assert result.get_net_runtime() >= 0
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_a_limit_takes_so_many_records() -> None:
    stream = batch().from_collection(range(10)).map(lambda n: n)
    assert stream.execute_and_collect(limit=3) == [0, 1, 2]


def test_automatic_runs_bounded_input_as_a_batch_job() -> None:
    env = batch(**{"execution.runtime-mode": "AUTOMATIC"})
    assert list(env.from_collection([1, 2, 3]).key_by(lambda n: 0).sum().execute_and_collect()) == [6]


@pytest.mark.parametrize("fails", [False, True])
def test_a_job_leaves_no_thread_and_no_folder_behind(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = set(threading.enumerate())
    stream = batch().from_collection([1, 0 if fails else 1]).key_by(lambda n: n).map(lambda n: 1 // n)
    if fails:
        with pytest.raises(JobFailedError):
            list(stream.execute_and_collect())
    else:
        assert list(stream.execute_and_collect()) == [1, 1]
    assert [thread for thread in threading.enumerate() if thread not in before] == []
    assert list(tmp_path.iterdir()) == []
