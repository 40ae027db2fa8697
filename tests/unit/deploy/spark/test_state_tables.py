"""The data source `headgate`, as Spark calls it: made, pickled, asked for partitions, and read. No JVM."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import cloudpickle
import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headgate.deploy.spark.state_tables import data_source
from headgate.errors import ProgramError
from headgate.savepoints import SavepointWriter
from headgate.savepoints.state_table import StateTable
from headgate.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

ROW = Types.ROW_NAMED(["a", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])


def opened(**options: str) -> Any:
    """The data source as it comes to the process that plans."""
    made = pickle.loads(cloudpickle.dumps(data_source(StateTable.of)))  # noqa: S301
    assert made.name() == "headgate"
    return made(CaseInsensitiveDict(options))


def rows(reader: DataSourceReader) -> list[Any]:
    sent: DataSourceReader = pickle.loads(cloudpickle.dumps(reader))  # noqa: S301
    return [row for part in reader.partitions() for batch in cast(Any, sent.read(part)) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("declared", "value", "shown"),
    [
        (Types.LONG(), 7, 7),
        (Types.INT(), 7, 7),
        (Types.FLOAT(), 0.5, 0.5),
        (Types.STRING(), "ä", "ä"),
        (Types.BIG_INT(), 10**30, Decimal(10**30)),
        (Types.BIG_DEC(), Decimal("1.5"), Decimal("1.5")),
        (Types.SQL_DATE(), dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
        (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 2, 29, 12)),
        (Types.INSTANT(), Instant(5, 0), dt.datetime.fromtimestamp(5, dt.UTC)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"raw", b"raw"),
        (Types.TUPLE([Types.LONG(), ROW]), (1, Row(a=2, tags=["x"])), {"f0": 1, "f1": {"a": 2, "tags": ["x"]}}),
        (Types.MAP(Types.STRING(), ROW), {"k": Row(a=2, tags=None)}, [("k", {"a": 2, "tags": None})]),
    ],
    ids=str,
)
def test_batches_have_the_columns_that_spark_compares_them_with(
    declared: TypeInformation, value: Any, shown: Any, tmp_path: Path
) -> None:
    descriptor = ValueStateDescriptor("seen", declared)
    path = SavepointWriter.new(128).with_keyed_state("count", descriptor, {"ann": value}).write(str(tmp_path / "s"))
    source = opened(PATH=path, uid="count", state="seen")
    schema = source.schema()
    reader = source.reader(schema)
    [batch] = [each for part in reader.partitions() for each in reader.read(part) if isinstance(each, pa.RecordBatch)]
    assert batch.schema == to_arrow_schema(schema, timezone="UTC")
    assert (batch["key"].to_pylist(), batch["value"].to_pylist()) == (["ann"], [shown])


def test_a_map_state_of_many_subtasks_is_read_in_as_many_partitions(tmp_path: Path) -> None:
    pages = MapStateDescriptor("pages", Types.STRING(), Types.LONG())
    data = {f"key {n}": {"/": n} for n in range(100)}
    path = SavepointWriter.new(128, parallelism=4).with_keyed_state("count", pages, data).write(str(tmp_path / "s"))
    source = opened(path=path, uid="count", state="pages")
    reader = source.reader(source.schema())
    assert len(reader.partitions()) == 4
    assert {row["key"]: dict(row["value"]) for row in rows(reader)} == data


def test_a_schema_of_ones_own_may_say_less_and_that_nothing_is_null(tmp_path: Path) -> None:
    visits = ValueStateDescriptor("visits", Types.LONG())
    path = SavepointWriter.new(128).with_keyed_state("count", visits, {"ann": 2}).write(str(tmp_path / "s"))
    own = StructType([StructField("value", LongType(), nullable=False), StructField("key", StringType())])
    assert rows(opened(path=path, uid="count", state="visits").reader(own)) == [{"value": 2, "key": "ann"}]


def test_options_that_name_no_table_are_refused_when_it_is_loaded() -> None:
    with pytest.raises(ProgramError, match="give the option path"):
        opened(uid="count")
