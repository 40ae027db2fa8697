"""Watermark strategies: where the timestamps of records come from, and how event time advances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast, final

from headgate.errors import ProgramError
from headgate.types.instant import Duration

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.columns.program import ColumnProgram


class TimestampAssigner(ABC):
    """Takes the event time out of a record."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the event time of `value` in milliseconds.

        `record_timestamp` is the timestamp so far, for instance from the source; -2**63 if there is none.
        """


class WatermarkOutput(ABC):
    """Receives the watermarks of a `WatermarkGenerator`."""

    @abstractmethod
    def emit_watermark(self, timestamp_ms: int) -> None:
        """Emit a watermark: no record with this timestamp, or an earlier one, is expected to follow.

        Ignored unless it is later than the last one. Ends idleness.
        """

    @abstractmethod
    def mark_idle(self) -> None:
        """Mark the stream as idle: no records are expected for a while, so operators do not wait for its watermarks."""

    @abstractmethod
    def mark_active(self) -> None:
        """Mark the stream as no longer idle."""


class WatermarkGenerator(ABC):
    """Makes the watermarks of a stream, one generator in each subtask. Checkpoints do not hold its attributes.

    >>> class AtMarkers(WatermarkGenerator):
    ...     def on_event(self, event, timestamp_ms, output):
    ...         if event.is_marker:
    ...             output.emit_watermark(timestamp_ms)
    >>> strategy = WatermarkStrategy.for_generator(AtMarkers)
    """

    @abstractmethod
    def on_event(self, event: Any, timestamp_ms: int, output: WatermarkOutput) -> None:
        """Look at a record; a watermark emitted here follows it directly."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit a watermark, if there is a new one; called every `pipeline.auto-watermark-interval`."""


@final
@dataclass(frozen=True, slots=True)
class BoundedOutOfOrderness:
    """Event time follows the greatest timestamp seen, less `bound_ms`."""

    bound_ms: int


@final
@dataclass(frozen=True, slots=True)
class OwnGenerator:
    """Event time follows the generator that `supplier` returns in each subtask."""

    supplier: Callable[[], WatermarkGenerator]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTime:
    """Event time follows the latest time in record batches, less `delay_ms`.

    The program computes the times from the columns at the positions `reads` of a batch, whose schema is `schema`.
    """

    schema: pa.Schema
    reads: tuple[int, ...]
    time: ColumnProgram
    delay_ms: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAlignment:
    """The sources of a group wait for each other: a source more than `max_drift_ms` ahead of the slowest stops reading.

    Every `interval_ms`, the subtasks report their watermarks, and learn up to which watermark they may read.
    """

    group: str
    max_drift_ms: int
    interval_ms: int


class ExtractsTimestamps(Protocol):
    """Any object with the method of a `TimestampAssigner`: it need not be derived from that class."""

    def extract_timestamp(self, value: Any, record_timestamp: int, /) -> int:
        """See `TimestampAssigner.extract_timestamp`."""
        ...


AnyTimestampAssigner = ExtractsTimestamps | Callable[[Any, int], int]
"""An assigner, or a callable that takes the same record and timestamp."""


