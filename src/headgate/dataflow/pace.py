"""How many records a subtask takes in one piece of work (`Pace`), and how many may wait before it (buffer debloating).

Debloating
----------
A barrier waits until the subtask has taken all records before it. So the *window* of a subtask, the number of records
that may wait before it, is what the subtask takes in a target time. Senders keep to the window and make smaller
batches.

The rate is taken over the last samples together: records taken, divided by the time in which records waited. Time
without waiting records does not count. A record counts once it is done; an input that is pending in an operator is not
done. A sample ends when a whole window was taken, or after the period. So the window of a fast subtask grows within
milliseconds. It at most doubles with each sample, because a few fast records say little about the next ones.

Many records say little, too, if they came in bursts: while the receivers have room, a subtask takes a burst at once,
however slow the receivers are. So a window is at most twice what the subtask takes in the target time, counting also
the time without waiting records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from headgate import options
from headgate.config import Settings
from headgate.dataflow.channel import NO_LIMIT, InputChannel

PIECE_MS: Final = 10.0
"""Milliseconds that a piece of work should take at most: mails and barriers wait for its end."""

EXPANSION_MAX: Final = 4
"""Full batches that a piece may emit. After a piece that emits more, the next piece is smaller."""


FIRST_RECORDS: Final = 16
"""Records of the first piece. It is small, because user code may take long for each record."""


@final
class Pace:
    """The size of the next piece of work (`records`), adapted to the duration of the previous pieces."""

    __slots__ = ("_records_max", "records")

    def __init__(self, records_max: int) -> None:
        self._records_max = records_max
        self.records = min(FIRST_RECORDS, records_max)

    def learn(self, took_ms: float, emitted: int) -> None:
        """Adapt the size after a piece that took `took_ms` and emitted `emitted` records."""
        if took_ms > PIECE_MS or emitted > EXPANSION_MAX * self._records_max:
            self.shrink()
        elif self.records < self._records_max and took_ms < PIECE_MS / 4:
            self.records = min(self._records_max, self.records * 2)

    def shrink(self) -> None:
        """Halve the size of pieces."""
        self.records = max(1, self.records // 2)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Debloating:
    """The settings of buffer debloating. `target_ms` is the time in which a subtask should take all waiting records.

    A sample takes at most `period_ms`; the rate is the average of the last `samples` samples. A change of the window by
    less than the fraction `threshold` is ignored.
    """

    target_ms: float = 1000.0
    period_ms: float = 200.0
    samples: int = 20
    threshold: float = 0.25

    @classmethod
    def of(cls, settings: Settings) -> Debloating | None:
        """Return the settings of the job; None if the job turns debloating off."""
        if not settings.get(options.DEBLOAT):
            return None
        return cls(
            target_ms=settings.get(options.DEBLOAT_TARGET),
            period_ms=settings.get(options.DEBLOAT_PERIOD),
            samples=settings.get(options.DEBLOAT_SAMPLES),
            threshold=settings.get(options.DEBLOAT_THRESHOLD) / 100.0,
        )


def first_window(settings: Settings) -> int:
    """Return how many records a channel may have in flight before its receiver's first sample."""
    return FIRST_RECORDS if settings.get(options.DEBLOAT) else NO_LIMIT


