"""The exchange between slots over real sockets: credit, order, attempts, and what goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from headgate.dataflow.channel import InputChannel, OvertakableChannel
from headgate.elements import Barrier, Batch, Element, EndOfData, Watermark
from headgate.errors import SerializationError
from headgate.graph.placement import ChannelPlan
from headgate.ids import Attempt, ChannelId, CheckpointId, SlotIndex, SubtaskId
from headgate.operators.base import UserCodeError
from headgate.runtime.exchange.credit import CreditWindow
from headgate.runtime.exchange.network import NetworkExchange
from headgate.runtime.wire import NetworkConfig, Poller, ThrowAwayCertificate, Wire
from tests.unit.runtime.wire.loopback import SECRET, drive

BARRIER = Barrier(CheckpointId(1), 0)
WINDOW = CreditWindow(4, 1 << 20, 16)
NETWORK = NetworkConfig(frame_bytes_max=64 << 20)


class Side:
    """One slot's exchange, with two channels that end in it."""

    def __init__(self, slot: int, window: CreditWindow, network: NetworkConfig) -> None:
        self.slot = SlotIndex(slot)
        self.poller = Poller()
        self.broken: list[str] = []
        self.exchange = NetworkExchange(self.slot, Wire(network, SECRET), self.poller, window, self.broken.append)
        self.inputs: dict[ChannelId, InputChannel] = {}

    def begin(self, attempt: int, other: Side) -> None:
        self.inputs = {ChannelId(number): InputChannel(ChannelId(number)) for number in range(2)}
        self.exchange.listen(Attempt(attempt), self.inputs)
        self.exchange.connect(Attempt(attempt), {other.slot: other.exchange.address})

    def output(self, number: int, other: Side) -> OvertakableChannel:
        plan = ChannelPlan(id=ChannelId(number), edge=0, source=SubtaskId(0, 0), target=SubtaskId(1, 1))
        return self.exchange.output(plan, other.slot)


@dataclass
class Pair:
    """A sender and a receiver."""

    window: CreditWindow = WINDOW
    network: NetworkConfig = NETWORK
    sender: Side = field(init=False)
    receiver: Side = field(init=False)

    def __post_init__(self) -> None:
        self.sender, self.receiver = (Side(slot, self.window, self.network) for slot in range(2))

    def begin(self, attempt: int = 1, *, of_receiver: int | None = None) -> list[OvertakableChannel]:
        self.sender.begin(attempt, self.receiver)
        self.receiver.begin(of_receiver or attempt, self.sender)
        return [self.sender.output(number, self.receiver) for number in range(2)]

    def drive(self, until: Any) -> None:
        drive(until, self.sender.poller, self.receiver.poller)

    def rest(self) -> None:
        """Poll for a while in which nothing is expected."""
        for _ in range(20):
            self.sender.poller.poll(0.0005)
            self.receiver.poller.poll(0.0005)

    def close(self) -> None:
        for side in (self.sender, self.receiver):
            side.exchange.close()
            side.poller.poll(0.0)
            side.poller.close()


