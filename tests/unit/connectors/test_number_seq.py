"""Sequences of integers."""

from __future__ import annotations

import pytest

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.errors import ProgramError
from headgate.testing.contracts.source import read_all


def test_both_ends_are_included() -> None:
    assert read_all(NumberSequenceSource(3, 5)) == [3, 4, 5]


def test_sequence_may_be_a_single_number() -> None:
    assert read_all(NumberSequenceSource(3, 3), parallelism=4) == [3]


def test_end_before_start_is_refused() -> None:
    with pytest.raises(ProgramError, match="from 2 to 1 is empty"):
        NumberSequenceSource(2, 1)


def test_huge_sequence_is_not_held_in_memory() -> None:
    splits = NumberSequenceSource(0, 2**63 - 2).splits(2)
    assert [split.start for split in splits] == [0, 2**62]
