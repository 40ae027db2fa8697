"""Outputs: when a batch leaves, how it is cut, and that nothing overtakes anything on a channel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.dataflow.output import Output
from headgate.dataflow.partition import Broadcast, Forward, KeyGroupPartitioner, Rebalance
from headgate.elements import Barrier, Batch
from headgate.ids import CheckpointId
from headgate.types.record_copies import BY_VALUE
from tests.unit.runtime.outputs import NotingChannel

BARRIER = Barrier(CheckpointId(1), 0)


def forward(size: int = 10, timeout_ms: int = 100) -> tuple[Output, NotingChannel]:
    channel = NotingChannel()
    return Output([channel], Forward(), size, timeout_ms), channel


def test_records_wait_until_their_batch_is_full() -> None:
    output, channel = forward()
    output.emit(Batch([1, 2, 3, 4]), 0.0)
    output.emit(Batch([5, 6, 7, 8]), 0.0)
    assert channel.sent == []
    output.emit(Batch([9, 10]), 0.0)
    assert channel.told() == [list(range(1, 11))]


def test_records_leave_at_the_buffer_timeout_of_the_first_of_them() -> None:
    output, channel = forward(timeout_ms=100)
    output.emit(Batch([1]), 1000.0)
    output.emit(Batch([2]), 1090.0)
    assert not output.is_due(1099.0)
    assert output.is_due(1100.0)
    assert output.flush()
    assert channel.told() == [[1, 2]]
    assert not output.is_due(10**9)


def test_with_timeout_zero_records_leave_at_once() -> None:
    output, channel = forward(timeout_ms=0)
    output.emit(Batch([1]), 0.0)
    assert channel.told() == [[1]]


def test_with_a_negative_timeout_records_wait_for_a_full_batch_or_an_idle_loop() -> None:
    output, channel = forward(timeout_ms=-1)
    output.emit(Batch([1]), 0.0)
    assert not output.is_due(10**9)
    output.flush()
    assert channel.told() == [[1]]


def test_a_flush_of_nothing_says_so() -> None:
    output, _ = forward()
    assert not output.flush()


def test_a_control_element_goes_behind_all_records_before_it() -> None:
    output, channel = forward()
    output.emit(Batch([1]), 0.0)
    output.broadcast(BARRIER)
    output.emit(Batch([2]), 0.0)
    output.flush()
    assert channel.told() == [[1], BARRIER, [2]]


def test_a_control_element_goes_to_every_channel_once() -> None:
    channels = [NotingChannel() for _ in range(3)]
    output = Output([*channels], Rebalance(3, 0), 10, 100)
    output.emit(Batch([1]), 0.0)
    output.broadcast(BARRIER)
    assert [channel.told() for channel in channels] == [[[1], BARRIER], [BARRIER], [BARRIER]]


def test_a_large_batch_leaves_in_batches_of_at_most_twice_the_size() -> None:
    output, channel = forward(size=10)
    output.emit(Batch(list(range(105)), list(range(105))), 0.0)
    assert channel.records == list(range(105))
    assert all(10 <= len(batch) <= 20 for batch in channel.batches)
    assert [time for batch in channel.batches for time in batch.timestamps or []] == list(range(105))


def test_batches_for_a_slow_receiver_have_a_quarter_of_what_may_be_under_way() -> None:
    channels = [NotingChannel() for _ in range(2)]
    output = Output([*channels], Rebalance(2, 0), 1024, 100)
    assert output.records_max == 2048
    channels[1].records_max = 20
    output.emit(Batch(list(range(80))), 0.0)
    assert max(len(batch) for batch in channels[1].batches) == 10  # at most twice as large
    assert channels[0].batches == []
    assert output.records_max == 10
    channels[1].records_max = 1
    output.emit(Batch([1]), 0.0)
    output.emit(Batch([2]), 0.0)
    assert len(channels[1].batches[-1]) == 1
    assert output.records_max == 2


def test_all_records_of_a_broadcast_go_to_the_slowest_receiver() -> None:
    channels = [NotingChannel() for _ in range(2)]
    channels[0].records_max = 40
    assert Output([*channels], Broadcast(2, BY_VALUE), 1024, 100).records_max == 10


class Sliced(list[Any]):
    """A list that counts what its slices, and theirs, copy."""

    copied = 0

    def __getitem__(self, part: Any) -> Any:
        found = super().__getitem__(part)
        if isinstance(part, slice):
            Sliced.copied += len(found)
            return Sliced(found)
        return found


def test_cutting_a_huge_batch_copies_each_record_once() -> None:
    output, channel = forward(size=10)
    Sliced.copied = 0
    output.emit(Batch(Sliced(range(10_000))), 0.0)
    assert len(channel.records) == 10_000
    assert Sliced.copied <= 10_000


def test_batches_with_and_without_timestamps_are_not_mixed() -> None:
    output, channel = forward()
    output.emit(Batch([1], [10]), 0.0)
    output.emit(Batch([2]), 0.0)
    output.emit(Batch([3], [30]), 0.0)
    output.flush()
    assert [(batch.records, batch.timestamps) for batch in channel.batches] == [
        ([1], [10]),
        ([2], None),
        ([3], [30]),
    ]


def test_keys_travel_with_their_records() -> None:
    channels = [NotingChannel(), NotingChannel()]
    output = Output([*channels], KeyGroupPartitioner(lambda n: n % 5, 2, 128), 10, 100)
    for start in range(0, 100, 7):
        output.emit(Batch(list(range(start, min(start + 7, 100)))), 0.0)
    output.flush()
    assert sorted(channels[0].records + channels[1].records) == list(range(100))
    for channel in channels:
        for batch in channel.batches:
            assert batch.keys == [n % 5 for n in batch.records]


def test_broadcast_copies_are_independent_while_they_gather() -> None:
    channels = [NotingChannel(), NotingChannel()]
    output = Output([*channels], Broadcast(2, BY_VALUE), 4, 100)
    output.emit(Batch([1, 2, 3]), 0.0)
    output.emit(Batch([4]), 0.0)
    assert [channel.told() for channel in channels] == [[[1, 2, 3, 4]], [[1, 2, 3, 4]]]
    assert channels[0].batches[0].records is not channels[1].batches[0].records


def test_an_output_is_writable_when_all_its_channels_are() -> None:
    channels = [NotingChannel(room=1), NotingChannel(room=2)]
    output = Output([*channels], Broadcast(2, BY_VALUE), 1, 0)
    assert output.writable
    output.emit(Batch([1]), 0.0)
    assert not output.writable


def test_records_out_counts_each_record_once() -> None:
    channels = [NotingChannel(), NotingChannel()]
    output = Output([*channels], Broadcast(2, BY_VALUE), 10, 0)
    output.emit(Batch([1, 2]), 0.0)
    assert output.records_out == 2


@pytest.mark.parametrize("kind", ["forward", "keyed", "rebalance"])
@given(sizes=st.lists(st.integers(1, 30), max_size=12), size=st.integers(1, 8), flushes=st.sets(st.integers(0, 12)))
def test_every_record_arrives_once_and_in_order_however_it_is_cut(
    kind: str, sizes: list[int], size: int, flushes: set[int]
) -> None:
    part: Any = {"forward": Forward(), "keyed": KeyGroupPartitioner(lambda n: n % 7, 3, 128), "rebalance": None}[kind]
    channels = [NotingChannel() for _ in range(1 if kind == "forward" else 3)]
    output = Output([*channels], part or Rebalance(3, 1), size, 100)
    start = 0
    for turn, count in enumerate(sizes):
        output.emit(Batch(list(range(start, start + count))), 0.0)
        start += count
        if turn in flushes:
            output.flush()
    output.flush()
    assert sorted(record for channel in channels for record in channel.records) == list(range(start))
    for channel in channels:
        assert channel.records == sorted(channel.records)
        assert all(len(batch) <= 2 * size for batch in channel.batches)
