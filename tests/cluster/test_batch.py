"""Batch jobs on Spark: they put out what streaming jobs do, sort DataFrames by their columns, and recover."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import data
import joined
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from reference import expected_alerts

from headgate.common import Configuration, Encoder, JobStatus, Types, WatermarkStrategy
from headgate.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headgate.datastream.connectors.file_system import FileSink
from headgate.datastream.connectors.number_seq import NumberSequenceSource
from headgate.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headgate.errors import JobFailedError, ProgramError
from tests.docs.test_flights import write_flights
from tests.property.random_programs import Program, build, programs
from tests.property.test_batch_equals_streaming import run
from tests.sample_size import sample_size
from tests.unit.operators.functions import time_of

pytestmark = pytest.mark.spark

BATCH, STREAMING = RuntimeExecutionMode.BATCH, RuntimeExecutionMode.STREAMING
COUNT = 500
ODD = OutputTag("odd")
RATES = MapStateDescriptor("rates", Types.STRING(), Types.LONG())


def environment(spark: SparkSession, mode: RuntimeExecutionMode, parallelism: int = 3) -> StreamExecutionEnvironment:
    return (
        StreamExecutionEnvironment.get_execution_environment(spark=spark)
        .set_parallelism(parallelism)
        .set_runtime_mode(mode)
    )


def collected(stream: DataStream) -> Counter[Any]:
    with stream.execute_and_collect() as records:
        return Counter(records)


class Walk(KeyedProcessFunction):
    """Puts out each record, and the sum of a key's when its timer fires; odd numbers go aside, too."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(10**9)
        yield ctx.get_current_key(), value[1]
        if value[1] % 2:
            yield ODD, value[1]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), "end", self.sum.value()


class Pairs(KeyedCoProcessFunction):
    """Puts out a key when it has been on both sides."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self._seen(1, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self._seen(2, ctx)

    def _seen(self, side: int, ctx: Any) -> Iterator[Any]:
        before = self.seen.value() or 0
        self.seen.update(before | side)
        if before | side == 3 and before != 3:
            yield ctx.get_current_key()


class Priced(KeyedBroadcastProcessFunction):  # type: ignore[type-arg]  # as users write it
    """Multiplies by a rate that every task has."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value[0], value[1] * ctx.get_broadcast_state(RATES).get("all")

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RATES).put(*value)


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([(f"k{number % 7}", number) for number in range(COUNT)])


def of_keys(env: StreamExecutionEnvironment) -> DataStream:
    walk = (
        numbers(env).map(lambda pair: (pair[0], pair[1] + 1)).rebalance().key_by(lambda pair: pair[0]).process(Walk())
    )
    return walk.union(walk.get_side_output(ODD).map(lambda odd: ("odd", odd)))


def of_two_streams(env: StreamExecutionEnvironment) -> DataStream:
    other = env.from_collection(list(range(0, COUNT, 3))).map(lambda number: (f"k{number % 11}", number))
    return numbers(env).connect(other).key_by(lambda one: one[0], lambda two: two[0]).process(Pairs())


@pytest.mark.parametrize("program", [of_keys, of_two_streams])
def test_batch_puts_out_what_streaming_does(spark: SparkSession, program: Callable[[Any], DataStream]) -> None:
    in_this_process = Configuration().set_string("headgate.deploy.target", "minicluster")
    streaming = program(StreamExecutionEnvironment.get_execution_environment(in_this_process))
    assert collected(program(environment(spark, BATCH))) == collected(streaming)


