"""The columns of a Delta table, and the check that they fit a sink."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from deltalake import DeltaTable, Schema
from deltalake.schema import DataType

from headgate.errors import ProgramError
from headgate.types.arrow import arrow_schema
from headgate.types.typeinfo import TypeInformation

_NEEDS_WRITERS_HELP: Final = ("delta.invariants", "delta.generationExpression", "delta.identity.")
_FEATURES: Final = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "identityColumns",
        "invariants",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
"""Writer features that need nothing from a writer that appends files, or that `_special` checks separately."""

_PARTITION_TYPES: Final = (
    pa.types.is_string,
    pa.types.is_integer,
    pa.types.is_date,
    pa.types.is_boolean,
)


def delta_columns(schema: pa.Schema | TypeInformation, partition_by: list[str]) -> pa.Schema:
    """Return the columns with Delta's types, including the partition columns.

    Text of any kind is `string`, and times have microseconds, in UTC if they have a zone. Raises `ProgramError` naming
    a column whose type Delta does not have, or by which a table cannot be partitioned.
    """
    given = schema if isinstance(schema, pa.Schema) else arrow_schema(schema)
    twice = sorted({name for name in given.names if given.names.count(name) > 1})
    if twice or not given.names:
        raise ProgramError(f"a Delta table has columns of different names, but these are {given.names}")
    columns = pa.schema([_delta_field(field) for field in given])
    for name in partition_by:
        if name not in columns.names:
            raise ProgramError(
                f"the table is to be partitioned by {name!r}, which is none of its columns: {given.names}"
            )
        if not any(fits(columns.field(name).type) for fits in _PARTITION_TYPES):
            raise ProgramError(
                f"the table cannot be partitioned by {name!r}, which is {columns.field(name).type}; "
                "choose a column of text, whole numbers, dates or booleans, a date instead of a timestamp"
            )
    if len(partition_by) == len(columns.names):
        raise ProgramError("a Delta table needs a column that it is not partitioned by")
    return columns


def _delta_field(field: pa.Field) -> pa.Field:
    delta_field = pa.field(field.name, _delta_type(field.type), field.nullable)
    try:
        Schema.from_arrow(pa.schema([delta_field]))
        known = "uint" not in str(delta_field.type) and "[ns" not in str(delta_field.type)
    except Exception:  # noqa: BLE001  # deltalake raises just that
        known = False
    if not known or pa.types.is_null(field.type):
        raise ProgramError(
            f"column {field.name!r} has the type {field.type}, which Delta Lake does not have; "
            "map it to signed integers, floats, decimals, text, bytes, dates or timestamps"
        )
    return delta_field


def _delta_type(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(arrow):
        return _delta_type(arrow.value_type)
    if pa.types.is_large_string(arrow) or arrow == pa.string_view():
        return pa.string()
    if pa.types.is_large_binary(arrow) or arrow == pa.binary_view():
        return pa.binary()
    if pa.types.is_date64(arrow):
        return pa.date32()
    if pa.types.is_timestamp(arrow):
        return pa.timestamp("us", tz=None if arrow.tz is None else "UTC")
    if pa.types.is_struct(arrow):
        return pa.struct([field.with_type(_delta_type(field.type)) for field in arrow.fields])
    if pa.types.is_map(arrow):
        keys, values = arrow.key_field, arrow.item_field
        return pa.map_(keys.with_type(_delta_type(keys.type)), values.with_type(_delta_type(values.type)))
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow) or pa.types.is_fixed_size_list(arrow):
        return pa.list_(arrow.value_field.with_type(_delta_type(arrow.value_type)))
    return arrow


def misfit(columns: str, partition_by: list[str], table: DeltaTable) -> str | None:
    """Return the reason why files with these columns do not fit the table, None if they fit.

    `columns` is a schema as Delta writes it. The files may lack a nullable column of the table: its values are null.
    """
    ours = {field.name: field for field in Schema.from_json(columns).fields}
    theirs = {field.name: field for field in table.schema().fields}
    for name, field in ours.items():
        if name not in theirs:
            return f"it has no column {name!r}; its columns are {sorted(theirs)}"
        if field.type != theirs[name].type:
            return f"its column {name!r} is {_named(theirs[name].type)}, and the sink writes {_named(field.type)}"
        if field.nullable and not theirs[name].nullable:
            return f"its column {name!r} must not be null, so the sink's schema has to say nullable=False as well"
    for name, field in theirs.items():
        if name not in ours and not field.nullable:
            return f"its column {name!r} must not be null, and the sink does not write it"
    if table.metadata().partition_columns != partition_by:
        return f"it is partitioned by {table.metadata().partition_columns}, and the sink writes files by {partition_by}"
    return _special(table)


def _named(delta_type: DataType) -> str:
    return delta_type.to_json().strip('"')


def _special(table: DeltaTable) -> str | None:
    """Return the feature of the table that this writer does not support, None if there is none."""
    settings = table.metadata().configuration
    if settings.get("delta.columnMapping.mode", "none") != "none":
        return "it maps columns to other names (delta.columnMapping.mode), which the sink does not do"
    for key in settings:
        if key.startswith("delta.constraints."):
            return f"it has the constraint {key!r}, which the sink does not check; drop it, or write to another table"
    for field in table.schema().fields:
        for key in field.metadata:
            if key.startswith(_NEEDS_WRITERS_HELP):
                return f"its column {field.name!r} has {key}, which the sink does not support"
    unknown = sorted(set(table.protocol().writer_features or ()) - _FEATURES)
    return f"it has the features {unknown}, which the sink does not support" if unknown else None
