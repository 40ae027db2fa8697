"""Batches in both forms: every operation on columns gives what it gives on rows."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.elements import Batch, is_arrow
from headgate.errors import SerializationError
from headgate.types.arrow import rows_from_batch
from headgate.types.record_copies import BY_VALUE

COLUMNS = st.lists(st.tuples(st.integers(-9, 9) | st.none(), st.text(max_size=3)), max_size=12)


def table_of(rows: list[tuple[int | None, str]]) -> pa.RecordBatch:
    numbers, texts = ([row[at] for row in rows] for at in (0, 1))
    return pa.RecordBatch.from_arrays([pa.array(numbers, pa.int32()), pa.array(texts, pa.string())], ["n", "text"])


def both(rows: list[tuple[int | None, str]], timed: bool) -> tuple[Batch, Batch]:
    """The same records as columns and as rows."""
    columns, times = table_of(rows), list(range(len(rows))) if timed else None
    return Batch.of_arrow(columns, times and list(times)), Batch(rows_from_batch(columns), times and list(times))


def same(one: Batch, other: Batch) -> bool:
    return (one.records, one.timestamps, len(one)) == (other.records, other.timestamps, len(other))


@given(rows=COLUMNS, timed=st.booleans(), start=st.integers(0, 12), stop=st.integers(0, 12), data=st.data())
def test_operations_on_columns_give_what_they_give_on_rows(
    rows: list[Any], timed: bool, start: int, stop: int, data: st.DataObject
) -> None:
    arrow, plain = both(rows, timed and bool(rows))
    stop = max(start, stop)
    assert len(arrow) == len(plain)
    assert same(arrow.piece(start, stop), plain.piece(start, stop))
    positions = data.draw(st.lists(st.sampled_from(range(len(rows))), max_size=9)) if rows else []
    assert same(arrow.take(positions), plain.take(positions))
    assert same(Batch.decode(memoryview(arrow.encode())), Batch.decode(plain.encode()))
    assert arrow.encode_each() == plain.encode_each()
    copy = both(rows, timed and bool(rows))[0].copy()
    assert copy.columns is not None
    assert copy.append(both(rows, timed and bool(rows))[0])
    assert same(copy, Batch(plain.records * 2, plain.timestamps and plain.timestamps * 2))


def test_columns_stay_columns_until_rows_are_read() -> None:
    batch = Batch.of_arrow(table_of([(1, "a"), (2, "b")]), [10, 20])
    decoded = Batch.decode(batch.encode()).piece(0, 2).take([1, 0])
    assert decoded.columns is not None
    assert is_arrow(decoded.encode())
    assert [row.text for row in decoded.records] == ["b", "a"]
    assert decoded.columns is None
    assert not is_arrow(decoded.encode())


def test_forms_that_differ_are_not_put_together() -> None:
    batch = Batch.of_arrow(table_of([(1, "a")]))
    others = [
        Batch([1]),
        Batch.of_arrow(table_of([(1, "a")]), [5]),
        Batch.of_arrow(pa.RecordBatch.from_pydict({"n": pa.array([1], pa.int64())})),
    ]
    assert not any(batch.append(other) for other in others)
    assert len(batch) == 1
    assert not Batch([1]).append(batch)
    assert not Batch([1], [2]).append(Batch([1]))


def test_what_can_change_is_copied_also_behind_what_cannot() -> None:
    changing = {"n": 1}
    batch = Batch([0])
    batch.is_plain = True
    assert batch.append(Batch([changing]))
    copy = batch.copy(BY_VALUE.each_copied)
    assert copy.records == [0, changing]
    assert copy.records[1] is not changing


def test_batches_that_were_encoded_by_earlier_releases_are_read() -> None:
    batch = Batch.decode(pickle.dumps((["a"], [1], ["key"]), 5))
    assert (batch.records, batch.timestamps, batch.keys) == (["a"], [1], ["key"])


def test_what_python_cannot_hold_is_refused_with_its_column_when_rows_are_read() -> None:
    batch = Batch.of_arrow(pa.RecordBatch.from_arrays([pa.array([10**15], pa.timestamp("s"))], ["at"]))
    assert len(Batch.decode(batch.encode())) == 1
    with pytest.raises(SerializationError, match="column 'at'"):
        _ = batch.records
