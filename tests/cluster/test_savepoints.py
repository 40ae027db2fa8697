"""State as Spark data frames: read by Spark itself, and made of data frames in the tasks that have them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headgate.errors import ProgramError
from headgate.savepoints import SavepointReader, SavepointWriter
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from headgate.types.instant import Instant
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types

pytestmark = pytest.mark.spark

SEEN = ValueStateDescriptor("seen", Types.LONG())
VALUES: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), "a"),
    (Types.BYTE(), 1),
    (Types.DOUBLE(), 0.5),
    (Types.BOOLEAN(), True),
    (Types.BIG_INT(), 10**30),
    (Types.BIG_DEC(), Decimal("1.500000000000000000")),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a"),
    (Types.SQL_DATE(), dt.date(2024, 2, 29)),
    (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 4)),
    (Types.INSTANT(), Instant(1_700_000_000, 5000)),
    (Types.SQL_TIME(), dt.time(1, 2, 3)),
    (Types.TUPLE([Types.LONG(), Types.LIST(Types.STRING())]), (1, ["a"])),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), Row(a=1, b=None)),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}),
]


def all_states() -> list[tuple[StateDescriptor, Any]]:
    found: list[tuple[StateDescriptor, Any]] = [
        (ValueStateDescriptor(f"{number} {kind}", kind), value) for number, (kind, value) in enumerate(VALUES)
    ]
    found.append((ListStateDescriptor("list", Types.LONG()), [1, 2]))
    found.append((MapStateDescriptor("map", Types.STRING(), Types.LONG()), {"a": 1}))
    return found


def values_of(location: str, uid: str, name: str) -> dict[Any, Any]:
    with SavepointReader.read(location) as reader:
        return {entry.key: entry.value for entry in reader.entries(uid, name)}


def test_spark_opens_every_type_and_state_goes_round_through_data_frames(spark: SparkSession, tmp_path: Path) -> None:
    writer, again = SavepointWriter.new(128, parallelism=2), SavepointWriter.new(128, parallelism=3)
    keys = [(number, str(number)) for number in range(20)]
    for descriptor, value in all_states():
        writer.with_keyed_state("all", descriptor, dict.fromkeys(keys, value))
    first = writer.write(str(tmp_path / "first"))
    with SavepointReader.read(first) as reader:
        for descriptor, _ in all_states():
            frame = reader.to_spark("all", descriptor.name, spark)
            assert frame.count() == 20
            assert frame.where("value_pickle is not null").count() == 0
            again.with_keyed_state("all", descriptor, frame)
        second = again.write(str(tmp_path / "second"))
    for descriptor, value in all_states():
        assert values_of(second, "all", descriptor.name) == dict.fromkeys(keys, value), descriptor


def test_sql_asks_the_files_of_a_savepoint_themselves(spark: SparkSession, tmp_path: Path) -> None:
    data = {f"key {number}": number for number in range(1000)}
    location = SavepointWriter.new(128, parallelism=3).with_keyed_state("count", SEEN, data).write(str(tmp_path))
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    found = spark.sql(f"SELECT sum(value) AS total, count(DISTINCT key) AS keys FROM parquet.`{location}/*.parquet`")
    assert found.collect()[0].asDict() == {"total": sum(data.values()), "keys": 1000}


def test_a_column_that_does_not_fit_is_named_before_spark_computes_anything(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(3).selectExpr("id AS who", "concat('', id) AS visits")
    writer = SavepointWriter.new(128).with_keyed_state("count", SEEN, frame, key="who", value="visits")
    with pytest.raises(ProgramError, match="column 'visits' has the type string, but the state is declared as Long"):
        writer.write(str(tmp_path / "savepoint"))


def test_state_is_made_of_a_data_frame_in_its_tasks(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 10_000, numPartitions=3).selectExpr(
        "concat('key ', id) AS who", "id AS visits", "1 AS other"
    )
    location = (
        SavepointWriter.new(128, parallelism=2)
        .with_keyed_state("count", SEEN, frame, key="who", value="visits")
        .write(str(tmp_path))
    )
    assert values_of(location, "count", "seen") == {f"key {number}": number for number in range(10_000)}
    assert len(list(tmp_path.glob("*.parquet"))) == 6


def test_keys_that_are_not_alike_come_to_spark_as_one_table(spark: SparkSession, tmp_path: Path) -> None:
    location = SavepointWriter.new(128, parallelism=64).with_keyed_state("n", SEEN, {1: 1, "1": 2}).write(str(tmp_path))
    with SavepointReader.read(location) as reader:
        assert sorted(row.value for row in reader.to_spark("n", "seen", spark).collect()) == [1, 2]
