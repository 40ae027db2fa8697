"""DataFrames in and out, with a Spark session beside a MiniCluster."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession, types
from pyspark.sql.functions import udf
from pyspark.sql.types import BooleanType, LongType

from headgate.common import Time, WatermarkStrategy
from headgate.common.configuration import Configuration
from headgate.connectors.datagen import DataGeneratorSource
from headgate.datastream import (
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
    WindowFunction,
)
from headgate.datastream.connectors.file_system import Encoder, FileSink
from headgate.datastream.window import TimeWindow, TumblingEventTimeWindows
from headgate.deploy.spark.dataframes.writing import FrameWriting, Reports, WriteProgress, observe_group
from headgate.deploy.spark.shared_storage import hosts_without
from headgate.elements import SavepointFormat
from headgate.errors import JobFailedError, ProgramError
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import Types
from tests.cluster.conftest import kept_session, spark, spark_folder
from tests.unit.types.every_type import EVERY, plain

__all__ = ["kept_session", "spark", "spark_folder"]

pytestmark = pytest.mark.spark


def environment(spark: SparkSession, folder: Path | None = None, **settings: str) -> StreamExecutionEnvironment:
    given = {"headgate.deploy.target": "minicluster"} | settings
    if folder is not None:
        given["execution.checkpointing.dir"] = str(folder)
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given), spark)


@pytest.fixture
def env(spark: SparkSession) -> StreamExecutionEnvironment:
    return environment(spark)


def stored(folder: Path) -> list[Path]:
    """What is left of DataFrames in the storage of a job."""
    return [path for path in folder.rglob("*.parquet") if path.is_file()]


def wait_until(holds: Callable[[], bool]) -> None:
    due_s = time.monotonic() + 120.0
    while not holds():
        assert time.monotonic() < due_s, "waited in vain"
        time.sleep(0.01)


def test_rows_of_a_dataframe_arrive_in_its_order(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "cast(id as string) as name", "id / 2 as half")
    stream = env.from_spark(frame)
    assert stream.get_type() == Types.ROW_NAMED(["id", "name", "half"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
    with stream.execute_and_collect() as records:
        rows = list(records)
    assert [row.id for row in rows] == list(range(1000))
    assert tuple(rows[3]) == (3, "3", 1.5)


@pytest.mark.parametrize("parallelism", [pytest.param(1, marks=pytest.mark.soak), 2])
def test_a_sorted_dataframe_with_a_watermark_strategy_has_no_late_row_and_the_windows_of_batch_mode(
    spark: SparkSession, parallelism: int
) -> None:
    frame = spark.range(0, 4000).selectExpr("id % 7 as user", "id as ts").orderBy("ts").repartitionByRange(9, "ts")
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row.ts)

    def windows(mode: str) -> list[tuple[int, int, int]]:
        late = OutputTag("late")
        settings = {"execution.runtime-mode": mode, "pipeline.auto-watermark-interval": "1 ms"}
        env = environment(spark, None, **settings).set_parallelism(parallelism)
        rows = env.from_spark(frame.sortWithinPartitions("ts"), watermark_strategy=by_time)
        timed = rows.key_by(lambda row: row.user).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        counts = timed.side_output_late_data(late).apply(Count())
        with counts.union(counts.get_side_output(late).map(lambda row: ("late", row))).execute_and_collect() as found:
            return sorted(found)

    expected = Counter((number % 7, number // 100 * 100) for number in range(4000))
    assert windows("STREAMING") == sorted((user, start, count) for (user, start), count in expected.items())
    assert windows("BATCH") == windows("STREAMING")


def test_each_of_several_subtasks_reads_the_rows_of_a_sorted_dataframe_in_order(
    spark: SparkSession, env: StreamExecutionEnvironment
) -> None:
    frame = spark.range(0, 900).repartitionByRange(9, "id").sortWithinPartitions("id")
    env.set_parallelism(2)
    with env.from_spark(frame).map(WithSubtask()).execute_and_collect() as found:
        rows = list(found)
    of_subtasks = [[number for subtask, number in rows if subtask == own] for own in range(2)]
    assert of_subtasks == [sorted(own) for own in of_subtasks]
    assert [len(own) > 0 for own in of_subtasks] == [True, True]
    assert sorted(number for own in of_subtasks for number in own) == list(range(900))
    # The first pieces of the DataFrame are the first of both subtasks.
    assert max(of_subtasks[0][0], of_subtasks[1][0]) < 300


def test_from_spark_takes_strategies_only(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match=r"from_spark\(\) takes a WatermarkStrategy"):
        env.from_spark(spark.range(3), watermark_strategy=5)  # type: ignore[arg-type]


class Count(WindowFunction[Any, Any, Any, TimeWindow]):
    """Counts the rows of a window."""

    def apply(self, key: Any, window: TimeWindow, inputs: Iterable[Any]) -> Iterator[tuple[Any, int, int]]:
        yield key, window.start, sum(1 for _ in inputs)


class WithSubtask(MapFunction):
    """Tells of each row which subtask has read it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, row: Any) -> tuple[int, int]:
        return self.subtask, row.id


