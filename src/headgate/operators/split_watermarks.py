"""Watermarks of a subtask that reads several splits at a time: each split has its own watermark.

The subtask's watermark is the lowest watermark of its active splits. A split is active from its assignment until it is
read to its end, unless it is idle. A split that was added later, or was idle, may be behind: then the subtask's
watermark stays the same until the split has caught up. Without an active split the subtask is idle. If it has splits,
its watermark first rises to the highest watermark of its splits, so that it does not depend on which split became idle
first. (Flink has this rule for watermarks per split since 2.2. But in Flink a subtask without splits holds its job
back, unless an idle timeout is set.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final

from headgate.elements import MIN_TIMESTAMP, Batch, Flow, Watermark, WatermarkStatus
from headgate.errors import ProgramError
from headgate.operators.watermarks import WatermarkMaker


@final
@dataclass(slots=True)
class _Split:
    maker: WatermarkMaker
    watermark_ms: int = MIN_TIMESTAMP
    idle: bool = False


@final
class SplitWatermarks:
    """Makes timestamps and watermarks in one subtask, split by split. `wake_ms` and `tick` are as in `Operator`."""

    def __init__(self, maker: Callable[[], WatermarkMaker], now_ms: float) -> None:
        """`maker` returns the `WatermarkMaker` for one more split."""
        self._maker = maker
        self._splits: dict[str, _Split] = {}
        self._watermark_ms = MIN_TIMESTAMP
        self._idle = False
        self.wake_ms: float | None = now_ms

    def take(self, splits: Mapping[str, bool], now_ms: float) -> None:
        """Add active splits, whether or not they are partly read."""
        for split_id in splits:
            self._splits[split_id] = _Split(self._maker())
        self.wake_ms = now_ms

    @property
    def watermarks_ms(self) -> dict[str, int]:
        """The watermark of each split."""
        return {split_id: split.watermark_ms for split_id, split in self._splits.items()}

    def pause(self, paused: frozenset[str]) -> None:
        """Pause these splits, and resume all others. A paused split does not become idle."""
        for split_id, split in self._splits.items():
            if split_id in paused:
                split.maker.pause()
            else:
                split.maker.resume()

    def mark(self, batch: Batch, split_id: str | None, *, ended: bool) -> list[Flow]:
        """Return the records of a split with timestamps, and the watermarks and statuses among them.

        Raises `UserCodeError`, and `ProgramError` for a split that the subtask was not given.
        """
        split = self._splits.get(split_id or "")
        if split is None:
            raise ProgramError(
                f"poll() returned records of split {split_id!r}, which the reader was not given; a source with "
                f"watermarks_per_split tells for all records which of {sorted(self._splits)} they are of"
            )
        out = self._merged(split, split.maker.mark(batch))
        if ended:
            assert split_id is not None
            del self._splits[split_id]
            out += self._follow()
        self._note_wake()
        return out

    def tick(self, now_ms: float) -> list[Flow]:
        """Return the watermarks and statuses that the periodic work of all splits yields. Raises `UserCodeError`."""
        out: list[Flow] = []
        for split in self._splits.values():
            out += self._merged(split, split.maker.tick(now_ms))
        out += self._follow()
        self._note_wake()
        return out

    def _merged(self, split: _Split, marked: list[Flow]) -> list[Flow]:
        """Return the records unchanged, and the subtask's watermarks and statuses in place of the split's."""
        out: list[Flow] = []
        for each in marked:
            if isinstance(each, Batch):
                out.append(each)
                continue
            if isinstance(each, Watermark):
                split.watermark_ms = each.timestamp_ms
            else:
                split.idle = each.idle
            out += self._follow()
        return out

    def _follow(self) -> list[Flow]:
        splits = self._splits.values()
        active = [split.watermark_ms for split in splits if not split.idle]
        idle = not active
        out: list[Flow] = []
        if self._idle and not idle:
            out.append(WatermarkStatus(idle=False))
        reached_ms = min(active) if active else max((each.watermark_ms for each in splits), default=MIN_TIMESTAMP)
        if reached_ms > self._watermark_ms:
            self._watermark_ms = reached_ms
            out.append(Watermark(self._watermark_ms))
        if idle and not self._idle:
            out.append(WatermarkStatus(idle=True))
        self._idle = idle
        return out

    def _note_wake(self) -> None:
        times = [split.maker.wake_ms for split in self._splits.values()]
        self.wake_ms = min((time_ms for time_ms in times if time_ms is not None), default=None)
