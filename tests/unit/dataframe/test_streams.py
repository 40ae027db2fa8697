"""DataFrames and the DataStream API in one job."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.common import Configuration, Row, Types
from headgate.datastream import ProcessFunction, StreamExecutionEnvironment
from headgate.errors import ProgramError

TYPE = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    settings = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    return StreamExecutionEnvironment.get_execution_environment(settings)


def test_records_of_a_stream_become_columns_and_rows_again(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([Row(1, "a"), Row(2, None)], TYPE)
    frame = pf.from_data_stream(stream).with_column("id", pf.col("id") + 1)
    assert frame.collect() == [Row(id=2, name="a"), Row(id=3, name=None)]
    back = frame.to_data_stream()
    assert back.get_type() == TYPE
    with back.map(lambda row: row.id * 10).execute_and_collect() as records:
        assert list(records) == [20, 30]


def test_a_schema_for_records_without_a_type(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([{"id": 1, "x": 2.0}, {"id": 2, "x": None}])
    schema = {"x": pf.DataType.float64(), "id": pf.DataType.int64()}
    assert pf.from_data_stream(stream, schema=schema).collect() == [Row(x=2.0, id=1), Row(x=None, id=2)]
    with pytest.raises(ProgramError, match="schema"):
        pf.from_data_stream(stream)
    with pytest.raises(TypeError):
        pf.from_data_stream([1])  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"(?s)'id'.*'z'"):
        pf.from_data_stream(env.from_collection([{"id": "z"}]), schema={"id": pf.DataType.int64()}).collect()


def test_event_time_goes_both_ways(env: StreamExecutionEnvironment) -> None:
    rows = [Row(dt.datetime(1970, 1, 1, 0, 0, second), second) for second in range(6)]
    stream = env.from_collection(rows, Types.ROW_NAMED(["ts", "n"], [Types.SQL_TIMESTAMP(), Types.LONG()]))
    frame = pf.from_data_stream(stream, watermark=("ts", "ts"))
    windows = frame.tumble(on="ts", size=dt.timedelta(seconds=2)).group_by("window_start", "window_end", "window_time")
    sums = windows.agg(total=pf.col("n").sum).select("total", "window_time")

    class Times(ProcessFunction):
        def process_element(self, value: Row, ctx: ProcessFunction.Context) -> Any:
            yield value.total, ctx.timestamp()

    with sums.to_data_stream().process(Times()).execute_and_collect() as records:
        assert list(records) == [(1, 1999), (5, 3999), (9, 5999)]


def test_a_union_with_a_frame_of_a_stream_runs_in_one_job(env: StreamExecutionEnvironment) -> None:
    stream = pf.from_data_stream(env.from_collection([Row(7, "s")], TYPE))
    both = stream.union_all(pf.from_records([{"id": 8, "name": "t"}]))
    assert sorted(row.id for row in both.collect()) == [7, 8]
    other = StreamExecutionEnvironment.get_execution_environment()
    two = stream.union_all(pf.from_data_stream(other.from_collection([Row(7, "s")], TYPE)))
    with pytest.raises(ValueError, match="environments"):
        two.collect()
