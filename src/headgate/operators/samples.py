"""Samples of records as text of bounded length, for the job's page.

A `Sampler` samples the records that leave an operator; `FailedSamples` keeps a few of the records for which
the operator's function fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from headgate.clock import Clock
from headgate.elements import Batch
from headgate.operators.service_calls import TokenBucket
from headgate.types.excerpt import excerpt
from headgate.types.typed_key import untyped

VALUE_CHARACTERS_MAX: Final = 500
KEY_CHARACTERS_MAX: Final = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A record that a subtask of an operator emitted, with the time of emission and its timestamp and key, if any."""

    subtask: int
    wall_ms: int
    value: str
    timestamp_ms: int | None = None
    key: str | None = None


@final
class Sampler:
    """Samples at most `records_per_s` records a second of a subtask's output. It changes and raises nothing."""

    def __init__(self, subtask: int, records_per_s: float, clock: Clock) -> None:
        self._subtask = subtask
        self._bucket = TokenBucket(records_per_s)
        self._clock = clock
        self._samples: list[Sample] = []

    def see(self, batch: Batch) -> None:
        """Sample a batch that the operator emits: as many records as the rate allows, spread evenly over the batch."""
        now_s = self._clock.monotonic_ms() / 1000.0
        count = 0
        while count < len(batch) and not self._bucket.take(now_s):
            count += 1
        if count:
            self._take(batch, [len(batch) * number // count for number in range(count)])

    def _take(self, batch: Batch, positions: list[int]) -> None:
        wall_ms = self._clock.wall_ms()
        keys = None if batch.keys is None else [batch.keys[at] for at in positions]
        try:
            some = batch.take(positions)
            records, times = some.records, some.timestamps
        except Exception as error:  # noqa: BLE001  # columns that Python cannot hold: an operator may never read them
            records, times, keys = [_NotShown(error)], None, None
        for at, record in enumerate(records):
            self._samples.append(
                Sample(
                    subtask=self._subtask,
                    wall_ms=wall_ms,
                    value=excerpt(record, VALUE_CHARACTERS_MAX),
                    timestamp_ms=None if times is None else times[at],
                    key=None if keys is None else excerpt(untyped(keys[at]), KEY_CHARACTERS_MAX),
                )
            )

    def taken(self) -> list[Sample]:
        """Return the samples since the last call."""
        samples, self._samples = self._samples, []
        return samples


@final
@dataclass(frozen=True, slots=True)
class _NotShown:
    """Placeholder for records that cannot be converted to Python objects."""

    error: Any

    def __repr__(self) -> str:
        return f"(cannot be shown: {self.error})"


SAMPLES_MAX: Final = 5
"""Samples of one operator in one report. Further failures are only counted, so their text stays bounded."""
TEXT_MAX: Final = 500
TRACEBACK_MAX: Final = 4_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailedSample:
    """A record that a function failed for, as bounded text. `dealt` is "skipped", or the tag of the side output."""

    uid: str
    error: str
    traceback: str
    record: str
    key: str | None
    dealt: str


@final
class FailedSamples:
    """The samples of one operator in one subtask since the last report. Owned by the slot's loop."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[FailedSample] = []

    @property
    def is_full(self) -> bool:
        """Whether the report has its maximum of samples."""
        return len(self._kept) >= SAMPLES_MAX

    def add(self, sample: FailedSample) -> None:
        """Keep a sample."""
        self._kept.append(sample)

    def take(self) -> list[FailedSample]:
        """Return the samples, and remove them."""
        if not self._kept:
            return []
        taken, self._kept = self._kept, []
        return taken
