"""How many records a subtask takes at a time, and how many may wait before it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.dataflow.channel import NO_LIMIT, InputChannel
from headgate.dataflow.pace import EXPANSION_MAX, FIRST_RECORDS, PIECE_MS, Debloater, Debloating, DrainWindow, Pace
from headgate.elements import Batch
from headgate.ids import ChannelId


def full(records_max: int) -> Pace:
    pace = Pace(records_max)
    for _ in range(20):
        pace.learn(0.0, 1)
    return pace


def test_pieces_begin_small_as_each_record_may_take_long() -> None:
    assert Pace(1024).records == FIRST_RECORDS
    assert Pace(4).records == 4


def test_fast_pieces_grow_to_a_full_batch() -> None:
    assert full(1024).records == 1024


def test_slow_pieces_become_smaller_down_to_one_record() -> None:
    pace = Pace(1024)
    for _ in range(20):
        pace.learn(PIECE_MS * 2, 1)
    assert pace.records == 1


def test_fast_pieces_grow_again_up_to_a_full_batch() -> None:
    pace = Pace(100)
    for _ in range(20):
        pace.learn(PIECE_MS * 2, 1)
    for _ in range(20):
        pace.learn(0.0, 1)
    assert pace.records == 100


def test_a_piece_that_puts_out_far_more_than_a_batch_makes_the_next_smaller() -> None:
    pace = full(100)
    pace.learn(0.0, 100 * EXPANSION_MAX + 1)
    assert pace.records == 50


def test_a_piece_of_a_fair_time_changes_nothing() -> None:
    pace = full(100)
    pace.learn(PIECE_MS * 2, 1)
    pace.learn(PIECE_MS / 2, 1)
    assert pace.records == 50


SECOND = Debloating(target_ms=1000.0, period_ms=200.0, samples=20, threshold=0.25)


def steady(window: DrainWindow, each_ms: float, seconds: float, start_ms: float = 0.0, taken: int = 0) -> int:
    """Take a record every `each_ms`; return how many were taken in all."""
    for number in range(int(seconds * 1000 / each_ms)):
        taken += 1
        window.worked(start_ms + number * each_ms, start_ms + (number + 1) * each_ms, taken)
    return taken


def test_a_slow_subtask_gets_what_it_takes_in_the_target_time() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    steady(window, 20.0, seconds=5)
    assert window.size == 50
    assert window.per_second == 50.0


def test_one_record_may_always_wait() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    steady(window, 5000.0, seconds=60)
    assert window.size == 1


def test_the_window_of_a_fast_subtask_is_wide_within_milliseconds() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    steady(window, 0.001, seconds=0.035)
    assert window.size > 16_384


def test_a_window_at_most_doubles_with_each_window_taken() -> None:
    window = DrainWindow(SECOND, 16)
    window.worked(0.0, 0.1, 15)
    assert window.size == 16
    assert window.worked(0.1, 0.2, 16)
    assert window.size == 32
    window.worked(0.2, 0.3, 47)
    assert window.size == 32
    window.worked(0.3, 0.4, 48)
    assert window.size == 64


def test_a_subtask_that_becomes_slow_gets_a_smaller_window() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    taken = steady(window, 1.0, seconds=10)
    assert window.size > 700
    steady(window, 100.0, seconds=10, start_ms=10_000.0, taken=taken)
    assert window.size <= 12


def test_time_in_which_nothing_waits_does_not_count() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    for number in range(1, 2_001):
        window.worked(number * 100.0, number * 100.0 + 1.0, number)
        window.rested(number * 100.0 + 1.0)
        assert not window.runs
    assert window.per_second == 1000.0


def test_bursts_that_are_taken_at_once_make_the_window_no_wider_than_twice_what_comes_in_the_target_time() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    for number in range(1, 500):
        window.worked(number * 250.0, number * 250.0 + 0.001, number * 100)
        window.rested(number * 250.0 + 0.001)
        assert window.size <= 1_000
    assert window.size > 500


def test_a_count_that_falls_for_a_while_is_neither_less_nor_more_than_what_was_taken() -> None:
    window = DrainWindow(SECOND, FIRST_RECORDS)
    rates = []
    for number, taken in enumerate((10, 5, -90, 10, 20)):
        window.worked(number * 200.0, (number + 1) * 200.0, taken)
        rates.append(window.per_second)
    assert rates == [50.0, 50.0, 50.0, 50.0, 20.0]


def test_a_piece_without_a_record_says_nothing_of_the_rate_until_the_next_record() -> None:
    window = DrainWindow(Debloating(target_ms=1000, period_ms=1, samples=1), FIRST_RECORDS)
    assert not window.worked(0.0, 500.0, taken=0)
    assert window.size == FIRST_RECORDS
    assert window.worked(500.0, 1000.0, taken=2)
    assert window.per_second == 2.0


def test_small_changes_are_left_out() -> None:
    window = DrainWindow(SECOND, 16)
    taken = steady(window, 10.0, seconds=5)
    assert window.size == 100
    steady(window, 10.0 / 1.2, seconds=10, start_ms=5_000.0, taken=taken)
    assert window.size == 100


def test_without_the_passing_of_time_the_window_grows_and_stays_a_number_that_can_be_sent() -> None:
    window = DrainWindow(SECOND, 16)
    taken = 0
    for _ in range(100):
        taken += window.size
        window.worked(0.0, 0.0, taken)
    assert window.size == NO_LIMIT
    assert window.per_second is None


@given(
    st.lists(st.tuples(st.just(0.0) | st.floats(0.001, 500), st.integers(0, 50), st.booleans()), max_size=60),
    st.integers(1, 5),
)
def test_whatever_happens_the_window_is_no_wider_than_the_samples_allow(
    steps: list[tuple[float, int, bool]], samples: int
) -> None:
    """Each step: how long it takes, how many records are taken, and whether nothing waits afterwards."""
    window = DrainWindow(Debloating(samples=samples, threshold=0.0), FIRST_RECORDS)
    now_ms, taken = 0.0, 0
    for took_ms, records, rests in steps:
        before = window.size
        taken += records
        ended = window.worked(now_ms, now_ms + took_ms, taken)
        now_ms += took_ms
        if not ended:
            assert window.size == before
        elif window.per_second is not None:
            assert window.size <= max(1, min(2 * before, int(window.per_second)))
        if rests:
            window.rested(now_ms)
            now_ms += 1_000.0
    assert window.size >= 1


# --- the channels of a subtask


def channels(count: int) -> list[InputChannel]:
    return [InputChannel(ChannelId(number), FIRST_RECORDS) for number in range(count)]


def test_the_window_is_divided_among_the_channels_on_which_records_come() -> None:
    own = channels(4)
    debloater = Debloater(own, SECOND, 0)
    assert [channel.records_max for channel in own] == [FIRST_RECORDS] * 4
    for channel in own[:2]:
        channel.push(Batch([0] * 20))
    debloater.worked(0.0, 500.0, 20)
    assert debloater.window.size == 40
    assert [channel.records_max for channel in own] == [20] * 4
    for channel in own[:2]:
        channel.pop()
    own[3].push(Batch([0] * 20))
    debloater.worked(500.0, 1000.0, 40)
    assert [channel.records_max for channel in own] == [40] * 4


def test_records_that_were_pending_at_the_start_are_no_records_taken() -> None:
    debloater = Debloater(channels(1), SECOND, 100)
    debloater.worked(0.0, 500.0, 110)
    assert debloater.window.per_second == 20.0


def test_without_debloating_the_rate_is_measured_and_limits_stay() -> None:
    own = channels(2)
    debloater = Debloater(own, None, 0)
    debloater.worked(0.0, 500.0, 10)
    assert [channel.records_max for channel in own] == [FIRST_RECORDS] * 2
    assert debloater.window.per_second == 20.0
