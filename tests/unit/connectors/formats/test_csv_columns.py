"""CSV as columns: the same records, and the same broken lines, as line by line and value by value."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.connectors.files.csv_lines import CsvDecoder, CsvLines
from headgate.connectors.files.lines import Decoded
from headgate.connectors.formats.csv_columns import CsvColumns, CsvColumnsFormat
from headgate.types.arrow import rows_from_batch
from headgate.types.arrow_types import type_of_schema
from headgate.types.csv_dialect import CsvDialect
from headgate.types.csv_fields import CsvRows

TIMESTAMP = "2024-02-29 12:00:00"
TEXTS = {
    types.BIGINT: ["0", "-7", "+7", " 1 ", "0x1F", "", "1.0", "9223372036854775808", "NA", "-0"],
    types.TINYINT: ["127", "128", "-128"],
    types.DOUBLE: ["1", "-0.5", "1e3", "1E+400", "NaN", "inf", "Infinity", " 2", "1f", ".5", "5."],
    types.decimal(5, 2): ["1", "-1.5", "1.005", "1e2", "1000", "x", "1E-9"],
    types.BOOLEAN: ["true", " TRUE", "yes", "", "NA"],
    types.DATE: ["2024-02-29", "2024-2-9", "2023-02-29", "0001-01-01", ""],
    types.timestamp(6): [TIMESTAMP, f"{TIMESTAMP}.5", f"{TIMESTAMP}.1234567", "2024-02-29T12:00:00", "2024-1-1 1:2:3"],
    types.timestamp_ltz(6): [f"{TIMESTAMP}Z", f"{TIMESTAMP}.5Z", TIMESTAMP, f"{TIMESTAMP}+01:00"],
    types.STRING: ["a", 'q"q', '"a, b"', '"x ""y"""', '"n\nl"', "", "NA", '"NA"', '"open', 'a"', '"x"y', "ü"],
}
SCHEMA = Schema((f"f{place}", kind) for place, kind in enumerate(TEXTS))
LINE = st.tuples(*map(st.sampled_from, TEXTS.values())).map(",".join)
LINES = st.lists(st.one_of(LINE, LINE, st.sampled_from(["", "a,b", "\r"])), max_size=6).map("\n".join)


def one_by_one(block: bytes, rows: CsvRows) -> Decoded:
    """Return what the decoder of records makes of a block."""
    lines = CsvLines(dialect=rows.dialect, width=len(SCHEMA), blank_is_row=True)
    return CsvDecoder(lines, rows.reader()).decode(block, True)


@pytest.mark.parametrize("ignore_errors", [False, True])
@given(text=LINES, ends=st.booleans())
def test_columns_are_the_records_of_the_decoder_of_lines(ignore_errors: bool, text: str, ends: bool) -> None:
    block = (text + "\n" * ends).encode()
    dialect = CsvDialect(null_literal="NA")
    columns = CsvColumns(SCHEMA, tuple(SCHEMA.names), dialect, ignore_errors)
    found = CsvColumnsFormat(columns).decoder(b"").decode(block, True)
    rows = CsvRows(types=type_of_schema(SCHEMA.arrow), dialect=dialect, ignore_errors=ignore_errors)
    wanted = one_by_one(block, rows)
    got = CsvColumnsFormat(replace(columns, chosen=("f1", "f0"))).decoder(b"").decode(block, True)
    assert [own.line for own in found.broken] == [own.line for own in wanted.broken]
    assert isinstance(found.records, pa.RecordBatch)
    assert isinstance(got.records, pa.RecordBatch)
    assert list(map(repr, rows_from_batch(found.records))) == list(map(repr, wanted.records))
    if ignore_errors:
        assert got.records.column("f0").equals(found.records.column("f0"))


def test_other_lines_do_not_change_whether_a_long_field_is_read() -> None:
    schema = Schema([("s", types.STRING), ("n", types.BIGINT)])
    decoder = CsvColumnsFormat(CsvColumns(schema, ("s", "n"), CsvDialect())).decoder(b"")
    long = b"x" * 200_000 + b",1\n"
    alone, beside = decoder.decode(long, True), decoder.decode(long + b'"a\nb",2\n', True)
    assert [own.line for own in alone.broken] == [own.line for own in beside.broken] == [0]
