"""Casts the columns of sources to the types of their declared schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import pyarrow as pa

from headgate.elements import Batch
from headgate.errors import SourceError
from headgate.operators.base import Operator
from headgate.operators.columns.calc import columns_of


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns of a batch, by position, with the names and types of a schema.

    Raises SourceError naming the column with a value that the type does not have, or with NULL where it may not be.
    """
    columns = [_cast(own, field) for own, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    try:
        made = column.cast(field.type)
    except pa.ArrowException as error:
        raise SourceError(
            f"column {field.name!r} is {column.type} where it is read, with a value that is no {field.type}: {error}"
        ) from None
    if made.null_count and not field.nullable:
        raise SourceError(f"column {field.name!r} has NULL where it is read, but is NOT NULL in schema")
    return made


@final
class CastOperator(Operator):
    """Casts the columns of record batches, or records of Python objects, to a schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._schema)
        return Batch.of_arrow(conformed(columns, self._schema)) if columns.num_rows else Batch([])


@final
@dataclass(frozen=True, slots=True)
class CastFactory:
    """Makes a `CastOperator`."""

    schema: pa.Schema

    def create(self) -> CastOperator:
        return CastOperator(self.schema)
