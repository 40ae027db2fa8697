"""The rows that go from task to task: a record each, with what it is routed and sorted by.

==========  ========  ================================================================================================
column      type      holds
==========  ========  ================================================================================================
`_edge`     int16     which edge of the stage it leaves on
`_input`    int8      which input of the next operator it is for, 0 or 1
`_task`     int32     the task that it goes to
`_key`      int64     64 bits of a hash of the key: what the rows of a task are sorted by first; null without a key
`_time`     int64     the timestamp in milliseconds; null without one
`_order`    int64     the number of the sending task, then that of the record there
`_record`   binary    the record, pickled
==========  ========  ================================================================================================

Rows of two keys whose `_key` is the same (on Spark: the upper half of it) are one run; the keys are told apart by
themselves, and only end together. A DataFrame that is keyed by one of its columns does without most of this: see
`SortedBy`.
"""

from __future__ import annotations

import functools
import pickle
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final, final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.elements import Batch
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.typed_key import key_bytes, key_hash_code

EDGE: Final = "_edge"
INPUT: Final = "_input"
TASK: Final = "_task"
KEY: Final = "_key"
TIME: Final = "_time"
ORDER: Final = "_order"
RECORD: Final = "_record"

ROWS: Final = pa.schema(
    [
        (EDGE, pa.int16()),
        (INPUT, pa.int8()),
        (TASK, pa.int32()),
        (KEY, pa.int64()),
        (TIME, pa.int64()),
        (ORDER, pa.int64()),
        (RECORD, pa.binary()),
    ]
)
READ: Final = (TASK, INPUT, KEY, TIME, RECORD)
"""The columns that the next task needs; `_task` is then its own number."""
SORTED_BY: Final = {True: (KEY, TIME, INPUT, EDGE, ORDER), False: (INPUT, EDGE, ORDER)}
"""The order of a task's rows, for a stage with keys (True) and one without. What is null comes first."""
ORDER_BITS: Final = 40
_ROUTES_MAX: Final = 1 << 20


@final
class KeyRoutes(dict[Any, tuple[int, int]]):
    """Key -> the task that owns it, and what its rows are sorted by; emptied when it holds `_ROUTES_MAX` keys."""

    __slots__ = ("_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> tuple[int, int]:
        group = key_group(key_hash_code(key), self._max_parallelism)
        digest = blake2b(key_bytes(key), digest_size=8).digest()
        route = subtask_of_group(group, self._parallelism, self._max_parallelism), int.from_bytes(digest, signed=True)
        if len(self) >= _ROUTES_MAX:
            self.clear()
        self[key] = route
        return route


def encoded(batch: Batch, edge: tuple[int, int], tasks: Any, keys: Any, first: int) -> pa.RecordBatch:
    """Return a batch as rows.

    `edge` is the edge and the input that it leads to, `tasks` and `keys` are columns or None, `first` is the order of
    the first record. Raises what pickling a record raises.
    """
    count = len(batch)
    columns = [
        pa.repeat(pa.scalar(edge[0], pa.int16()), count),
        pa.repeat(pa.scalar(edge[1], pa.int8()), count),
        pa.nulls(count, pa.int32()) if tasks is None else pa.array(tasks, pa.int32()),
        pa.nulls(count, pa.int64()) if keys is None else pa.array(keys, pa.int64()),
        pa.nulls(count, pa.int64()) if batch.timestamps is None else pa.array(batch.timestamps, pa.int64()),
        pa.array(range(first, first + count), pa.int64()),
        pa.array(batch.encode_each(), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ROWS)


def dealt(rows: pa.RecordBatch, tasks: int) -> pa.RecordBatch:
    """Return rows with a task for each, by a checksum of its record.

    Not in turn: a task that Spark runs again may come upon the rows of a DataFrame in another order, and what went to
    one task then must not go to another now.
    """
    numbers = [zlib.crc32(record) % tasks for record in rows.column(RECORD).to_pylist()]
    return rows.set_column(rows.schema.get_field_index(TASK), ROWS.field(TASK), pa.array(numbers, pa.int32()))


def decoded(rows: pa.RecordBatch) -> Batch:
    """Return rows, which all have a time or none, as a batch without keys."""
    loads = pickle.loads
    records = [loads(record) for record in rows.column(RECORD).to_pylist()]  # by a task of this job
    times = rows.column(TIME)
    return Batch(records, None if times.null_count else times.to_pylist())


def runs(rows: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in pieces within which the columns do not change; the absence of a time is what counts of it."""
    if not rows.num_rows:
        return
    differences = [_differences(rows.column(name).is_null() if name == TIME else rows.column(name)) for name in columns]
    ends = pc.indices_nonzero(functools.reduce(pc.or_, differences)).to_pylist()
    start = 0
    for end in [*ends, rows.num_rows - 1]:
        yield rows.slice(start, end + 1 - start)
        start = end + 1


def _differences(column: pa.Array) -> pa.Array:
    """Return for each value but the last whether it differs from the next; null is a value like others."""
    next_ones, ones = column.slice(1), column.slice(0, len(column) - 1)
    differs = pc.fill_null(pc.not_equal(next_ones, ones), fill_value=False)
    if column.null_count:
        differs = pc.or_(differs, pc.not_equal(next_ones.is_null(), ones.is_null()))
    return differs
