"""The sampler of live output: few records, as texts, of any batch, which stays as it is."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headgate.clock import VirtualClock
from headgate.elements import Batch
from headgate.operators.samples import VALUE_CHARACTERS_MAX, Sampler
from headgate.types.typed_key import typed


def sampler(records_per_s: float = 20.0) -> tuple[Sampler, VirtualClock]:
    clock = VirtualClock(5000.0)
    return Sampler(3, records_per_s, clock), clock


def test_a_record_is_told_with_its_subtask_its_time_and_its_key() -> None:
    own, _ = sampler()
    own.see(Batch([{"a": 1}], [77], [typed(True)]))
    (found,) = own.taken()
    assert (found.subtask, found.wall_ms, found.value) == (3, 5000, "{'a': 1}")
    assert (found.timestamp_ms, found.key) == (77, "True")
    assert own.taken() == []


def test_of_a_large_batch_records_of_all_its_parts_are_taken() -> None:
    own, _ = sampler()
    own.see(Batch(list(range(1000))))
    assert [sample.value for sample in own.taken()] == [str(50 * number) for number in range(20)]


@given(st.lists(st.tuples(st.floats(0, 500), st.integers(0, 300)), max_size=50), st.sampled_from([0.2, 1.0, 20.0]))
def test_there_are_never_more_in_a_second_than_allowed(batches: list[tuple[float, int]], rate: float) -> None:
    own, clock = sampler(rate)
    taken: list[float] = []
    for wait_ms, size in batches:
        clock.advance(wait_ms)
        own.see(Batch(list(range(size))))
        taken += [clock.monotonic_ms()] * len(own.taken())
    for start in taken:
        within = sum(start <= when < start + 1000 for when in taken)
        assert within <= 2 * max(1.0, rate)


def test_of_a_slow_stream_nothing_is_left_out() -> None:
    own, clock = sampler()
    for number in range(100):
        clock.advance(50)
        own.see(Batch([number]))
    assert [sample.value for sample in own.taken()] == [str(number) for number in range(100)]


def test_columns_stay_columns_and_only_the_rows_that_are_taken_become_objects() -> None:
    own, _ = sampler(2.0)
    columns = pa.RecordBatch.from_pydict({"n": list(range(100_000))})
    batch = Batch.of_arrow(columns, list(range(100_000)))
    own.see(batch)
    assert batch.columns is columns
    assert [(sample.value, sample.timestamp_ms) for sample in own.taken()] == [("Row(n=0)", 0), ("Row(n=50000)", 50000)]


def test_long_records_are_cut() -> None:
    own, _ = sampler()
    own.see(Batch(["x" * 10**6]))
    assert len(own.taken()[0].value) == VALUE_CHARACTERS_MAX


def test_what_cannot_be_shown_is_told_and_raises_nothing() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError("no")

    own, _ = sampler()
    own.see(Batch([Broken(), 1]))
    assert [sample.value for sample in own.taken()][1] == "1"
    far = pa.RecordBatch.from_pydict({"at": pa.array([2**62], pa.timestamp("s"))})
    own.see(Batch.of_arrow(far))
    (found,) = own.taken()
    assert found.value.startswith("(cannot be shown: ")


def test_a_batch_is_left_as_it_is() -> None:
    own, _ = sampler()
    records: list[Any] = [[1], [2]]
    batch = Batch(records, [1, 2], ["a", "b"])
    own.see(batch)
    assert batch.records is records
    assert (batch.records, batch.timestamps, batch.keys) == ([[1], [2]], [1, 2], ["a", "b"])
