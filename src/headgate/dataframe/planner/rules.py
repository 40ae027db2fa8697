"""The rules of the planner: each returns an equal plan that does less work. `optimizer` applies them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from headgate.columns.logical_types import BOOLEAN
from headgate.columns.typed import Apply, Choose, Constant, Field, Typed, arguments, can_fail, fields_of, moved, walk
from headgate.dataframe.planner.identity import column_origin
from headgate.dataframe.planner.logical import (
    Delay,
    Distinct,
    EventTime,
    Filter,
    Join,
    JoinKind,
    LateRows,
    Limit,
    Project,
    Relation,
    Scan,
    SplitWatermark,
    Stream,
    UnionAll,
    WindowAggregate,
    inputs_of,
)
from headgate.dataframe.planner.ordered import OverAggregate, Sort


def substituted(expression: Typed, outputs: Sequence[Typed]) -> Typed:
    """Return the expression with each column replaced by the expression that computes the column."""
    match expression:
        case Field():
            return outputs[expression.index]
        case Apply():
            return replace(expression, arguments=tuple(substituted(own, outputs) for own in expression.arguments))
        case Choose():
            condition, then, otherwise = (substituted(own, outputs) for own in arguments(expression))
            return Choose(condition, then, otherwise, expression.type)
    return expression


def with_inputs(relation: Relation, *inputs: Relation) -> Relation:
    """Return the relation with other inputs."""
    match relation:
        case Scan() | Stream():
            return relation
        case UnionAll():
            return UnionAll(inputs)
        case Join():
            left, right = inputs
            assert isinstance(left, Project)  # no rule replaces it
            assert isinstance(right, Project)
            return replace(relation, left=left, right=right)
    (only,) = inputs
    return replace(relation, input=only)


def merged(plan: Relation) -> Relation:
    """Merge a projection with a projection below it, and a filter with a filter below it.

    Projections stay apart where an expression that is not deterministic would be computed twice, and where the merged
    expressions would become large: each column that is read several times doubles.
    """
    plan = with_inputs(plan, *map(merged, inputs_of(plan)))
    match plan:
        case Project(Project() as below, outputs) if _is_mergeable(below, [own for _, own in outputs]):
            inner = [own for _, own in below.outputs]
            return Project(below.input, tuple((name, substituted(own, inner)) for name, own in outputs))
        case Filter(Filter() as below, predicate):
            return Filter(below.input, conjunction([below.predicate, predicate]))
    return plan


def _is_mergeable(below: Project, readers: Sequence[Typed]) -> bool:
    return _is_repeatable(below, readers) and _is_small(below, readers)


_STEPS_MAX: Final = 1_000


def _is_small(below: Project, readers: Sequence[Typed]) -> bool:
    """Whether expressions have few steps after the outputs of a projection replace the columns that they read."""
    steps = [sum(1 for _ in walk(own)) for _, own in below.outputs]
    found = sum(steps[own.index] if isinstance(own, Field) else 1 for reader in readers for own in walk(reader))
    return found <= max(_STEPS_MAX, len(readers))


def _is_repeatable(below: Project, readers: Sequence[Typed]) -> bool:
    """Whether each output of a projection may be computed wherever it is read."""
    fixed = {place for place, (_, own) in enumerate(below.outputs) if not _is_deterministic(own)}
    reads = [inner.index for own in readers for inner in walk(own) if isinstance(inner, Field) and inner.index in fixed]
    return len(reads) == len(set(reads))


def _is_deterministic(expression: Typed) -> bool:
    return all(own.deterministic for own in walk(expression) if isinstance(own, Apply))


def conjunction(predicates: Sequence[Typed]) -> Typed:
    """Return the predicate that all predicates are true. One that may fail is computed only where those before hold."""
    first, *others = predicates
    for other in others:
        if can_fail(other):
            first = Choose(first, other, _false(), other.type)
            continue
        nullable = first.type.nullable or other.type.nullable
        first = Apply(function="and", arguments=(first, other), type=BOOLEAN.nulls(nullable), kernel=pc.and_kleene)
    return first


@cache
def _false() -> Constant:
    """Return the constant false. Made when it is used: the first call of `pa.scalar` imports pandas."""
    return Constant(pa.scalar(False), BOOLEAN.nulls(nullable=False))  # a value, no flag


def timed(plan: Relation) -> Relation:
    """Move a watermark into the source whose columns its times are computed from, across projections.

    Rows that a filter drops, or a function of the user replaces, say nothing about the times of the rows that remain:
    a watermark after these stays where it is.
    """
    plan = with_inputs(plan, *map(timed, inputs_of(plan)))
    if isinstance(plan, EventTime):
        time = Field(plan.column, plan.schema.types[plan.column])
        return _timed(plan.input, time, plan.delay_ms) or plan
    return plan


def _timed(plan: Relation, time: Typed, delay_ms: int) -> Relation | None:
    """Return the plan whose source has a watermark of these times of the plan's rows; None if it cannot have it."""
    match plan:
        case Scan(watermark=None) if fields_of(time):
            return replace(plan, watermark=SplitWatermark(time, delay_ms))
        case Project() if _is_movable(plan, time):
            below = _timed(plan.input, substituted(time, [own for _, own in plan.outputs]), delay_ms)
            return None if below is None else replace(plan, input=below)
    return None


