"""Casts the columns of sources to the types of their declared schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import pyarrow as pa

from headgate.errors import SourceError


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
@dataclass(frozen=True, slots=True)
class CastToSchema:
    """Makes the function that casts the columns of a batch to a schema, as `conformed` does."""

    schema: pa.Schema

    def __call__(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        return partial(conformed, schema=self.schema)