def test_results_become_a_dataframe(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    counted = Types.ROW_NAMED(["parity", "count"], [Types.LONG(), Types.LONG()])
    counts = env.from_spark(spark.range(10)).map(lambda row: Row(row.id % 2, 1), counted).key_by(lambda row: row[0])
    frame = counts.sum(1).to_spark()
    assert frame.columns == ["parity", "count"]
    assert sorted(map(tuple, frame.groupBy("parity").max("count").collect())) == [(0, 5), (1, 5)]


def test_no_results_become_an_empty_dataframe(env: StreamExecutionEnvironment) -> None:
    frame = env.from_collection([1, 2], Types.LONG()).filter(lambda n: n > 2).to_spark()
    assert (frame.columns, frame.count()) == (["value"], 0)


def test_an_empty_dataframe_is_an_empty_stream(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    assert list(env.from_spark(spark.range(0)).execute_and_collect()) == []


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("1 a, 2 a", r"two columns 'a' in the DataFrame"),
        ("array(struct(1 a, 2 a)) pairs", r"two columns 'pairs\[\]\.a'"),
        ("parse_json('1') v", r"column 'v' of the DataFrame is 'variant'"),
        ("map(struct(array(1) a), 2) m", r"the keys of column 'm' hold arrays.*map_entries"),
        ("map('k', struct(array(interval '1' year) years)) m", r"column 'm\[value\]\.years\[\]' .* is 'interval year'"),
    ],
)
def test_a_column_that_no_record_holds_is_named_before_anything_runs(
    spark: SparkSession, env: StreamExecutionEnvironment, columns: str, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        env.from_spark(spark.sql(f"select {columns}"))


def test_a_dataframe_without_columns_is_refused(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="the DataFrame has no columns"):
        env.from_spark(spark.range(3).select())


def test_what_is_no_bounded_dataframe_is_refused(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match=r"from_spark\(\) takes a Spark DataFrame, not \[1\]"):
        env.from_spark([1])  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="this one is streaming"):
        env.from_spark(spark.readStream.format("rate").load())


def test_to_spark_needs_columns_and_an_end(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="give the last operator an output_type"):
        env.from_collection([1]).to_spark()
    endless = env.from_source(DataGeneratorSource(lambda n: n), None, "endless", Types.LONG())
    with pytest.raises(ProgramError, match="source 'endless' never does"):
        endless.to_spark()


