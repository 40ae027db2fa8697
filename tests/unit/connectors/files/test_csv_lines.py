"""Rows from lines of CSV."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headgate.connectors.files.csv_lines import CsvOptions
from headgate.connectors.files.lines import BrokenLines
from headgate.connectors.files.source import FileSource
from headgate.connectors.files.stream_format import StreamFormat
from headgate.errors import ProgramError, SourceError
from headgate.testing.contracts.source import ReaderContext, open_reader, read, read_all
from headgate.types.row import Row
from headgate.types.typeinfo import RowTypeInfo, Types


def types(**columns: Any) -> RowTypeInfo:
    return RowTypeInfo(list(columns.values()), list(columns))


def rows(folder: Path, text: str, options: CsvOptions | None = None) -> list[Any]:
    path = folder / "in.csv"
    path.write_text(text, newline="")
    return read_all(FileSource.for_record_stream_format(StreamFormat.csv_format(options), str(path)).build())


def test_header_names_the_fields(tmp_path: Path) -> None:
    assert rows(tmp_path, "name,age\nAlice,11\r\nBob,12") == [
        Row("name", "age")("Alice", "11"),
        Row("name", "age")("Bob", "12"),
    ]


def test_order_of_the_columns_is_that_of_the_file(tmp_path: Path) -> None:
    assert list(rows(tmp_path, "b,a\n1,2\n")[0]) == ["1", "2"]


def test_types_choose_and_convert_columns(tmp_path: Path) -> None:
    options = CsvOptions(types=types(age=Types.INT(), name=Types.STRING()))
    [row] = rows(tmp_path, "name,city,age\nAlice,Oslo,11\n", options)
    assert row.as_dict() == {"age": 11, "name": "Alice"}


def test_each_basic_type_can_be_read(tmp_path: Path) -> None:
    options = CsvOptions(
        header=False,
        types=types(
            a=Types.BOOLEAN(), b=Types.LONG(), c=Types.DOUBLE(), d=Types.BIG_DEC(),
            e=Types.SQL_DATE(), f=Types.SQL_TIME(), g=Types.SQL_TIMESTAMP(),
        ),
    )  # fmt: skip
    [row] = rows(tmp_path, "True,-7,1e3,1.10,2024-02-29,23:59:58,2024-02-29T01:02:03.5\n", options)
    assert list(row) == [
        True, -7, 1000.0, Decimal("1.10"), datetime.date(2024, 2, 29), datetime.time(23, 59, 58),
        datetime.datetime(2024, 2, 29, 1, 2, 3, 500_000),
    ]  # fmt: skip


def test_floats_have_32_bits(tmp_path: Path) -> None:
    options = CsvOptions(types=types(a=Types.FLOAT()), null_value="")
    assert [row.a for row in rows(tmp_path, 'a\n0.1\n""\n', options)] == [0.10000000149011612, None]


def test_null_value_is_none_in_every_column(tmp_path: Path) -> None:
    options = CsvOptions(types=types(a=Types.INT(), b=Types.STRING()), null_value="NA")
    assert [list(row) for row in rows(tmp_path, "a,b\nNA,x\n1,NA\n", options)] == [[None, "x"], [1, None]]


def test_null_value_works_without_types(tmp_path: Path) -> None:
    assert [list(row) for row in rows(tmp_path, "a,b\n,x\n", CsvOptions(null_value=""))] == [[None, "x"]]


def test_quotes_hold_delimiters_and_quotes(tmp_path: Path) -> None:
    assert list(rows(tmp_path, 'a;b\n"x;""y""";z\n', CsvOptions(delimiter=";"))[0]) == ['x;"y"', "z"]


def test_multiline_fields_keep_their_newlines(tmp_path: Path) -> None:
    options = CsvOptions(multiline=True)
    assert [list(row) for row in rows(tmp_path, 'a,b\n"1\r\n2",x\n3,y\n', options)] == [["1\r\n2", "x"], ["3", "y"]]


def test_blank_lines_are_no_records(tmp_path: Path) -> None:
    assert [row.a for row in rows(tmp_path, "a\n\n1\n\n\n2\n\n")] == ["1", "2"]


def test_byte_order_mark_is_not_part_of_the_first_name(tmp_path: Path) -> None:
    assert rows(tmp_path, "\ufeffa\n1\n")[0].as_dict() == {"a": "1"}


