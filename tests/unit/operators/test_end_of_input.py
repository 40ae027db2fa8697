"""Functions and sinks are told that no record is to follow, once, in both modes; they are closed after that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from headgate.common import Configuration, Time, WatermarkStrategy
from headgate.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeExecutionMode,
    SinkFunction,
    StreamExecutionEnvironment,
)
from headgate.datastream.functions import AggregateFunction, CheckpointedFunction
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor
from headgate.datastream.window import TumblingEventTimeWindows
from headgate.errors import JobFailedError, ProgramError
from headgate.functions.api import Function
from headgate.functions.flushing import FlushingSink, FlushingWriter
from headgate.functions.sink import SinkContext
from headgate.testing.harness import OperatorHarness
from headgate.types.typeinfo import Types

both_modes = pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
END: Final = 2**63 - 1
NO_RESTART: Final = {"restart-strategy.type": "none"}


def environment(
    mode: RuntimeExecutionMode, settings: dict[str, str] | None = None, *, parallelism: int = 1
) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"headgate.deploy.target": "minicluster", **NO_RESTART, **(settings or {})})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism).set_runtime_mode(mode)


class Log:
    """Appends lines to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, text: str) -> None:
        with self.path.open("a") as log:
            print(text, file=log)

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "log")


class LogSink(FlushingSink):
    """Notes what its writer is asked."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def flushing_writer(self, context: SinkContext) -> FlushingWriter:
        return LogWriter(self.log)


class LogWriter(FlushingWriter):
    def __init__(self, log: Log) -> None:
        self.log = log

    def write(self, records: list[int]) -> None:
        self.log.note(f"write {records}")

    def flush(self) -> None:
        self.log.note("flush")

    def end_input(self) -> None:
        self.log.note("end")


@both_modes
def test_a_writer_flushes_after_it_knows_that_input_has_ended(mode: RuntimeExecutionMode, log: Log) -> None:
    env = environment(mode)
    env.from_collection([1, 2]).sink_to(LogSink(log))
    env.execute()
    assert log.lines() == ["write [1, 2]", "end", "flush"]


class Noting(Function):
    """Notes the end of its life, and fails then where that is asked for."""

    def __init__(self, log: Log, fails: str = "") -> None:
        self.log, self.fails = log, fails

    def _note(self, what: str) -> None:
        self.log.note(what)
        if self.fails == what:
            raise OSError(f"planned: {what}")

    def finish(self) -> None:
        self._note("finish")

    def close(self) -> None:
        self._note("close")


class Rows(Noting, SinkFunction):
    """Gathers records, and writes all when it is told that there are no more."""

    def open(self, runtime_context: Any) -> None:
        self.rows: list[Any] = []

    def invoke(self, value: Any, context: Any) -> None:
        self.rows.append(value)

    def finish(self) -> None:
        self.log.note(f"rows {self.rows}")
        super().finish()


class Reminding(Noting, KeyedProcessFunction, CheckpointedFunction):
    """Has a timer at the end of event time, and notes its snapshots."""

    def initialize_state(self, context: Any) -> None:
        self.finished = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("finished", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        self.log.note("timer")
        yield "last"

    def finish(self) -> None:
        self.finished.add("yes")
        super().finish()

    def snapshot_state(self, context: Any) -> None:
        self.log.note(f"snapshot {list(self.finished.get() or ())}")


@both_modes
def test_a_sink_function_writes_what_it_has_gathered_when_its_input_ends(mode: RuntimeExecutionMode, log: Log) -> None:
    env = environment(mode)
    env.from_collection([3, 1, 2]).add_sink(Rows(log))
    env.execute()
    assert log.lines() == ["rows [3, 1, 2]", "finish", "close"]


@both_modes
def test_finish_comes_after_the_last_timer_and_before_the_last_checkpoint_and_close_after_it(
    mode: RuntimeExecutionMode, log: Log
) -> None:
    env = environment(mode, {"execution.checkpointing.interval": "1 h"})
    env.from_collection([1]).key_by(lambda one: one).process(Reminding(log)).sink_to(LogSink(log))
    env.execute()
    snapshot = [] if mode is RuntimeExecutionMode.BATCH else ["snapshot ['yes']"]
    assert log.lines() == ["timer", "write ['last']", "finish", "end", "flush", *snapshot, "close"]


class Mapping(Noting, MapFunction):
    def map(self, value: Any) -> Any:
        return value


class FlatMapping(Noting, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any]:
        return [value]


class Filtering(Noting, FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class Processing(Noting, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]


class KeyedProcessing(Noting, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]


class Reducing(Noting, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value2


class Aggregating(Noting, AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Listing(Noting, ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return list(elements)


class Asking(Noting, AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class CoMapping(Noting, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class CoFlatMapping(Noting, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        return [value]

    def flat_map2(self, value: Any) -> Iterable[Any]:
        return [value]


class KeyedCoProcessing(Noting, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]


class Broadcasting(Noting, BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]


def _windowed(stream: DataStream) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Zero())
    timed = stream.assign_timestamps_and_watermarks(strategy)
    return timed.key_by(_itself).window(TumblingEventTimeWindows.of(Time.seconds(1)))


class _Zero:
    def __call__(self, value: Any, timestamp: int) -> int:
        return 0


def _itself(value: Any) -> Any:
    return value


def _broadcast(stream: DataStream) -> Any:
    return stream.broadcast(MapStateDescriptor("rules", Types.STRING(), Types.STRING()))


KINDS: dict[str, Callable[[DataStream, Log], Any]] = {
    "map": lambda stream, log: stream.map(Mapping(log)),
    "flat_map": lambda stream, log: stream.flat_map(FlatMapping(log)),
    "filter": lambda stream, log: stream.filter(Filtering(log)),
    "process": lambda stream, log: stream.process(Processing(log)),
    "keyed map": lambda stream, log: stream.key_by(_itself).map(Mapping(log)),
    "keyed process": lambda stream, log: stream.key_by(_itself).process(KeyedProcessing(log)),
    "reduce": lambda stream, log: stream.key_by(_itself).reduce(Reducing(log)),
    "window reduce": lambda stream, log: _windowed(stream).reduce(Reducing(log)),
    "window aggregate": lambda stream, log: _windowed(stream).aggregate(Aggregating(log)),
    "window process": lambda stream, log: _windowed(stream).process(Listing(log)),
    "async": lambda stream, log: AsyncDataStream.unordered_wait(stream, Asking(log), Time.seconds(60)),
    "connected map": lambda stream, log: stream.connect(stream).map(CoMapping(log)),
    "connected flat_map": lambda stream, log: stream.connect(stream).flat_map(CoFlatMapping(log)),
    "keyed connected": lambda stream, log: (
        stream.connect(stream).key_by(_itself, _itself).process(KeyedCoProcessing(log))
    ),
    "broadcast": lambda stream, log: stream.connect(_broadcast(stream)).process(Broadcasting(log)),
    "sink": lambda stream, log: stream.add_sink(Rows(log)),
}


@pytest.mark.parametrize("kind", KINDS)
@both_modes
def test_each_function_is_finished_once_for_each_subtask_before_it_is_closed(
    mode: RuntimeExecutionMode, kind: str, log: Log
) -> None:
    if mode is RuntimeExecutionMode.BATCH and kind == "keyed connected":
        mode = RuntimeExecutionMode.STREAMING
    env = environment(mode, parallelism=2)
    stream = KINDS[kind](env.from_collection(["a", "b"]), log)
    if isinstance(stream, DataStream):
        stream.print()
    env.execute()
    assert sorted(line for line in log.lines() if "rows" not in line) == ["close", "close", "finish", "finish"]
    assert log.lines().index("finish") < log.lines().index("close")


def test_a_function_has_no_current_key_when_it_is_finished(log: Log) -> None:
    class Counting(KeyedProcessing):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

        def finish(self) -> None:
            self.seen.add("who?")

    env = environment(RuntimeExecutionMode.STREAMING)
    env.from_collection(["a"]).key_by(_itself).process(Counting(log)).print()
    with pytest.raises(JobFailedError, match="current key"):
        env.execute()


class YieldsAtTheEnd(Mapping):
    def finish(self) -> Iterator[Any]:  # type: ignore[override]
        yield "last"


class FinishesAGame(Mapping):
    def finish(self, game: str) -> None:  # type: ignore[override]
        pass


class AwaitsAtTheEnd(Mapping):
    async def finish(self) -> None:  # type: ignore[override]
        pass


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (YieldsAtTheEnd, r"finish\(\) of YieldsAtTheEnd yields, but nothing can be emitted there"),
        (FinishesAGame, r"finish\(\) of FinishesAGame cannot be called .*'game'.* give it another name"),
        (AwaitsAtTheEnd, r"finish\(\) of AwaitsAtTheEnd is declared with async def"),
    ],
)
def test_a_finish_that_would_not_do_what_it_says_is_refused_when_the_program_is_built(
    function: Callable[[Log], Mapping], told: str, log: Log
) -> None:
    stream = environment(RuntimeExecutionMode.STREAMING).from_collection([1])
    with pytest.raises(ProgramError, match=told):
        stream.map(function(log))


@both_modes
@pytest.mark.parametrize("fails", ["finish", "close"])
def test_a_function_that_fails_at_the_end_fails_the_job_and_names_the_operator(
    mode: RuntimeExecutionMode, fails: str, log: Log
) -> None:
    env = environment(mode)
    env.from_collection([1]).add_sink(Rows(log, fails)).name("rows")
    with pytest.raises(
        JobFailedError, match=rf"OSError: planned: {fails} \(in {fails}\(\)\)\n  in operator 'Sink: rows'"
    ):
        env.execute()


def test_a_function_that_cannot_be_finished_has_the_job_start_again_from_the_checkpoint_before(log: Log) -> None:
    class FailingOnce(Rows):
        def finish(self) -> None:
            self.fails = "" if "finish" in self.log.lines() else "finish"
            super().finish()

    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 ms"}
    env = environment(RuntimeExecutionMode.STREAMING, restarts)
    env.from_collection([1, 2]).add_sink(FailingOnce(log))
    env.execute()
    assert log.lines() == ["rows [1, 2]", "finish", "close", "rows [1, 2]", "finish", "close"]


def test_the_harness_ends_the_input_of_a_function(log: Log) -> None:
    with OperatorHarness.of(Reminding(log), key_by=_itself) as harness:
        harness.process("a")
        assert harness.end_input() == ["last"]
        harness.snapshot()
    assert log.lines() == ["timer", "finish", "snapshot ['yes']", "close"]
