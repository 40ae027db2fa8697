"""Filters rows and computes columns, in one operator as Flink's `Calc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import pyarrow as pa

from headgate.columns.functions.planning import WatermarkKernel
from headgate.columns.program import ColumnProgram
from headgate.columns.user_kernels import FailedRowError, UserFunctions
from headgate.elements import Batch
from headgate.operators.base import USER_ERRORS, Operator, OperatorContext, UserCodeError
from headgate.operators.runtime_context import Runtime
from headgate.types.arrow import batch_from_rows, rows_from_batch


def columns_of(batch: Batch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the columns of a batch; records that are Python objects are converted to a schema.

    Raises `SerializationError` naming the column and the record that do not fit the schema.
    """
    found = batch.columns
    return batch_from_rows(batch.records, schema) if found is None else found


@final
class CalcOperator(Operator):
    """Computes the outputs for the rows for which the predicate, if any, is true."""

    def __init__(self, factory: CalcFactory) -> None:
        self._input = factory.input
        self._output = factory.output
        self._predicate = factory.predicate
        self._outputs = factory.outputs
        self._functions = UserFunctions()

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        programs = [self._outputs] if self._predicate is None else [self._predicate, self._outputs]
        self._watermarks = [kernel for program in programs for kernel in program.kernels_of(WatermarkKernel)]
        kernels = (kernel for program in programs for kernel in program.user_kernels)
        self._functions.open(kernels, Runtime(context))

    def process(self, batch: Batch) -> Batch:
        columns = columns_of(batch, self._input)
        if self._predicate is not None:
            mask = computed(self._predicate, columns)[0]
            columns = columns.filter(mask)
        if not columns.num_rows:
            return Batch([])
        made = computed(self._outputs, columns, self._output.names)
        return Batch.of_arrow(pa.RecordBatch.from_arrays(made, schema=self._output))

    def advance(self, watermark_ms: int, records_max: int) -> Batch | None:
        for kernel in self._watermarks:
            kernel.watermark_ms = watermark_ms
        return None

    def close(self) -> None:
        self._functions.close()


def computed(program: ColumnProgram, columns: pa.RecordBatch, names: Sequence[str] = ()) -> list[pa.Array]:
    """Return the columns that a program computes, which have these names.

    Raises `UserCodeError` naming the columns and the first row that fail.
    """
    try:
        return program.columns(columns)
    except USER_ERRORS as error:
        failed = [names[place] for place in program.failed_results() if place < len(names)]
        where = f"column {', '.join(map(repr, failed))}" if failed else ""
        raise failure(program.columns, columns, error, where) from (
            error.__cause__ if isinstance(error, FailedRowError) else error
        )


def failure(
    compute: Callable[[pa.RecordBatch], Any], columns: pa.RecordBatch, error: BaseException, where: str
) -> UserCodeError:
    """Return the error for the first row that fails. It is searched by halves, unless the error knows it.

    If no part of the batch fails again, the error only says where it was raised.
    """
    if isinstance(error, FailedRowError):
        during = ", ".join(own for own in (error.during, where) if own)
        return UserCodeError(record=rows_from_batch(columns.slice(error.row, 1))[0], during=during)
    while columns.num_rows > 1:
        half = columns.num_rows // 2
        first = columns.slice(0, half)
        columns = first if _fails(compute, first) else columns.slice(half)
    return UserCodeError(record=rows_from_batch(columns)[0] if _fails(compute, columns) else None, during=where)


def _fails(compute: Callable[[pa.RecordBatch], Any], columns: pa.RecordBatch) -> bool:
    try:
        compute(columns)
    except USER_ERRORS:
        return True
    return False


@final
@dataclass(frozen=True, slots=True)
class CalcFactory:
    """Makes a `CalcOperator`. `input` is the schema of its input, `output` of what `outputs` computes."""

    input: pa.Schema
    output: pa.Schema
    outputs: ColumnProgram
    predicate: ColumnProgram | None = None

    def create(self) -> CalcOperator:
        return CalcOperator(self)