@final
class DrainWindow:
    """The window of one subtask. Pure.

    >>> window = DrainWindow(Debloating(target_ms=1000), first=16)
    >>> window.worked(0.0, 200.0, taken=10)
    True
    >>> window.size, window.per_second
    (32, 50.0)
    """

    __slots__ = (
        "_began_ms",
        "_debloating",
        "_ended_ms",
        "_first",
        "_passed_ms",
        "_samples",
        "_since_ms",
        "_taken",
        "size",
    )

    def __init__(self, debloating: Debloating, first: int, taken: int = 0) -> None:
        """`first` is the window until the first sample. `taken` is the initial count of taken records."""
        self.size = first
        """Records that may wait before the subtask."""
        self._debloating = debloating
        self._first = first
        self._samples: deque[tuple[int, float]] = deque(maxlen=debloating.samples)
        self._began_ms: deque[float] = deque(maxlen=debloating.samples)
        """When each sample began. Unlike the samples' durations, it includes time without waiting records."""
        self._ended_ms: float | None = None
        self._taken = taken
        self._passed_ms = 0.0
        self._since_ms: float | None = None

    @property
    def runs(self) -> bool:
        """Whether time counts now, because records wait or are pending."""
        return self._since_ms is not None

    @property
    def per_second(self) -> float | None:
        """Records that the subtask takes a second, while records wait; None before the first sample."""
        taken = sum(records for records, _ in self._samples)
        passed_ms = sum(passed_ms for _, passed_ms in self._samples)
        return 1000.0 * taken / passed_ms if passed_ms > 0 else None

    def rested(self, now_ms: float) -> None:
        """Note that no record waits, and none is pending."""
        if self._since_ms is not None:
            self._passed_ms += now_ms - self._since_ms
            self._since_ms = None

    def worked(self, began_ms: float, ended_ms: float, taken: int) -> bool:
        """Note a piece of work, with `taken` records in all so far; return whether a sample has ended with it.

        `taken` can decrease, when timers or results of records become pending inputs: then the piece has taken none. A
        sample has at least one record. So the time of a piece that only fires timers counts for the next record.
        """
        if self._since_ms is None:
            self._since_ms = began_ms
        if self._ended_ms is None:
            self._ended_ms = began_ms
        records = max(0, taken - self._taken)
        passed_ms = self._passed_ms + ended_ms - self._since_ms
        if not records or (records < self.size and passed_ms < self._debloating.period_ms):
            return False
        self._samples.append((records, passed_ms))
        self._began_ms.append(self._ended_ms)
        self._ended_ms = ended_ms
        self._taken, self._passed_ms, self._since_ms = self._taken + records, 0.0, ended_ms
        self._adapt(ended_ms - self._began_ms[0])
        return True

    def _adapt(self, whole_ms: float) -> None:
        """Set the window from the samples, which span `whole_ms`."""
        per_second, most = self.per_second, min(2 * self.size, NO_LIMIT)
        if whole_ms > 0:
            taken = sum(records for records, _ in self._samples)
            most = int(min(most, max(self._first, 2 * taken * self._debloating.target_ms / whole_ms)))
        if per_second is None:
            wanted = most
        else:
            wanted = max(1, int(min(most, per_second * self._debloating.target_ms / 1000.0)))
        if abs(wanted - self.size) >= self._debloating.threshold * self.size:
            self.size = wanted


@final
class Debloater:
    """Limits the records that wait in the channels of one subtask to its window. Owned by the slot's loop.

    It divides the window evenly among the channels on which records arrived or wait.
    """

    __slots__ = ("_channels", "_limits", "_pushed", "window")

    def __init__(self, channels: Sequence[InputChannel], debloating: Debloating | None, taken: int) -> None:
        """`taken` is the initial count of taken records. Without `debloating` the rate is only measured."""
        self.window = DrainWindow(debloating or Debloating(), FIRST_RECORDS * max(1, len(channels)), taken)
        self._channels = channels
        self._limits = debloating is not None
        self._pushed = [0 for _ in channels]

    def worked(self, began_ms: float, ended_ms: float, taken: int) -> None:
        """Note a piece of work, with `taken` records in all so far."""
        if self.window.worked(began_ms, ended_ms, taken) and self._limits:
            self._divide()

    def _divide(self) -> None:
        before, self._pushed = self._pushed, [channel.pushed for channel in self._channels]
        active = sum(
            channel.waiting > 0 or channel.pushed > pushed
            for channel, pushed in zip(self._channels, before, strict=True)
        )
        share = max(1, self.window.size // max(1, active))
        for channel in self._channels:
            channel.records_max = share
