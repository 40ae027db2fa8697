"""Points and lengths of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.types.instant import Duration, Instant, Time


@given(st.integers(-(10**15), 10**15))
def test_an_instant_gives_its_milliseconds_back_also_before_1970(epoch_milli: int) -> None:
    instant = Instant.of_epoch_milli(epoch_milli)
    assert instant.to_epoch_milli() == epoch_milli
    assert 0 <= instant.nanos < 10**9


@pytest.mark.parametrize(
    ("duration", "millis"),
    [
        (Duration.of_days(1), 86_400_000), (Duration.of_hours(2), 7_200_000), (Duration.of_minutes(1), 60_000),
        (Duration.of_seconds(5), 5000), (Duration.of_millis(7), 7), (Duration.of_nanos(1_999_999), 1),
    ],
)  # fmt: skip
def test_durations_are_converted_to_whole_milliseconds(duration: Duration, millis: int) -> None:
    assert duration.to_millis() == millis


def test_times_add_up_from_larger_units() -> None:
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400) == Time.milliseconds(86_400_000)
    assert Time.seconds(1).to_milliseconds() == 1000