def pushed(plan: Relation) -> Relation:
    """Move filters below projections and unions, and to the inputs of other relations that keep rows as they are."""
    match plan:
        case Filter(Project() as below, predicate) if _is_movable(below, predicate):
            inner = [own for _, own in below.outputs]
            return Project(pushed(Filter(below.input, substituted(predicate, inner))), below.outputs)
        case Filter(UnionAll() as below, predicate):
            return UnionAll(tuple(pushed(Filter(own, predicate)) for own in below.inputs))
        case Filter(Join() as below, predicate):
            return _filtered_join(below, predicate)
    return with_inputs(plan, *map(pushed, inputs_of(plan)))


_KEEPS: Final = {
    "inner": (True, True),
    "left": (True, False),
    "right": (False, True),
    "full": (False, False),
    "semi": (True, False),
    "anti": (True, False),
}
"""For each join: whether a filter of left rows, and of right rows, may move from its results to its inputs."""


def _filtered_join(join: Join, predicate: Typed) -> Relation:
    """Move the parts of a predicate that read one input of a join to this input."""
    below: tuple[list[Typed], list[Typed]] = ([], [])
    rest = []
    for part in conjuncts(predicate):
        found = _below_join(join, part)
        if found is None:
            rest.append(part)
        else:
            below[found[0]].append(found[1])
    left, right = (
        Project(Filter(side.input, conjunction(parts)), side.outputs) if parts else side
        for side, parts in zip((join.left, join.right), below, strict=True)
    )
    made = with_inputs(join, pushed(left), pushed(right))
    return Filter(made, conjunction(rest)) if rest else made


def _below_join(join: Join, part: Typed) -> tuple[int, Typed] | None:
    """Return the input, 0 or 1, to which a predicate moves, and the predicate there; None if it stays."""
    reads = fields_of(part)
    if not reads or can_fail(part) or not _is_deterministic(part):
        return None
    is_right = min(reads) >= join.split
    side, first = (join.right, join.split) if is_right else (join.left, 0)
    keeps = (True, False) if join.kind is JoinKind.AS_OF else _KEEPS[join.how]
    if not keeps[is_right] or (not is_right and max(reads) >= join.split):
        return None
    own = moved(part, {place: place - first + join.payload for place in reads})
    if not _is_movable(side, own):
        return None
    return int(is_right), substituted(own, [output for _, output in side.outputs])


def conjuncts(predicate: Typed) -> list[Typed]:
    """Return the predicates that are all true where the predicate is true.

    A predicate that may fail is computed only where all predicates before it are true, as in `conjunction`.
    """
    match predicate:
        case Apply(function="and", arguments=parts) | Apply(function="between", options=("both",), arguments=parts):
            return [part for own in parts for part in conjuncts(own)]
        case Choose(condition=one, then=other, otherwise=Constant(value=refuted)) if refuted == _false().value:
            return [*conjuncts(one), *conjuncts(other)]
        case Choose(
            condition=Apply(function="and", options=("refuted",), arguments=(guard, Constant())),
            then=Constant(),
            otherwise=Apply(function="and", arguments=(one, _)) as both,
        ) if guard == one:
            return conjuncts(both)
    return [predicate]


