"""Partitioners against what must hold for all streams: nothing lost, nothing twice, order and ownership kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate import native
from headgate.dataflow.partition import KeyGroupPartitioner, Rebalance
from headgate.elements import Batch
from headgate.state.keygroups import key_group, key_group_range
from headgate.types.keys import hash_code
from headgate.types.typed_key import typed

KEYS = st.integers() | st.text(max_size=5) | st.binary(max_size=5) | st.booleans() | st.tuples(st.integers(), st.text())


@given(
    keys=st.lists(KEYS, max_size=60),
    parallelism=st.integers(1, 9),
    max_parallelism=st.integers(9, 300),
    cuts=st.lists(st.integers(1, 20), max_size=10),
    choice=st.sampled_from(["off", "auto"]),
)
def test_every_record_goes_once_and_in_order_to_the_owner_of_its_key_group(
    keys: list[object], parallelism: int, max_parallelism: int, cuts: list[int], choice: str
) -> None:
    part = KeyGroupPartitioner(lambda record: record[1], parallelism, max_parallelism, native.chosen(choice))
    received: dict[int, list[tuple[int, object]]] = {}
    records = list(enumerate(keys))
    while records:
        size = cuts.pop() if cuts else len(records)
        piece, records = records[:size], records[size:]
        for index, batch in part.split(Batch(list(piece), [number for number, _ in piece])):
            assert batch.keys == [typed(key) for _, key in batch.records]
            assert batch.timestamps == [number for number, _ in batch.records]
            received.setdefault(index, []).extend(batch.records)
    assert sorted(number for each in received.values() for number, _ in each) == list(range(len(keys)))
    for index, each in received.items():
        own = key_group_range(index, parallelism, max_parallelism)
        assert each == sorted(each, key=lambda record: record[0])
        assert all(key_group(hash_code(key), max_parallelism) in own for _, key in each)


@given(sizes=st.lists(st.integers(1, 50), max_size=20), channels=st.integers(1, 9), first=st.integers(0, 20))
def test_rebalance_is_even_to_one_record_at_any_time(sizes: list[int], channels: int, first: int) -> None:
    part = Rebalance(channels, first)
    counts = [0] * channels
    number = 0
    for size in sizes:
        batch = Batch(list(range(number, number + size)))
        number += size
        dealt = part.split(batch)
        assert [record for _, piece in dealt for record in piece.records] == batch.records
        for index, piece in dealt:
            counts[index] += len(piece)
        assert max(counts) - min(counts) <= 1
