"""The exchange inside one process: what arrives is what a network would bring, and credit is counted alike."""

from __future__ import annotations

import pytest

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, EndOfData
from headgate.errors import SerializationError
from headgate.graph.placement import ChannelPlan
from headgate.ids import Attempt, ChannelId, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.base import UserCodeError
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.memory import MemoryExchange, Switchboard
from headgate.types import typed_batches
from tests.compiled import compiled_module

WINDOW = CreditWindow(4, 1 << 16, 16)
PLAN = ChannelPlan(id=ChannelId(0), edge=0, source=SubtaskId(0, 0), target=SubtaskId(1, 1))


@pytest.fixture(params=["pickled", "typed", "typed, read in Python"])
def ends(request: pytest.FixtureRequest) -> tuple[OvertakableChannel, InputChannel]:
    """A channel from slot 0 to slot 1."""
    codec = None if request.param == "pickled" else typed_batches.codec(compiled_module())
    read = codec.decode if codec is not None and request.param == "typed" else typed_batches.read
    board: Switchboard = {}
    sender, receiver = (MemoryExchange(SlotIndex(slot), board, WINDOW) for slot in range(2))
    channel = InputChannel(ChannelId(0), read=read)
    sender.listen(Attempt(1), {})
    receiver.listen(Attempt(1), {ChannelId(0): channel})
    return sender.output(PLAN, SlotIndex(1), None if codec is None else codec.encode), channel


def test_a_batch_arrives_as_it_was_when_it_was_sent_and_shares_nothing(
    ends: tuple[OvertakableChannel, InputChannel],
) -> None:
    output, channel = ends
    record = {"tags": ["a"]}
    output.send(Batch([record], [5], ["key"]))
    record["tags"].append("b")
    assert isinstance(channel.queue[0], memoryview)
    arrived = channel.pop()
    assert isinstance(arrived, Batch)
    assert (arrived.records, arrived.timestamps, arrived.keys) == ([{"tags": ["a"]}], [5], ["key"])
    assert output.sent_bytes == channel.read_bytes > 0


def test_credit_goes_by_batches_and_by_bytes_and_comes_back_when_they_are_read(
    ends: tuple[OvertakableChannel, InputChannel],
) -> None:
    output, channel = ends
    for _ in range(WINDOW.batches):
        assert output.writable
        output.send(Batch([1]))
    assert not output.writable
    for _ in range(WINDOW.batches // 2):
        channel.pop()
    assert output.writable
    while channel.queue:
        channel.pop()
    output.send(Batch([b"x" * WINDOW.size_bytes]))
    assert not output.writable
    channel.pop()
    assert output.writable


def test_an_overtaking_barrier_finds_the_batches_before_it_as_bytes(
    ends: tuple[OvertakableChannel, InputChannel],
) -> None:
    output, channel = ends
    output.send(Batch([1]))
    taken: list[Batch | memoryview] = []
    channel.record(CheckpointId(1), taken.append)
    assert output.overtake(Barrier(CheckpointId(1), 0)) == []
    assert [Batch.decode(part).records for part in taken if isinstance(part, memoryview)] == [[1]]


def test_a_record_that_cannot_travel_is_named(ends: tuple[OvertakableChannel, InputChannel]) -> None:
    output, _ = ends
    culprit = (n for n in (1, 2))  # a generator
    with pytest.raises(UserCodeError) as caught:
        output.send(Batch(["fine", culprit]))
    assert caught.value.record is culprit
    assert isinstance(caught.value.__cause__, SerializationError)


def test_nothing_goes_to_a_slot_of_another_attempt() -> None:
    board: Switchboard = {}
    sender, receiver = (MemoryExchange(SlotIndex(slot), board, WINDOW) for slot in range(2))
    channel = InputChannel(ChannelId(0))
    sender.listen(Attempt(1), {})
    receiver.listen(Attempt(2), {ChannelId(0): channel})
    output = sender.output(PLAN, SlotIndex(1))
    output.send(Batch([1]))
    output.send(EndOfData())
    assert not channel.queue


def test_batches_travel_typed_if_they_can_and_pickled_if_not() -> None:
    codec = typed_batches.codec(compiled_module())
    assert codec is not None
    rows, others = Batch([(1, "a"), (2, "b")], [5, 6], [1, 2]), Batch([{1, 2}, (1, "a")], [5, 6], [1, 2])
    assert typed_batches.is_typed(rows.encode_to_send(codec.encode))
    assert not typed_batches.is_typed(others.encode_to_send(codec.encode))
    for batch in (rows, others):
        for read in (codec.decode, typed_batches.read):
            found = Batch.decode(batch.encode_to_send(codec.encode), read=read)
            assert (found.records, found.timestamps, found.keys) == (batch.records, batch.timestamps, batch.keys)
