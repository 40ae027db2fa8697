"""Functions of texts on batches without rows or values, and in programs that are sent to workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headgate.columns.logical_types import INT, STRING, LogicalType
from headgate.columns.nodes import literal
from headgate.columns.program import ColumnProgram
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.table.expression import Expression
from headgate.table.expressions import col
from tests.unit.columns import test_encodings, test_patterns, test_substrings, test_texts

Build = Callable[..., Expression]
CASES: list[tuple[Build, list[LogicalType], tuple[Any, ...]]] = [
    *((build, [STRING], rows[0][0]) for build, _, rows in test_texts.ONE),
    *(
        (build, kinds, rows[0][0])
        for build, kinds, _, rows in (
            *test_texts.MORE,
            *test_substrings.CASES,
            *test_patterns.CASES,
            *test_encodings.CASES,
        )
    ),
    (lambda a: a.is_json(), [STRING], ("",)),
    (lambda a: a.json_value("$.a"), [STRING], ("",)),
    (lambda a: a.json_query("$.a"), [STRING], ("",)),
    (lambda a: a.json_exists("$.a"), [STRING], ("",)),
    (lambda a: a.json_quote(), [STRING], ("",)),
    (lambda a: a.json_unquote(), [STRING], ("",)),
    (lambda a: a.str_to_map(), [STRING], ("",)),
    (lambda a, b: a.printf(b), [STRING, INT], ("%s", 1)),
    (lambda a: a.chr, [INT], (1,)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_batches_without_rows_or_values(case: int) -> None:
    build, kinds, first = CASES[case]
    names = [f"a{index}" for index in range(len(kinds))]
    scope = ExpressionScope(Schema(zip(names, kinds, strict=True)))
    columns = [col(name) for name in names]
    constants = [Expression(literal(own, kind)) for own, kind in zip(first[1:], kinds[1:], strict=True)]
    for expression in (build(*columns), build(columns[0], *constants)):
        program = pickle.loads(pickle.dumps(ColumnProgram([scope.typed(expression.node)])))  # noqa: S301  # of this test
        for count in (0, 2):
            batch = pa.record_batch([pa.nulls(count, kind.arrow) for kind in kinds], names)
            found = program.columns(batch)[0]
            found.validate(full=True)
            assert len(found) == count
