"""Connectors as DataFrames, by Flink's identifiers and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headgate.dataframe.connectors.files import read_columns, schema_of
from headgate.dataframe.connectors.kafka import read_kafka
from headgate.dataframe.connectors.kafka_options import read_arguments
from headgate.dataframe.data_type import DataType
from headgate.dataframe.dataframe import DataFrame

_PLACES: Final = ("path", "table-path", "table-name")
"""Options that tell sources of one connector apart in plans, and in the uids of operators with state."""


def read_generic(
    connector: str,
    *,
    schema: Mapping[str, DataType],
    options: Mapping[str, str],
    computed_columns: Mapping[str, str] | None = None,
    watermark: tuple[str, str] | None = None,
) -> DataFrame:
    """Return the rows of a connector, by Flink's identifier and options.

    `filesystem` reads files in the formats `json`, `parquet`, `csv`, `orc` and `avro`, `delta` a version of a table of
    Delta Lake, `jdbc` a table of PostgreSQL, `kafka` topics as `read_kafka` does; `datagen` makes rows.
    `computed_columns` are SQL expressions, added in order. `watermark` is a pair of column and expression.

    Raises TypeError and ValueError for wrong arguments, ProgramError for a column whose type the connector does not
    have, and UnsupportedError for a connector that is in Java.

    >>> found = read_generic(
    ...     "datagen",
    ...     schema={"id": DataType.int64(), "price": DataType.decimal(4, 2)},
    ...     options={
    ...         "fields.id.kind": "sequence",
    ...         "fields.id.start": "1",
    ...         "fields.id.end": "3",
    ...         "fields.price.min": "1",
    ...     },
    ... )
    >>> [row.id for row in found.collect()]
    [1, 2, 3]
    """
    if connector == "kafka":
        arguments = read_arguments(options)
        return read_kafka(**arguments, schema=schema, computed_columns=computed_columns, watermark=watermark)
    from headgate.dataframe.connectors.factories import source_of  # noqa: PLC0415  # takes long to load

    source = source_of(connector, schema_of(schema), options)
    place = next((options[name] for name in _PLACES if name in options), "")
    return read_columns(source, f"{connector} {place}".rstrip(), computed_columns, watermark)