def _is_movable(below: Project, expression: Typed) -> bool:
    """Whether an expression can be computed before a projection, which then never fails for a row that it drops."""
    read = [own for place, (_, own) in enumerate(below.outputs) if place in fields_of(expression)]
    movable = all(map(_is_deterministic, read)) and not any(_calls_user(own) for own in read)
    return movable and _is_small(below, [expression])


def _calls_user(expression: Typed) -> bool:
    return any(isinstance(own, Apply) and own.takes_rows for own in walk(expression))


def pruned(plan: Relation) -> Relation:
    """Let each relation compute only the columns that are read."""
    return _only(plan, range(len(plan.schema)))


def _only(plan: Relation, wanted: Iterable[int]) -> Relation:
    """Return the plan with the wanted columns, in the order that they have in the plan."""
    places = sorted(set(wanted))
    match plan:
        case Scan(watermark=None):
            return replace(plan, columns=tuple(plan.columns[place] for place in places))
        case Scan(watermark=SplitWatermark() as mark):
            reads = sorted({*places, *fields_of(mark.time)})
            kept = {place: new for new, place in enumerate(reads)}
            columns = tuple(plan.columns[place] for place in reads)
            scan = replace(plan, columns=columns, watermark=replace(mark, time=moved(mark.time, kept)))
            return scan if reads == places else _select(scan, [kept[place] for place in places])
        case Project():
            outputs = [plan.outputs[place] for place in places]
            return _narrowed(plan.input, [own for _, own in outputs], [name for name, _ in outputs])
        case Filter():
            reads = sorted(set(places) | fields_of(plan.predicate))
            below = _only(plan.input, reads)
            kept = {place: new for new, place in enumerate(reads)}
            filtered = Filter(below, moved(plan.predicate, kept))
            return filtered if reads == places else _select(filtered, [kept[place] for place in places])
        case Limit():
            return replace(plan, input=_only(plan.input, places))
        case EventTime():
            reads = sorted({*places, plan.column})
            timed = EventTime(_only(plan.input, reads), reads.index(plan.column), plan.delay_ms)
            return timed if reads == places else _select(timed, [reads.index(place) for place in places])
        case Distinct():
            reads = sorted({*places, *plan.keys})
            first = Distinct(_only(plan.input, reads), tuple(reads.index(key) for key in plan.keys))
            return first if reads == places else _select(first, [reads.index(place) for place in places])
        case OverAggregate():
            return _narrowed_over(plan, places)
        case Delay():
            return replace(plan, input=_only(plan.input, places))
        case LateRows():
            reads = sorted({*places, *fields_of(plan.end)})
            kept = {place: new for new, place in enumerate(reads)}
            late = replace(plan, input=_only(plan.input, reads), end=moved(plan.end, kept))
            return late if reads == places else _select(late, [kept[place] for place in places])
        case Sort():
            reads = sorted(set(places).union(*(fields_of(own.value) for own in plan.keys)))
            kept = {place: new for new, place in enumerate(reads)}
            keys = tuple(replace(own, value=moved(own.value, kept)) for own in plan.keys)
            ordered = Sort(_only(plan.input, reads), keys, plan.timed)
            return ordered if reads == places else _select(ordered, [kept[place] for place in places])
        case WindowAggregate():
            whole: Relation = _narrowed_window(plan)
            return whole if len(places) == len(plan.schema) else _select(whole, places)
        case Join():
            return _narrowed_join(plan, places)
        case UnionAll():
            return UnionAll(tuple(_only(own, places) for own in plan.inputs))
    rest = with_inputs(plan, *map(pruned, inputs_of(plan)))
    return rest if len(places) == len(plan.schema) else _select(rest, places)


