"""Calls of functions that run in operators of their own: asynchronous functions, and functions with a `concurrency`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from headgate.columns.logical_types import BOOLEAN
from headgate.columns.schema import unlike
from headgate.columns.typed import Apply, Choose, Constant, Field, Typed, all_fields, walk
from headgate.columns.user_kernels import AsyncKernel, UserKernel
from headgate.dataframe.planner.logical import (
    Called,
    Filter,
    Project,
    Relation,
    WindowAggregate,
    inputs_of,
)
from headgate.dataframe.planner.ordered import OverAggregate
from headgate.dataframe.planner.rules import conjunction, with_inputs


def separated(plan: Relation) -> Relation:
    """Compute each call of an asynchronous function, or of one with a `concurrency`, in a relation of its own.

    A call within a condition is made only for the rows that need it, as elsewhere.
    """
    plan = with_inputs(plan, *map(separated, inputs_of(plan)))
    match plan:
        case Project():
            separation = _Separation(plan.input)
            outputs = tuple((name, separation.without(own)) for name, own in plan.outputs)
            return Project(separation.below, outputs)
        case Filter():
            separation = _Separation(plan.input)
            predicate = separation.without(plan.predicate)
            if separation.below is plan.input:
                return plan
            fields = zip(plan.schema.names, all_fields(plan.schema.types), strict=True)
            return Project(Filter(separation.below, predicate), tuple(fields))
        case WindowAggregate():
            separation = _Separation(plan.input)
            keys = separation.all_without(plan.keys)
            arguments = separation.all_without(own for _, own in plan.aggregates)
            aggregates = zip((own for own, _ in plan.aggregates), arguments, strict=True)
            return replace(plan, input=separation.below, keys=keys, aggregates=tuple(aggregates))
        case OverAggregate():
            return _separated_over(plan)
    return plan


def _separated_over(plan: OverAggregate) -> Relation:
    separation = _Separation(plan.input)
    keys = separation.all_without(plan.keys)
    order = separation.without(plan.order)
    arguments = separation.all_without(own for _, own in plan.aggregates)
    if separation.below is plan.input:
        return plan
    aggregates = tuple(zip((own for own, _ in plan.aggregates), arguments, strict=True))
    over = replace(plan, input=separation.below, keys=keys, order=order, aggregates=aggregates)
    added = len(separation.below.schema) - len(plan.input.schema)
    fields = (
        (name, Field(place if place < len(plan.input.schema) else place + added, own))
        for place, (name, own) in enumerate(plan.schema)
    )
    return Project(over, tuple(fields))


class _Separation:
    """Replaces calls by columns that are added to the relation `below`."""

    def __init__(self, below: Relation) -> None:
        self.below = below
        self._columns: dict[tuple[Typed, Typed | None], Field] = {}

    def all_without(self, expressions: Iterable[Typed]) -> tuple[Typed, ...]:
        """Return the expressions without such calls."""
        return tuple(map(self.without, expressions))

    def without(self, expression: Typed, guard: Typed | None = None) -> Typed:
        """Return the expression without such calls. They are made only for rows for which `guard` is true."""
        if not any(map(_is_separate, walk(expression))):
            return expression
        match expression:
            case Apply():
                inner = tuple(self.without(own, guard) for own in expression.arguments)
                call = replace(expression, arguments=inner)
                return self._called(call, guard) if _is_separate(call) else call
            case Choose():
                condition = self._computed(self.without(expression.condition, guard))
                then = self.without(expression.then, _both(guard, condition))
                otherwise = self.without(expression.otherwise, _both(guard, _not(condition)))
                return Choose(condition, then, otherwise, expression.type)
        return expression

    def _called(self, call: Apply, guard: Typed | None) -> Field:
        found = self._columns.get((call, guard)) if call.deterministic else None
        if found is None:
            self.below = Called(self.below, call, guard)
            found = self._columns[call, guard] = self._last()
        return found

    def _computed(self, condition: Typed) -> Field:
        """Return a column of a condition, which several calls depend on."""
        schema = self.below.schema
        fields = zip(schema.names, all_fields(schema.types), strict=True)
        self.below = Project(self.below, (*fields, (unlike(schema.names, "$"), condition)))
        return self._last()

    def _last(self) -> Field:
        columns = self.below.schema.columns
        return Field(len(columns) - 1, columns[-1][1])


def _is_separate(expression: Typed) -> bool:
    kernel = expression.kernel if isinstance(expression, Apply) else None
    has_concurrency = isinstance(kernel, UserKernel) and kernel.declared.concurrency is not None
    return has_concurrency or isinstance(kernel, AsyncKernel)


def _both(guard: Typed | None, condition: Typed) -> Typed:
    return condition if guard is None else conjunction([guard, condition])


def _not(condition: Typed) -> Typed:
    kind = BOOLEAN.nulls(nullable=False)
    yes, no = (Constant(pa.scalar(value), kind) for value in (True, False))
    return Choose(condition, no, yes, kind)
