"""What a read-committed consumer may see of transactions whose fate is known, or is not. Pure.

A history is a list of operations: one for each transaction, with the records that were written in it and what is known
of its commit. In the spirit of Jepsen, an operation that was asked for and not answered is neither done nor failed:
then all of its records may be seen, or none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import final


class Commit(Enum):
    """What is known of the commit of a transaction."""

    NEVER = "was never asked for"
    UNKNOWN = "was asked for, and not answered"
    DONE = "was confirmed"
    LOST = "was reported as lost"


class Kind(Enum):
    """Kinds of anomalies."""

    LOST = "lost"
    """A record of a transaction that was committed is not seen, or an expected value is not."""
    DOUBLED = "doubled"
    """A record, or a value, is seen twice."""
    ABORTED_READ = "aborted read"
    """A record is seen of a transaction whose commit was never asked for, or whose loss was reported."""
    EARLY_READ = "early read"
    """A record was seen before the commit of its transaction was asked for."""
    TORN = "torn"
    """Some records of a transaction are seen, and others are not."""
    REORDERED = "reordered"
    """Within a partition, a producer's records are not seen in the order of their sequence."""
    PHANTOM = "phantom"
    """A record is seen that nobody wrote."""


@final
@dataclass(frozen=True, slots=True)
class Write:
    """A record: `writer` and `number` name this writing of it, `producer` and `sequence` the value, once in a run."""

    producer: str
    sequence: int
    writer: str
    number: int

    @property
    def value(self) -> tuple[str, int]:
        """What is to be seen once, however often it was written."""
        return self.producer, self.sequence


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An operation. `asked_ns` is when its commit was first asked for, None: never."""

    name: str
    writes: tuple[Write, ...]
    commit: Commit
    asked_ns: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Read:
    """A record as a consumer saw it, by `seen_ns` at the latest."""

    write: Write
    seen_ns: int


@final
@dataclass(frozen=True, slots=True)
class Anomaly:
    """What is wrong, and with which record or transaction."""

    kind: Kind
    of: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.of}"


def check(
    transactions: Iterable[Transaction],
    reads: Mapping[int, Sequence[Read]],
    expected: Iterable[tuple[str, int]] = (),
) -> list[Anomaly]:
    """Return the anomalies of a history. `reads` are the records of each partition, in order.

    `expected` are the values that have to be seen, unless they were in transactions whose loss was reported.
    """
    transactions = list(transactions)
    seen = [read for of_partition in reads.values() for read in of_partition]
    found = [Anomaly(Kind.DOUBLED, f"record {write}") for write, count in _counts(seen).items() if count > 1]
    by_value: dict[tuple[str, int], set[Write]] = defaultdict(set)
    for read in seen:
        by_value[read.write.value].add(read.write)
    found += [Anomaly(Kind.DOUBLED, f"value {value}") for value, writes in by_value.items() if len(writes) > 1]
    found += _of_transactions(transactions, seen)
    found += _reordered(reads)
    given_up = {write.value for each in transactions if each.commit is Commit.LOST for write in each.writes}
    found += [
        Anomaly(Kind.LOST, f"value {value}") for value in expected if value not in by_value | dict.fromkeys(given_up)
    ]
    return found


def _counts(seen: Iterable[Read]) -> Counter[Write]:
    return Counter(read.write for read in seen)


def _of_transactions(transactions: list[Transaction], seen: list[Read]) -> list[Anomaly]:
    first_seen: dict[Write, int] = {}
    for read in seen:
        first_seen[read.write] = min(read.seen_ns, first_seen.get(read.write, read.seen_ns))
    found = []
    for each in transactions:
        there = [write for write in each.writes if write in first_seen]
        if each.commit in (Commit.NEVER, Commit.LOST):
            found += [Anomaly(Kind.ABORTED_READ, f"{write} of {each.name}") for write in there]
        elif each.commit is Commit.DONE:
            missing = [write for write in each.writes if write not in first_seen]
            found += [Anomaly(Kind.LOST, f"{write} of {each.name}") for write in missing]
        if there and len(there) < len(each.writes):
            found.append(Anomaly(Kind.TORN, each.name))
        early = [write for write in there if each.asked_ns is not None and first_seen[write] < each.asked_ns]
        found += [Anomaly(Kind.EARLY_READ, f"{write} of {each.name}") for write in early]
    written = {write for each in transactions for write in each.writes}
    return found + [Anomaly(Kind.PHANTOM, str(write)) for write in first_seen if write not in written]


def _reordered(reads: Mapping[int, Sequence[Read]]) -> list[Anomaly]:
    found = []
    for partition, of_partition in reads.items():
        last: dict[str, int] = {}
        for read in of_partition:
            write = read.write
            if write.sequence < last.get(write.producer, write.sequence):
                found.append(Anomaly(Kind.REORDERED, f"{write} in partition {partition}"))
            last[write.producer] = write.sequence
    return found
