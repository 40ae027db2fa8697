"""Statistics of columns, as Polars defines them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate import dataframe as pf


def described(frame: pf.DataFrame, *percentiles: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = frame.describe(*percentiles, batch_format="pyarrow").to_pydict()
    return found


def test_numbers_have_all_statistics(environment: Any) -> None:
    environment.get_config().set("parallelism.default", "2").set("headgate.batch.records", "2")
    values: dict[str, list[Any]] = {
        "i": [4, 1, None, 3, 2],
        "x": [0.5, None, None, None, None],
        "d": [Decimal("1.5"), Decimal("2.5"), Decimal("3.5"), None, Decimal("4.5")],
        "b": [True, False, None, True, True],
        "none": pa.array([None] * 5, pa.float64()),
    }
    found = described(pf.from_arrow(pa.table({name: pa.array(own) for name, own in values.items()})))
    assert found["statistic"] == ["count", "null_count", "mean", "std", "min", "25%", "50%", "75%", "max"]
    spread = pytest.approx((5 / 3) ** 0.5)
    assert found["i"] == [4.0, 1.0, 2.5, spread, 1.0, 2.0, 3.0, 3.0, 4.0]
    assert found["x"] == [1.0, 4.0, 0.5, None, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert found["d"] == [4.0, 1.0, 3.0, spread, 1.5, 2.5, 3.5, 3.5, 4.5]
    assert found["b"] == [4.0, 1.0, 0.75, None, 0.0, None, None, None, 1.0]
    assert found["none"] == [0.0, 5.0, *[None] * 7]


def test_other_columns_have_texts(environment: Any) -> None:
    environment.get_config().set_local_timezone("Asia/Tokyo")
    day = dt.date(2024, 1, 1)
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    frame = pf.from_dict(
        {
            "statistic": ["b", "a", None],
            "day": [day, day + dt.timedelta(days=3), None],
            "at": [at, at + dt.timedelta(hours=2), at + dt.timedelta(hours=1)],
            "time": [dt.time(1), None, dt.time(2)],
            "list": [[1], None, []],
        }
    )
    found = described(frame, [0.5])
    assert found["_statistic"] == ["count", "null_count", "mean", "std", "min", "50%", "max"]
    assert found["statistic"] == ["2", "1", None, None, "a", None, "b"]
    assert found["day"] == ["2", "1", "2024-01-02", None, "2024-01-01", "2024-01-04", "2024-01-04"]
    noon = "2024-01-01 10:00:00+09:00"
    assert found["at"] == ["3", "0", noon, None, "2024-01-01 09:00:00+09:00", noon, "2024-01-01 11:00:00+09:00"]
    assert found["time"] == ["2", "1", "01:30:00", None, "01:00:00", "02:00:00", "02:00:00"]
    assert found["list"] == ["2", "1", *[None] * 5]


def test_percentiles_are_checked_before_the_job_runs() -> None:
    frame = pf.range(3)
    assert frame.describe(None)["statistic"].tolist()[4:] == ["min", "max"]
    assert frame.describe((0.9, 0.123))["statistic"].tolist()[5:7] == ["12.3%", "90%"]
    wrongs: list[tuple[Any, type[Exception]]] = [(1.5, ValueError), (["x"], TypeError), ([True], TypeError)]
    for wrong, error in wrongs:
        with pytest.raises(error, match="percentiles"):
            frame.describe(wrong)
    with pytest.raises(ValueError, match="batch_format"):
        frame.describe(batch_format="polars")
    assert described(frame.filter("id > 5"))["id"] == [0.0, 0.0, *[None] * 7]


def test_large_integers_are_described() -> None:
    found = pf.from_dict({"n": [2**62 + 1, 2**62 + 3]}).describe()
    assert found["n"].tolist()[:3] == [2.0, 0.0, 2.0**62]
