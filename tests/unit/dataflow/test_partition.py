"""Partitioners: every record reaches exactly the channels it should, with its key and timestamp, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headgate.dataflow.partition import (
    Broadcast,
    Custom,
    Forward,
    KeyGroupPartitioner,
    Rebalance,
    Rescale,
    RouteCache,
    Shuffle,
    StreamPartitioner,
    partitioner,
)
from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.functions.api import KeySelector, Partitioner
from headgate.graph.job_graph import EdgePlan
from headgate.graph.logical import AnyKeySelector, Partitioning
from headgate.operators.base import UserCodeError
from headgate.operators.keys import CustomPartition, DeclaredKeys
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import hash_code
from headgate.types.record_copies import BY_REFERENCE, BY_VALUE, Passing
from headgate.types.row import Row
from headgate.types.typed_key import typed, untyped
from headgate.types.typeinfo import Types
from tests.compiled import compiled_module


def dealt(part: StreamPartitioner, *batches: list[Any], channels: int) -> list[list[Any]]:
    out: list[list[Any]] = [[] for _ in range(channels)]
    for records in batches:
        for index, piece in part.split(Batch(list(records))):
            out[index] += piece.records
    return out


def same(value: Any) -> Any:
    return value


def failure_of(key: Any) -> UserCodeError:
    with pytest.raises(UserCodeError) as caught:
        KeyGroupPartitioner(lambda record: record[0], 2, 128).split(Batch([("good", 1), (key, 2), ("good", 3)]))
    return caught.value


# --- rebalance, broadcast, forward


@pytest.mark.parametrize("channels", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 2, 5, 64])
def test_rebalance_deals_evenly_whatever_the_size_of_batches(channels: int, size: int) -> None:
    part = Rebalance(channels, 0)
    batches = [list(range(start, start + size)) for start in range(0, size * 42, size)]
    out = dealt(part, *batches, channels=channels)
    assert sorted(record for each in out for record in each) == list(range(size * 42))
    assert max(map(len, out)) - min(map(len, out)) <= 1
    assert all(each == sorted(each) for each in out)


def test_senders_begin_at_different_channels() -> None:
    firsts = [Rebalance(4, sender).split(Batch(["x"]))[0][0] for sender in range(8)]
    assert firsts == [0, 1, 2, 3, 0, 1, 2, 3]


def test_rebalance_keeps_timestamps_with_their_records() -> None:
    parts = Rebalance(2, 0).split(Batch([1, 2, 3], [10, 20, 30]))
    assert [(piece.records, piece.timestamps) for _, piece in parts] == [([1, 2], [10, 20]), ([3], [30])]


def test_broadcast_gives_each_channel_lists_of_its_own() -> None:
    batch = Batch([1, 2], [10, 20])
    parts = Broadcast(3, BY_VALUE).split(batch)
    assert [index for index, _ in parts] == [0, 1, 2]
    for _, piece in parts:
        assert (piece.records, piece.timestamps) == ([1, 2], [10, 20])
        piece.records.append(3)


@pytest.mark.parametrize(("passing", "are_shared"), [(BY_VALUE, False), (BY_REFERENCE, True)])
def test_broadcast_shares_records_only_where_objects_are_reused(passing: Passing, are_shared: bool) -> None:
    (_, first), (_, second) = Broadcast(2, passing).split(Batch([{"n": 1}]))
    assert first.records == second.records == [{"n": 1}]
    assert (first.records[0] is second.records[0]) is are_shared


def test_forward_sends_everything_to_its_one_channel() -> None:
    assert dealt(Forward(), [1, 2], [3], channels=1) == [[1, 2, 3]]


@pytest.mark.parametrize(("senders", "channels"), [(1, 1), (2, 6), (6, 2), (3, 5), (5, 3), (4, 4)])
def test_rescale_deals_to_near_subtasks_only_and_reaches_all(senders: int, channels: int) -> None:
    reached = []
    for sender in range(senders):
        out = dealt(Rescale(channels, sender, senders), list(range(60)), channels=channels)
        own = [index for index, records in enumerate(out) if records]
        assert own == list(range(own[0], own[0] + len(own)))
        assert len(own) in (max(1, channels // senders), -(-channels // senders))
        assert max(len(out[index]) for index in own) - min(len(out[index]) for index in own) <= 1
        reached += own
    assert set(reached) == set(range(channels))
    assert max(map(reached.count, reached)) - min(map(reached.count, reached)) <= 1


def test_shuffle_sends_each_record_once_in_order_and_to_all() -> None:
    out = dealt(Shuffle(3, 1), list(range(300)), channels=3)
    assert sorted(record for each in out for record in each) == list(range(300))
    assert all(each == sorted(each) and len(each) > 50 for each in out)


class ByLetter(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int((ord(key) - ord("a")) % num_partitions)


@pytest.mark.parametrize("by_letter", [ByLetter(), lambda key, count: np.int64((ord(key) - ord("a")) % count)])
def test_a_custom_partitioner_says_where_records_go(by_letter: Any) -> None:
    part = Custom(CustomPartition(by_letter, lambda pair: pair[0]), 2)
    parts = part.split(Batch([("a", 1), ("b", 2), ("c", 3)], [10, 20, 30]))
    assert [(index, piece.records, piece.timestamps, piece.keys) for index, piece in parts] == [
        (0, [("a", 1), ("c", 3)], [10, 30], None),
        (1, [("b", 2)], [20], None),
    ]


@pytest.mark.parametrize("target", [-1, 2, 0.0, None])
def test_a_partition_that_is_not_there_is_refused_with_the_record(target: Any) -> None:
    part = Custom(CustomPartition(lambda key, count: target if key == 5 else 0, same), 2)
    with pytest.raises(UserCodeError) as caught:
        part.split(Batch([4, 5, 6]))
    assert caught.value.record == 5
    assert f"returned {target!r}, not a number from 0 to 1" in str(caught.value.__cause__)


# --- by key, in Python and compiled


@pytest.fixture(scope="module", autouse=True, params=["in Python", "compiled"])
def _both_ways(request: pytest.FixtureRequest) -> Iterator[None]:
    module = compiled_module() if request.param == "compiled" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request.module, "KeyGroupPartitioner", partial(KeyGroupPartitioner, native=module))
        yield


@pytest.mark.parametrize(("parallelism", "max_parallelism"), [(1, 128), (2, 128), (3, 128), (5, 7), (16, 4096)])
def test_a_record_goes_to_the_subtask_that_owns_the_key_group_of_its_key(
    parallelism: int, max_parallelism: int
) -> None:
    edges = [sign * 2**31 + more for sign in (-1, 1) for more in (-1, 0, 1)]
    keys = [*range(200), *edges, *(f"k{n}" for n in range(200)), (1, "a"), 2.5, True, b"x"]
    part = KeyGroupPartitioner(same, parallelism, max_parallelism)
    seen = 0
    for index, piece in part.split(Batch(list(keys))):
        assert piece.keys == [typed(record) for record in piece.records]
        seen += len(piece)
        for key in piece.records:
            assert subtask_of_group(key_group(hash_code(key), max_parallelism), parallelism, max_parallelism) == index
    assert seen == len(keys)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_records_of_a_channel_keep_their_order_their_keys_and_their_timestamps(parallelism: int) -> None:
    records = [(f"key {n % 10}", n) for n in range(100)]
    part = KeyGroupPartitioner(lambda pair: pair[0], parallelism, 128)
    for _, piece in part.split(Batch(list(records), list(range(100)))):
        assert piece.timestamps == [number for _, number in piece.records] == sorted(piece.timestamps or [])
        assert piece.keys == [key for key, _ in piece.records]


def test_a_batch_of_columns_goes_to_its_channels_as_rows() -> None:
    columns = pa.RecordBatch.from_pylist([{"n": n, "text": "ab"[n % 2]} for n in range(20)])
    part = KeyGroupPartitioner(lambda row: row.text, 4, 128)
    (first, some), (second, others) = part.split(Batch.of_arrow(columns, list(range(20))))
    assert first != second
    assert {tuple(piece.timestamps or ()) for piece in (some, others)} == {(*range(0, 20, 2),), (*range(1, 20, 2),)}
    for piece in (some, others):
        assert [row.n for row in piece.records] == piece.timestamps
        assert piece.keys == [row.text for row in piece.records]


def test_keys_that_python_calls_equal_go_the_same_way_and_are_told_apart() -> None:
    part = KeyGroupPartitioner(same, 100, 128)
    [(_, batch)] = part.split(Batch([1, 1.0, True, Decimal("1.0"), Decimal("1.00"), 1]))
    assert batch.keys is not None
    assert len(set(batch.keys)) == 5
    assert batch.keys[0] == batch.keys[5]


def test_keys_of_a_declared_type_are_converted_and_what_cannot_be_is_named_with_its_record() -> None:
    part = KeyGroupPartitioner(DeclaredKeys(same, Types.INT()), 1, 128)
    [(_, batch)] = part.split(Batch([1, 1.0, True, Decimal("1.5")]))
    assert [(type(key), key) for key in batch.keys or []] == [(int, 1)] * 4
    with pytest.raises(UserCodeError) as caught:
        part.split(Batch([1, "one"]))
    assert caught.value.record == "one"
    assert "not of its declared type Integer: 'one' is of type str" in str(caught.value.__cause__)


def test_a_key_that_could_be_changed_is_copied() -> None:
    record = {"key": [1, {"a": 2}]}
    part = KeyGroupPartitioner(lambda each: each["key"], 1, 128)
    [(_, batch)] = part.split(Batch([record]))
    record["key"].append(3)
    assert batch.keys is not None
    assert untyped(batch.keys[0]) == [1, {"a": 2}]
    untyped(batch.keys[0]).append(4)
    assert untyped(batch.keys[0]) == [1, {"a": 2}]


def test_the_cache_of_routes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.dataflow.partition.ROUTES_MAX", 10)
    routes = RouteCache(4, 128)
    for key in range(100):
        assert routes[key] == subtask_of_group(key_group(hash_code(key), 128), 4, 128)
        assert len(routes) <= 10


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        (bytearray(b"a"), r"key on bytes\(the bytearray\)"),
        ((1, float("nan")), "replace it before key_by"),
        (object(), "make it a dataclass, key on a tuple of its fields"),
        ([1, 2j], "a builtins.complex cannot be a key"),
        (Row([1j]), "a builtins.complex cannot be a key"),
    ],
)
def test_what_cannot_be_a_key_is_refused_with_the_record_and_what_to_do(key: Any, advice: str) -> None:
    failure = failure_of(key)
    assert failure.record == (key, 2)
    assert isinstance(failure.__cause__, SerializationError)
    with pytest.raises(SerializationError, match=advice):
        raise failure.__cause__


def test_a_key_whose_own_hash_fails_shows_that_error() -> None:
    class Odd(str):
        def __hash__(self) -> int:
            raise RuntimeError("no hash today")

    assert "no hash today" in str(failure_of(Odd("x")).__cause__)


@pytest.mark.parametrize("error", [KeyError("user"), StopIteration(), SystemExit(3)])
def test_a_failing_selector_names_its_record(error: BaseException) -> None:
    def select(record: int) -> int:
        if record == 2:
            raise error
        return record

    with pytest.raises(UserCodeError) as caught:
        KeyGroupPartitioner(select, 2, 128).split(Batch([1, 2, 3]))
    assert caught.value.record == 2
    assert caught.value.__cause__ is error


# --- from the plan


class Length(KeySelector):
    def get_key(self, value: Any) -> Any:
        return len(value)


@pytest.mark.parametrize(
    ("partitioning", "kind"),
    [
        (Partitioning.FORWARD, Forward),
        (Partitioning.REBALANCE, Rebalance),
        (Partitioning.RESCALE, Rescale),
        (Partitioning.SHUFFLE, Shuffle),
        (Partitioning.BROADCAST, Broadcast),
    ],
)
def test_the_plan_says_which_partitioner_it_is(partitioning: Partitioning, kind: Callable[..., Any]) -> None:
    assert type(partitioner(edge(partitioning), 0, 2, 2, 128, BY_VALUE)) is kind


@pytest.mark.parametrize("selector", [Length(), len])
def test_a_key_selector_may_be_an_object_or_a_callable(selector: AnyKeySelector) -> None:
    part = partitioner(edge(Partitioning.KEY_GROUP, selector), 0, 1, 1, 128, BY_VALUE)
    assert part.split(Batch(["a", "bb"]))[0][1].keys == [1, 2]


def edge(partitioning: Partitioning, selector: AnyKeySelector | None = None) -> EdgePlan:
    return EdgePlan(
        source_vertex=0, target_vertex=1, partitioning=partitioning, key_selector=selector, input_index=0, tag=None
    )