EVERY_KIND = """
    'a' text, cast('b' as varchar(5)) varied, true flag, 1Y tiny, 2S small, 3 middle, 4L large, 1.5f single, 2.5d real,
    cast(1.25 as decimal(10, 2)) price, cast(7 as decimal(38, 0)) whole, cast(1.5 as decimal(38, 18)) exact,
    X'00ff' bytes, date'0001-01-02' day, timestamp'9999-12-31 23:59:59.123456' moment,
    timestamp'1066-10-14 09:00:00' battle, timestamp_ntz'2020-01-02 03:04:05.123456' local,
    interval '1 02:03:04.5' day to second span, cast(null as void) nothing, map(1, null) nothings,
    struct(1 as id, array(struct('x' as street, cast(2.5 as decimal(3, 1)) as share), null) as lines) address,
    map('k', struct(timestamp'2020-01-02 03:04:05' as at, array(interval '1 0:0:0' day to second) as spans)) visits,
    array(array(1L, null), null) deep, array(timestamp_ntz'2020-01-02 03:04:05') locals
"""


def every_kind(spark: SparkSession) -> DataFrame:
    """A row with a column of each type, and one of nulls; as files have no columns that are never null, none is."""
    one = spark.sql(f"select {EVERY_KIND}")
    nulls = spark.sql(
        "select " + ", ".join(f"cast(null as {t.simpleString()})" for t in (f.dataType for f in one.schema))
    )
    return one.unionByName(nulls.toDF(*one.columns)).toDF(*one.columns)


def as_nullable(frame: DataFrame) -> Any:
    return json.loads(re.sub(r'(nullable|contains\w*|value\w*)":false', r'\1":true', frame.schema.json(), flags=re.I))


