"""Files of columns and of Avro: what a job writes, the next one reads, and what cannot be is refused."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from headgate.common import Configuration, Row, Types
from headgate.datastream.connectors.file_system import BulkWriterFactory, FileSink, FileSource
from headgate.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema
from headgate.datastream.formats.orc import OrcBulkWriters
from headgate.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from headgate.errors import JobFailedError, ProgramError
from headgate.table import DataTypes
from tests.unit.datastream.environments import environment

ROW_TYPE: Final = DataTypes.ROW(
    [
        DataTypes.FIELD("id", DataTypes.INT()),
        DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
    ]
)
AT: Final = datetime.datetime(2024, 2, 29, 12, 0, 1, 500_000)
NAMED: Final = Row("id", "name", "price", "at", "tags")
ROWS: Final = [NAMED(1, "a", Decimal("1.25"), AT, ["x", "y"]), NAMED(2, None, None, None, None)]

AVRO: Final = AvroSchema.parse_string("""{"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "note", "type": ["null", "string"]},
    {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "half", "type": {"type": "fixed", "name": "Half", "size": 2}},
    {"name": "tags", "type": {"type": "map", "values": "int"}},
    {"name": "lines", "type": {"type": "array", "items":
        {"type": "record", "name": "Line", "fields": [{"name": "sku", "type": "string"}]}}},
    {"name": "first", "type": ["null", "Line"]}]}""")
ORDERS: Final = [
    {
        "id": number,
        "note": None if number % 2 else "x",
        "color": "BLUE",
        "day": datetime.date(2024, 2, 29),
        "at": AT.replace(tzinfo=datetime.UTC),
        "price": Decimal("12.50"),
        "half": b"ab",
        "tags": {"a": number},
        "lines": [{"sku": "p"}, {"sku": "q"}],
        "first": None if number % 3 else {"sku": "p"},
    }
    for number in range(20)
]


def written(folder: Path, records: Sequence[Any], factory: BulkWriterFactory) -> Path:
    """Return the one file that a job writes."""
    env = environment()
    env.set_parallelism(1)
    sink = FileSink.for_bulk_format(str(folder / "out"), factory).build()
    env.from_collection(list(records)).map(lambda record: record).sink_to(sink)
    env.execute()
    [part] = (folder / "out").rglob("part-*")
    return part


def read(source: FileSource) -> list[Any]:
    env = environment()
    env.set_parallelism(1)
    with env.from_source(source, None, "files").execute_and_collect() as records:
        return list(records)


def test_rows_are_written_to_parquet_and_read_again(tmp_path: Path) -> None:
    part = written(tmp_path, ROWS, ParquetBulkWriters.for_row_type(ROW_TYPE))
    assert part.name.endswith(".parquet")
    source = FileSource.for_bulk_file_format(
        ParquetColumnarRowInputFormat(row_type=ROW_TYPE, hadoop_config=Configuration(), batch_size=10), str(part)
    ).build()
    assert read(source) == ROWS


def test_only_the_columns_of_the_type_are_read_in_its_order(tmp_path: Path) -> None:
    part = written(tmp_path, ROWS, ParquetBulkWriters.for_row_type(ROW_TYPE))
    two = Types.ROW_NAMED(["name", "id"], [Types.STRING(), Types.INT()])
    found = read(FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(two), str(part)).build())
    assert found == [Row("name", "id")("a", 1), Row("name", "id")(None, 2)]


@pytest.mark.parametrize("record", [(1, "a"), Row(1, "a"), Row(f0=1, f1="a"), Row("name", "id")("a", 1)])
def test_rows_are_written_by_name_else_by_position(record: Any, tmp_path: Path) -> None:
    kind = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    part = written(tmp_path, [record], ParquetBulkWriters.for_row_type(kind))
    assert pq.read_table(part).to_pylist() == [{"id": 1, "name": "a"}]


def test_rows_are_written_to_orc(tmp_path: Path) -> None:
    properties = Configuration.from_dict({"orc.compress": "SNAPPY"})
    part = written(tmp_path, ROWS, OrcBulkWriters.for_row_type(ROW_TYPE, writer_properties=properties))
    assert part.name.endswith(".orc")
    file = orc.ORCFile(part)
    assert file.compression == "SNAPPY"
    first, second = file.read().to_pylist()
    assert (first["id"], first["name"], first["price"], first["tags"]) == (1, "a", Decimal("1.25"), ["x", "y"])
    assert second == {"id": 2, "name": None, "price": None, "at": None, "tags": None}


def test_parquet_is_compressed_as_its_setting_says(tmp_path: Path) -> None:
    settings = Configuration.from_dict({"parquet.compression": "gzip"})
    part = written(tmp_path, ROWS, ParquetBulkWriters.for_row_type(ROW_TYPE, settings))
    assert pq.ParquetFile(part).metadata.row_group(0).column(0).compression == "GZIP"


def test_dicts_are_written_to_avro_and_read_again(tmp_path: Path) -> None:
    part = written(tmp_path, ORDERS, AvroBulkWriters.for_generic_record(AVRO))
    assert part.name.endswith(".avro")
    input_format = AvroInputFormat(str(part), AVRO)
    env = environment()
    with env.create_input(input_format).execute_and_collect() as records:
        assert list(records) == ORDERS
    assert input_format.get_produced_type() == Types.PICKLED_BYTE_ARRAY()
    with pytest.raises(ProgramError, match="AvroInputFormat"):
        env.create_input(str(part))  # type: ignore[arg-type]


def test_dicts_are_written_to_parquet_and_read_again(tmp_path: Path) -> None:
    part = written(tmp_path, ORDERS, AvroParquetWriters.for_generic_record(AVRO))
    source = FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(AVRO), str(part)).build()
    assert read(source) == ORDERS


@pytest.mark.parametrize("writers", [AvroBulkWriters, AvroParquetWriters])
def test_rows_with_the_names_of_the_schema_are_written_as_dicts(writers: Any, tmp_path: Path) -> None:
    schema = AvroSchema(
        '{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"in","type":'
        '{"type":"record","name":"I","fields":[{"name":"x","type":"int"}]}}]}'
    )
    part = written(tmp_path, [Row("id", "in")(7, Row(x=1))], writers.for_generic_record(schema))
    source = (
        AvroInputFormat(str(part), schema).source()
        if writers is AvroBulkWriters
        else FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(schema), str(part)).build()
    )
    assert read(source) == [{"id": 7, "in": {"x": 1}}]


@pytest.mark.parametrize("writers", [AvroBulkWriters, AvroParquetWriters])
def test_a_record_that_does_not_fit_its_schema_is_named(writers: Any, tmp_path: Path) -> None:
    schema = AvroSchema('{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}')
    with pytest.raises(JobFailedError, match="'one'"):
        written(tmp_path, [{"id": "one"}], writers.for_generic_record(schema))


def test_what_is_no_avro_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "orders.avro"
    file.write_bytes(b"no Avro at all")
    with pytest.raises(JobFailedError, match=r"orders\.avro' as Avro"):
        read(AvroInputFormat(str(file), AVRO).source())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ProgramError, match="is_case_sensitive"):
        ParquetColumnarRowInputFormat(ROW_TYPE, is_case_sensitive=False)
    with pytest.raises(ProgramError, match=r"'fs\.s3a\.key'"):
        ParquetBulkWriters.for_row_type(ROW_TYPE, Configuration.from_dict({"fs.s3a.key": "x"}))
    with pytest.raises(ProgramError, match=r"parquet\.compression must be one of SNAPPY"):
        ParquetBulkWriters.for_row_type(ROW_TYPE, Configuration.from_dict({"parquet.compression": "LZO"}))
    with pytest.raises(ProgramError, match="the type of a row"):
        ParquetBulkWriters.for_row_type(Types.INT())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="row_type"):
        OrcBulkWriters.for_row_type(Types.INT())  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="AvroSchema"):
        AvroBulkWriters.for_generic_record("text")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="AvroSchema of a record"):
        AvroParquetWriters.for_generic_record(AvroSchema('"int"'))
    field = '{"name":"a","type":["int","string"]}'
    with pytest.raises(ProgramError, match="field 'a' of Avro is one of"):
        AvroParquetWriters.for_generic_record(AvroSchema(f'{{"type":"record","name":"R","fields":[{field}]}}'))
    tree = '{"type":"record","name":"T","fields":[{"name":"left","type":["null","T"]}]}'
    with pytest.raises(ProgramError, match="field 'left' of Avro holds"):
        AvroParquetReaders.for_generic_record(AvroSchema(tree))
