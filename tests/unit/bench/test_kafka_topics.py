"""What is made of a topic that is watched while jobs commit to it."""

from __future__ import annotations

import pytest

from bench.kafka_topics import KEYS, Seen, line, made_s, rate, settled


def samples(counts: list[int], gap_s: float = 0.05) -> list[Seen]:
    return [Seen(number * gap_s, count) for number, count in enumerate(counts)]


def test_only_what_stands_between_two_checkpoints_is_settled() -> None:
    """Two subtasks commit one after the other: the count between the two says nothing."""
    found = settled(samples([10] * 10 + [15] + [20] * 10 + [24] + [30] * 10))
    assert [seen.count for seen in found] == [10, 20, 30]
    assert found[1].time_s == pytest.approx(11 * 0.05)


def test_rate_is_taken_between_commits_after_the_warm_up() -> None:
    seen = [Seen(0.0, 5), Seen(1.0, 10), Seen(2.0, 110), Seen(4.0, 310)]
    assert rate(seen, 0.5) == pytest.approx(100.0)


def test_one_commit_after_the_warm_up_has_no_rate() -> None:
    with pytest.raises(ValueError, match="no steady state: 1 commits"):
        rate([Seen(0.0, 5), Seen(1.0, 10), Seen(2.0, 110)], 1.5)


def test_record_tells_when_it_was_made_also_with_its_count_behind() -> None:
    assert made_s(line(3, 1_500_000_000) + b",17") == 1.5


def test_numbers_in_a_row_go_round_all_keys() -> None:
    keys = {line(number, 0).partition(b",")[0] for number in range(KEYS)}
    assert len(keys) == KEYS
