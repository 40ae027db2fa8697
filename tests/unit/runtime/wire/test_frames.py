from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.runtime.wire.frames import LARGE_BYTES, LENGTH, FrameReader, FrameTooLarge, SendQueue

SIZES = st.lists(st.one_of(st.integers(0, 200), st.integers(LARGE_BYTES - 5, LARGE_BYTES + 5)), max_size=10)
STEPS = st.lists(st.one_of(st.integers(1, 9), st.integers(1, 300_000)), min_size=1)


@given(sizes=SIZES, steps=STEPS)
def test_frames_survive_any_cutting_of_the_stream(sizes: list[int], steps: list[int]) -> None:
    sent = [bytes([number]) * size for number, size in enumerate(sizes)]
    queue, reader, received = SendQueue(), FrameReader(1 << 20), []
    for frame in sent:
        queue.append(LENGTH.pack(len(frame)))
        queue.append(frame)
    turn = 0
    while queue.pending_bytes:
        # Steps of a few bytes only would take for ever through a large frame.
        step = steps[turn % len(steps)] if turn < 50 else LARGE_BYTES
        turn += 1
        chunk = queue.head()[0][:step]
        space = reader.space()
        count = min(len(chunk), len(space))
        space[:count] = chunk[:count]
        reader.received(count)
        queue.sent(count)
        while (frame_read := reader.next_frame()) is not None:
            received.append(bytes(frame_read))
    assert received == sent
    assert not reader.in_mid_frame


def test_small_frames_leave_in_one_buffer_and_large_ones_are_not_copied() -> None:
    queue, large = SendQueue(), bytes(LARGE_BYTES)
    for buffer in (b"a", b"b", large, b"c", b"d"):
        queue.append(buffer)
    head = queue.head()
    assert [bytes(chunk[:2]) for chunk in head] == [b"ab", b"\0\0", b"cd"]
    assert head[1].obj is large


def test_what_is_being_written_stays_first_and_unchanged_while_more_is_queued() -> None:
    queue = SendQueue()
    queue.append(b"abc")
    first = queue.head()[0]
    queue.append(b"def")
    assert queue.head()[0] is first
    queue.sent(4)
    assert [bytes(chunk) for chunk in queue.head()] == [b"ef"]
    assert queue.pending_bytes == 2


def test_one_write_gets_a_bounded_number_of_buffers() -> None:
    queue = SendQueue()
    for _ in range(200):
        queue.append(bytes(LARGE_BYTES))
    assert len(queue.head()) == 64


def test_a_frame_above_the_limit_is_refused_when_it_is_announced() -> None:
    reader = FrameReader(frame_bytes_max=100_000)
    reader.space()[:4] = LENGTH.pack(100_001)
    reader.received(4)
    with pytest.raises(FrameTooLarge, match="100,001 bytes was announced, the limit is 100,000"):
        reader.next_frame()
