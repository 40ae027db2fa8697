"""The checker finds each kind of anomaly where one is planted, and none in histories without."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.kafka.histories.checker import Commit, Kind, Read, Transaction, Write, check

SEEN_NS = 100


def transaction(name: str, commit: Commit, *sequences: int, producer: str = "p") -> Transaction:
    writes = tuple(Write(producer, sequence, name, number) for number, sequence in enumerate(sequences))
    return Transaction(name=name, writes=writes, commit=commit, asked_ns=None if commit is Commit.NEVER else 50)


FIRST = transaction("first", Commit.DONE, 1, 2)
SECOND = transaction("second", Commit.DONE, 3, 4)


def seen(*transactions: Transaction, at_ns: int = SEEN_NS) -> list[Read]:
    return [Read(write, at_ns) for each in transactions for write in each.writes]


def kinds(
    transactions: list[Transaction],
    *partitions: list[Read],
    expected: list[tuple[str, int]] | None = None,
) -> set[Kind]:
    return {anomaly.kind for anomaly in check(transactions, dict(enumerate(partitions)), expected or [])}


def test_a_history_in_order_has_no_anomaly() -> None:
    values = [("p", sequence) for sequence in range(1, 5)]
    assert check([FIRST, SECOND], {0: seen(FIRST, SECOND)}, values) == []
    assert check([], {}, []) == []


def test_a_record_of_a_committed_transaction_that_is_not_seen_is_lost() -> None:
    assert kinds([FIRST, SECOND], seen(FIRST)) == {Kind.LOST}


def test_an_expected_value_that_is_not_seen_is_lost() -> None:
    never = transaction("never", Commit.NEVER, 9)
    assert kinds([FIRST, never], seen(FIRST), expected=[("p", 9)]) == {Kind.LOST}


def test_a_value_whose_loss_was_reported_is_not_expected() -> None:
    lost = transaction("lost", Commit.LOST, 3)
    assert kinds([FIRST, lost], seen(FIRST), expected=[("p", 1), ("p", 3)]) == set()


def test_a_record_that_is_seen_twice_is_doubled() -> None:
    assert kinds([FIRST], seen(FIRST), seen(FIRST)) == {Kind.DOUBLED}


def test_a_value_that_is_seen_of_two_transactions_is_doubled() -> None:
    again = transaction("again", Commit.DONE, 2)
    assert kinds([FIRST, again], seen(FIRST), seen(again)) == {Kind.DOUBLED}


def test_a_record_whose_commit_was_never_asked_for_is_an_aborted_read() -> None:
    assert kinds([transaction("never", Commit.NEVER, 1)], seen(transaction("never", Commit.NEVER, 1))) == {
        Kind.ABORTED_READ
    }


def test_a_record_whose_loss_was_reported_is_an_aborted_read() -> None:
    lost = transaction("lost", Commit.LOST, 1)
    assert kinds([lost], seen(lost)) == {Kind.ABORTED_READ}


def test_a_transaction_that_is_seen_in_part_is_torn_even_if_its_commit_is_unknown() -> None:
    unknown = transaction("unknown", Commit.UNKNOWN, 1, 2)
    assert kinds([unknown], seen(unknown)[:1]) == {Kind.TORN}
    assert kinds([unknown], seen(unknown)) == set()
    assert kinds([unknown], []) == set()


def test_a_record_that_is_seen_before_its_commit_was_asked_for_is_an_early_read() -> None:
    assert kinds([FIRST], seen(FIRST, at_ns=49)) == {Kind.EARLY_READ}


def test_records_of_a_producer_out_of_order_in_a_partition_are_reordered() -> None:
    assert kinds([FIRST, SECOND], seen(SECOND, FIRST)) == {Kind.REORDERED}
    assert kinds([FIRST, SECOND], seen(SECOND), seen(FIRST)) == set()
    other = transaction("other", Commit.DONE, 1, producer="q")
    assert kinds([SECOND, other], seen(SECOND, other)) == set()


def test_a_record_that_nobody_wrote_is_a_phantom() -> None:
    assert kinds([FIRST], seen(FIRST), [Read(replace(FIRST.writes[0], number=7, sequence=9), SEEN_NS)]) == {
        Kind.PHANTOM
    }


COMMITS = st.sampled_from([Commit.DONE, Commit.UNKNOWN, Commit.NEVER])


@given(st.lists(st.tuples(st.integers(1, 4), COMMITS, st.booleans()), max_size=8), st.data())
def test_of_a_lawful_history_any_one_change_is_found(runs: list[tuple[int, Commit, bool]], data: st.DataObject) -> None:
    """Values are written until they are committed; drop, repeat or swap one record that is seen."""
    transactions, reads, sequence = [], list[Read](), 0
    for number, (count, commit, is_done) in enumerate(runs):
        each = transaction(f"t{number}", commit, *range(sequence, sequence + count))
        transactions.append(each)
        if commit is Commit.DONE or (commit is Commit.UNKNOWN and is_done):
            reads += seen(each)
            sequence += count
    expected = [("p", each) for each in range(sequence)]
    assert check(transactions, {0: reads}, expected) == []
    if len(reads) < 2:
        return
    at = data.draw(st.integers(0, len(reads) - 2))
    assert check(transactions, {0: reads[:at] + reads[at + 1 :]}, expected) != []
    assert check(transactions, {0: [*reads, reads[at]]}, expected) != []
    assert check(transactions, {0: [*reads[:at], reads[at + 1], reads[at], *reads[at + 2 :]]}, expected) != []
