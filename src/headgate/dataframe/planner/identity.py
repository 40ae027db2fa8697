"""The uids of operators with state, by which a savepoint finds them in a changed program.

A uid depends on what the state depends on: the kind of operator, its keys, windows and aggregates as expressions of the
columns of sources, and the operators with state before it. Names, other columns, filters, sinks and other queries of
the program do not change it. A changed window or aggregate changes it, because its state would mean something else: the
operator then begins without state, and a restore says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from headgate.columns.typed import Apply, Constant, Field, Typed, arguments
from headgate.columns.user_kernels import AsyncKernel
from headgate.dataframe.planner.logical import (
    Called,
    Delay,
    Distinct,
    EventTime,
    Expand,
    Filter,
    Join,
    LateRows,
    Limit,
    Project,
    Relation,
    Scan,
    SetOperation,
    UnionAll,
    WindowAggregate,
    inputs_of,
)
from headgate.dataframe.planner.ordered import OverAggregate, Sort


def uid_of(plan: Relation) -> str:
    """Return the uid of a relation with state: its kind, and a digest of what its state depends on."""
    return f"{type(plan).__name__}-{digest_of(*_state_of(plan))}"


def digest_of(*lines: str) -> str:
    """Return 16 hexadecimal digits that differ where the lines do."""
    return hashlib.blake2s("\n".join(lines).encode(), digest_size=8).hexdigest()


def form_of_state(plan: Relation) -> str:
    """Return the types of the values in the state of a relation's operator: a savepoint can only be read with these."""
    match plan:
        case Scan() | Limit():
            types: list[object] = [type(plan).__name__]
        case Distinct():
            types = [plan.input.schema.types[key].nulls() for key in plan.keys]
        case WindowAggregate():
            partials = [f"{own.function} {own.type}" for aggregate, _ in plan.aggregates for own in aggregate.partials]
            types = ["sessions" if plan.gap_ms else "windows", *(own.type.nulls() for own in plan.keys), *partials]
        case _:
            types = [own.nulls() for below in (*inputs_of(plan), plan) for own in below.schema.types]
    return ", ".join(map(str, types))


def _state_of(plan: Relation) -> Iterator[str]:
    match plan:
        case Scan():
            yield f"scan {plan.name}"
        case Limit():
            yield f"limit {plan.offset} {plan.count}"
        case Distinct():
            yield from (f"key {column_origin(plan.input, key)}" for key in plan.keys)
        case WindowAggregate():
            yield f"window {plan.gap_ms} {plan.zone if plan.point else ''}"
            yield from (_origin(own, plan.input) for own in (plan.start, plan.end))
            yield from (f"key {_origin(own, plan.input)}" for own in plan.keys)
            for aggregate, argument in plan.aggregates:
                functions = "+".join(own.function for own in aggregate.partials)
                yield f"{functions} {aggregate.type} {_origin(argument, plan.input)}"
        case Called() if isinstance(plan.kernel, AsyncKernel):
            yield f"call {_origin(plan.call, plan.input)}"
            yield from (f"kept {own.nulls()}" for own in plan.schema.types)
        case Sort():
            yield from (f"by {_origin(own.value, plan.input)} {own.descending} {own.nulls_first}" for own in plan.keys)
            yield from (f"kept {own.nulls()}" for own in plan.schema.types)
        case OverAggregate():
            yield f"over {plan.frame} {_origin(plan.order, plan.input)} {plan.descending}"
            yield from (f"key {_origin(own, plan.input)}" for own in plan.keys)
            yield from (f"kept {own.nulls()}" for own in plan.input.schema.types)
            for aggregate, argument in plan.aggregates:
                functions = "+".join(own.function for own in aggregate.partials)
                yield f"{functions} {aggregate.type} {_origin(argument, plan.input)}"
        case SetOperation():
            yield plan.how
            yield from (f"column {column_origin(plan.input, place)}" for place in range(len(plan.input.schema)))
        case Join():
            yield f"join {plan.kind.value} {plan.how} {plan.lower_ms} {plan.upper_ms}"
            for side in (plan.left, plan.right):
                yield from (f"column {column_origin(side, place)}" for place in range(len(side.outputs)))
            if plan.condition is not None:
                yield f"condition {_origin(plan.condition, plan)}"
    for below in inputs_of(plan):
        yield from _state_of(below)


def _origin(expression: Typed, plan: Relation) -> str:
    """Return an expression of the plan's columns as text, with each column as what it is computed from."""
    match expression:
        case Field():
            return column_origin(plan, expression.index)
        case Constant():
            return f"{expression.value.as_py()!r} {expression.type.nulls()}"
    inner = ", ".join(_origin(own, plan) for own in arguments(expression))
    name = f"{expression.function} {expression.options!r}" if isinstance(expression, Apply) else "if"
    return f"{name}({inner}) {expression.type.nulls()}"


def column_origin(plan: Relation, place: int) -> str:
    """Return what a column of a relation is computed from, as text that does not depend on names in the plan."""
    match plan:
        case Project():
            return _origin(plan.outputs[place][1], plan.input)
        case Filter() | Limit() | EventTime() | Distinct() | Sort() | SetOperation() | Delay() | LateRows():
            return column_origin(plan.input, place)
        case UnionAll():
            return " | ".join(column_origin(own, place) for own in plan.inputs)
        case Called():
            is_result = place == len(plan.input.schema)
            return _origin(plan.call, plan.input) if is_result else column_origin(plan.input, place)
        case OverAggregate() if place < len(plan.input.schema):
            return column_origin(plan.input, place)
        case OverAggregate():
            return f"{uid_of(plan)} {place - len(plan.input.schema)}"
        case Expand():
            last = len(plan.input.schema) - 1
            return (
                column_origin(plan.input, place)
                if place < last
                else f"element {place - last} of {column_origin(plan.input, last)}"
            )
        case Join():
            is_left = place < plan.split
            side = plan.left if is_left else plan.right
            return column_origin(side, plan.payload + place - (0 if is_left else plan.split))
    name, own = plan.schema.columns[place]
    return f"{name} {own.nulls()}"
