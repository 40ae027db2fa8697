"""Channels inside a slot: order is kept, batches count against credit and control elements do not."""

from __future__ import annotations

from headgate.dataflow.channel import InputChannel, LocalOutput
from headgate.elements import Barrier, Batch, Element, EndOfData, Watermark
from headgate.ids import ChannelId, CheckpointId

BARRIER = Barrier(CheckpointId(1), 0)


def test_elements_come_out_in_the_order_in_which_they_came_in() -> None:
    channel = InputChannel(ChannelId(0))
    output = LocalOutput(channel, 16)
    elements: list[Element] = [Batch([1]), BARRIER, Batch([2]), EndOfData()]
    for element in elements:
        output.send(element)
    assert [channel.pop() for _ in elements] == elements


def test_a_channel_is_writable_until_it_holds_its_batches_and_again_when_one_is_taken() -> None:
    channel = InputChannel(ChannelId(0))
    output = LocalOutput(channel, 2)
    output.send(Batch([1]))
    assert output.writable
    output.send(Batch([2]))
    assert not output.writable
    channel.pop()
    assert output.writable


def test_control_elements_need_no_credit() -> None:
    channel = InputChannel(ChannelId(0))
    output = LocalOutput(channel, 1)
    for _ in range(5):
        output.send(BARRIER)
    assert output.writable
    assert channel.batches == 0


def test_a_send_beyond_the_credit_is_taken_all_the_same() -> None:
    channel = InputChannel(ChannelId(0))
    output = LocalOutput(channel, 1)
    output.send(Batch([1]))
    output.send(Batch([2]))
    assert channel.batches == 2


def test_each_batch_taken_out_is_reported_with_the_size_it_came_with() -> None:
    channel = InputChannel(ChannelId(0))
    consumed: list[tuple[int, int]] = []
    channel.on_consumed(lambda size_bytes, records, _: consumed.append((size_bytes, records)))
    payload = memoryview(Batch([1, 2], [5, 6], ["a", "b"]).encode())
    channel.push_bytes(payload, 2)
    channel.push(BARRIER)
    channel.push(Batch([2]))
    batch = channel.pop()
    assert isinstance(batch, Batch)
    assert (batch.records, batch.timestamps, batch.keys) == ([1, 2], [5, 6], ["a", "b"])
    channel.pop()
    assert consumed == [(len(payload), 2)]
    channel.pop()
    assert consumed == [(len(payload), 2), (0, 1)]
    assert (channel.batches, channel.waiting, channel.read_bytes) == (0, 0, len(payload))


def test_a_channel_is_writable_until_it_holds_the_records_that_it_may() -> None:
    channel = InputChannel(ChannelId(0), 5)
    output = LocalOutput(channel, 100)
    assert output.records_max == 5
    output.send(Batch([1, 2, 3]))
    assert output.writable
    output.send(Batch([4, 5, 6]))
    assert not output.writable
    channel.pop()
    assert output.writable


def test_it_is_known_how_many_records_wait_before_a_barrier() -> None:
    channel = InputChannel(ChannelId(0))
    channel.push(Batch([1, 2]))
    assert channel.before_barrier is None
    channel.push_bytes(memoryview(Batch([3]).encode()), 1)
    channel.push(BARRIER)
    channel.push(Batch([4, 5, 6]))
    assert channel.before_barrier == (BARRIER, 3)
    channel.pop()
    assert channel.before_barrier == (BARRIER, 1)
    channel.pop()
    assert channel.before_barrier == (BARRIER, 0)
    assert channel.pop() == BARRIER
    assert channel.before_barrier is None


def test_an_older_barrier_does_not_end_what_is_known_of_a_newer_one() -> None:
    channel = InputChannel(ChannelId(0))
    newer = Barrier(CheckpointId(2), 0)
    for element in (BARRIER, Batch([1]), newer):
        channel.push(element)
    channel.pop()
    assert channel.before_barrier == (newer, 1)


def test_a_watermark_takes_the_place_of_one_that_nobody_has_read_but_of_nothing_else() -> None:
    channel = InputChannel(ChannelId(0))
    for element in (Watermark(1), Watermark(2), Batch([1]), Watermark(3), BARRIER, Watermark(4), Watermark(5)):
        channel.push(element)
    assert [type(element).__name__ for element in channel.queue] == [
        "Watermark",
        "Batch",
        "Watermark",
        "Barrier",
        "Watermark",
    ]
    assert [element for element in channel.queue if isinstance(element, Watermark)] == [
        Watermark(2),
        Watermark(3),
        Watermark(5),
    ]
