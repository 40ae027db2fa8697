"""The first row of each key."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import dataframe as pf
from headgate.common import Row
from headgate.errors import UnsupportedError
from tests.sample_size import sample_size


@settings(max_examples=sample_size(15))
@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 3), st.floats()), min_size=1, max_size=40))
def test_the_first_row_of_each_key_is_kept(rows: list[tuple[Any, int, float]]) -> None:
    frame = pf.from_dict(
        {"k": [k for k, _, _ in rows] + ["z"], "n": [n for _, n, _ in rows] + [0], "x": [x for _, _, x in rows] + [0.5]}
    )
    found = frame.drop_duplicates(["k", "n"]).collect()
    expected: dict[tuple[Any, int], float] = {}
    for k, n, x in [*rows, ("z", 0, 0.5)]:
        expected.setdefault((k, n), x)
    assert {(row.k, row.n): repr(row.x) for row in found} == {key: repr(x) for key, x in expected.items()}
    assert len(found) == len(expected)


def test_all_columns_make_the_key_by_default_and_keys_are_equal_as_in_sql() -> None:
    nan = float("nan")
    frame = pf.from_dict({"x": [nan, nan, 0.0, -0.0, None, None]})
    assert [repr(row.x) for row in frame.distinct().collect()] == ["nan", "0.0", "None"]


def test_every_type_comes_out_as_it_went_in() -> None:
    record = {
        "at": dt.datetime(2024, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
        "day": dt.date(1, 1, 1),
        "t": dt.time(1, 2, 3, 4),
        "list": [1, None],
        "map": {"k": 1},
        "b": b"x",
        "k": 1,
    }
    keys = ["k", "at", "day", "t", "b"]
    assert pf.from_records([record, record]).drop_duplicates(keys).take(5) == [record]


def test_keys_are_remembered_over_batches_and_subtasks(environment: Any) -> None:
    environment.get_config().set("parallelism.default", "3").set("headgate.batch.records", "16")
    frame = pf.range(3000).select(k=pf.col("id") % 50)
    assert sorted(row.k for row in frame.unique().collect()) == list(range(50))


def test_what_changes_with_each_row_is_refused() -> None:
    frame = pf.from_records([{"k": 1, "list": [1]}])
    for arguments, error in [
        ({"subset": ["k"], "keep": "last"}, UnsupportedError),
        ({"subset": ["k"], "order_by": "k"}, UnsupportedError),
        ({"order_by": "k"}, ValueError),
        ({"subset": ["k"], "nulls_first": True}, ValueError),
        ({"keep": "any"}, ValueError),
        ({"subset": []}, ValueError),
        ({"subset": ["no"]}, ValueError),
        ({"subset": "k"}, TypeError),
        ({}, ValueError),
    ]:
        with pytest.raises(error):
            frame.drop_duplicates(**arguments)  # type: ignore[arg-type]


def test_a_dropped_column_is_not_read(tmp_path: Path) -> None:
    pf.from_dict({"k": [1, 1], "a": [1, 2], "b": [3, 4]}).write_parquet(str(tmp_path))
    schema = {name: pf.DataType.int64() for name in ("k", "a", "b")}
    frame = pf.read_parquet(str(tmp_path), schema=schema).drop_duplicates(["k"]).select("b")
    assert f"Scan files {tmp_path} [k, b]" in frame.explain()
    assert frame.collect() == [Row(b=3)]