@pytest.mark.soak
def test_spark_puts_out_what_a_batch_job_in_this_process_does(spark: SparkSession) -> None:
    @seed(25)
    @settings(
        max_examples=sample_size(15),
        deadline=None,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def check(program: Program) -> None:
        outputs, here = run(program, "BATCH")
        env = environment(spark, BATCH)
        ends: list[DataStream] = []
        build(program, env, lambda stream, name, _: ends.append(stream.map(lambda record: (name, record))))
        there = collected_by_name(ends[0].union(*ends[1:]) if len(ends) > 1 else ends[0])
        assert {name: Counter(here[name]) for name in outputs} == {name: Counter(there[name]) for name in outputs}

    check()


def collected_by_name(stream: DataStream) -> dict[str, list[Any]]:
    found = defaultdict(list)
    with stream.execute_and_collect() as records:
        for name, record in records:
            found[name].append(record)
    return found


def test_what_is_broadcast_is_there_before_the_records(spark: SparkSession) -> None:
    env = environment(spark, BATCH)
    rates = env.from_collection([("all", 10)]).broadcast(RATES)
    priced = numbers(env).key_by(lambda pair: pair[0]).connect(rates).process(Priced())
    assert collected(priced) == Counter((f"k{number % 7}", number * 10) for number in range(COUNT))


class Heard(KeyedBroadcastProcessFunction):  # type: ignore[type-arg]  # as users write it
    """Puts out what is broadcast."""

    def process_element(self, value: Any, ctx: Any) -> None: ...

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


def test_what_is_broadcast_is_heard_by_every_task_also_where_there_is_nothing_else(spark: SparkSession) -> None:
    env = environment(spark, BATCH, parallelism=4)
    nothing = env.from_collection([1]).filter(lambda number: False).key_by(lambda number: number)
    heard = nothing.connect(env.from_collection(["a"]).broadcast(RATES)).process(Heard())
    assert collected(heard) == Counter({"a": 4})


def test_tasks_whose_records_are_broadcast_run_once_and_their_order_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    def told(number: int) -> int:
        with (tmp_path / "told").open("a") as file:
            file.write(f"{number}\n")
        return number

    env = environment(spark, BATCH, parallelism=2)
    sent = env.from_source(NumberSequenceSource(1, 6), None, "numbers").map(told).broadcast()
    with sent.map(lambda number: number).set_parallelism(1).execute_and_collect() as records:
        assert list(records) == [1, 3, 5, 2, 4, 6]
    assert sorted((tmp_path / "told").read_text().split()) == list("123456")


def test_a_stream_that_is_only_broadcast_is_read_by_every_task(spark: SparkSession) -> None:
    env = environment(spark, BATCH, parallelism=3)
    assert collected(env.from_collection([1, 2]).broadcast().map(lambda number: number)) == Counter({1: 3, 2: 3})


def test_sources_that_are_united_are_read_whole(spark: SparkSession) -> None:
    env = environment(spark, BATCH, parallelism=2)
    low, high = (env.from_source(NumberSequenceSource(*ends), None, "numbers") for ends in ((1, 4), (11, 14)))
    assert collected(low.union(high)) == Counter([1, 2, 3, 4, 11, 12, 13, 14])


class Times(KeyedProcessFunction):
    """Puts out the times of a key's records as they come, at its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.times.add(str(time_of(ctx)))
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), tuple(self.times.get())


def test_records_of_all_times_come_in_their_order_those_without_one_first(spark: SparkSession) -> None:
    times = [-(2**62), -(2**42), -1025, -1, 0, 1, 1023, 1024, 10**12, 2**42, 2**42 + 1, 2**62]
    env = environment(spark, BATCH)
    by_time = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda pair, _: pair[1])
    timed = env.from_collection([(key, at) for at in reversed(times) for key in "abc"])
    without = env.from_collection([(key, None) for key in "abc"])
    stream = timed.assign_timestamps_and_watermarks(by_time).union(without).key_by(lambda pair: pair[0])
    assert collected(stream.process(Times())) == Counter((key, ("None", *map(str, times))) for key in "abc")


# --- DataFrames


class InOrder(KeyedProcessFunction):
    """Puts out each number with the one before it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, row: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        before = self.last.value()
        self.last.update(row.number)
        yield ctx.get_current_key(), before, row.number, time_of(ctx)


class Marks(KeyedProcessFunction):
    """Puts out the marks of rows."""

    def process_element(self, row: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield row.mark


def shuffled(spark: SparkSession, key: str) -> DataFrame:
    """Return numbers in no order, in four partitions, with a time that tells their order."""
    rows = spark.range(COUNT).select(
        f.expr(key).alias("key"), f.col("id").alias("number"), (f.col("id") * 10).alias("at")
    )
    return rows.orderBy(f.hash("number")).repartition(4)


def expected_in_order(keys: Callable[[int], Any]) -> Counter[Any]:
    last: dict[Any, int] = {}
    found: Counter[Any] = Counter()
    for number in range(COUNT):
        found[keys(number), last.get(keys(number)), number, number * 10] += 1
        last[keys(number)] = number
    return found


@pytest.mark.parametrize(
    ("key", "keys", "select"),
    [
        ("concat('key', id % 9)", lambda number: f"key{number % 9}", lambda row: row.key),
        ("id % 9 - 4", lambda number: number % 9 - 4, lambda row: row["key"]),
        ("(id % 9) * 10000000000", lambda number: number % 9 * 10_000_000_000, lambda row: row[0]),
        ("concat('key', id % 9)", lambda number: ("key", number % 9), lambda row: (row.key[:3], int(row.key[3:]))),
    ],
    ids=["text", "number", "large number", "computed"],
)
def test_the_rows_of_a_key_come_in_the_order_of_their_time(
    spark: SparkSession, key: str, keys: Callable[[int], Any], select: Callable[[Any], Any]
) -> None:
    env = environment(spark, BATCH)
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.at)
    assigned = env.from_spark(shuffled(spark, key)).assign_timestamps_and_watermarks(by_time)
    assert collected(assigned.key_by(select).process(InOrder())) == expected_in_order(keys)
    in_source = env.from_spark(shuffled(spark, key), watermark_strategy=by_time)
    assert collected(in_source.key_by(select).process(InOrder())) == expected_in_order(keys)


def test_a_dataframe_that_two_stages_read_is_computed_once(spark: SparkSession) -> None:
    rows = spark.range(40).select(f.expr("id % 3").alias("key"), f.udf(lambda: str(uuid4()))().alias("mark"))
    stream = environment(spark, BATCH).from_spark(rows)
    keyed = stream.key_by(lambda row: row.key).process(Marks())
    found = collected(keyed.union(stream.map(lambda row: row.mark)))
    assert (len(found), set(found.values())) == (40, {2})


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_dataframe_that_is_united_and_read_alone_has_tasks_numbered_as_its_partitions(
    spark: SparkSession, adaptive: str, tmp_path: Path
) -> None:
    """In a union it has other partitions; here one is empty, and has no row to tell its number."""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        env = environment(spark, BATCH, parallelism=2)
        low, high = spark.range(0, 6, 1, 2), spark.range(6, 18, 1, 4).where("id < 12 or id > 14")
        streams = [env.from_spark(each).map(lambda row: row.id).start_new_chain() for each in (low, high)]
        for name, stream in {"both": streams[0].union(streams[1]), "high": streams[1]}.items():
            stream.sink_to(FileSink.for_row_format(str(tmp_path / name), Encoder.simple_string_encoder()).build())
        env.execute()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "true")
    written = {
        name: sorted(int(line) for part in (tmp_path / name).rglob("part-*") for line in part.read_text().split())
        for name in ("both", "high")
    }
    assert written == {"both": [*range(12), 15, 16, 17], "high": [*range(6, 12), 15, 16, 17]}


