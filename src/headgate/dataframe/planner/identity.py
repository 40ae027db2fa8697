"""The uids of operators with state, by which a savepoint finds them in a changed program.

A uid depends on what the state depends on: the kind of operator, its keys, windows and aggregates, and the operators
with state before it. Columns, filters, sinks and other queries of the program do not change it. A changed aggregate
changes it, because its state would have another form: the operator then begins without state, and a restore says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from headgate.columns.typed import Typed
from headgate.dataframe.planner.explain import text_of_typed
from headgate.dataframe.planner.logical import Distinct, Limit, Relation, Scan, WindowAggregate, inputs_of


def uid_of(plan: Relation) -> str:
    """Return the uid of a relation with state: its kind, and a digest of what its state depends on."""
    digest = hashlib.blake2s("\n".join(_state_of(plan)).encode(), digest_size=8).hexdigest()
    return f"{type(plan).__name__}-{digest}"


def _state_of(plan: Relation) -> Iterator[str]:
    match plan:
        case Scan():
            yield f"scan {plan.name}"
        case Limit():
            yield f"limit {plan.offset} {plan.count}"
        case Distinct():
            yield from (f"distinct {name} {own.nulls()}" for name, own in plan.schema if name in _names(plan))
        case WindowAggregate():
            names = plan.input.schema.names
            yield f"window {plan.gap_ms} {plan.zone if plan.point else ''}"
            yield from (_shown(own, names) for own in (plan.start, plan.end))
            yield from (_shown(own, names) for _, own in plan.keys)
            for aggregate, argument in plan.aggregates:
                functions = "+".join(own.function for own in aggregate.partials)
                yield f"{functions} {aggregate.type} {_shown(argument, names)}"
    for below in inputs_of(plan):
        yield from _state_of(below)


def _names(plan: Distinct) -> list[str]:
    return [plan.schema.names[key] for key in plan.keys]


def _shown(expression: Typed, names: list[str]) -> str:
    return f"{text_of_typed(expression, names)} {expression.type.nulls()}"
