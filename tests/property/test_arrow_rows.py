"""Random schemas and rows: through Arrow and back nothing changes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.types.arrow import arrow_schema, batch_from_rows, rows_from_batch, type_of_schema
from headgate.types.instant import Instant
from headgate.types.row import make_row
from headgate.types.typeinfo import DecimalTypeInfo, ListTypeInfo, MapTypeInfo, RowTypeInfo, TypeInformation, Types

KEYS: dict[TypeInformation, st.SearchStrategy[Any]] = {
    Types.STRING(): st.text(max_size=5),
    Types.BOOLEAN(): st.booleans(),
    Types.BYTE(): st.integers(-(2**7), 2**7 - 1),
    Types.INT(): st.integers(-(2**31), 2**31 - 1),
    Types.LONG(): st.integers(-(2**63), 2**63 - 1),
    Types.BIG_INT(): st.integers(-(10**38) + 1, 10**38 - 1),
    Types.SQL_DATE(): st.dates(),
    Types.INSTANT(): st.builds(Instant, st.integers(-(2**33), 2**33), st.integers(0, 999_999_999)),
}
ATOMS = KEYS | {
    Types.DOUBLE(): st.floats(allow_nan=False),
    Types.FLOAT(): st.floats(width=32, allow_nan=False),
    Types.SQL_TIME(): st.times(),
    Types.SQL_TIMESTAMP(): st.datetimes(),
    Types.SQL_INTERVAL(): st.timedeltas(dt.timedelta(days=-(10**8)), dt.timedelta(days=10**8)),
    Types.SQL_NULL(): st.none(),
    Types.BIG_DEC(): st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-18")),
    Types.PRIMITIVE_ARRAY(Types.BYTE()): st.binary(max_size=5),
}


def digits(precision: int) -> st.SearchStrategy[TypeInformation]:
    return st.integers(0, precision).map(lambda scale: Types.SQL_DECIMAL(precision, scale))


def rows_of(inner: st.SearchStrategy[TypeInformation], fields_min: int = 0) -> st.SearchStrategy[RowTypeInfo]:
    names = st.lists(st.text(max_size=4), unique=True, min_size=fields_min, max_size=4)
    return names.flatmap(
        lambda names: st.tuples(*[inner] * len(names)).map(lambda types: Types.ROW_NAMED(names, list(types)))
    )


def nested(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    maps = st.builds(MapTypeInfo, st.sampled_from(sorted(KEYS, key=str)), inner)
    return st.one_of(inner.map(ListTypeInfo), maps, rows_of(inner))


ATOM_TYPES = st.one_of(st.sampled_from(sorted(ATOMS, key=str)), st.integers(1, 37).flatmap(digits))
SCHEMAS = rows_of(st.recursive(ATOM_TYPES, nested, max_leaves=6), fields_min=1)


def values_of(type_info: TypeInformation) -> st.SearchStrategy[Any]:
    made: st.SearchStrategy[Any]
    match type_info:
        case RowTypeInfo():
            names = type_info.field_names
            made = st.tuples(*map(values_of, type_info.field_types)).map(lambda values: make_row(values, names))
        case ListTypeInfo():
            made = st.lists(values_of(type_info.element_type), max_size=3)
        case MapTypeInfo():
            made = st.dictionaries(KEYS[type_info.key_type_info], values_of(type_info.value_type_info), max_size=3)
        case DecimalTypeInfo():
            most = 10**type_info.precision - 1
            scale = type_info.scale
            made = st.integers(-most, most).map(lambda n: Decimal(f"{n}E-{scale}"))
        case _:
            made = ATOMS[type_info]
    return st.none() | made


def tables() -> st.SearchStrategy[tuple[RowTypeInfo, list[Any]]]:
    return SCHEMAS.flatmap(
        lambda schema: st.tuples(
            st.just(schema), st.lists(values_of(schema).filter(lambda row: row is not None), max_size=5)
        )
    )


@settings(deadline=None)
@given(tables(), st.integers(0, 5))
@pytest.mark.slow
def test_rows_come_back_as_they_were(table: tuple[RowTypeInfo, list[Any]], skipped: int) -> None:
    schema, rows = table
    batch = batch_from_rows(rows, arrow_schema(schema))
    assert rows_from_batch(batch) == rows
    assert rows_from_batch(batch.slice(skipped)) == rows[skipped:]


@settings(deadline=None)
@given(SCHEMAS)
@pytest.mark.slow
def test_schemas_come_back_as_they_were(schema: RowTypeInfo) -> None:
    columns = arrow_schema(schema)
    assert type_of_schema(columns) == schema
    assert arrow_schema(type_of_schema(columns)) == columns
    assert TypeInformation.from_json(schema.to_json()) == schema
