"""Who owns a job, and what of earlier drivers counts."""

from __future__ import annotations

from headgate.checkpoint.drivers.epochs import Base, Chain, EpochOwner, is_valid, next_owner, parse_owner, taken_over_by
from headgate.ids import CheckpointId

A, B, C = EpochOwner(1, "aa"), EpochOwner(2, "bb"), EpochOwner(3, "cc")


def chain(*bases: tuple[EpochOwner, int]) -> Chain:
    return tuple(Base(owner, CheckpointId(checkpoint_id)) for owner, checkpoint_id in bases)


def valid(owner: EpochOwner, *ids: int, by: Chain) -> list[bool]:
    return [is_valid(owner, CheckpointId(checkpoint_id), by) for checkpoint_id in ids]


def test_numbers_order_owners_before_nonces_do() -> None:
    assert sorted([EpochOwner(10, "aa"), EpochOwner(2, "zz"), EpochOwner(10, "ab")]) == [
        EpochOwner(2, "zz"),
        EpochOwner(10, "aa"),
        EpochOwner(10, "ab"),
    ]


def test_a_new_owner_is_above_all_that_are_seen() -> None:
    assert next_owner([A, C, B], "dd") == EpochOwner(4, "dd")
    assert next_owner([], "aa") == EpochOwner(1, "aa")


def test_an_owner_is_taken_over_by_a_higher_claim_and_when_its_own_is_gone() -> None:
    assert taken_over_by(B, [A, B]) is None
    assert taken_over_by(A, [A, B]) == "epoch 2"
    assert taken_over_by(A, [B]) == "epoch 2"
    assert taken_over_by(A, []) is not None


def test_the_texts_of_owners_are_read_and_no_others() -> None:
    assert [parse_owner(str(owner)) for owner in (A, B, C)] == [A, B, C]
    assert [parse_owner(text) for text in ("", "1", "x-aa", "1-aa-base", "1-AA")] == [None] * 5


def test_an_owners_manifests_count_up_to_where_the_next_one_started_from() -> None:
    assert valid(A, 4, 5, 6, by=chain((A, 0), (B, 5))) == [True, True, False]
    assert valid(B, 6, 7, by=chain((A, 0), (B, 5))) == [True, True]


def test_a_fork_does_not_count_though_a_later_driver_started_from_a_higher_id() -> None:
    assert valid(A, 5, 6, by=chain((A, 0), (B, 5), (C, 8))) == [True, False]
    assert valid(B, 8, 9, by=chain((A, 0), (B, 5), (C, 8))) == [True, False]


def test_a_driver_that_started_from_the_beginning_leaves_nothing_of_those_before_it() -> None:
    assert valid(A, 1, 2, by=chain((A, 0), (B, 0))) == [False, False]