@pytest.fixture(params=[NETWORK, replace(NETWORK, tls=ThrowAwayCertificate.generate())], ids=["plain", "TLS"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    made = Pair(network=request.param)
    yield made
    made.close()


def arrived(pair: Pair, number: int = 0) -> list[Element]:
    """What waits in a channel of the receiver: batches wait as bytes until they are read."""
    queue = pair.receiver.inputs[ChannelId(number)].queue
    return [Batch.decode(element) if isinstance(element, memoryview) else element for element in queue]


def records(pair: Pair, number: int = 0) -> list[Any]:
    return [record for element in arrived(pair, number) if isinstance(element, Batch) for record in element.records]


def test_elements_arrive_in_order_with_timestamps_and_keys(pair: Pair) -> None:
    output = pair.begin()[0]
    output.send(Batch(["a"], [1], ["k"]))
    output.send(BARRIER)
    output.send(Batch(["b"]))
    output.send(EndOfData())
    pair.drive(lambda: len(arrived(pair)) == 4)
    first, barrier, second, end = arrived(pair)
    assert isinstance(first, Batch)
    assert isinstance(second, Batch)
    assert (first.records, first.timestamps, first.keys) == (["a"], [1], ["k"])
    assert (second.records, second.timestamps, second.keys) == (["b"], None, None)
    assert (barrier, end) == (BARRIER, EndOfData())


def test_no_more_batches_are_under_way_than_the_window_until_they_are_consumed(pair: Pair) -> None:
    output = pair.begin()[0]
    sent = 0
    while output.writable:
        output.send(Batch([sent]))
        sent += 1
    assert sent == WINDOW.batches
    pair.drive(lambda: len(arrived(pair)) == sent)
    pair.rest()
    assert not output.writable
    channel = pair.receiver.inputs[ChannelId(0)]
    for _ in range(sent):
        channel.pop()
    pair.drive(lambda: output.writable)


def test_bytes_count_as_well_and_come_back_when_consumed(pair: Pair) -> None:
    output = pair.begin()[0]
    output.send(Batch([b"x" * (WINDOW.size_bytes + 1)]))
    assert not output.writable
    pair.drive(lambda: arrived(pair))
    pair.receiver.inputs[ChannelId(0)].pop()
    pair.drive(lambda: output.writable)


def test_records_count_as_well_and_the_receiver_says_with_each_credit_how_many_it_allows(pair: Pair) -> None:
    output = pair.begin()[0]
    channel = pair.receiver.inputs[ChannelId(0)]
    assert output.records_max == WINDOW.first_records
    channel.records_max = 5
    output.send(Batch(list(range(WINDOW.first_records))))
    assert not output.writable
    pair.drive(lambda: channel.waiting == WINDOW.first_records)
    while channel.queue:
        channel.pop()
    pair.drive(lambda: output.writable)
    assert output.records_max == 5
    output.send(Batch([1, 2, 3]))
    assert output.writable
    output.send(Batch([4, 5]))
    assert not output.writable


def test_a_receiver_that_allows_more_gives_credit_by_what_the_sender_knows(pair: Pair) -> None:
    output = pair.begin()[0]
    channel = pair.receiver.inputs[ChannelId(0)]
    channel.records_max = 1_000_000
    for _ in range(10):
        pair.drive(lambda: output.writable)
        output.send(Batch(list(range(WINDOW.first_records))))
        pair.drive(lambda: channel.waiting == WINDOW.first_records)
        while channel.queue:
            channel.pop()


def test_a_channel_that_is_not_read_holds_back_no_other(pair: Pair) -> None:
    blocked, free = pair.begin()
    while blocked.writable:
        blocked.send(Batch(["stuck"]))
    channel = pair.receiver.inputs[ChannelId(1)]
    for number in range(50):
        pair.drive(lambda: free.writable)
        free.send(Batch([number]))
        pair.drive(lambda: channel.queue)
        element = channel.pop()
        assert isinstance(element, Batch)
        assert element.records == [number]
    assert not blocked.writable


def test_a_barrier_passes_a_channel_without_credit_behind_its_batches(pair: Pair) -> None:
    output = pair.begin()[0]
    while output.writable:
        output.send(Batch(["x"]))
    output.send(BARRIER)
    pair.drive(lambda: BARRIER in arrived(pair))
    assert arrived(pair)[-1] == BARRIER


def test_one_huge_record_passes(pair: Pair) -> None:
    output = pair.begin()[0]
    output.send(Batch([b"x" * (32 << 20)]))
    pair.drive(lambda: arrived(pair))
    assert len(records(pair)[0]) == 32 << 20


@pytest.mark.slow
def test_a_batch_of_large_records_is_cut_into_frames_near_the_window(pair: Pair) -> None:
    """In one frame, these would be above the limit of the wire."""
    output = pair.begin()[0]
    large = [bytes([number]) * (1 << 20) for number in range(80)]
    output.send(Batch(list(large), list(range(80)), list(range(80))))
    pair.drive(lambda: len(records(pair)) == 80)
    assert records(pair) == large
    batches = [element for element in arrived(pair) if isinstance(element, Batch)]
    assert max(map(len, batches)) <= 2
    assert [key for batch in batches for key in batch.keys or []] == list(range(80))


def test_batches_of_small_records_go_whole_once_their_size_is_known(pair: Pair) -> None:
    output = pair.begin()[0]
    for _ in range(5):
        output.send(Batch(list(range(1000))))
    pair.drive(lambda: len(records(pair)) == 5000)
    assert records(pair) == list(range(1000)) * 5
    assert [len(element) for element in arrived(pair)[-3:] if isinstance(element, Batch)] == [1000] * 3


def test_a_record_that_cannot_be_sent_is_named(pair: Pair) -> None:
    output = pair.begin()[0]
    culprit = (n for n in (1, 2))  # a generator
    with pytest.raises(UserCodeError) as caught:
        output.send(Batch(["fine", culprit]))
    assert caught.value.record is culprit
    assert isinstance(caught.value.__cause__, SerializationError)
    assert "cannot be sent to another slot" in str(caught.value.__cause__)


def test_elements_of_another_attempt_are_refused_and_the_sender_learns_it(pair: Pair) -> None:
    output = pair.begin(1, of_receiver=2)[0]
    output.send(Batch(["of a zombie"]))
    pair.drive(lambda: pair.sender.broken)
    assert arrived(pair) == []
    assert pair.receiver.broken == []


def test_a_slot_without_an_attempt_takes_nothing(pair: Pair) -> None:
    output = pair.begin()[0]
    pair.receiver.exchange.end()
    output.send(Batch(["too late"]))
    pair.drive(lambda: pair.sender.broken)
    assert arrived(pair) == []


def test_the_end_of_an_attempt_is_no_loss_here_but_is_one_for_the_peer(pair: Pair) -> None:
    output = pair.begin()[0]
    output.send(Batch(["x"]))
    pair.drive(lambda: arrived(pair))
    pair.sender.exchange.end()
    pair.drive(lambda: pair.receiver.broken)
    assert "the connection to slot 0 has ended" in pair.receiver.broken[0]
    assert pair.sender.broken == []


def test_a_peer_that_cannot_be_reached_is_reported(pair: Pair) -> None:
    output = pair.begin()[0]
    pair.receiver.exchange.close()
    output.send(Batch(["x"]))
    pair.drive(lambda: pair.sender.broken)


def test_the_next_attempt_begins_with_full_credit_and_without_old_elements(pair: Pair) -> None:
    old = pair.begin(1)[0]
    while old.writable:
        old.send(Batch(["old"]))
    pair.drive(lambda: len(arrived(pair)) == WINDOW.batches)
    for side in (pair.sender, pair.receiver):
        side.exchange.end()
    pair.rest()
    new = pair.begin(2)[0]
    assert new.writable
    new.send(Batch(["new"]))
    pair.drive(lambda: arrived(pair))
    assert records(pair) == ["new"]
    assert pair.sender.broken == pair.receiver.broken == []


def test_watermarks_arrive_in_order_with_the_records(pair: Pair) -> None:
    output = pair.begin()[0]
    output.send(Batch(["a"]))
    output.send(Watermark(1))
    output.send(Batch(["b"]))
    output.send(Watermark(2))
    output.send(BARRIER)
    pair.drive(lambda: len(arrived(pair)) == 5)
    told = [element.records if isinstance(element, Batch) else element for element in arrived(pair)]
    assert told == [["a"], Watermark(1), ["b"], Watermark(2), BARRIER]


def test_watermarks_for_a_peer_that_does_not_read_do_not_pile_up(pair: Pair) -> None:
    one, other = pair.begin()
    big = Batch([bytes(8 << 20)])
    one.send(big)
    connection = pair.sender.exchange._connection_to(pair.receiver.slot)
    pending = connection.pending_bytes
    for timestamp_ms in range(1000):
        one.send(Watermark(timestamp_ms))
        other.send(Watermark(-timestamp_ms))
    assert connection.pending_bytes == pending
    pair.drive(lambda: len(arrived(pair, 0)) == 2 and len(arrived(pair, 1)) == 1)
    assert arrived(pair, 0)[1:] + arrived(pair, 1) == [Watermark(999), Watermark(-999)]


def test_a_watermark_does_not_wait_for_ever_behind_the_records_of_a_busy_channel(pair: Pair) -> None:
    busy, quiet = pair.begin()
    busy.send(Batch([bytes(8 << 20)]))
    quiet.send(Watermark(5))
    connection = pair.sender.exchange._connection_to(pair.receiver.slot)
    sent = 0

    def kept_busy() -> bool:
        nonlocal sent
        while connection.pending_bytes < 8 << 20 and sent < 64:
            busy.send(Batch([bytes(1 << 20)]))
            sent += 1
        return bool(arrived(pair, 1))

    pair.drive(kept_busy)
    assert sent < 64


def test_a_barrier_that_overtakes_leaves_ahead_of_the_batches_that_are_not_begun(pair: Pair) -> None:
    outputs = pair.begin()
    for number in range(3):
        outputs[0].send(Batch([number]))
        outputs[1].send(Batch(["of another channel"]))
    overtaken = outputs[0].overtake(BARRIER)  # before there is a connection, nothing is begun
    outputs[0].send(Batch([3]))
    pair.drive(lambda: len(arrived(pair)) == 5)
    told = [element.records if isinstance(element, Batch) else element for element in arrived(pair)]
    assert told == [BARRIER, [0], [1], [2], [3]]
    assert [Batch.decode(payload).records for payload in overtaken] == [[0], [1], [2]]


def test_what_is_begun_is_not_overtaken_and_nothing_is_lost_or_doubled(pair: Pair) -> None:
    (output, _) = pair.begin()
    output.send(Batch(["opens the connection"]))
    pair.drive(lambda: arrived(pair))
    large = [[f"{number} {'x' * 300_000}"] for number in range(60)]
    for records_of_batch in large:
        output.send(Batch(records_of_batch))  # more than the kernel takes, and nobody reads
    overtaken = [Batch.decode(payload).records for payload in output.overtake(BARRIER)]
    pair.drive(lambda: len(arrived(pair)) == 62)
    place = arrived(pair).index(BARRIER)
    behind = [element.records for element in arrived(pair)[place + 1 :] if isinstance(element, Batch)]
    assert 0 < len(overtaken) < 60
    assert overtaken == behind == large[place - 1 :]


def test_a_held_watermark_stays_behind_the_batches_that_a_barrier_overtakes(pair: Pair) -> None:
    (output, _) = pair.begin()
    output.send(Batch(["a"]))
    output.send(Watermark(7))
    output.overtake(BARRIER)
    pair.drive(lambda: len(arrived(pair)) == 3)
    told = [element.records if isinstance(element, Batch) else element for element in arrived(pair)]
    assert told == [BARRIER, ["a"], Watermark(7)]
