"""Converts records to the input of a Spark writer: Arrow batches of its schema, or rows of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import pyarrow as pa
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import Row, StructType

from headgate.deploy.spark.dataframes.schemas import row_type_of, struct_type_of
from headgate.errors import ProgramError, SerializationError
from headgate.types.arrow import batch_from_rows
from headgate.types.arrow_types import schema_in_micros
from headgate.types.typeinfo import TypeInformation

AnySchema: TypeAlias = StructType | pa.Schema | TypeInformation
"""The forms in which a program may give a schema."""


@final
@dataclass(frozen=True, slots=True)
class WriterColumns:
    """The schema of a writer, as a schema of Spark and of Arrow."""

    struct: StructType
    arrow: pa.Schema

    @staticmethod
    def of(schema: AnySchema) -> WriterColumns:
        """Return the columns of a schema. Raises `ProgramError` for other objects, and for a type that Spark lacks."""
        struct = _struct(schema)
        columns = schema_in_micros(row_type_of(struct))
        return WriterColumns(
            struct,
            pa.schema([own.with_nullable(field.nullable) for own, field in zip(columns, struct.fields, strict=True)]),
        )

    def batches(self, records: Sequence[Any]) -> list[pa.RecordBatch]:
        """Return records as batches of these columns. Records are rows, tuples, dicts, plain values or Arrow batches.

        Raises `SerializationError` naming the column of a value that does not fit.
        """
        if isinstance(records[0], pa.RecordBatch):
            batches = [self._fitted(batch) for batch in records]
        else:
            batches = [batch_from_rows(records, self.arrow)]
        for place, column in enumerate(self.arrow):
            if not column.nullable and any(batch.column(place).null_count for batch in batches):
                raise SerializationError(f"column {column.name!r} must not be null, but a record holds None there")
        return batches

    def rows(self, batch: pa.RecordBatch) -> list[Row]:
        """Return a batch as rows of Spark, with the types of values that Spark passes to a writer."""
        return ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), self.struct)

    def _fitted(self, batch: Any) -> pa.RecordBatch:
        if not isinstance(batch, pa.RecordBatch):
            raise SerializationError(f"Arrow batches came before {batch!r:.200}; a stream has either batches or rows")
        missing = sorted({*self.arrow.names} ^ {*batch.schema.names})
        if missing:
            raise SerializationError(
                f"a batch has the columns {batch.schema.names}, but the writer's schema has {self.arrow.names}: "
                f"column {missing[0]!r} is in only one of them"
            )
        columns = [self._cast(batch.column(field.name), field) for field in self.arrow]
        return pa.RecordBatch.from_arrays(columns, schema=self.arrow)

    def _cast(self, column: pa.Array, field: pa.Field) -> pa.Array:
        try:
            return column.cast(field.type)
        except (pa.ArrowException, ValueError) as error:
            raise SerializationError(
                f"column {field.name!r} is {field.type} in the writer's schema, but {column.type} in a batch: {error}"
            ) from error


def _struct(schema: AnySchema) -> StructType:
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, TypeInformation):
        return struct_type_of(schema)
    if not isinstance(schema, pa.Schema):
        raise ProgramError(
            "the schema of a Spark writer must be a row type such as Types.ROW_NAMED([...], [...]), an Arrow schema, "
            f"or a StructType, not {schema!r}"
        )
    try:
        return from_arrow_schema(schema, True)
    except TypeError as error:
        raise ProgramError(f"Spark has no such columns: {error}") from error