def _narrowed(below: Relation, expressions: Sequence[Typed], names: Sequence[str]) -> Project:
    reads = sorted(set().union(*map(fields_of, expressions))) or [0]
    kept = {place: new for new, place in enumerate(reads)}
    outputs = tuple((name, moved(own, kept)) for name, own in zip(names, expressions, strict=True))
    return Project(_only(below, reads), outputs)


def _narrowed_window(plan: WindowAggregate) -> WindowAggregate:
    read = [*plan.keys, plan.start, plan.end, *(own for _, own in plan.aggregates)]
    reads = sorted(set().union(*map(fields_of, read)))
    kept = {place: new for new, place in enumerate(reads)}
    return replace(
        plan,
        input=_only(plan.input, reads),
        keys=tuple(moved(own, kept) for own in plan.keys),
        start=moved(plan.start, kept),
        end=moved(plan.end, kept),
        aggregates=tuple((aggregate, moved(own, kept)) for aggregate, own in plan.aggregates),
    )


def _narrowed_over(plan: OverAggregate, places: Sequence[int]) -> Relation:
    read = [*plan.keys, plan.order, *(own for _, own in plan.aggregates)]
    count = len(plan.input.schema)
    reads = sorted({place for place in places if place < count}.union(*map(fields_of, read))) or [0]
    kept = {place: new for new, place in enumerate(reads)}
    narrowed = replace(
        plan,
        input=_only(plan.input, reads),
        keys=tuple(moved(own, kept) for own in plan.keys),
        order=moved(plan.order, kept),
        aggregates=tuple((aggregate, moved(own, kept)) for aggregate, own in plan.aggregates),
    )
    wanted = [kept[place] if place < count else place - count + len(reads) for place in places]
    return narrowed if wanted == list(range(len(narrowed.schema))) else _select(narrowed, wanted)


def _narrowed_join(plan: Join, places: Sequence[int]) -> Relation:
    """Return a join that keeps only the columns that are read."""
    condition = set() if plan.condition is None else fields_of(plan.condition)
    reads = sorted({*places, *condition, *_one_of_each_side(plan, {*places, *condition})})
    own = range(plan.payload)
    left = _only(plan.left, [*own, *(plan.payload + place for place in reads if place < plan.split)])
    right = _only(plan.right, [*own, *(plan.payload + place - plan.split for place in reads if place >= plan.split)])
    kept = {place: new for new, place in enumerate(reads)}
    made = with_inputs(plan, left, right)
    assert isinstance(made, Join)
    if made.condition is not None:
        made = replace(made, condition=moved(made.condition, kept))
    return made if reads == list(places) else _select(made, [kept[place] for place in places])


def _one_of_each_side(plan: Join, read: set[int]) -> list[int]:
    """Return a column of each input that would be left without any: a batch without columns has no rows."""
    if plan.payload:
        return []
    sides = (range(plan.split), range(plan.split, plan.split + len(plan.right.outputs)))
    return [side[0] for side in sides if read.isdisjoint(side)]


def ordered(plan: Relation) -> Relation:
    """Order the columns that a join keeps by the expressions that compute them.

    So a savepoint fits a program that has its columns in another order.
    """
    plan = with_inputs(plan, *map(ordered, inputs_of(plan)))
    if not isinstance(plan, Join):
        return plan
    sides, kept = [], []
    for side, first in ((plan.left, 0), (plan.right, plan.split)):
        places = sorted(range(plan.payload, len(side.outputs)), key=partial(column_origin, side))
        sides.append(Project(side.input, (*side.outputs[: plan.payload], *(side.outputs[place] for place in places))))
        kept += [first + place - plan.payload for place in places]
    moves = {place: new for new, place in enumerate(kept)}
    if kept == sorted(kept):
        return plan
    condition = None if plan.condition is None else moved(plan.condition, moves)
    made = replace(plan, left=sides[0], right=sides[1], condition=condition)
    return _select(made, [moves[place] for place in range(len(plan.schema))])


def _select(relation: Relation, places: Sequence[int]) -> Project:
    columns = relation.schema.columns
    return Project(relation, tuple((columns[place][0], Field(place, columns[place][1])) for place in places))
