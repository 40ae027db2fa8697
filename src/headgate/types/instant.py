"""Points and lengths of time: Instant, Duration and Time, with PyFlink's names."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final, final

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@final
@dataclass(frozen=True, slots=True, order=True, repr=False)
class Instant:
    """A point on the time line, as seconds and nanoseconds since 1970-01-01T00:00:00Z; `nanos` is never negative."""

    seconds: int
    nanos: int

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since 1970-01-01T00:00:00Z, rounded towards the past."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the instant that lies `epoch_milli` milliseconds after 1970-01-01T00:00:00Z.

        >>> Instant.of_epoch_milli(-1)
        Instant<-1, 999000000>
        """
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


def instant_of(moment: dt.datetime) -> Instant:
    """Return a time with a zone as an instant. Times of pandas keep their nanoseconds.

    >>> instant_of(dt.datetime(1970, 1, 1, 1, tzinfo=dt.UTC))
    Instant<3600, 0>
    """
    seconds, micros = divmod((moment - _EPOCH) // dt.timedelta(microseconds=1), 1_000_000)
    return Instant(seconds, micros * 1000 + getattr(moment, "nanosecond", 0))


def utc_of(instant: Instant) -> dt.datetime:
    """Return an instant as a time in UTC, cut to microseconds. Raises OverflowError past year 9999.

    >>> utc_of(Instant(3600, 1500))
    datetime.datetime(1970, 1, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    return _EPOCH + dt.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)


@final
@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time with nanosecond precision.

    >>> Duration.of_seconds(5).to_millis()
    5000
    """

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a length of `days` times 24 hours."""
        return Duration.of_hours(days * 24)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a length of `hours` hours."""
        return Duration.of_minutes(hours * 60)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a length of `minutes` minutes."""
        return Duration.of_seconds(minutes * 60)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a length of `seconds` seconds."""
        return Duration.of_millis(seconds * 1000)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a length of `millis` milliseconds."""
        return Duration(millis * 1_000_000)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a length of `nanos` nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Return the length in whole milliseconds, rounded down."""
        return self.nanos // 1_000_000


@final
@dataclass(frozen=True, slots=True, order=True, repr=False, init=False)
class Time:
    """A length of time in milliseconds, as windows and time-to-live take it.

    >>> Time.seconds(10)
    Time(10000 ms)
    """

    length_ms: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "length_ms", milliseconds)

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds."""
        return self.length_ms

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a length of `milliseconds` milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a length of `seconds` seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a length of `minutes` minutes."""
        return Time.seconds(minutes * 60)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a length of `hours` hours."""
        return Time.minutes(hours * 60)

    @staticmethod
    def days(days: int) -> Time:
        """Return a length of `days` times 24 hours."""
        return Time.hours(days * 24)

    def __repr__(self) -> str:
        return f"Time({self.length_ms} ms)"

    def __str__(self) -> str:
        return f"{self.length_ms} ms"
