"""The watermark valve: it combines the watermarks of all input channels into the event time of an operator. Pure.

Theory of operation
-------------------
A watermark w on a channel says that no record with a timestamp of w or less is expected to follow on the channel. The
operator's watermark is the lowest watermark of its channels, with two exceptions:

- The operator does not wait for an *idle* channel. When the last active channel becomes idle while it held the operator
  back, the operator's watermark rises to the highest watermark that any channel ever had. Then the operator is idle.
- A channel that becomes active again may be far behind. The channel is *unaligned* until its watermark has reached the
  operator's watermark. Until then it neither holds the operator back nor advances it.

A watermark never decreases: a lower watermark is ignored, and so is a watermark on an idle channel.

The operator does not wait for a channel that *ended* (its watermark is MAX_TIMESTAMP), whether or not the channel was
idle. Event time ends only when all channels have ended: while a channel is merely idle, records may arrive that are not
late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from headgate.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus

Progress = Watermark | WatermarkStatus
"""The elements that report the progress of event time."""

_IDLE = WatermarkStatus(idle=True)
_ACTIVE = WatermarkStatus(idle=False)
_END = Watermark(MAX_TIMESTAMP)


@final
class StatusWatermarkValve:
    """Combines the watermarks of the channels of one input.

    >>> valve = StatusWatermarkValve(2)
    >>> valve.watermark(0, 5), valve.watermark(1, 3)
    ([], [Watermark(timestamp_ms=3)])
    >>> valve.status(1, idle=True)
    [Watermark(timestamp_ms=5)]
    """

    __slots__ = ("_active", "_aligned", "_ended", "_marks", "_watermark_ms")

    def __init__(self, channels: int) -> None:
        self._watermark_ms = MIN_TIMESTAMP
        self._marks = [MIN_TIMESTAMP] * channels
        self._active = set(range(channels))
        self._aligned = set(range(channels))
        self._ended: set[int] = set()

    def watermark(self, channel: int, timestamp_ms: int) -> list[Progress]:
        """Take a watermark that arrived on `channel`; return the operator's watermark and status changes, in order."""
        if timestamp_ms == MAX_TIMESTAMP:
            return self._end(channel)
        if channel not in self._active or timestamp_ms <= self._marks[channel]:
            return []
        self._marks[channel] = timestamp_ms
        if timestamp_ms >= self._watermark_ms:
            self._aligned.add(channel)
        return self._rise_to_least()

    def status(self, channel: int, *, idle: bool) -> list[Progress]:
        """Take a status that arrived on `channel`; return the operator's watermark and status changes, in order."""
        if channel in self._ended or idle is (channel not in self._active):
            return []
        return self._rest(channel) if idle else self._wake(channel)

    def _rest(self, channel: int) -> list[Progress]:
        """Stop waiting for the channel."""
        self._active.discard(channel)
        self._aligned.discard(channel)
        held_back = self._marks[channel] == self._watermark_ms
        if self._active:
            return self._rise_to_least() if held_back else []
        return [*(self._rise_to(max(self._marks)) if held_back else []), _IDLE]

    def _wake(self, channel: int) -> list[Progress]:
        was_idle = not self._active
        self._active.add(channel)
        if self._marks[channel] >= self._watermark_ms:
            self._aligned.add(channel)
        return [_ACTIVE] if was_idle else []

    def _end(self, channel: int) -> list[Progress]:
        if channel in self._ended:
            return []
        self._ended.add(channel)
        if len(self._ended) < len(self._marks):
            return self._rest(channel) if channel in self._active else []
        self._watermark_ms = MAX_TIMESTAMP
        return [_END] if self._active else [_ACTIVE, _END]

    def _rise_to_least(self) -> list[Progress]:
        return self._rise_to(min((self._marks[channel] for channel in self._aligned), default=MIN_TIMESTAMP))

    def _rise_to(self, timestamp_ms: int) -> list[Progress]:
        if timestamp_ms <= self._watermark_ms:
            return []
        self._watermark_ms = timestamp_ms
        return [Watermark(timestamp_ms)]


@final
class InputsValve:
    """Combines the watermarks of all channels of an operator, with one input or two.

    `input_of` has the index of the input for each channel. Each input has its own valve, and the operator's watermark
    is the lowest watermark of its inputs. The operator does not wait for an idle or ended input. When an idle input
    becomes active again and is behind, the operator's watermark stays the same until the input has caught up. When all
    inputs are idle, the watermark rises to the highest watermark of any input, so that it does not depend on which
    input became idle first.
    """

    __slots__ = (
        "_greatest_ms",
        "_idle",
        "_input_of",
        "_inputs_idle",
        "_marks",
        "_place_of",
        "_valves",
        "_watermark_ms",
    )

    def __init__(self, input_of: Sequence[int]) -> None:
        inputs = range(max(input_of, default=0) + 1)
        self._input_of = input_of
        self._place_of = [input_of[:channel].count(index) for channel, index in enumerate(input_of)]
        self._valves = [StatusWatermarkValve(input_of.count(index)) for index in inputs]
        self._marks = [MIN_TIMESTAMP for _ in inputs]
        self._inputs_idle = [False for _ in inputs]
        self._greatest_ms = MIN_TIMESTAMP
        """The highest watermark of any input, except MAX_TIMESTAMP."""
        self._watermark_ms = MIN_TIMESTAMP
        self._idle = False

    @property
    def marks(self) -> tuple[int | None, ...]:
        """The watermark of each input, None before the first; empty for an operator with one input."""
        if len(self._valves) == 1:
            return ()
        return tuple(None if mark == MIN_TIMESTAMP else mark for mark in self._marks)

    def take(self, channel: int, progress: Progress) -> list[Progress]:
        """Take an element that arrived on `channel`; return the operator's watermark and status changes, in order."""
        index, place = self._input_of[channel], self._place_of[channel]
        valve = self._valves[index]
        if isinstance(progress, Watermark):
            risen = valve.watermark(place, progress.timestamp_ms)
        else:
            risen = valve.status(place, idle=progress.idle)
        if len(self._valves) == 1:
            return risen
        return [follows for each in risen for follows in self._combine(index, each)]

    def _combine(self, index: int, progress: Progress) -> list[Progress]:
        if isinstance(progress, Watermark):
            self._marks[index] = progress.timestamp_ms
            if progress.timestamp_ms != MAX_TIMESTAMP:
                self._greatest_ms = max(self._greatest_ms, progress.timestamp_ms)
        else:
            self._inputs_idle[index] = progress.idle
        return self._settle()

    def _settle(self) -> list[Progress]:
        ended = all(mark == MAX_TIMESTAMP for mark in self._marks)
        awaited = [
            mark
            for mark, idle in zip(self._marks, self._inputs_idle, strict=True)
            if not idle and mark != MAX_TIMESTAMP
        ]
        idle = not awaited and not ended
        out: list[Progress] = [_ACTIVE] if self._idle and not idle else []
        reached_ms = MAX_TIMESTAMP if ended else min(awaited, default=self._greatest_ms)
        if reached_ms > self._watermark_ms:
            self._watermark_ms = reached_ms
            out.append(Watermark(reached_ms))
        if idle and not self._idle:
            out.append(_IDLE)
        self._idle = idle
        return out
