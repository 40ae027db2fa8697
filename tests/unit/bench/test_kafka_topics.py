"""What is made of a topic that is watched while jobs commit to it."""

from __future__ import annotations

import pytest

from bench.kafka_topics import KEYS, Seen, Watch, is_enough, line, made_s, rate, settled, steady


def samples(counts: list[int], gap_s: float = 0.05) -> list[Seen]:
    return [Seen(number * gap_s, count) for number, count in enumerate(counts)]


def test_only_what_stands_between_two_checkpoints_is_settled() -> None:
    """Two subtasks commit one after the other: the count between the two says nothing."""
    found = settled(samples([10] * 10 + [15] + [20] * 10 + [24] + [30] * 10))
    assert [seen.count for seen in found] == [10, 20, 30]
    assert found[1].time_s == pytest.approx(11 * 0.05)


def test_warm_up_and_the_end_of_the_input_do_not_count() -> None:
    seen = samples([10] * 10 + [20] * 10 + [30] * 10 + [40] * 10)
    assert [each.count for each in steady(seen, Watch(warm_up_s=0.5, seconds=1.0, count=40))] == [20, 30]


def test_slow_commits_are_watched_for_longer() -> None:
    how = Watch(warm_up_s=0.5, seconds=1.0, count=100)
    two_commits = samples([10] * 10 + [20] * 30 + [30] * 10)
    assert not is_enough(two_commits, how)
    assert is_enough([*two_commits, *(Seen(3.0 + number, 40) for number in range(2))], how)


def test_end_of_the_input_ends_the_watch() -> None:
    assert is_enough(samples([10, 100]), Watch(warm_up_s=0.5, seconds=1.0, count=100))
    assert not is_enough([], Watch(warm_up_s=0.5, seconds=1.0, count=100))


def test_rate_is_taken_between_commits() -> None:
    assert rate([Seen(1.0, 10), Seen(2.0, 110), Seen(4.0, 310)]) == pytest.approx(100.0)


def test_one_commit_has_no_rate() -> None:
    with pytest.raises(ValueError, match="no steady state: 1 commits"):
        rate([Seen(2.0, 110)])


def test_record_tells_when_it_was_made_also_with_its_count_behind() -> None:
    assert made_s(line(3, 1_500_000_000) + b",17") == 1.5


def test_numbers_in_a_row_go_round_all_keys() -> None:
    keys = {line(number, 0).partition(b",")[0] for number in range(KEYS)}
    assert len(keys) == KEYS
