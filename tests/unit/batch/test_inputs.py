"""The rows of a DataFrame that Spark has sorted: which records a task gets in one go, and under which key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headgate.batch.inputs import SortedBy, TaskInput
from headgate.batch.rows import KEY
from headgate.errors import ProgramError
from headgate.operators.keys import KeySelection
from headgate.types.typed_key import untyped

SCHEMA = pa.schema([("city", pa.string()), ("at", pa.int64())])


def rows(*given: tuple[int, str | None, int | None]) -> pa.RecordBatch:
    """As Spark hands them over: columns by number, and the place of the key."""
    places, cities, times = zip(*given, strict=True)
    columns = [pa.array(cities, pa.string()), pa.array(times, pa.int64()), pa.array(places, pa.int64())]
    return pa.RecordBatch.from_arrays(columns, ["c0", "c1", KEY])


def runs(reading: TaskInput, batch: pa.RecordBatch) -> list[Any]:
    """Place, keys, and times of the records of each run, or the records themselves where there are none."""
    city = KeySelection(lambda row: row.city)
    return [
        (place, list(map(untyped, reading.keys(city, run))), run.timestamps or [row.at for row in run.records])
        for _, place, run in reading.runs(batch)
    ]


@pytest.mark.parametrize("order", [SortedBy("city"), SortedBy("city", "at", lambda row: row.at)])
def test_a_run_has_records_of_one_key(order: SortedBy) -> None:
    batch = rows((-4, "Oslo", 1), (-4, "Oslo", 2), (7, "Rome", 1))
    assert runs(TaskInput(SCHEMA, order), batch) == [(-4, ["Oslo", "Oslo"], [1, 2]), (7, ["Rome"], [1])]


def test_keys_whose_place_is_the_same_come_in_turn_by_their_time() -> None:
    batch = rows((7, "Oslo", 1), (7, "Rome", 2), (7, "Rome", 3), (7, "Oslo", 4), (7, None, 5))
    found = runs(TaskInput(SCHEMA, SortedBy("city", "at", lambda row: row.at)), batch)
    assert found == [(7, ["Oslo"], [1]), (7, ["Rome", "Rome"], [2, 3]), (7, ["Oslo"], [4]), (7, [None], [5])]


def test_a_row_without_a_time_is_refused() -> None:
    reading = TaskInput(SCHEMA, SortedBy("city", "at", lambda row: row.at))
    with pytest.raises(ProgramError, match="column 'at', which the timestamp assigner takes, is null"):
        list(reading.runs(rows((7, "Oslo", None))))