def _extracting(assigner: AnyTimestampAssigner) -> Callable[[Any, int], int]:
    return cast("Callable[[Any, int], int]", getattr(assigner, "extract_timestamp", assigner))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkStrategy:
    """How a stream gets timestamps and watermarks. Made by the static methods; each `with_` method returns another.

    >>> strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(
    ...     lambda event, record_timestamp: event["time_ms"]
    ... )
    """

    progress: BoundedOutOfOrderness | OwnGenerator | ColumnTime | None = None
    timestamp_assigner: AnyTimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Expect timestamps that never fall: event time follows the last one."""
        return WatermarkStrategy(progress=BoundedOutOfOrderness(0))

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """Expect timestamps at most this far below the highest so far; watermarks keep this distance to the highest.

        Raises ProgramError for a negative bound, or anything but a Duration.
        """
        bound_ms = _milliseconds("for_bounded_out_of_orderness()", max_out_of_orderness)
        if bound_ms < 0:
            raise ProgramError(f"the bound of for_bounded_out_of_orderness() must not be negative: {bound_ms} ms")
        return WatermarkStrategy(progress=BoundedOutOfOrderness(bound_ms))

    @staticmethod
    def for_generator(supplier: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Use your own generators: `supplier`, for instance the class itself, is called once in each subtask.

        Raises ProgramError for a generator itself, or anything else that cannot be called.
        """
        if isinstance(supplier, WatermarkGenerator) or not callable(supplier):
            raise ProgramError(
                "for_generator() takes a callable that makes a WatermarkGenerator, such as its class or a lambda, not "
                f"{supplier!r}"
            )
        return WatermarkStrategy(progress=OwnGenerator(supplier))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Make no watermarks: for programs that do not use event time."""
        return WatermarkStrategy()

    def with_timestamp_assigner(self, timestamp_assigner: AnyTimestampAssigner) -> WatermarkStrategy:
        """Take timestamps from an assigner, or a callable of the same two arguments, instead of from the source.

        An assigner is any object with a method `extract_timestamp`. Raises ProgramError for anything else, such as the
        class of an assigner.
        """
        if isinstance(timestamp_assigner, type) or not callable(_extracting(timestamp_assigner)):
            raise ProgramError(
                "with_timestamp_assigner() takes an instance of a TimestampAssigner, or another object with a method "
                f"extract_timestamp, not {timestamp_assigner!r}"
            )
        return replace(self, timestamp_assigner=timestamp_assigner)

    @property
    def extract_timestamp(self) -> Callable[[Any, int], int] | None:
        """The function that extracts a record's timestamp; None if there is no assigner."""
        return None if self.timestamp_assigner is None else _extracting(self.timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """Do not wait for a subtask that has had no record for this long, by the machine's clock.

        Time in which the subtask could not take a record does not count: while there is no room downstream, while the
        slot does other work, or while watermark alignment pauses the subtask.

        Raises ProgramError for a timeout that is not above zero, or anything but a Duration.
        """
        timeout_ms = _milliseconds("with_idleness()", idle_timeout)
        if timeout_ms <= 0:
            raise ProgramError(f"the timeout of with_idleness() must be above zero, not {timeout_ms} ms")
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:
        """Have the source stop reading while its watermark is too far ahead of the slowest source of its group.

        All sources of a job with the same `watermark_group` wait for each other. Watermarks are compared every
        `update_interval`, by default once a second. Works in `env.from_source()` only, and not in batch mode.

        Raises ProgramError for a group that is empty or not text, a negative drift, and an interval that is not above
        zero.

        >>> strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        ...     "orders", Duration.of_seconds(20)
        ... )
        """
        method = "with_watermark_alignment()"
        if not isinstance(watermark_group, str) or not watermark_group:
            raise ProgramError(f"{method} takes the name of a group, a text that is not empty, not {watermark_group!r}")
        drift_ms = _milliseconds(method, max_allowed_watermark_drift)
        if drift_ms < 0:
            raise ProgramError(f"the drift of {method} must not be negative: {drift_ms} ms")
        interval_ms = 1_000 if update_interval is None else _milliseconds(method, update_interval)
        if interval_ms <= 0:
            raise ProgramError(f"the update interval of {method} must be above zero, not {interval_ms} ms")
        alignment = WatermarkAlignment(group=watermark_group, max_drift_ms=drift_ms, interval_ms=interval_ms)
        return replace(self, alignment=alignment)

    @property
    def does_nothing(self) -> bool:
        """Whether the strategy changes neither timestamps nor the progress of event time."""
        return self == WatermarkStrategy()


def _milliseconds(method: str, duration: object) -> int:
    if not isinstance(duration, Duration):
        raise ProgramError(f"{method} takes a Duration, such as Duration.of_seconds(5), not {duration!r}")
    return duration.to_millis()
