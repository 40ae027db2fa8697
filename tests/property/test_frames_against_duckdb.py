"""Random plans of DataFrames over random tables give what DuckDB gives, also over a failure half-way."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.common import Configuration
from headgate.connectors.collection import CollectionReader, CollectionSplit
from headgate.dataframe import DataFrame, set_table_environment
from headgate.dataframe.planner.logical import Scan
from headgate.functions.source import NotReady, Poll, Records, Source, SourceContext, SourceReader
from headgate.table.table_environment import TableEnvironment
from tests.property.frame_plans import Plan, plans, tables
from tests.sample_size import SEARCHES

LOOK_MS = 1.0
IN_ORDER = dt.timedelta(milliseconds=1)
"""The delay of watermarks where rows come in order: a row is late if its time is not above the watermark."""
SAMPLE = 400 if SEARCHES else 12


class FailingReader(SourceReader[CollectionSplit]):
    """Reads half of its rows, waits for a checkpoint, reads a batch more, and fails once."""

    def __init__(self, rows: pa.RecordBatch, done: Path, context: SourceContext) -> None:
        self._reader = CollectionReader(rows)
        self._left, self._done, self._context = len(rows) // 2, done, context
        self._completed = self._is_behind = False

    def poll(self, records_max: int) -> Poll:
        if self._done.exists():
            return self._reader.poll(records_max)
        if self._left > 0:
            polled = self._reader.poll(min(records_max, self._left))
            assert isinstance(polled, Records)
            self._left -= len(polled.records)
            return polled
        if not self._completed:
            return NotReady(self._context.monotonic_ms() + LOOK_MS)
        if not self._is_behind:
            self._is_behind = True
            return self._reader.poll(1)
        self._done.touch()
        raise ValueError("fails once, after a checkpoint")

    def add_splits(self, splits: list[CollectionSplit]) -> None:
        self._reader.add_splits(splits)

    def snapshot(self) -> list[CollectionSplit]:
        return self._reader.snapshot()

    def notify_completed(self, splits: list[CollectionSplit]) -> None:
        self._completed = True


class FailingSource(Source[CollectionSplit]):
    parallelism_max = 1

    def __init__(self, rows: pa.RecordBatch, done: Path) -> None:
        self._rows, self._done = rows, done

    def splits(self, parallelism: int) -> list[CollectionSplit]:
        return [CollectionSplit(0)]

    def reader(self, context: SourceContext) -> FailingReader:
        return FailingReader(self._rows, self._done, context)


@dataclass(frozen=True, eq=False)
class FailingScan:
    """The rows of a table. Its reader fails once, unless the file is there."""

    table: pa.Table
    done: Path
    conforms = True

    @property
    def schema(self) -> Schema:
        return Schema((field.name, types.of_arrow(field.type, field.name)) for field in self.table.schema)

    def source(self, columns: Sequence[str]) -> Source[Any]:
        [rows] = self.table.select(list(columns)).combine_chunks().to_batches()
        return FailingSource(rows, self.done)


def comparable(value: Any) -> Any:
    """Return a value that is equal for equal values of SQL: NaN equals itself, and 0.0 equals -0.0."""
    match value:
        case float():
            return "nan" if value != value else f"{value + 0.0:.12g}"
        case dt.datetime():
            return value.replace(tzinfo=None)
        case list():
            return tuple(map(comparable, value))
    return value


def counted(rows: Iterable[Iterable[Any]]) -> Counter[Any]:
    return Counter(tuple(map(comparable, row)) for row in rows)


def of_duckdb(plan: Plan, table: pa.Table) -> Counter[Any]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", table)
        try:
            return counted(connection.execute(plan.sql).fetchall())
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            assume(False)  # numbers that are too large fail there, and wrap around here
            raise


def of_headgate(plan: Plan, table: pa.Table, delay: dt.timedelta, **conf: str) -> Counter[Any]:
    is_stream = conf["execution.runtime-mode"] == "STREAMING"
    with TemporaryDirectory() as folder:
        done = Path(folder) / "failed"
        if not is_stream:
            done.touch()
        with_restart = {
            "headgate.deploy.target": "minicluster",
            "table.local-time-zone": "UTC",
            "execution.checkpointing.interval": "10 ms",
            "execution.checkpointing.dir": f"{folder}/checkpoints",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "1",
            "restart-strategy.fixed-delay.delay": "0 ms",
            **conf,
        }
        environment = TableEnvironment.create(Configuration.from_dict(with_restart))
        set_table_environment(environment)
        try:
            scan = Scan("given", FailingScan(table, done), tuple(table.column_names))
            frame = plan.build(DataFrame(scan, environment).with_watermark("ts", delay))
            assert frame.columns == plan.names
            found = counted(frame.collect())
        finally:
            set_table_environment(None)
        assert done.exists(), "no subtask failed"
        return found


def check(plan: Plan, table: pa.Table, delay: dt.timedelta, conf: dict[str, str]) -> None:
    wanted = of_duckdb(plan, table)
    found = of_headgate(plan, table, delay, **conf)
    skipped, most = plan.rows
    if plan.rows == (0, None):
        assert found == wanted
    else:
        left = max(wanted.total() - skipped, 0)
        assert found.total() == (left if most is None else min(left, most))
        assert found <= wanted


CONFIGURATIONS = st.fixed_dictionaries(
    {
        "parallelism.default": st.sampled_from("123"),
        "headgate.batch.records": st.sampled_from(["1", "2", "5", "1000"]),
        "execution.runtime-mode": st.sampled_from(["STREAMING", "STREAMING", "STREAMING", "BATCH"]),
        "execution.checkpointing.unaligned.enabled": st.sampled_from(["false", "true"]),
    }
)


@pytest.mark.slow
@settings(max_examples=SAMPLE, suppress_health_check=list(HealthCheck))
@given(plan=plans(), data=st.data(), conf=CONFIGURATIONS)
def test_a_random_plan_gives_what_duckdb_gives(plan: Plan, data: st.DataObject, conf: dict[str, str]) -> None:
    ordered = data.draw(st.booleans())
    table = data.draw(tables(ordered=ordered))
    check(plan, table, IN_ORDER if ordered else dt.timedelta(hours=1), conf)
