"""As-of joins against all pairs: any records, in any order, any watermarks, over snapshots and other parallelisms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate.common import Time
from headgate.datastream import DataStream, OutputTag, ProcessJoinFunction
from headgate.datastream.asof_join import AsOfJoined
from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from tests.property.subtasks import Subtasks
from tests.sample_size import sample_size

LATE: Final = OutputTag("late left"), OutputTag("late right")
Record = tuple[str, int, int]
"""The key, a number of its own, and the time."""
Result = tuple[str, int, int | None, int]
"""The key, the numbers of the two records, and the timestamp."""


@final
class Numbers(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Result]:
        assert (ctx.get_left_timestamp(), ctx.get_right_timestamp()) == (left[2], right and right[2])
        yield left[0], left[1], right and right[1], ctx.get_timestamp()


def ends_a_value(right: Record) -> bool:
    return right[1] % 3 == 0


@final
@dataclass(frozen=True)
class Told:
    """What a join is told. With `grace` it is one of the latest value."""

    direction: str
    tolerance: int | None
    exact: bool
    how: str
    grace: int | None

    def join(self, left: Any, right: Any) -> AsOfJoined:
        if self.grace is not None:
            joined = left.join_latest(right, Time.milliseconds(self.grace), how=self.how, is_deletion=ends_a_value)
        else:
            tolerance = None if self.tolerance is None else Time.milliseconds(self.tolerance)
            joined = left.join_asof(
                right, self.direction, tolerance=tolerance, allow_exact_matches=self.exact, how=self.how
            )
        return joined.side_output_left_late_data(LATE[0]).side_output_right_late_data(LATE[1])  # type: ignore[no-any-return]


@final
@dataclass
class JoinModel:
    """Every record that came. Looks through all of them at each millisecond."""

    told: Told
    watermark: int = MIN_TIMESTAMP
    lefts: list[Record] = field(default_factory=list)
    rights: list[Record] = field(default_factory=list)
    late: list[int] = field(default_factory=list)

    @property
    def now(self) -> int:
        return self.watermark - (self.told.grace or 0)

    def add(self, side: int, record: Record) -> None:
        if record[2] <= self.now:
            self.late.append(record[1])
        else:
            (self.rights if side else self.lefts).append(record)

    def fits(self, left: Record, right: Record) -> bool:
        apart = right[2] - left[2]
        if left[0] != right[0] or (apart == 0 and not self.told.exact):
            return False
        if self.told.tolerance is not None and abs(apart) > self.told.tolerance:
            return False
        return apart == 0 or self.told.direction == "nearest" or (apart > 0) == (self.told.direction == "forward")

    def nearest(self, left: Record, until: int) -> Record | None:
        """Of one time, the last one before and the first one behind; of two that are equally far, the one before."""
        best: Record | None = None
        for right in self.rights:
            if right[2] <= until and self.fits(left, right) and (best is None or self.is_better(left, right, best)):
                best = right
        return best

    def is_better(self, left: Record, right: Record, best: Record) -> bool:
        rank, best_rank = self.rank(left, right), self.rank(left, best)
        return rank < best_rank or (rank == best_rank and self.before(left, right))

    def before(self, left: Record, right: Record) -> bool:
        return right[2] < left[2] or (right[2] == left[2] and self.told.direction != "forward")

    def rank(self, left: Record, right: Record) -> tuple[int, bool]:
        return abs(right[2] - left[2]), not self.before(left, right)

    def certain(self, left: Record, until: int) -> bool:
        """Whether no later record can be nearer than the nearest until a time."""
        if until < left[2]:
            return False
        next_one = (left[0], 0, until + 1)
        best = self.nearest(left, until)
        return not self.fits(left, next_one) or (best is not None and self.rank(left, best) < self.rank(left, next_one))

    def advance(self, watermark: int) -> list[Result]:
        self.watermark = max(self.watermark, watermark)
        results: list[Result] = []
        for left in list(self.lefts):
            times = [time for time in range(left[2], min(self.now, 150) + 1) if self.certain(left, time)]
            if not times:
                continue
            self.lefts.remove(left)
            right = self.nearest(left, times[0])
            if right is not None and self.told.grace is not None and ends_a_value(right):
                right = None
            if right is not None or self.told.how == "left":
                time = times[0] + (self.told.grace or 0)
                results.append((left[0], left[1], right and right[1], time))
        return results


STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 30)),
        st.tuples(st.integers(0, 1), st.just("a"), st.integers(0, 30)),
        st.integers(0, 40),
        st.sampled_from(["restart", "rescale", "complete", "abort", "begin"]),
    ),
    max_size=30,
)
TOLD: Final = st.builds(
    Told,
    direction=st.sampled_from(["backward", "forward", "nearest"]),
    tolerance=st.one_of(st.none(), st.integers(0, 12)),
    exact=st.booleans(),
    how=st.sampled_from(["inner", "left"]),
    grace=st.none(),
) | st.builds(
    Told,
    direction=st.just("backward"),
    tolerance=st.none(),
    exact=st.just(True),
    how=st.sampled_from(["inner", "left"]),
    grace=st.integers(0, 9),
)


def in_order(results: list[Result]) -> list[Result]:
    return sorted(results, key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@settings(max_examples=sample_size(200, at_most=20), deadline=None)
@given(told=TOLD, steps=STEPS, incremental=st.booleans())
@example(
    told=Told(direction="nearest", tolerance=None, exact=False, how="inner", grace=None),
    steps=[(0, "a", 0), (1, "a", 0), (1, "a", 0)],
    incremental=False,
)
def test_an_as_of_join_finds_what_looking_at_all_would(
    backend: str, told: Told, steps: list[Any], incremental: bool
) -> None:
    model = JoinModel(told)

    def build(left: DataStream, right: DataStream) -> DataStream:
        keyed = (stream.key_by(lambda record: record[0]) for stream in (left, right))
        return told.join(next(keyed), next(keyed)).process(Numbers())

    operator = Subtasks(build, backend, incremental, late_tags=LATE)
    operator.start([], model.watermark)
    try:
        for number, step in enumerate([*steps, 100]):
            if step in ("restart", "rescale"):
                operator.restart(model.watermark, more=int(step == "rescale"))
            elif isinstance(step, str):
                operator.checkpoint(step)
            elif isinstance(step, int):
                found = operator.advance(max(step, model.watermark))
                assert in_order(found) == in_order(model.advance(step))
            else:
                side, key, time = step
                record = key, number, time
                assert (operator.add_second(record, time) if side else operator.add([record])) == []
                model.add(side, record)
        kept = [rights for harness in operator.running for rights in harness.state("right").values()]
        assert all(len(rights) == 1 for rights in kept)
        if told.direction == "forward" or told.tolerance is not None:
            assert not kept
        operator.advance(MAX_TIMESTAMP)
        assert all(not harness.state("left") for harness in operator.running)
    finally:
        operator.stop()
    assert sorted(operator.late) == sorted(model.late)
