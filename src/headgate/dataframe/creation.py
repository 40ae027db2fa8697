"""The functions that make a DataFrame of data that the program holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import pyarrow as pa

from headgate.columns import logical_types as types
from headgate.columns.schema import Schema
from headgate.connectors.column_table import ColumnTableSource, RangeSource
from headgate.dataframe.dataframe import DataFrame
from headgate.dataframe.inference import check_names, columns_of_dict, columns_of_records, inferred
from headgate.dataframe.planner.logical import Scan
from headgate.dataframe.session import get_or_create_table_environment
from headgate.functions.source import Source

if TYPE_CHECKING:
    import pandas as pd

Watermark = tuple[str, str]
_INT64: Final = range(-(2**63), 2**63)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableScan:
    """The rows of an Arrow table."""

    table: pa.Table
    schema: Schema
    conforms = True

    def source(self, columns: Sequence[str]) -> Source[Any]:
        return ColumnTableSource(self.table.select(list(columns)))


@final
@dataclass(frozen=True, slots=True)
class RangeScan:
    """Consecutive integers."""

    numbers: range
    conforms = True

    @property
    def schema(self) -> Schema:
        return Schema([("id", types.BIGINT.nulls(nullable=False))])

    def source(self, columns: Sequence[str]) -> Source[Any]:
        return RangeSource(self.numbers, self.schema.arrow)


def _made(table: pa.Table, schema: Schema, name: str) -> DataFrame:
    scan = Scan(name, TableScan(table, schema), tuple(schema.names))
    return DataFrame(scan, get_or_create_table_environment())


def from_records(data: Sequence[Any], schema: list[str] | None = None, watermark: Watermark | None = None) -> DataFrame:
    """Return a DataFrame of records: dicts, named tuples, rows, or plain sequences with `schema`.

    The first record determines the kind of all records, and without `schema` the names and the order of the columns.
    `schema` chooses the fields of dicts and named tuples by name. It names the values of plain sequences by position.
    Types follow from the values: int is BIGINT, float DOUBLE, str STRING, Decimal DECIMAL(38, 18), datetime
    TIMESTAMP_LTZ(6), list ARRAY, dict MAP, a row ROW.

    Raises TypeError for data that is no sequence, or a record of another kind than the first; ValueError for no
    records, or a record with other fields; both name the index of the record.

    >>> from_records([{"id": 1, "name": "a"}, {"id": 2, "name": None}]).schema
    Schema(id: BIGINT NOT NULL, name: STRING)
    """
    names, columns = columns_of_records(data, check_names(schema))
    return _of_columns(names, columns, watermark, "from_records")


def from_dict(
    data: Mapping[str, Sequence[Any]], schema: list[str] | None = None, watermark: Watermark | None = None
) -> DataFrame:
    """Return a DataFrame of the columns in a dict. `schema` chooses columns, and their order.

    Raises TypeError for data that is no dict, or a column that is no sequence; ValueError for columns of different
    lengths, no rows, or an unknown name in `schema`.

    >>> from_dict({"id": [1, 2], "price": [0.5, 1.5]}).columns
    ['id', 'price']
    """
    names, columns = columns_of_dict(data, check_names(schema))
    return _of_columns(names, columns, watermark, "from_dict")


def _of_columns(names: list[str], columns: list[list[Any]], watermark: Watermark | None, called: str) -> DataFrame:
    made = [inferred(values, name) for name, values in zip(names, columns, strict=True)]
    schema = Schema((name, own) for name, (own, _) in zip(names, made, strict=True))
    table = pa.Table.from_arrays([array for _, array in made], schema=schema.arrow)
    return _made(table, schema, called)._with_time(watermark)


def from_pandas(pdf: pd.DataFrame, schema: list[str] | None = None, watermark: Watermark | None = None) -> DataFrame:
    """Return a DataFrame of a pandas DataFrame, without its index. `schema` renames the columns by position.

    Labels of columns become strings. A column of objects without any value is a STRING. Raises TypeError for another
    object, and ValueError if the number of names in `schema` is not the number of columns.
    """
    import pandas as pd  # noqa: PLC0415  # optional, and takes long to load

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"from_pandas() takes a pandas DataFrame, not a {type(pdf).__name__}")
    names = check_names(schema) or [_label(label) for label in pdf.columns]
    if len(names) != len(pdf.columns):
        raise ValueError(f"schema has {len(names)} names for {len(pdf.columns)} columns")
    renamed = pdf.set_axis(names, axis="columns")
    table = pa.Table.from_pandas(renamed, preserve_index=False)
    texts = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in table.schema]
    return from_arrow(table.cast(pa.schema(texts)), None, watermark)


def _label(label: Any) -> str:
    return label.decode() if isinstance(label, bytes) else str(label)


def from_arrow(table: pa.Table, schema: list[str] | None = None, watermark: Watermark | None = None) -> DataFrame:
    """Return a DataFrame of an Arrow table. `schema` renames the columns by position.

    Timestamps with a zone become TIMESTAMP_LTZ. Raises TypeError for another object, for a column of nulls, or for a
    type that SQL does not have; ValueError if the number of names in `schema` is not the number of columns.

    >>> from_arrow(pa.table({"n": pa.array([1, 2], pa.int32())})).schema
    Schema(n: INT)
    """
    if not isinstance(table, pa.Table):
        raise TypeError(f"from_arrow() takes a pyarrow.Table, not a {type(table).__name__}")
    names = check_names(schema) or table.schema.names
    if len(names) != table.num_columns:
        raise ValueError(f"schema has {len(names)} names for {table.num_columns} columns")
    pairs = zip(names, table.schema, strict=True)
    own = Schema((name, types.of_arrow(field.type, name, field.nullable)) for name, field in pairs)
    renamed = table.rename_columns(names)
    return _made(renamed.cast(own.arrow), own, "from_arrow")._with_time(watermark)


def number_range(start_or_end: int, end: int | None = None, step: int = 1) -> DataFrame:
    """Return a DataFrame with one column, `id`: the integers of Python's `range` with these arguments.

    Raises TypeError for arguments that are no int, and ValueError for a step of 0 or integers that exceed 64 bits.

    >>> number_range(2, 10, 3).collect()
    [Row(id=2), Row(id=5), Row(id=8)]
    """
    for value in (start_or_end, step, *(() if end is None else (end,))):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"range() takes int, not {value!r}")
        if value not in _INT64:
            raise ValueError(f"{value} in range() exceeds 64 bits")
    if step == 0:
        raise ValueError("the step of range() must not be 0")
    first, last = (0, start_or_end) if end is None else (start_or_end, end)
    scan = RangeScan(range(first, last, step))
    return DataFrame(Scan("range", scan, ("id",)), get_or_create_table_environment())
