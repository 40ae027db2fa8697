"""Interval joins against lists: any records, in any order, any watermarks, over snapshots and other parallelisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.common import Time
from headgate.datastream import DataStream, OutputTag, ProcessJoinFunction
from headgate.elements import MIN_TIMESTAMP
from tests.property.subtasks import Subtasks
from tests.sample_size import sample_size

LATE: Final = OutputTag("late left"), OutputTag("late right")
Pair = tuple[str, int | None, int | None, int]
"""The key, the numbers of the two records, and the timestamp."""


@final
class Numbers(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Pair]:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left and left[2], right and right[2])
        yield (left or right)[0], left and left[1], right and right[1], ctx.get_timestamp()


@final
@dataclass
class Kept:
    """A record of the model. `over` is when its reach is over."""

    key: str
    number: int
    time: int
    over: int
    matched: bool = False


@final
@dataclass
class JoinModel:
    """Every record that came, looked through each time."""

    lower: int
    upper: int
    how: str
    watermark: int = MIN_TIMESTAMP
    sides: tuple[list[Kept], list[Kept]] = field(default_factory=lambda: ([], []))
    late: list[int] = field(default_factory=list)

    def add(self, side: int, key: str, number: int, time: int) -> list[Pair]:
        if time < self.watermark:
            self.late.append(number)
            return []
        new = Kept(key, number, time, time + (-self.lower if side else self.upper))
        pairs = []
        for other in self.sides[1 - side]:
            left, right = (other, new) if side else (new, other)
            apart = right.time - left.time
            if other.key == key and self.lower <= apart <= self.upper and other.over > self.watermark:
                new.matched = other.matched = True
                pairs.append((key, left.number, right.number, max(left.time, right.time)))
        self.sides[side].append(new)
        return pairs + self.alone()

    def advance(self, watermark: int) -> list[Pair]:
        self.watermark = max(self.watermark, watermark)
        return self.alone()

    def alone(self) -> list[Pair]:
        """Return the unmatched records of outer sides whose reach is over."""
        pairs: list[Pair] = []
        for kept, is_outer, is_left in zip(
            self.sides, (self.how in ("left", "full"), self.how in ("right", "full")), (True, False), strict=True
        ):
            for each in kept:
                if is_outer and not each.matched and each.over <= self.watermark:
                    each.matched = True
                    left, right = (each.number, None) if is_left else (None, each.number)
                    pairs.append((each.key, left, right, each.over))
        return pairs


STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 30)),
        st.tuples(st.integers(0, 1), st.just("a"), st.integers(0, 30)),
        st.integers(0, 40),
        st.sampled_from(["restart", "rescale", "complete", "abort", "begin"]),
    ),
    max_size=30,
)


def in_order(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=sample_size(150, at_most=20), deadline=None)
@given(
    bounds=st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(sorted),
    how=st.sampled_from(["inner", "left", "right", "full"]),
    steps=STEPS,
    incremental=st.booleans(),
)
def test_an_interval_join_finds_what_lists_would(
    backend: str, bounds: list[int], how: str, steps: list[Any], incremental: bool
) -> None:
    lower, upper = bounds
    model = JoinModel(lower, upper, how)

    def build(left: DataStream, right: DataStream) -> DataStream:
        keyed = (stream.key_by(lambda record: record[0]) for stream in (left, right))
        joined = next(keyed).interval_join(next(keyed), how).between(Time.milliseconds(lower), Time.milliseconds(upper))
        return joined.side_output_left_late_data(LATE[0]).side_output_right_late_data(LATE[1]).process(Numbers())

    operator = Subtasks(build, backend, incremental, late_tags=LATE)
    operator.start([], model.watermark)
    try:
        for number, step in enumerate([*steps, 100]):
            if step in ("restart", "rescale"):
                operator.restart(model.watermark, more=int(step == "rescale"))
            elif isinstance(step, str):
                operator.checkpoint(step)
            elif isinstance(step, int):
                assert in_order(operator.advance(max(step, model.watermark))) == in_order(model.advance(step))
            else:
                side, key, time = step
                record = key, number, time
                found = operator.add_second(record, time) if side else operator.add([record])
                assert in_order(found) == in_order(model.add(side, key, number, time))
        assert all(not harness.state(name) for harness in operator.running for name in ("left", "right"))
    finally:
        operator.stop()
    assert sorted(operator.late) == sorted(model.late)
