"""Pace: pieces shrink when they take long or put out much, and grow again, within their bounds."""

from __future__ import annotations

from headgate.dataflow.pace import EXPANSION_MAX, FIRST_RECORDS, PIECE_MS, Pace


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
