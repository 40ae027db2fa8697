"""Functions of users from batch to batch: of pandas, Arrow or Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.columns.user_kernels import DeclaredFunction, UserFunctions
from headgate.elements import Batch
from headgate.errors import ProgramError
from headgate.operators.base import USER_ERRORS, Operator, OperatorContext, UserCodeError
from headgate.operators.columns.calc import columns_of, failure
from headgate.operators.runtime_context import Runtime


@final
class MapBatchesOperator(Operator):
    """Passes the rows of each record batch through a function of the user, at most `batch_size` of them at a time."""

    def __init__(self, factory: MapBatchesFactory) -> None:
        self._factory = factory
        self._rows_max = factory.declared.batch_size
        self._functions = UserFunctions()
        self._call: Callable[[Any], Any]

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        try:
            made = self._functions.made(self._factory.declared.function, Runtime(context))
        except USER_ERRORS as error:
            raise UserCodeError(during=f"making {self._factory.declared.name}") from error
        self._call = made.eval if hasattr(made, "eval") else made

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._factory.input)
        size = self._rows_max or max(columns.num_rows, 1)
        made = [self._made(columns.slice(start, size)) for start in range(0, columns.num_rows, size)]
        filled = [own for own in made if own.num_rows]
        return Batch.of_arrow(pa.concat_batches(filled)) if filled else Batch([])

    def close(self) -> None:
        self._functions.close()

    def _made(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return self._results(columns)
        except ProgramError:  # it says what is wrong, and another call would return the same
            raise
        except USER_ERRORS as error:
            where = f"{self._factory.declared.name}(), a batch of {columns.num_rows} rows"
            raise failure(self._results, columns, error, where) from error

    def _results(self, columns: pa.RecordBatch) -> pa.RecordBatch:
        return self._columns(self._call(self._frame(columns)))

    def _frame(self, batch: pa.RecordBatch) -> Any:
        match self._factory.batch_format:
            case "pandas":
                return batch.to_pandas()
            case "polars":
                import polars  # noqa: PLC0415  # optional, and takes long to load

                return polars.from_arrow(batch)
        return batch

    def _columns(self, made: Any) -> pa.RecordBatch:
        name, schema = self._factory.declared.name, self._factory.output
        if isinstance(made, Mapping):
            table = pa.table({name: _array(column) for name, column in made.items()})
        elif isinstance(made, pa.RecordBatch | pa.Table):
            table = pa.Table.from_batches([made]) if isinstance(made, pa.RecordBatch) else made
        elif hasattr(made, "to_arrow"):
            table = made.to_arrow()
        elif type(made).__module__.startswith("pandas"):
            table = pa.Table.from_pandas(made, preserve_index=False)
        else:
            raise ProgramError(f"{name}(), of map_batches(), returned a {type(made).__name__}, which is no frame")
        missing = [own for own in schema.names if own not in table.column_names]
        if missing:
            raise ProgramError(f"{name}(), of map_batches(), returned no column {missing[0]!r}: give return_dtype")
        columns = [_cast(table.column(field.name), field, name) for field in schema]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(column: Any) -> Any:
    if hasattr(column, "to_arrow"):
        return column.to_arrow()
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)


def _cast(column: pa.ChunkedArray, field: pa.Field, name: str) -> pa.Array:
    try:
        return column.cast(field.type).combine_chunks()
    except pa.ArrowException as error:
        raise TypeError(
            f"{name}(), of map_batches(), returned {column.type} for column {field.name!r}, with a value that is no "
            f"{field.type}: {error}"
        ) from None


@final
@dataclass(frozen=True, slots=True)
class MapBatchesFactory:
    """Makes a `MapBatchesOperator`. `batch_format` is pandas, pyarrow or polars."""

    declared: DeclaredFunction
    batch_format: str
    input: pa.Schema
    output: pa.Schema

    def create(self) -> MapBatchesOperator:
        return MapBatchesOperator(self)
