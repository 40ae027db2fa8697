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
    """What has come in and gone out since the attempt began. Bytes are those that crossed the network."""

    records_in: int = 0
    records_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TimeShares:
    """Where time went, in milliseconds: at work, with work but held back by what is behind, and the rest."""

    busy_ms: float = 0.0
    back_pressured_ms: float = 0.0
    idle_ms: float = 0.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The same for one second, as of the last second or so."""

    records_in: float = 0.0
    records_out: float = 0.0
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    time: TimeShares = TimeShares()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BarrierWait:
    """A barrier that has arrived at a subtask and waits behind `waiting` records, of which it takes `per_second`.

    `per_second` is None when it is not known yet.
    """

    checkpoint_id: CheckpointId
    waiting: int
    per_second: float | None

    @property
    def seconds(self) -> float | None:
        """How long the barrier is about to wait, None when that is not known."""
        return self.waiting / self.per_second if self.per_second else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskMetrics:
    """All metrics of one subtask. Watermarks are None before the first.

    `user` has those that functions keep, each with the uid of its operator. `inputs` has the watermark of each input
    where there are several. Lags are behind the wall clock.
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
    """The newest barrier that waits here behind records."""
    failed: tuple[FailedSample, ...] = ()
    """Some of the records that functions failed for since the report before."""

    def watermark_of_input(self, number: int) -> int | None:
        """Return the watermark of an input, from 1; None where there are not several."""
        return self.inputs[number - 1] if self.inputs else None

    def counts(self, name: str) -> dict[str, int]:
        """Return what the counters of a name have counted, by the uid of the operator that keeps them."""
        return summed({uid: int(own.values[""])} for uid, own in self.user if (own.kind, own.name) == ("counter", name))

    def counters(self) -> dict[str, int]:
        """Return the counters that functions keep, by their names behind those of their groups."""
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
