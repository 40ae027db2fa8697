"""Expressions of the type, the time and the watermark."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from headgate import dataframe as pf
from headgate.table.expressions import call_sql, current_watermark, typeof

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
MS = dt.timedelta(milliseconds=1)


@pytest.mark.parametrize("kind", ["TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"])
def test_the_watermark_is_the_latest_complete_time_before_the_batch(environment: Any, kind: str) -> None:
    environment.get_config().set("headgate.batch.records", "1")
    times = [1, 9, 3, 20]
    frame = pf.from_dict({"n": times, "t": [EPOCH + time * SECOND for time in times]})
    timed = frame.select("n", ts=pf.col("t").cast(kind)).with_watermark("ts", 2 * SECOND)
    marked = timed.with_columns(w=current_watermark(pf.col("ts")), late=call_sql("ts <= CURRENT_WATERMARK(ts)"))
    assert str(marked.schema.type_of("w")) == kind
    zone = EPOCH.tzinfo if kind.startswith("TIMESTAMP_LTZ") else None
    epoch = EPOCH.replace(tzinfo=zone)
    before = [None, -1 * SECOND - MS, 7 * SECOND - MS, 7 * SECOND - MS]
    found = marked.collect()
    assert [row.w for row in found] == [None if own is None else epoch + own for own in before]
    assert [row.late for row in found] == [None, False, True, False]
    kept = timed.filter(call_sql("CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts)"))
    assert [row.n for row in kept.collect()] == [1, 9, 20]


def test_types_and_the_time_of_processing() -> None:
    frame = pf.from_dict({"s": ["a", None], "n": [1, 2]})
    (row, _) = frame.select(
        a=typeof(pf.col("s")), b=typeof(pf.lit(1) / 2), c=call_sql("TYPEOF(n * 1.5)"), now=call_sql("PROCTIME()")
    ).collect()
    assert (row.a, row.b, row.c) == ("STRING", "INT NOT NULL", "DECIMAL(22, 1) NOT NULL")
    assert abs(row.now.timestamp() - time.time()) < 60
    assert str(frame.select(now=call_sql("PROCTIME()")).schema.type_of("now")) == "TIMESTAMP_LTZ(3) NOT NULL"


def test_what_is_no_event_time_has_no_watermark() -> None:
    frame = pf.from_dict({"t": [EPOCH], "n": [1]})
    for wrong in ("t", "n"):
        with pytest.raises(ValueError, match="event time"):
            frame.select(current_watermark(pf.col(wrong)))
    with pytest.raises(ValueError, match="declare the watermark"):
        frame.select(call_sql("SOURCE_WATERMARK()"))
