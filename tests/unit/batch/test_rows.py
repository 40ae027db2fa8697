"""Rows between tasks: what goes in comes out, in runs within which key, time and input do not change."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.batch.rows import INPUT, KEY, ORDER, RECORD, ROWS, TASK, TIME, KeyRoutes, dealt, decoded, encoded, runs
from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import hash_code
from headgate.types.typed_key import typed

RUN_COLUMNS = (INPUT, KEY, TIME)


def rows_of(records: list[Any], times: list[int] | None = None, keys: list[int] | None = None) -> pa.RecordBatch:
    return encoded(Batch(records, times), (3, 1), None, keys, 100)


def parts(batch: Batch) -> tuple[list[Any], list[int] | None]:
    return batch.records, batch.timestamps


def test_every_column_is_filled() -> None:
    rows = encoded(Batch(["a", {"b": None}], [5, -7]), (3, 1), [4, 2], [11, -12], 100)
    assert rows.schema == ROWS
    assert [row | {RECORD: ...} for row in rows.to_pylist()] == [
        {"_edge": 3, INPUT: 1, TASK: 4, KEY: 11, TIME: 5, ORDER: 100, RECORD: ...},
        {"_edge": 3, INPUT: 1, TASK: 2, KEY: -12, TIME: -7, ORDER: 101, RECORD: ...},
    ]
    assert parts(decoded(rows)) == (["a", {"b": None}], [5, -7])


def test_what_is_not_there_is_null() -> None:
    rows = rows_of([None])
    assert [rows.column(name)[0].as_py() for name in (TASK, KEY, TIME)] == [None, None, None]
    assert parts(decoded(rows)) == ([None], None)


def test_a_record_that_cannot_be_pickled_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        rows_of([threading.Lock()])


def test_no_rows_have_no_runs() -> None:
    assert list(runs(rows_of([]), RUN_COLUMNS)) == []


def test_one_row_is_one_run() -> None:
    assert [run.num_rows for run in runs(rows_of([1], [5], [7]), RUN_COLUMNS)] == [1]


def test_times_do_not_cut_a_run_but_their_absence_does() -> None:
    with_times, without = rows_of([1, 2], [5, 6], [7, 7]), rows_of([3, 4], None, [7, 7])
    rows = pa.Table.from_batches([with_times, without]).combine_chunks().to_batches()[0]
    assert [parts(decoded(run)) for run in runs(rows, RUN_COLUMNS)] == [([1, 2], [5, 6]), ([3, 4], None)]


CELLS = st.none() | st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([None, 0, 1, -(2**63)]), CELLS), max_size=30))
def test_runs_are_the_longest_pieces_without_a_change(cells: list[tuple[int, int | None, int | None]]) -> None:
    columns = list(zip(*cells, strict=True)) or [(), (), ()]
    arrays = [pa.array(columns[0], pa.int8()), pa.array(columns[1], pa.int64()), pa.array(columns[2], pa.int64())]
    rows = pa.RecordBatch.from_arrays(arrays, names=list(RUN_COLUMNS))
    expected: list[list[tuple[Any, ...]]] = []
    kinds = [(index, key, time is None) for index, key, time in cells]
    for at, cell in enumerate(cells):
        if at and kinds[at] == kinds[at - 1]:
            expected[-1].append(cell)
        else:
            expected.append([cell])
    assert [[tuple(row.values()) for row in run.to_pylist()] for run in runs(rows, RUN_COLUMNS)] == expected


@pytest.mark.slow
@given(st.integers() | st.text() | st.tuples(st.integers(), st.text()), st.integers(1, 8))
def test_a_key_goes_to_the_task_that_owns_its_key_group(key: Any, parallelism: int) -> None:
    task, place = KeyRoutes(parallelism, 128)[key]
    assert task == subtask_of_group(key_group(hash_code(key), 128), parallelism, 128)
    assert -(2**63) <= place < 2**63


def test_each_key_has_a_place_of_its_own_and_keys_that_python_calls_equal_a_common_task() -> None:
    tasks = [KeyRoutes(4, 128)[typed(key)][0] for key in (1, True, 1.0)]
    assert len(set(tasks)) == 1
    places = {KeyRoutes(1, 128)[typed(key)][1] for key in (1, True, 1.0, "1", (1,), [1], None, 2, b"1")}
    assert len(places) == 9


def test_a_key_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(SerializationError, match="complex cannot be a key"):
        KeyRoutes(1, 128)[1j]


def test_records_are_dealt_by_what_they_are_in_whatever_order_they_come() -> None:
    records = [f"record {number}" for number in range(400)]
    tasks = {}
    for order in (records, records[::-1]):
        rows = dealt(encoded(Batch(order), (0, 0), None, None, 0), 3)
        assert rows.schema == ROWS
        tasks[order[0]] = dict(zip(order, rows.column(TASK).to_pylist(), strict=True))
    assert tasks["record 0"] == tasks["record 399"]
    assert min(Counter(tasks["record 0"].values()).values()) > 90