def test_file_of_only_a_header_has_no_rows(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1", "has 1 fields instead of 2"),
        ("1,2,3", "has 3 fields instead of 2"),
        ("one,x", "field 'a': 'one' is not an integer"),
        ("1_000,x", "field 'a': '1_000' is not an integer"),
        ("2147483648,x", "field 'a': 2147483648 does not fit into 32 bits"),
        ('1,"x', "unexpected end of data"),
        ('1,"x"y', "',' expected after '\"'"),
    ],
)
def test_broken_line_is_named_with_file_line_and_reason(tmp_path: Path, line: str, reason: str) -> None:
    options = CsvOptions(types=types(a=Types.INT(), b=Types.STRING()))
    with pytest.raises(SourceError) as caught:
        rows(tmp_path, f"a,b\n1,x\n{line}\n2,y\n", options)
    assert "in.csv', line 3 (byte 8): " in str(caught.value)
    assert reason in str(caught.value)
    assert "BrokenLines.SKIP" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (Types.LONG(), "9" * 30, "does not fit into 64 bits"),
        (Types.LONG(), "9" * 5000, "Exceeds the limit"),
        (Types.INT(), "\u0663", "is not an integer"),
        (Types.DOUBLE(), "1e400", "'1e400' is out of range"),
        (Types.FLOAT(), "1e300", "'1e300' is out of range"),
        (Types.DOUBLE(), "1_0.5", "'1_0.5' is not a number"),
        (Types.BOOLEAN(), "yes", "'yes' is neither true nor false"),
        (Types.BIG_DEC(), "1_000", "'1_000' is not a decimal"),
        (Types.BIG_DEC(), "NaN", "'NaN' is not a decimal"),
        (Types.SQL_DECIMAL(4, 2), "1.005", r"1\.005 has more digits than a Decimal\(4, 2\)"),
        (Types.SQL_TIME(), "12:00+02:00", r"'12:00\+02:00' has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00Z", "'2024-02-29T12:00:00Z' has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00-01:00", "has a zone"),
        (Types.SQL_TIMESTAMP(), "2024-02-29T12:00:00.123456789", "more digits than microseconds"),
        (Types.SQL_TIMESTAMP(), "20240229T120000.123456789", "more digits than microseconds"),
        (Types.INSTANT(), "2024-02-29T12:00:00", "is not a time with a zone"),
        (Types.SQL_INTERVAL(), "PT", "'PT' is not a length of time"),
    ],
    ids=["wide", "long", "arabic", "1e400", "1e300", "1_0.5", "yes", "1_000", "NaN", "digits", "time", "Z", "west",
         "nanoseconds", "basic", "instant", "interval"],
)  # fmt: skip
@pytest.mark.parametrize("null_value", [None, "-"])
def test_what_would_be_changed_is_a_broken_line(
    tmp_path: Path, kind: Any, text: str, reason: str, null_value: str | None
) -> None:
    content = f"a,b\n{text},x\n"
    with pytest.raises(SourceError, match=rf"in\.csv', line 2 .*field 'a': .*{reason}"):
        rows(tmp_path, content, CsvOptions(types=types(a=kind), null_value=null_value))
    skipping = CsvOptions(types=types(a=kind), null_value=null_value, broken_lines=BrokenLines.SKIP)
    assert rows(tmp_path, content, skipping) == []


def test_numbers_that_python_writes_are_read(tmp_path: Path) -> None:
    options = CsvOptions(types=types(a=Types.DOUBLE()))
    assert [str(row.a) for row in rows(tmp_path, "a\nnan\n-inf\n1e+300\n Infinity \n", options)] == [
        "nan", "-inf", "1e+300", "inf",
    ]  # fmt: skip


@pytest.mark.parametrize("multiline", [False, True])
def test_broken_lines_are_skipped_alone(tmp_path: Path, multiline: bool) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'a,b\n1,x\nbroken\n2,"y\n3,z\n\xff,x\n4,w\n')
    options = CsvOptions(types=types(a=Types.INT()), multiline=multiline, broken_lines=BrokenLines.SKIP)
    source = FileSource.for_record_stream_format(StreamFormat.csv_format(options), str(path)).build()
    context = ReaderContext()
    found = read(open_reader(source, source.splits(1), context), context)
    assert [row.a for row in found] == [1, 3, 4]
    assert context.counters == {"skipped_lines": 3}


@pytest.mark.parametrize(
    ("header", "reason"),
    [("b,c", "no column 'a'; it has 'b', 'c'"), ("a,a", "names a column twice"), ('"a', "the header is not CSV")],
)
def test_header_that_does_not_fit_is_named(tmp_path: Path, header: str, reason: str) -> None:
    with pytest.raises(SourceError, match=rf"in\.csv': .*{reason}"):
        rows(tmp_path, f"{header}\n1,2\n", CsvOptions(types=types(a=Types.STRING())))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (CsvOptions(header=False), "without a header need `types`"),
        (CsvOptions(delimiter="||"), "cannot separate"),
        (CsvOptions(types=types(a=Types.LIST(Types.INT()))), "field 'a' cannot be a ListTypeInfo"),
        (CsvOptions(charset_name="utf-16"), "convert to UTF-8"),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(options: CsvOptions, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason):
        StreamFormat.csv_format(options)
