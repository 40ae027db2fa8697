"""The token bucket: how many calls begin, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.operators.service_calls import TokenBucket


def begins(bucket: TokenBucket, count: int, now_s: float = 0.0) -> list[float]:
    """When so many calls begin that all would like to begin at once."""
    found: list[float] = []
    while len(found) < count:
        wait_s = bucket.take(now_s)
        now_s += wait_s
        if not wait_s:
            found.append(now_s)
    return found


@pytest.mark.parametrize(
    ("per_second", "expected"),
    [
        (4.0, [0, 0, 0, 0, 0.25, 0.5, 0.75]),
        (1.0, [0, 1, 2]),
        (0.5, [0, 2, 4]),
        (2.5, [0, 0, 0.2, 0.6, 1.0]),
        (None, [0, 0, 0, 0, 0]),
    ],
)
def test_calls_of_a_second_begin_at_once_and_the_others_in_turn(
    per_second: float | None, expected: list[float]
) -> None:
    assert begins(TokenBucket(per_second), len(expected)) == pytest.approx(expected)


def test_no_more_than_those_of_a_second_are_saved_up() -> None:
    bucket = TokenBucket(2.0)
    assert begins(bucket, 2) == [0, 0]
    assert begins(bucket, 3, 60.0) == pytest.approx([60, 60, 60.5])


@pytest.mark.parametrize("per_second", [None, 2.0])
def test_a_pause_holds_all_calls_back(per_second: float | None) -> None:
    bucket = TokenBucket(per_second)
    bucket.pause(3.0)
    bucket.pause(1.0)
    assert bucket.take(0.5) == 2.5
    assert begins(bucket, 2, 3.0) == [3, 3]


@given(st.floats(0.1, 50.0), st.lists(st.floats(0.0, 3.0), max_size=60))
def test_never_more_calls_begin_than_the_rate_allows(per_second: float, gaps_s: list[float]) -> None:
    bucket, now_s, begun = TokenBucket(per_second), 0.0, list[float]()
    for gap_s in gaps_s:
        now_s = begins(bucket, 1, now_s + gap_s)[0]
        begun.append(now_s)
    for first, start_s in enumerate(begun):
        for last, end_s in enumerate(begun[first:], first):
            assert last - first + 1 <= max(1.0, per_second) + (end_s - start_s) * per_second + 0.01
