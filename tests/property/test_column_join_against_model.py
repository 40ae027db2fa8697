"""Joins of columns against lists: any rows, in any order, any watermarks, over snapshots and other parallelisms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.columns.logical_types import BIGINT
from headgate.columns.program import ColumnProgram
from headgate.columns.resolve import ExpressionScope
from headgate.columns.schema import Schema
from headgate.columns.sql_text import expression_of_text
from headgate.datastream import DataStream
from headgate.elements import MIN_TIMESTAMP, Batch
from headgate.operators.columns.joins import JoinFactory
from tests.property.subtasks import Subtasks
from tests.sample_size import sample_size

HOWS: Final = ["inner", "left", "right", "full", "semi", "anti"]
LEFT: Final = pa.schema([("n", pa.int64())])
RIGHT: Final = pa.schema([("m", pa.int64())])
Pair = tuple[int | None, ...]


def is_match(n: int, m: int) -> bool:
    return (n + m) % 3 > 0


CONDITION: Final = ColumnProgram(
    [ExpressionScope(Schema([("n", BIGINT), ("m", BIGINT)])).predicate(expression_of_text("(n + m) % 3 > 0"))]
)


@final
@dataclass
class Kept:
    """A row of the model. `over` is when its interval has passed."""

    key: str
    number: int
    time: int
    over: int
    matched: bool = False


@final
@dataclass
class JoinModel:
    """Every row that came, looked through each time."""

    lower: int
    upper: int
    how: str
    has_condition: bool
    watermark: int = MIN_TIMESTAMP
    sides: tuple[list[Kept], list[Kept]] = field(default_factory=lambda: ([], []))

    def add(self, side: int, rows: list[tuple[str, int, int]]) -> list[Pair]:
        return [out for row in rows for out in self.add_row(side, *row)]

    def add_row(self, side: int, key: str, number: int, time: int) -> list[Pair]:
        if time <= self.watermark:
            return []
        new = Kept(key, number, time, time + (-self.lower if side else self.upper))
        out: list[Pair] = []
        for other in self.sides[1 - side]:
            left, right = (other, new) if side else (new, other)
            if other.key != key or not self.lower <= right.time - left.time <= self.upper:
                continue
            if self.has_condition and not is_match(left.number, right.number):
                continue
            if self.how == "semi" and not left.matched:
                out.append((left.number,))
            elif self.how not in ("semi", "anti"):
                out.append((left.number, right.number))
            new.matched = other.matched = True
        self.sides[side].append(new)
        return out + self.alone()

    def advance(self, watermark: int) -> list[Pair]:
        self.watermark = max(self.watermark, watermark)
        return self.alone()

    def alone(self) -> list[Pair]:
        """Return the rows without a match whose interval has passed."""
        out: list[Pair] = []
        for side, hows in enumerate((("left", "full", "anti"), ("right", "full"))):
            for each in self.sides[side]:
                if self.how in hows and not each.matched and each.over <= self.watermark:
                    each.matched = True
                    pair = (None, each.number) if side else (each.number, None)
                    out.append(pair[:1] if self.how == "anti" else pair)
        return out


ROWS: Final = st.lists(st.tuples(st.sampled_from("aab"), st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=5)
STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 1), ROWS),
        st.tuples(st.integers(0, 1), ROWS),
        st.integers(0, 40),
        st.sampled_from(["restart", "rescale", "complete", "abort", "begin"]),
    ),
    max_size=25,
)


def joined(how: str, lower: int, upper: int, condition: ColumnProgram | None, ttl_ms: int = 0) -> JoinFactory:
    output = LEFT if how in ("semi", "anti") else pa.schema([*LEFT, *RIGHT])
    return JoinFactory(
        how=how,
        left=LEFT,
        right=RIGHT,
        output=output,
        lower_ms=lower,
        upper_ms=upper,
        condition=condition,
        ttl_ms=ttl_ms,
    )


def subtasks(factory: JoinFactory, backend: str, incremental: bool = False) -> Subtasks:
    def build(left: DataStream, right: DataStream) -> DataStream:
        return left.key_by(first)._then_with(right.key_by(first), "Join", factory, None)

    return Subtasks(build, backend, incremental)


def first(record: Any) -> Any:
    return record[0]


def add(operator: Subtasks, side: int, rows: list[tuple[str, int, int]]) -> list[Pair]:
    """Add rows: to the left side as a batch, to the right side one by one."""
    out: list[Any] = []
    for harness in operator.running:
        own = [row for row in rows if harness.owns(row[0])]
        if side:
            for key, number, time in own:
                out += harness.process_second((key, (number,)), timestamp_ms=time)
        elif own:
            batch = Batch([(key, (number,)) for key, number, _ in own], [time for _, _, time in own])
            out += harness.process_batch(batch).records
    return [tuple(row) for row in out]


def in_order(pairs: list[Any]) -> list[Pair]:
    return sorted((tuple(pair) for pair in pairs), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=sample_size(200, at_most=40), deadline=None)
@given(
    bounds=st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(sorted),
    how=st.sampled_from(HOWS),
    has_condition=st.booleans(),
    steps=STEPS,
    incremental=st.booleans(),
)
def test_a_join_finds_what_lists_would(  # noqa: PLR0913  # an example's parts
    backend: str, bounds: list[int], how: str, has_condition: bool, steps: list[Any], incremental: bool
) -> None:
    lower, upper = bounds
    model = JoinModel(lower, upper, how, has_condition)
    operator = subtasks(joined(how, lower, upper, CONDITION if has_condition else None), backend, incremental)
    operator.start([], model.watermark)
    try:
        for number, step in enumerate([*steps, 100]):
            if step in ("restart", "rescale"):
                operator.restart(model.watermark, more=int(step == "rescale"), canonical=number % 2 == 0)
            elif isinstance(step, str):
                operator.checkpoint(step)
            elif isinstance(step, int):
                assert in_order(operator.advance(max(step, model.watermark))) == in_order(model.advance(step))
            else:
                side, rows = step
                assert in_order(add(operator, side, rows)) == in_order(model.add(side, rows))
        assert all(not harness.state(name) for harness in operator.running for name in ("left", "right"))
    finally:
        operator.stop()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_rows_without_event_time_stay_until_they_expire(backend: str) -> None:
    operator = subtasks(joined("inner", 0, 0, None, ttl_ms=1_000), backend)
    operator.start([], MIN_TIMESTAMP)
    try:
        (harness,) = [own for own in operator.running if own.owns("a")]
        assert harness.process(("a", (1,))) == []
        harness.advance_time(600)
        assert in_order(harness.process_second(("a", (2,)))) == [(1, 2)]
        operator.restart(MIN_TIMESTAMP, more=0)
        (harness,) = [own for own in operator.running if own.owns("a")]
        harness.advance_time(1_100)  # its clock begins anew
        assert in_order(harness.process(("a", (3,)))) == [(3, 2)]
        assert in_order(harness.process_second(("a", (4,)))) == [(3, 4)]
    finally:
        operator.stop()


def test_late_rows_are_counted() -> None:
    operator = subtasks(joined("full", 0, 0, None), "hashmap")
    operator.start([], 10)
    try:
        assert add(operator, 0, [("a", 1, 10), ("a", 2, 11)]) == []
        assert add(operator, 1, [("a", 3, 10)]) == []
        assert in_order(operator.advance(11)) == [(2, None)]
        counts = [harness.operator.context.metrics.counter("numLateRecordsDropped") for harness in operator.running]
        assert sum(each.get_count() for each in counts) == 2
    finally:
        operator.stop()
