"""Running plans: rows, batches, limits and errors."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from headgate import dataframe as pf
from headgate.common import Row


def test_rows_come_as_rows_dicts_tables_and_pandas() -> None:
    frame = pf.from_dict({"n": [1, 2], "s": ["a", None]})
    assert frame.collect() == [Row(n=1, s="a"), Row(n=2, s=None)]
    with frame.iter_rows() as found:
        assert list(found) == [{"n": 1, "s": "a"}, {"n": 2, "s": None}]
    pdf = frame.to_pandas()
    assert isinstance(pdf, pd.DataFrame)
    assert pdf["n"].tolist() == [1, 2]
    assert frame.take(1, include_row_kind=True) == [{"n": 1, "s": "a", "__row_kind__": "+I"}]
    table = frame.take_batch(5, batch_format="pyarrow", include_row_kind=True, row_kind_field="kind")
    assert isinstance(table, pa.Table)
    assert table.column_names == ["n", "s", "kind"]


@pytest.mark.parametrize("size", [1, 999, 1000, 2500, 3000])
def test_batches_have_exactly_the_size(size: int) -> None:
    with pf.range(2500).iter_batches(batch_size=size, batch_format="pyarrow") as tables:
        found = list(tables)
    whole, rest = divmod(2500, size)
    assert [table.num_rows for table in found] == [size] * whole + [rest] * bool(rest)
    assert pa.concat_tables(found).column("id").to_pylist() == list(range(2500))


def test_take_ends_the_job_and_closing_an_iterator_too() -> None:
    endless = pf.range(10**12)
    assert endless.take(3) == [{"id": 0}, {"id": 1}, {"id": 2}]
    assert endless.take(0) == []
    with endless.iter_rows() as found:
        assert next(found) == {"id": 0}
    found.close()
    with pytest.raises(StopIteration):
        next(found)


def test_take_returns_what_there_is_after_the_timeout() -> None:
    nothing = pf.range(10**12).filter(pf.col("id") < 2)
    began = time.monotonic()
    assert nothing.take(5, timeout=0.5) == [{"id": 0}, {"id": 1}]
    assert time.monotonic() - began >= 0.5


def test_times_come_in_the_zone_of_the_session(environment: Any) -> None:
    environment.get_config().set("table.local-time-zone", "Asia/Tokyo")
    (row,) = pf.from_dict({"at": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]}).collect()
    assert row.at.isoformat() == "2024-01-01T09:00:00+09:00"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, ValueError),
        ({"batch_size": True}, TypeError),
        ({"batch_format": "polars"}, ValueError),
        ({"batch_format": 5}, TypeError),
        ({"include_row_kind": True, "row_kind_field": "id"}, ValueError),
        ({"include_row_kind": True, "row_kind_field": ""}, ValueError),
        ({"include_row_kind": 1}, TypeError),
        ({"row_kind_field": 1}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_before_a_job_runs(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pf.range(3).iter_batches(**arguments)


@pytest.mark.parametrize(
    ("n", "timeout", "error"),
    [
        (-1, None, ValueError),
        (True, None, TypeError),
        ("3", None, TypeError),
        (1, -1, ValueError),
        (1, float("inf"), ValueError),
        (1, True, TypeError),
        (1, "1", TypeError),
    ],
)
def test_wrong_arguments_of_take_are_refused(n: Any, timeout: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pf.range(3).take(n, timeout=timeout)


def test_a_failed_job_raises_and_the_next_runs() -> None:
    with pytest.raises(Exception, match="divided by zero"):
        pf.range(3).select(x=1 / pf.col("id")).collect()
    assert pf.range(1).collect() == [Row(id=0)]


def test_a_plan_is_shown_as_text_and_rows_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pf.range(3).select("id", name=pf.col("id").cast(str))
    frame.show(2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["id", "name"], ["0", "0"], ["1", "1"]]
    assert "<td>name</td>" in frame._repr_html_()
    assert "Scan range [id]" in frame.explain()
