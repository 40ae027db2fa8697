"""CSV files by a schema: what is read and written is what PyFlink reads and writes, wherever blocks of a file end."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headgate.common import Row, Types
from headgate.connectors.files.line_reader import FileReader
from headgate.datastream.connectors.file_system import FileSink, FileSource
from headgate.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from headgate.errors import ProgramError, SinkError, SourceError
from headgate.functions.source import Records
from headgate.table import DataTypes
from headgate.testing.contracts.source import ReaderContext
from tests.unit.datastream.environments import environment

LINE = Row("id", "name", "list")


def base() -> CsvSchemaBuilder:
    builder = CsvSchema.builder().add_number_column("id", DataTypes.INT()).add_string_column("name")
    return builder.add_array_column("list")


def read(builder: CsvSchemaBuilder, text: str | bytes, folder: Path, block_bytes: int = 1 << 18) -> list[Any]:
    """Return the records of a file, read in blocks of so many bytes."""
    file = folder / "file.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    csv_format = CsvReaderFormat.for_schema(builder.build())
    reader = FileReader(csv_format, ReaderContext(), block_bytes)
    source = FileSource.for_record_stream_format(csv_format, str(file)).build()
    reader.add_splits(source.splits(1))  # type: ignore[arg-type]
    found: list[Any] = []
    while isinstance(polled := reader.poll(3), Records):
        found += polled.records
    return found


GOOD = [
    (base(), "1,a,x;y\n2,b,\n", [LINE(1, "a", ["x", "y"]), LINE(2, "b", [])]),
    (base(), "1,a,x;y", [LINE(1, "a", ["x", "y"])]),
    (base(), '1,"a\nb",x\r\n2,"c""d",y\r\n', [LINE(1, "a\nb", ["x"]), LINE(2, 'c"d', ["y"])]),
    (base(), " 1 , a , x ; y \n", [LINE(1, " a ", [" x ", " y "])]),
    (base(), "1,null,x;;y\n", [LINE(1, "null", ["x", "", "y"])]),
    (base(), "\ufeff1,Zoë,x\n", [LINE(1, "Zoë", ["x"])]),
    (base(), "", []),
    (base().set_use_header(), "name,id,list\n1,a,x\n", [LINE(1, "a", ["x"])]),
    (base().set_use_header().set_strict_headers(), "id,name,list\n1,a,x\n", [LINE(1, "a", ["x"])]),
    (base().set_use_header(), "", []),
    (
        base().set_use_header().set_strict_headers().set_allow_comments(),
        "# c\n\nid,name,list\n# d\n1,a,x\n",
        [LINE(1, "a", ["x"])],
    ),
    (base().set_use_header().set_allow_comments(), "# c\nanything\n1,a,x\n", [LINE(1, "a", ["x"])]),
    (base().set_skip_first_data_row(), "a,b,c\n1,a,x\n", [LINE(1, "a", ["x"])]),
    (base().set_use_header().set_skip_first_data_row(), "h\n1,a,x\n2,b,y\n", [LINE(2, "b", ["y"])]),
    (base().set_null_value("null"), "null,null,\n1,nu,null;x\n", [LINE(None, None, []), LINE(1, "nu", [None, "x"])]),
    (base().set_null_value(""), ",,\n1,,x;;y\n", [LINE(None, None, []), LINE(1, None, ["x", None, "y"])]),
    (base().set_allow_comments(), "#c\n1,a,x\n #d\n2,#b,y\n", [LINE(1, "a", ["x"]), LINE(2, "#b", ["y"])]),
    (base().set_column_separator("|"), "1|a,b|x\n", [LINE(1, "a,b", ["x"])]),
    (base().set_escape_char("\\"), '1,a\\,b\\"c,x\n', [LINE(1, 'a,b"c', ["x"])]),
    (base().set_quote_char("'"), "1,'a,b',x\n", [LINE(1, "a,b", ["x"])]),
    (base().disable_quote_char(), '1,"a",x\n', [LINE(1, '"a"', ["x"])]),
    (base().set_any_property_name("rest"), "1,a,x,y,z\n", [LINE(1, "a", ["x"])]),
    (base().disable_array_element_separator(), "1,a,x;y\n", [LINE(1, "a", ["x", "y"])]),
    (base().set_array_element_separator("|"), "1,a,x;y|z\n", [LINE(1, "a", ["x", "y|z"])]),
    (
        base().remove_array_element_separator(2).set_array_element_separator("|"),
        "1,a,x;y|z\n",
        [LINE(1, "a", ["x;y", "z"])],
    ),
    (
        base().remove_array_element_separator(2).disable_array_element_separator(),
        "1,a,x;y\n",
        [LINE(1, "a", ["x;y"])],
    ),
]


@pytest.mark.parametrize("block_bytes", [1 << 18, 3])
@pytest.mark.parametrize(("builder", "text", "expected"), GOOD)
def test_files_are_read_as_pyflink_reads_them(
    builder: CsvSchemaBuilder, text: str, expected: list[Row], block_bytes: int, tmp_path: Path
) -> None:
    assert read(builder, text, tmp_path, block_bytes) == expected


@pytest.mark.parametrize(
    ("builder", "text", "reason"),
    [
        (base(), "1,a\n", "2 fields instead of 3"),
        (base(), "1,a,b,c\n", "4 fields instead of 3"),
        (base(), "1,a,x\n\n2,b,y\n", "line 2 .*1 fields instead of 3"),
        (base(), "1,a,x\nx,a,b\n", "line 2 .*field 'id': 'x' is not an integer"),
        (base(), ",a,b\n", "field 'id'"),
        (base(), "3000000000,a,b\n", "field 'id'"),
        (base(), '1,"a\n', "unexpected end of data"),
        (base(), b"1,\xff,x\n", "not UTF-8"),
        (
            base().set_use_header().set_strict_headers(),
            "name,id,list\n",
            "'name', 'id', 'list', not 'id', 'name'",
        ),
        (base().set_use_header().set_strict_headers(), "id,name\n", "columns 'id', 'name', not"),
    ],
)
def test_a_broken_line_is_named(builder: CsvSchemaBuilder, text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"file.csv'.*{reason}"):
        read(builder, text, tmp_path)


def test_columns_have_the_types_that_are_given(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder().add_boolean_column("b").add_number_column("n").add_number_column("d", DataTypes.DOUBLE())
    )
    schema.add_number_column("m", DataTypes.DECIMAL(10, 2)).add_array_column("a", "/", DataTypes.INT())
    row = Row("b", "n", "d", "m", "a")
    assert read(schema, "TRUE,5,1e3,1.555,1/2\nx,-7,NaN,123456789.5,\n", tmp_path)[0] == row(
        True, 5, 1000.0, Decimal("1.56"), [1, 2]
    )
    assert list(read(schema, "x,-7,0,123456789.5,\n", tmp_path)[0]) == [False, -7, 0.0, None, []]


RECORDS = [LINE(1, "a b", ["x", "y z"]), LINE(None, None, None), (2, 'q"', ["x", None])]


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (base(), '1,"a b","x;y z"\n,,\n2,"q""",x;\n'),
        (base().set_use_header(), 'id,name,list\n1,"a b","x;y z"\n,,\n2,"q""",x;\n'),
        (base().set_null_value("null"), '1,"a b","x;y z"\nnull,null,null\n2,"q""",x;null\n'),
        (base().set_line_separator("\r\n"), '1,"a b","x;y z"\r\n,,\r\n2,"q""",x;\r\n'),
        (base().set_column_separator("|"), '1|"a b"|"x;y z"\n||\n2|"q"""|"x;"\n'),
        (base().disable_quote_char(), '1,a b,x;y z\n,,\n2,q",x;\n'),
        (base().set_quote_char("'"), "1,'a b','x;y z'\n,,\n2,'q\"',x;\n"),
    ],
)
def test_files_are_written_as_pyflink_writes_them(builder: CsvSchemaBuilder, expected: str, tmp_path: Path) -> None:
    env = environment()
    env.set_parallelism(1)
    sink = FileSink.for_bulk_format(str(tmp_path / "out"), CsvBulkWriters.for_schema(builder.build())).build()
    env.from_collection(RECORDS).sink_to(sink)
    env.execute()
    [part] = (tmp_path / "out").rglob("part-*.csv")
    assert part.read_bytes().decode() == expected