def test_null_is_a_key(spark: SparkSession) -> None:
    env = environment(spark, BATCH)
    stream = env.from_spark(spark.createDataFrame([("a", 1), (None, 2), (None, 3)], "key string, number long"))
    found = collected(stream.key_by(lambda row: row.key).process(InOrder()))
    assert Counter((key, before, number) for key, before, number, _ in found) == Counter(
        [("a", None, 1), (None, None, 2), (None, 2, 3)]
    )


def test_a_time_that_is_null_is_refused_with_its_column(spark: SparkSession) -> None:
    env = environment(spark, BATCH)
    rows = spark.createDataFrame([("a", 1, None)], "key string, number long, at long")
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.at)
    stream = env.from_spark(rows).assign_timestamps_and_watermarks(by_time)
    with pytest.raises(JobFailedError, match=r"column 'at'.*is null in some rows"):
        collected(stream.key_by(lambda row: row.key).process(InOrder()))


# --- errors


def test_an_error_of_user_code_is_told_with_its_record(spark: SparkSession) -> None:
    with pytest.raises(JobFailedError, match=r"ZeroDivisionError(.|\n)*in operator 'Map'(.|\n)*record: \('k3', 10\)"):
        collected(numbers(environment(spark, BATCH)).map(lambda pair: 1 // (pair[1] - 10)))


def test_what_a_batch_job_cannot_do_is_told_before_anything_runs(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    env = environment(spark, BATCH)
    env.from_spark_stream(stream, "/nowhere").print()
    with pytest.raises(ProgramError, match="BATCH, but source"):
        env.execute()


@pytest.mark.parametrize("after_s", [0.0, 1.0])
def test_a_job_that_is_cancelled_ends_at_once(spark: SparkSession, after_s: float, tmp_path: Path) -> None:
    def work(number: int) -> int:
        time.sleep(0.1)
        return number

    env = environment(spark, BATCH)
    stream = env.from_collection(list(range(300))).map(work).key_by(lambda number: number % 3)
    stream.map(lambda number: (tmp_path / "second stage").touch()).print()
    job = env.execute_async()
    time.sleep(after_s)  # before Spark has a job, and while it runs one
    job.cancel().result()
    assert job.get_job_status().result() is JobStatus.CANCELED
    assert not (tmp_path / "second stage").exists()


# --- the example


def test_the_example_puts_out_the_same_in_both_modes(spark: SparkSession, tmp_path: Path) -> None:
    write_flights(tmp_path / "flights.csv", 1_000)
    flights = data.departed(data.read(spark, tmp_path / "flights.csv")).withColumn("dest", f.lit("LAX"))
    planes = spark.createDataFrame([("N1", "EMBRAER", "E1")], "tailnum string, manufacturer string, model string")
    airports = spark.createDataFrame([("LAX", "Los Angeles")], "faa string, name string")
    table = joined.joined(flights, planes, airports)
    streaming, batch = joined.run(table, STREAMING), joined.run(table, BATCH)
    assert joined.differences(streaming, batch) == 0
    assert batch.count() == len(expected_alerts(tmp_path / "flights.csv")) > 20
    assert {row.manufacturer for row in batch.where("tailnum = 'N1'").collect()} == {"EMBRAER"}
    batch.write.mode("overwrite").option("path", str(tmp_path / "table")).saveAsTable(joined.TABLE)
    assert joined.differences(spark.table(joined.TABLE), streaming) == 0
