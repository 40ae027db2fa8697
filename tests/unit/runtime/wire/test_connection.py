from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import NetworkError
from headgate.runtime.wire import LARGE_BYTES, Address, CloseCause, Connection, Frame, Handlers, NetworkConfig
from tests.nobody import nobody
from tests.sample_size import sample_size
from tests.unit.runtime.wire.loopback import loopback

MB = 1 << 20


def test_frames_sent_before_the_handshake_arrive_after_it_in_order() -> None:
    with loopback() as pair:
        client = pair.connect(hello=b"slot 3")
        client.send(b"first ", b"frame")
        client.send(b"")
        client.send(b"third")
        assert client.pending_bytes > 0
        pair.drive(lambda: len(pair.server.frames) == 3)
        assert pair.server.hellos == [b"slot 3"]
        assert pair.server.frames == [b"first frame", b"", b"third"]
        assert client.pending_bytes == 0


def test_both_ends_may_talk() -> None:
    with loopback() as pair:
        client, server = pair.connected()
        client.send(b"ping")
        server.send(b"pong")
        pair.drive(lambda: pair.server.frames and pair.client.frames)
        assert (pair.server.frames, pair.client.frames) == ([b"ping"], [b"pong"])


def test_many_small_frames_arrive_in_order() -> None:
    with loopback() as pair:
        client, _ = pair.connected()
        sent = [str(number).encode() for number in range(20_000)]
        for frame in sent:
            client.send(frame)
        pair.drive(lambda: len(pair.server.frames) == len(sent))
        assert pair.server.frames == sent


@pytest.mark.parametrize("size", [LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 8 * MB + 3])
def test_a_big_frame_arrives_whole(size: int) -> None:
    with loopback() as pair:
        client, _ = pair.connected()
        frame = bytes(itertools.islice(itertools.cycle(range(251)), size))
        client.send(frame[:5], memoryview(frame)[5:])
        client.send(b"after")
        pair.drive(lambda: len(pair.server.frames) == 2)
        assert pair.server.frames == [frame, b"after"]


def test_a_large_frame_is_memory_that_the_receiver_may_keep() -> None:
    kept: list[Frame] = []
    with loopback() as pair:
        pair.server.handlers = Handlers(lambda _connection, frame: kept.append(frame), lambda *_: None)
        client, _ = pair.connected()
        for letter in b"abc":
            client.send(bytes([letter]) * LARGE_BYTES)
        pair.drive(lambda: len(kept) == 3)
        assert [bytes(frame[:1]) for frame in kept] == [b"a", b"b", b"c"]
        assert all(isinstance(frame, memoryview) and frame.readonly for frame in kept)


@settings(max_examples=sample_size(15))
@given(sizes=st.lists(st.one_of(st.integers(0, 300), st.integers(0, 100_000)), max_size=8))
def test_frames_of_any_sizes_arrive_intact_through_tiny_socket_buffers(sizes: list[int]) -> None:
    with loopback(NetworkConfig(socket_buffer_bytes=16_384)) as pair:
        client, _ = pair.connected()
        sent = [bytes([number]) * size for number, size in enumerate(sizes)]
        for frame in sent:
            client.send(frame)
        pair.drive(lambda: len(pair.server.frames) == len(sent))
        assert pair.server.frames == sent
        assert client.pending_bytes == 0


def test_one_poll_reads_a_bounded_amount_of_a_busy_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.runtime.wire.connection.READ_BYTES_PER_POLL", 10_000)
    with loopback() as pair:
        busy, _ = pair.connected()
        quiet, _ = pair.connected()
        for _ in range(300):
            busy.send(bytes(60_000))
        quiet.send(b"quiet")
        pair.server.poller.poll(1.0)
        assert b"quiet" in pair.server.frames
        assert len(pair.server.frames) <= 1 + 128 // 60, "one receive buffer of the busy peer"


def test_closing_tells_both_ends_once_and_drops_what_is_sent_later() -> None:
    with loopback() as pair:
        client, server = pair.connected()
        client.close()
        client.close()
        client.send(b"too late")
        assert pair.client.closed == [], "never from within close()"
        pair.drive(lambda: pair.client.closed and pair.server.closed)
        server.close()
        pair.server.poller.poll(0.0)
        assert [closed.cause for closed in pair.client.closed] == [CloseCause.CLOSED_HERE]
        assert [closed.cause for closed in pair.server.closed] == [CloseCause.CLOSED_BY_PEER]
        assert client.peer in str(pair.client.closed[0])
        assert client.is_closed
        assert not server.is_open


def test_frames_sent_before_closing_with_nothing_pending_are_delivered() -> None:
    with loopback() as pair:
        client, _ = pair.connected()
        client.send(b"last words")
        assert client.pending_bytes == 0
        client.close()
        pair.drive(lambda: pair.server.closed)
        assert pair.server.frames == [b"last words"]


def test_a_peer_that_goes_in_the_middle_of_a_frame_is_reported_so() -> None:
    with loopback() as pair:
        client, _ = pair.connected()
        client.send(bytes(50 * MB))
        assert client.pending_bytes > 0
        pair.server.poller.poll(1.0)
        client.close()
        pair.drive(lambda: pair.server.closed)
        assert "in the middle of a frame" in str(pair.server.closed[0])
        assert pair.server.frames == []


def test_a_connection_may_be_closed_from_within_a_frame() -> None:
    with loopback() as pair:
        seen: list[bytes] = []

        def hang_up(connection: Connection, frame: Frame) -> None:
            seen.append(bytes(frame))
            connection.close()

        pair.server.handlers = Handlers(hang_up, pair.server.handlers.on_closed)
        client = pair.connect()
        client.send(b"1")
        client.send(b"2")
        pair.drive(lambda: pair.server.closed and pair.client.closed)
        assert seen == [b"1"]


def test_a_frame_above_the_limit_is_refused_by_the_sender() -> None:
    with loopback(NetworkConfig(frame_bytes_max=100_000)) as pair:
        client, _ = pair.connected()
        with pytest.raises(NetworkError, match=r"100,001 bytes .* limit of 100,000"):
            client.send(bytes(100_001))
        client.send(bytes(100_000))
        pair.drive(lambda: pair.server.frames)
        assert client.is_open


def test_a_frame_above_the_receivers_limit_ends_the_connection_before_memory_is_taken() -> None:
    with loopback(NetworkConfig(frame_bytes_max=100_000), client_config=NetworkConfig()) as pair:
        client, _ = pair.connected()
        client.send(bytes(200_000))
        pair.drive(lambda: pair.server.closed and pair.client.closed)
        assert pair.server.closed[0].cause is CloseCause.RULE_BROKEN
        assert "200,000 bytes was announced" in str(pair.server.closed[0])


def test_a_port_where_nobody_listens_is_reported_with_its_address() -> None:
    with loopback() as pair, nobody() as address:
        pair.wires[1].connect(pair.client.poller, address, b"", pair.client.handlers)
        pair.drive(lambda: pair.client.closed)
        assert pair.client.closed[0].cause is CloseCause.UNREACHABLE
        assert str(address) in str(pair.client.closed[0])
        assert "refused" in str(pair.client.closed[0])


def test_a_host_that_does_not_exist_is_reported_with_its_name() -> None:
    with loopback() as pair:
        pair.wires[1].connect(pair.client.poller, Address("no.such.host.invalid", 1), b"", pair.client.handlers)
        pair.drive(lambda: pair.client.closed)
        assert pair.client.closed[0].cause is CloseCause.UNREACHABLE
        assert "no.such.host.invalid:1" in str(pair.client.closed[0])
