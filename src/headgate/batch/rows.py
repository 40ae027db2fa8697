"""The rows that travel between tasks: a record each, with the columns for its route and order.

==========  ========  ================================================================================================
column      type      holds
==========  ========  ================================================================================================
`_edge`     int16     the outgoing edge of the stage
`_input`    int8      the input of the next operator, 0 or 1
`_task`     int32     the target task
`_key`      int64     64 bits of a hash of the key, by which the rows of a task are sorted first; null without a key
`_time`     int64     the timestamp in milliseconds; null without one
`_order`    int64     the number of the sending task, then the number of the record in that task
`_record`   binary    the record, pickled
==========  ========  ================================================================================================

Rows of two keys with the same `_key` (on Spark: with the same upper half of it) are one run. The keys themselves
distinguish the rows, but both keys end together. A DataFrame that is keyed by one of its columns needs fewer columns:
see `SortedBy`.
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
from headgate.state.keygroups import group_of_key, subtask_of_group
from headgate.types.typed_key import key_bytes

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
"""The columns that the next task needs. It does not need `_task`, which is its own number."""
SORTED_BY: Final = {True: (KEY, TIME, INPUT, EDGE, ORDER), False: (INPUT, EDGE, ORDER)}
"""The columns by which a task's rows are sorted, for a stage with keys (True) and without (False). Nulls are first."""
ORDER_BITS: Final = 40
_ROUTES_MAX: Final = 1 << 20


@final
class KeyRoutes(dict[Any, tuple[int, int]]):
    """Maps a key to its task and its sort value. The map is emptied when it holds `_ROUTES_MAX` keys."""

    __slots__ = ("_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> tuple[int, int]:
        group = group_of_key(key, self._max_parallelism)
        digest = blake2b(key_bytes(key), digest_size=8).digest()
        route = subtask_of_group(group, self._parallelism, self._max_parallelism), int.from_bytes(digest, signed=True)
        if len(self) >= _ROUTES_MAX:
            self.clear()
        self[key] = route
        return route


def encoded(batch: Batch, edge: tuple[int, int], tasks: Any, keys: Any, first: int) -> pa.RecordBatch:
    """Return a batch as rows.

    `edge` is the edge and the input at its end, `tasks` and `keys` are columns or None, `first` is the order of the
    first record. Raises the error of a record that cannot be pickled.
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
    """Return the rows with a task for each, chosen by a checksum of the record.

    Tasks are not chosen in turn: a task that Spark runs again may read the rows of a DataFrame in another order, and
    every row must go to the same task as before.
    """
    numbers = [zlib.crc32(record) % tasks for record in rows.column(RECORD).to_pylist()]
    return rows.set_column(rows.schema.get_field_index(TASK), ROWS.field(TASK), pa.array(numbers, pa.int32()))


def decoded(rows: pa.RecordBatch) -> Batch:
    """Return the rows as a batch without keys. Either all rows have a time or none has."""
    loads = pickle.loads
    records = [loads(record) for record in rows.column(RECORD).to_pylist()]  # by a task of this job
    times = rows.column(TIME)
    return Batch(records, None if times.null_count else times.to_pylist())


def runs(rows: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield slices of the rows within which the columns do not change. Of a time only its absence counts."""
    if not rows.num_rows:
        return
    differences = [_differences(rows.column(name).is_null() if name == TIME else rows.column(name)) for name in columns]
    ends = pc.indices_nonzero(functools.reduce(pc.or_, differences)).to_pylist()
    start = 0
    for end in [*ends, rows.num_rows - 1]:
        yield rows.slice(start, end + 1 - start)
        start = end + 1


def _differences(column: pa.Array) -> pa.Array:
    """Return for each value but the last whether it differs from the next value. Null counts as a value."""
    next_ones, ones = column.slice(1), column.slice(0, len(column) - 1)
    differs = pc.fill_null(pc.not_equal(next_ones, ones), fill_value=False)
    if column.null_count:
        differs = pc.or_(differs, pc.not_equal(next_ones.is_null(), ones.is_null()))
    return differs
