"""Plans as text: what `explain()` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headgate.columns.typed import Apply, Choose, Constant, Field, Typed, walk
from headgate.columns.user_kernels import AsyncKernel
from headgate.dataframe.planner.logical import (
    Called,
    Delay,
    Distinct,
    EventTime,
    Expand,
    Filter,
    Join,
    JoinKind,
    LateRows,
    Limit,
    MapBatches,
    Project,
    Relation,
    Scan,
    SetOperation,
    Stream,
    UnionAll,
    WindowAggregate,
    inputs_of,
)
from headgate.dataframe.planner.ordered import OverAggregate, Sort, SortBy


def text_of_plan(plan: Relation) -> str:
    """Return a plan as a tree, a line for each relation, the result first.

    An expression that calls Python for each value is marked with `*`.
    """
    return "\n".join(_lines(plan, 0))


def _lines(plan: Relation, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{_line(plan)}"
    for below in inputs_of(plan):
        yield from _lines(below, depth + 1)


def _line(plan: Relation) -> str:
    match plan:
        case Scan():
            return f"Scan {plan.name} [{', '.join(plan.columns)}]{_watermark(plan)}"
        case Stream():
            return f"Stream [{', '.join(plan.schema.names)}], rows become columns"
        case Project():
            names = plan.input.schema.names
            outputs = (_output(name, own, names) for name, own in plan.outputs)
            return f"Project [{', '.join(outputs)}]"
        case Filter():
            return f"Filter [{text_of_typed(plan.predicate, plan.schema.names)}]"
        case UnionAll():
            return "UnionAll"
        case Limit():
            return f"Limit [offset {plan.offset}, count {'all' if plan.count is None else plan.count}]"
        case Expand():
            return f"Expand [{', '.join(plan.names)}]"
        case EventTime():
            return f"EventTime [{plan.schema.names[plan.column]}, delay {plan.delay_ms} ms]"
        case Distinct():
            keys = ", ".join(plan.schema.names[key] for key in plan.keys)
            return f"Distinct [{keys}], first rows of batches are found in columns, of keys as rows"
        case WindowAggregate():
            return _window(plan)
        case Called():
            concurrency = plan.kernel.declared.concurrency
            kind = ", asynchronous" if isinstance(plan.kernel, AsyncKernel) else ""
            own = "" if concurrency is None else f", concurrency {concurrency}"
            return f"Called [{text_of_typed(plan.call, plan.input.schema.names)}]{kind}{own}"
        case OverAggregate():
            return _over(plan)
        case Delay():
            return f"Delay [watermarks are {plan.delay_ms} ms earlier]"
        case LateRows():
            return f"LateRows [after {text_of_typed(plan.end, plan.schema.names)}]"
        case Sort():
            return f"Sort [{', '.join(_key(own, plan.schema.names) for own in plan.keys)}]"
        case Join():
            return _join(plan)
        case SetOperation():
            return f"SetOperation [{plan.how}], rows of batches are counted in columns, all as rows"
        case MapBatches():
            concurrency = plan.declared.concurrency
            own = "" if concurrency is None else f", concurrency {concurrency}"
            return f"MapBatches {plan.declared.name} [{', '.join(plan.schema.names)}], calls Python for each batch{own}"


def _watermark(plan: Scan) -> str:
    if plan.watermark is None:
        return ""
    return f", watermarks of {text_of_typed(plan.watermark.time, plan.columns)}, delay {plan.watermark.delay_ms} ms"


def _key(own: SortBy, names: Sequence[str]) -> str:
    nulls = "first" if own.nulls_first else "last"
    return f"{text_of_typed(own.value, names)}{' desc' if own.descending else ''} nulls {nulls}"


def _over(plan: OverAggregate) -> str:
    names = plan.input.schema.names
    keys = ", ".join(text_of_typed(own, names) for own in plan.keys) or "none"
    order = f"{text_of_typed(plan.order, names)}{' desc' if plan.descending else ''}"
    return f"OverAggregate [keys {keys}; order {order}; {plan.frame}; {_aggregates(plan)}], aggregated as rows"


def _aggregates(plan: WindowAggregate | OverAggregate) -> str:
    names = plan.input.schema.names
    return ", ".join(
        f"{'+'.join(own.function for own in aggregate.partials)}({text_of_typed(argument, names)})"
        for aggregate, argument in plan.aggregates
    )


def _window(plan: WindowAggregate) -> str:
    names = plan.input.schema.names
    keys = ", ".join(text_of_typed(own, names) for own in plan.keys) or "none"
    aggregates = _aggregates(plan)
    kind = "WindowAggregate" if plan.gap_ms is None else f"SessionAggregate, gap {plan.gap_ms} ms,"
    return f"{kind} [keys {keys}; {aggregates}], batches are aggregated in columns, their results merged as rows"


def _join(plan: Join) -> str:
    left, right = plan.left.schema.names, plan.right.schema.names
    conditions = [f"{left[place]} = {right[place]}" for place in range(plan.keys)]
    if plan.kind is JoinKind.INTERVAL:
        conditions.append(f"right time - left time from {plan.lower_ms} to {plan.upper_ms} ms")
    if plan.condition is not None:
        names = [*left[plan.payload :], *right[plan.payload :]]
        conditions.append(text_of_typed(plan.condition, names))
    return f"{plan.kind.value} [{plan.how}; {', '.join(conditions) or 'all pairs'}], rows are kept by key"


def _output(name: str, own: Typed, names: Sequence[str]) -> str:
    text = text_of_typed(own, names)
    return name if text == name else f"{text} as {name}"


def text_of_typed(expression: Typed, names: Sequence[str]) -> str:
    """Return an expression with the names of its columns."""
    match expression:
        case Field():
            return names[expression.index]
        case Constant():
            value = expression.value.as_py()
            return "NULL" if value is None else repr(value)
        case Choose():
            parts = (expression.condition, expression.then, expression.otherwise)
            return f"if({', '.join(text_of_typed(own, names) for own in parts)})"
        case Apply(function="coerce"):
            return f"cast({text_of_typed(expression.arguments[0], names)} as {expression.type.nulls()})"
    mark = "*" if expression.by_value else ""
    return f"{expression.function}{mark}({', '.join(text_of_typed(own, names) for own in expression.arguments)})"


def calls_by_value(plan: Relation) -> list[str]:
    """Return the names of the functions in a plan that call Python for each value, sorted."""
    found = set()
    for own in _expressions(plan):
        found |= {inner.function for inner in walk(own) if isinstance(inner, Apply) and inner.by_value}
    for below in inputs_of(plan):
        found |= set(calls_by_value(below))
    return sorted(found)


def _expressions(plan: Relation) -> list[Typed]:
    match plan:
        case Project():
            return [own for _, own in plan.outputs]
        case Filter():
            return [plan.predicate]
        case Called():
            return [plan.call]
        case WindowAggregate():
            return [*plan.keys, *(own for _, own in plan.aggregates)]
        case LateRows():
            return [plan.end]
        case Sort():
            return [own.value for own in plan.keys]
        case OverAggregate():
            return [*plan.keys, plan.order, *(own for _, own in plan.aggregates)]
        case Join():
            return [] if plan.condition is None else [plan.condition]
    return []