def test_a_record_that_does_not_fit_is_named() -> None:
    writer = CsvBulkWriters.for_schema(base().build()).create(_Nothing())
    with pytest.raises(SinkError, match=r"'one'.* cannot be written as CSV"):
        writer.write([LINE(1, "a", []), LINE("one", "a", [])])


class _Nothing:
    def write(self, data: bytes) -> None:
        """Take the data."""


def test_compressed_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "lines.csv.gz"
    file.write_bytes(gzip.compress(b"1,a,x\n2,b,y\n"))
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(base().build()), str(file)).build()
    with environment().from_source(source, None, "csv").execute_and_collect() as rows:
        assert [row.id for row in rows] == [1, 2]


def test_a_schema_says_what_it_is() -> None:
    schema = base().set_use_header().build()
    assert str(schema) == (
        '[CsvSchema: columns=["id"/NUMBER,"name"/STRING,"list"/ARRAY], '
        "header? true, skipFirst? false, comments? false, any-properties? N/A]"
    )
    assert (len(schema), schema.size(), len(base())) == (3, 3, 3)
    assert schema.row_type() == Types.ROW_NAMED(
        ["id", "name", "list"], [Types.INT(), Types.STRING(), Types.LIST(Types.STRING())]
    )
    assert base().clear_columns().add_columns_from(schema).build().columns == schema.columns


def test_what_cannot_be_is_refused() -> None:
    for method in ("set_column_separator", "set_escape_char", "set_quote_char"):
        with pytest.raises(ValueError, match="single character"):
            getattr(base(), method)("ab")
    with pytest.raises(ProgramError, match="CsvSchema"):
        CsvReaderFormat.for_schema("a,b")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="field 'm' cannot be a MapTypeInfo"):
        CsvBulkWriters.for_schema(
            CsvSchema.builder().add_number_column("m", Types.MAP(Types.STRING(), Types.INT())).build()
        )
    with pytest.raises(ProgramError, match=r"DataTypes\.INT"):
        CsvSchema.builder().add_number_column("n", "INT")  # type: ignore[arg-type]


def test_rows_are_printed_as_rows_of_a_known_type(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines.csv"
    file.write_text("1,a,x;y\n")
    env = environment()
    env.set_parallelism(1)
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(base().build()), str(file)).build()
    env.from_source(source, None, "csv").print()
    env.execute()
    assert "+I[1,a,['x', 'y']]" in capfd.readouterr().out.splitlines()
