"""The metrics of a subtask as a slot reports them, about once a second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

from headgate.functions.metrics import MetricReport
from headgate.ids import CheckpointId
from headgate.operators.samples import FailedSample


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The records and bytes in and out since the attempt began. Only bytes that crossed the network count."""

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShares:
    """The busy, back-pressured and idle time, in milliseconds."""

    busy_ms: float = 0.0
    back_pressured_ms: float = 0.0
    idle_ms: float = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Traffic and time shares per second, measured over about the last second."""

    records_in: float = 0.0
    records_out: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    time: TimeShares = TimeShares()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierWait:
    """A barrier that waits at a subtask behind `waiting` records. The subtask processes `per_second` records a second.

    `per_second` is None when it is not known yet.
    """

    checkpoint_id: CheckpointId
    waiting: int
    per_second: float | None

    @property
    def seconds(self) -> float | None:
        """The expected wait in seconds, None when it is not known."""
        return self.waiting / self.per_second if self.per_second else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskMetrics:
    """All metrics of one subtask. Watermarks are None before the first.

    `user` are the metrics of functions, each with the uid of its operator. `inputs` are the watermarks of the inputs,
    if there are several. Lags are relative to the wall clock.
    """

    traffic: Traffic
    time: TimeShares
    rates: Rates
    watermark_in: int | None
    watermark_out: int | None
    user: tuple[tuple[str, MetricReport], ...] = ()
    inputs: tuple[int | None, ...] = ()
    watermark_lag_ms: int | None = None
    emit_lag_ms: int | None = None
    alignment_drift_ms: int | None = None
    barrier: BarrierWait | None = None
    """The newest barrier that waits behind records, None for none."""
    failed: tuple[FailedSample, ...] = ()
    """Samples of the records that functions failed for since the previous report."""

    def watermark_of_input(self, number: int) -> int | None:
        """Return the watermark of an input, counted from 1; None unless there are several inputs."""
        return self.inputs[number - 1] if self.inputs else None

    def counts(self, name: str) -> dict[str, int]:
        """Return the values of the counters of this name, by the uid of their operator."""
        return summed({uid: int(own.values[""])} for uid, own in self.user if (own.kind, own.name) == ("counter", name))

    def counters(self) -> dict[str, int]:
        """Return the counters of functions, by their names prefixed with those of their groups."""
        return summed(
            {".".join([*own.groups, *own.labels.values(), own.name]): int(own.values[""])}
            for _, own in self.user
            if own.kind == "counter"
        )


def summed(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counters by name.

    >>> summed([{"skipped": 1}, {"skipped": 2, "late": 1}])
    {'skipped': 3, 'late': 1}
    """
    sums: dict[str, int] = {}
    for own in counters:
        for name, count in own.items():
            sums[name] = sums.get(name, 0) + count
    return sums
