"""Which tables a sink takes: what is there before a job runs is checked against what the sink writes."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headgate.common import Types
from headgate.connectors.delta import DeltaSink
from headgate.datastream import StreamExecutionEnvironment
from headgate.errors import EnvironmentFault, HeadgateError, ProgramError, SinkError
from tests.delta.tables import JOB, OTHER_JOB, SCHEMA, Driver, rows_of
from tests.unit.datastream.environments import environment

NUMBER = pa.field("number", pa.int64())
NEVER_NULL = pa.field("number", pa.int64(), nullable=False)


def test_a_table_that_is_not_there_is_created_once(tmp_path: Path) -> None:
    sink = DeltaSink(tmp_path / "new/table", SCHEMA, partition_by=["word"])
    sink.prepare(JOB)
    sink.prepare(OTHER_JOB)
    table = DeltaTable(tmp_path / "new/table")
    assert pa.schema(table.schema().to_arrow()) == SCHEMA
    assert (table.version(), table.metadata().partition_columns) == (0, ["word"])


def test_jobs_that_create_a_table_at_once_use_the_same(tmp_path: Path) -> None:
    jobs, tables = 4, [tmp_path / str(number) for number in range(15)]
    barrier = threading.Barrier(jobs)

    def prepare_all(_: int) -> None:
        for table in tables:
            barrier.wait(120.0)
            DeltaSink(table, SCHEMA).prepare(JOB)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(prepare_all, range(jobs)))
    assert [DeltaTable(table).version() for table in tables] == [0] * len(tables)


def test_a_table_of_somebody_else_is_appended_to(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.Table.from_pylist([{"word": "a", "number": 1}]))
    driver = Driver(sink=DeltaSink(tmp_path.as_uri(), SCHEMA, create=False))
    driver.sink.prepare(JOB)
    driver.commit(1, driver.prepared(1, [(2, "b")]))
    assert rows_of(tmp_path) == [{"number": 1, "word": "a"}, {"number": 2, "word": "b"}]


def nothing(folder: Path) -> DeltaSink:
    return DeltaSink(folder / "nothing", SCHEMA, create=False)


def other_files(folder: Path) -> DeltaSink:
    (folder / "data.parquet").write_text("some")
    return DeltaSink(folder, SCHEMA)


def a_file(folder: Path) -> DeltaSink:
    (folder / "file").write_text("some")
    return DeltaSink(folder / "file", SCHEMA)


def damaged(folder: Path) -> DeltaSink:
    sink = existing(folder, SCHEMA, SCHEMA)
    (folder / "_delta_log/00000000000000000000.json").write_text("{")
    return sink


def no_such_scheme(folder: Path) -> DeltaSink:
    return DeltaSink("nope://host/table", SCHEMA)


def existing(folder: Path, there: pa.Schema, written: pa.Schema, **options: Any) -> DeltaSink:
    DeltaTable.create(folder, there, **options)
    return DeltaSink(folder, written)


def extra_column(folder: Path) -> DeltaSink:
    return existing(folder, pa.schema([NUMBER]), SCHEMA)


def other_type(folder: Path) -> DeltaSink:
    return existing(folder, pa.schema([NUMBER, ("word", pa.int32())]), SCHEMA)


def missing_column(folder: Path) -> DeltaSink:
    return existing(folder, SCHEMA.append(pa.field("must", pa.date32(), nullable=False)), SCHEMA)


def nullable(folder: Path) -> DeltaSink:
    return existing(folder, pa.schema([NEVER_NULL]), pa.schema([NUMBER]))


def other_partitions(folder: Path) -> DeltaSink:
    return existing(folder, SCHEMA, SCHEMA, partition_by=["word"])


def mapped_columns(folder: Path) -> DeltaSink:
    return existing(folder, SCHEMA, SCHEMA, configuration={"delta.columnMapping.mode": "name"})


def with_constraint(folder: Path) -> DeltaSink:
    sink = existing(folder, SCHEMA, SCHEMA)
    DeltaTable(folder).alter.add_constraint({"positive": "number > 0"})
    return sink


def with_invariant(folder: Path) -> DeltaSink:
    rule = {"delta.invariants": '{"expression": {"expression": "number > 0"}}'}
    return existing(folder, pa.schema([pa.field("number", pa.int64(), metadata=rule)]), pa.schema([NUMBER]))


REFUSED: list[tuple[Callable[[Path], DeltaSink], str]] = [
    (nothing, "there is no Delta table '.*/nothing': create it, or let the sink do so with create=True"),
    (other_files, "the folder '.*' is not a Delta table, and it is not empty, but holds 'data.parquet'; choose"),
    (a_file, "cannot use the Delta table '.*/file': "),
    (damaged, "cannot use the Delta table '.*': "),
    (no_such_scheme, "cannot use the Delta table 'nope://host/table': .*nope"),
    (extra_column, "does not fit its sink: it has no column 'word'; its columns are .'number'."),
    (other_type, "does not fit its sink: its column 'word' is integer, and the sink writes string"),
    (missing_column, "its column 'must' must not be null, and the sink does not write it"),
    (nullable, "its column 'number' must not be null, so the sink's schema has to say nullable=False as well"),
    (other_partitions, "it is partitioned by .'word'., and the sink writes files by .."),
    (mapped_columns, "it maps columns to other names"),
    (with_constraint, "it has the constraint 'delta.constraints.positive', which the sink does not check"),
    (with_invariant, "its column 'number' has delta.invariants, which the sink does not support"),
]


@pytest.mark.parametrize(("sink", "message"), REFUSED, ids=lambda case: getattr(case, "__name__", ""))
def test_a_table_that_cannot_be_used_is_refused(
    tmp_path: Path, sink: Callable[[Path], DeltaSink], message: str
) -> None:
    with pytest.raises(SinkError, match=message) as caught:
        sink(tmp_path).prepare(JOB)
    assert "\n" not in str(caught.value)


def test_nothing_runs_when_the_table_does_not_fit(tmp_path: Path) -> None:
    ran: list[int] = []
    env: StreamExecutionEnvironment = environment()
    env.from_collection([1]).map(ran.append).sink_to(extra_column(tmp_path))
    with pytest.raises(HeadgateError, match="it has no column 'word'"):
        env.execute()
    assert ran == []


@pytest.mark.parametrize(
    ("schema", "partition_by", "message"),
    [
        (pa.schema([("a", pa.uint16())]), [], "column 'a' has the type uint16, which Delta Lake does not have; map it"),
        (pa.schema([("a", pa.list_(pa.uint8()))]), [], "column 'a' has the type list<item: uint8>"),
        (pa.schema([("a", pa.float16())]), [], "column 'a' has the type halffloat"),
        (pa.schema([("a", pa.null())]), [], "column 'a' has the type null"),
        (Types.ROW_NAMED(["a"], [Types.SQL_TIME()]), [], r"column 'a' has the type time64\[us\]"),
        (Types.PICKLED_BYTE_ARRAY(), [], "field 'value' is a .*, which no column can hold"),
        (pa.schema([]), [], "a Delta table has columns of different names, but these are .."),
        (pa.schema([NUMBER, NUMBER]), [], "columns of different names, but these are .'number', 'number'."),
        (SCHEMA, ["day"], "partitioned by 'day', which is none of its columns: .'number', 'word'."),
        (SCHEMA, ["number", "word"], "a column that it is not partitioned by"),
        (pa.schema([NUMBER, ("at", pa.timestamp("us"))]), "at", "cannot be partitioned by 'at', which is timestamp"),
        (pa.schema([NUMBER, ("x", pa.float64())]), "x", "cannot be partitioned by 'x', which is double; choose"),
    ],
)
def test_a_schema_that_no_table_has_is_refused(schema: Any, partition_by: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        DeltaSink("table", schema, partition_by=partition_by)


def test_a_file_needs_a_size() -> None:
    with pytest.raises(ProgramError, match="files of 0 bytes cannot be written; give a file_bytes_max above 0"):
        DeltaSink("table", SCHEMA, file_bytes_max=0)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library = importlib.import_module("headgate.connectors.delta")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(EnvironmentFault, match=r"needs an extra: pip install 'headgate\[delta\]', in the driver and"):
        importlib.reload(library)


def test_secrets_are_not_shown() -> None:
    sink = DeltaSink("s3://bucket/table", SCHEMA, storage_options={"AWS_SECRET_ACCESS_KEY": "hush"})
    assert "hush" not in repr(vars(sink))