def test_every_kind_of_column_comes_back_as_it_was(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(2)
    frame = every_kind(spark)
    stream = env.from_spark(frame)
    row_type = stream.get_type()
    back = stream.map(lambda row: row, row_type).to_spark()
    assert as_nullable(back) == as_nullable(frame)
    assert sorted(map(repr, back.collect())) == sorted(map(repr, frame.collect()))


OLD_CALENDAR: Final = {
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
}


@pytest.mark.parametrize("stored", ["INT96", "TIMESTAMP_MILLIS"])
def test_no_setting_of_the_session_changes_dates_and_times(
    spark: SparkSession, env: StreamExecutionEnvironment, stored: str
) -> None:
    row = spark.sql(
        "select date'0001-01-02' day, timestamp'1500-01-01 00:00:00.123456 UTC' moment, "
        "map(date'1500-01-01', array(named_struct('a.b', timestamp'1880-01-01 00:00:00.123456 UTC', 'n', 1), null)) "
        "as deep, timestamp_ntz'1500-01-01 00:00:00.123456' local"
    )
    with settings(spark, OLD_CALENDAR | {"spark.sql.parquet.outputTimestampType": stored}):
        stream = env.from_spark(row)
        [read] = stream.execute_and_collect()
        [back] = (
            stream.map(lambda row: row, stream.get_type())
            .to_spark()
            .selectExpr(
                "day", "unix_micros(moment)", "map_keys(deep)[0]", "unix_micros(deep[date'1500-01-01'][0].`a.b`)"
            )
            .collect()
        )
    moment, battle = Instant(-14_831_769_600, 123_456_000), Instant(-2_840_140_800, 123_456_000)
    assert (read.day, read.moment) == (dt.date(1, 1, 2), moment)
    assert read.local == dt.datetime(1500, 1, 1, 0, 0, 0, 123_456)
    assert read.deep == {dt.date(1500, 1, 1): [Row(**{"a.b": battle, "n": 1}), None]}
    assert tuple(back) == (read.day, _micros(moment), dt.date(1500, 1, 1), _micros(battle))


def _micros(instant: Instant) -> int:
    return instant.seconds * 1_000_000 + instant.nanos // 1000


@contextmanager
def settings(spark: SparkSession, given: dict[str, str]) -> Iterator[None]:
    """Have the session have settings meanwhile."""
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in given:
            spark.conf.unset(name)


def test_values_of_every_type_go_to_spark_and_come_back(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    has_times = hasattr(types, "TimeType")  # since 4.1
    kinds = {
        f"c{place}": kind for place, kind in enumerate(EVERY) if has_times or not re.search(r"\bTime\b", str(kind))
    }
    row_type = Types.ROW_NAMED(list(kinds), list(kinds.values()))
    turns = range(max(map(len, EVERY.values())))
    rows = [
        Row(**{name: EVERY[kind][min(turn, len(EVERY[kind]) - 1)] for name, kind in kinds.items()}) for turn in turns
    ]
    with settings(spark, OLD_CALENDAR | {"spark.sql.timeType.enabled": str(has_times).lower()}):
        frame = env.from_collection(rows, row_type).set_parallelism(1).to_spark()
        again = list(env.from_spark(frame).set_parallelism(1).execute_and_collect())
    wrong = [
        (str(kinds[name]), want[name], found[name])
        for want, found in zip(rows, again, strict=True)
        for name in kinds
        if plain(found[name]) != plain(want[name])
    ]
    assert wrong == []


def test_values_are_those_of_python(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    rows = list(env.from_spark(spark.sql(f"select {EVERY_KIND}")).execute_and_collect())
    row = rows[0]
    assert row.moment == Instant(253402300799, 123_456_000)
    assert row.local == dt.datetime(2020, 1, 2, 3, 4, 5, 123_456)
    assert (row.price, row.whole, type(row.whole)) == (Decimal("1.25"), 7, int)
    assert row.span == dt.timedelta(days=1, hours=2, minutes=3, seconds=4.5)
    assert row.address.lines[0].street == "x"
    assert row.visits["k"].spans == [dt.timedelta(days=1)]


def test_columns_may_have_any_names(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    names = ["a.b", "two words", "x,y;z{}()=", "dot`tick", "A", "a", "日本", ""]
    frame = spark.range(1).selectExpr(*["id"] * len(names)).toDF(*names)
    row = next(iter(env.from_spark(frame).execute_and_collect()))
    assert row.as_dict() == dict.fromkeys(names, 0)
    with pytest.raises(ProgramError, match=r"two fields 'A'.*differ only in case"):
        env.from_spark(frame).to_spark()


def test_odd_names_come_back(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    names = ["a.b", "two words", "x,y;z{}()=", "dot`tick", "日本"]
    back = env.from_spark(spark.range(1).selectExpr(*["id"] * len(names)).toDF(*names)).to_spark()
    assert back.columns == names
    assert [tuple(row) for row in back.collect()] == [(0,) * len(names)]


def test_a_frame_without_partitions_is_an_empty_stream(spark: SparkSession, env: StreamExecutionEnvironment) -> None:
    frame = spark.createDataFrame([], "id long, tags array<string>")
    assert env.from_spark(frame).to_spark().schema == frame.schema


def test_a_record_that_does_not_fit_its_type_is_named(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    typed = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.LONG())])
    stream = env.from_collection([(1, [1]), (2, ["two"])]).map(lambda pair: pair, typed)
    with pytest.raises(
        JobFailedError, match=r"(?s)tags: .*'two' is of type str, not a number.*record: \(2, \['two'\]\)"
    ):
        stream.to_spark()


def test_to_spark_refuses_what_spark_has_no_column_for(env: StreamExecutionEnvironment) -> None:
    for kind in (Types.PICKLED_BYTE_ARRAY(), Types.ROW_NAMED([], [])):
        with pytest.raises(ProgramError, match=r"'x\[\]'"):
            env.from_collection([]).map(lambda n: n, Types.ROW_NAMED(["x"], [Types.LIST(kind)])).to_spark()
    with pytest.raises(ProgramError, match=r"spark\.sql\.timeType\.enabled"):
        env.from_collection([]).map(lambda n: n, Types.SQL_TIME()).to_spark()


def test_a_failing_dataframe_tells_its_cause_and_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    def fail(number):  # type: ignore[no-untyped-def]  # Spark reads annotations, and these are text
        raise ValueError(f"no order {number}")

    env = environment(spark, tmp_path)
    env.from_spark(spark.range(3).select(udf(fail, LongType())("id")), "orders").print()
    with pytest.raises(JobFailedError, match=r"Spark could not write the DataFrame 'orders': ValueError: no order \d"):
        env.execute()
    assert stored(tmp_path) == []
    assert not list(tmp_path.rglob("frames"))


@pytest.mark.parametrize("name", ["runs[1]", "{a,b} *?", "100%25"])
def test_storage_may_have_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    for storage in (str(tmp_path / name), (tmp_path / name / "uri").as_uri()):
        env = environment(spark, None, **{"execution.checkpointing.dir": storage})
        frame = env.from_spark(spark.range(3)).to_spark()
        assert sorted(row.id for row in frame.collect()) == [0, 1, 2]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_that_cannot_be_read_is_told_of_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "orders.json").write_text('{"n": "one"}')
    frame = spark.read.schema("n int").option("mode", "FAILFAST").json(str(tmp_path / "orders.json"))
    env = environment(spark, tmp_path / "storage")
    env.from_spark(frame).print()
    with pytest.raises(JobFailedError, match=r"orders\.json.*caused by: .*field name 'n' and the value one"):
        env.execute()


def test_a_cancelled_job_cancels_what_spark_writes(spark: SparkSession, tmp_path: Path) -> None:
    tracker = spark.sparkContext.statusTracker()
    env = environment(spark, tmp_path)
    env.from_spark(spark.range(2).selectExpr("reflect('java.lang.Thread', 'sleep', 60000L + id)")).print()
    job = env.submit()
    wait_until(lambda: bool(tracker.getActiveStageIds()))
    job.cancel()
    outcome = job.wait(120.0)
    assert outcome is not None
    assert (outcome.status.word, outcome.cause) == ("cancelled", None)
    wait_until(lambda: not tracker.getActiveJobsIds())
    assert stored(tmp_path) == []


def test_a_stream_of_a_job_that_was_cancelled_is_read_by_the_next_one(spark: SparkSession, tmp_path: Path) -> None:
    tracker = spark.sparkContext.statusTracker()
    (tmp_path / "slow").touch()
    frame = spark.range(2).filter(udf(partial(await_absence, tmp_path / "slow"), BooleanType())("id"))
    stream = environment(spark, tmp_path).from_spark(frame)
    for _ in range(2):
        stream.print()
        job = stream.get_execution_environment().submit()
        wait_until(lambda: bool(tracker.getActiveStageIds()))
        job.cancel()
        outcome = job.wait(120.0)
        assert outcome is not None
        assert outcome.status.word == "cancelled"
    (tmp_path / "slow").unlink()
    assert stream.to_spark().count() == 2


def await_absence(path, _):  # type: ignore[no-untyped-def]  # Spark reads annotations, and these are text
    due_s = time.monotonic() + 120.0
    while path.exists() and time.monotonic() < due_s:
        time.sleep(0.05)
    return True


def test_what_was_written_goes_with_the_job(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(spark, tmp_path)
    env.from_spark(spark.range(10)).map(lambda row: row).print()
    env.execute()
    assert stored(tmp_path) == []
    env.from_spark(spark.range(10)).map(lambda row: 1 / row.id).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()
    assert stored(tmp_path) == []


def test_without_storage_nothing_is_left_either(
    spark: SparkSession, env: StreamExecutionEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env.from_spark(spark.range(10)).print()
    env.execute()
    assert list(tmp_path.iterdir()) == []


def slow_job(spark: SparkSession, folder: Path, savepoint: str | None = None, **settings: str) -> Any:
    recovery = {} if savepoint is None else {"execution.state-recovery.path": savepoint}
    env = environment(spark, folder, **recovery, **settings)
    rate = 1_000.0 if savepoint is None else None
    rows = env.from_spark(spark.range(0, 10_000, 1, 4), "numbers", rate).uid("numbers")
    rows.map(lambda row: row.id, Types.LONG()).uid("ids").sink_to(ids_sink(folder)).uid("sink")
    return env.submit()


def ids_sink(folder: Path) -> Any:
    return FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()


def ids_in(folder: Path) -> list[int]:
    files = [path for path in (folder / "out").rglob("part-*") if path.is_file() and not path.name.startswith(".")]
    return sorted(int(line) for path in files for line in path.read_text().split())


def test_a_savepoint_keeps_the_rows_that_it_has_still_to_read(spark: SparkSession, tmp_path: Path) -> None:
    job = slow_job(spark, tmp_path)
    wait_until(lambda: sum(job.progress.records_in.values()) > 100)
    savepoint = job.stop_with_savepoint(False, str(tmp_path / "savepoints"), SavepointFormat.CANONICAL).result(120.0)
    assert job.wait(120.0).status.word == "finished"
    assert stored(tmp_path) != []
    assert slow_job(spark, tmp_path, savepoint).wait(120.0).status.word == "finished"
    assert ids_in(tmp_path) == list(range(10_000))


def test_rows_that_are_gone_are_a_clear_error(spark: SparkSession, tmp_path: Path) -> None:
    job = slow_job(spark, tmp_path)
    wait_until(lambda: sum(job.progress.records_in.values()) > 100)
    savepoint = job.stop_with_savepoint(False, str(tmp_path / "savepoints"), SavepointFormat.CANONICAL).result(120.0)
    job.wait(120.0)
    for folder in tmp_path.rglob("frames"):
        shutil.rmtree(folder)
    outcome = slow_job(spark, tmp_path, savepoint, **{"execution.checkpointing.interval": "1 s"}).wait(120.0)
    assert outcome.status.word == "failed"
    assert "are gone: bring the folder back, or start without the snapshot" in outcome.cause


@pytest.mark.parametrize("retention", ["RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"])
def test_a_retained_checkpoint_keeps_rows_and_no_other_does(
    spark: SparkSession, tmp_path: Path, retention: str
) -> None:
    settings = {
        "execution.checkpointing.externalized-checkpoint-retention": retention,
        "execution.checkpointing.interval": "1 h",
    }
    job = slow_job(spark, tmp_path, **settings)
    wait_until(lambda: sum(job.progress.records_in.values()) > 100)
    location = job.trigger_checkpoint().result(120.0)
    job.cancel()
    assert job.wait(120.0).status.word == "cancelled"
    assert bool(stored(tmp_path)) == (retention == "RETAIN_ON_CANCELLATION")
    if stored(tmp_path):
        assert slow_job(spark, tmp_path, location).wait(120.0).status.word == "finished"
        assert set(ids_in(tmp_path)) == set(range(10_000))


def test_to_spark_leaves_nothing_of_a_job_that_failed(spark: SparkSession, tmp_path: Path) -> None:
    stream = environment(spark, tmp_path).from_collection([1, 0]).map(lambda n: 1 // n, Types.LONG())
    with pytest.raises(JobFailedError):
        stream.to_spark()
    assert not list(tmp_path.glob("to-spark-*"))


def test_how_far_spark_has_got_is_known(spark: SparkSession, tmp_path: Path) -> None:
    context = spark.sparkContext
    context.setJobGroup("look", "a look")
    spark.range(0, 100, 1, 3).write.parquet(str(tmp_path / "rows"))
    progress = observe_group(context, "look")
    assert (progress.tasks_done, progress.tasks, progress.rows) == (3, 3, 100)
    assert progress.size_bytes
    assert observe_group(context, "nobody") == WriteProgress()


def test_what_takes_long_is_told_on_standard_error(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    FrameWriting(spark.range(1), "the DataFrame 'orders'").tell(Reports("orders", time.monotonic() - 60.0))
    assert re.fullmatch(r"headgate: writing orders: not yet begun, 6\d s\n", capfd.readouterr().err)


def test_who_does_not_see_a_folder_is_named(spark: SparkSession, tmp_path: Path) -> None:
    assert hosts_without(spark, str(tmp_path)) == []
    assert hosts_without(spark, str(tmp_path / "none")) == [socket.gethostname()]
