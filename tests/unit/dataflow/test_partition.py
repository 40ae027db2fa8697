"""Partitioners: every record reaches exactly the channels it should, with its key and timestamp, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headgate.dataflow.partition import (
    Broadcast,
    Forward,
    KeyGroupPartitioner,
    Partitioner,
    Rebalance,
    RouteCache,
    partitioner,
)
from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.functions.api import KeySelector
from headgate.graph.job_graph import EdgePlan
from headgate.graph.logical import AnyKeySelector, Partitioning
from headgate.operators.base import UserCodeError
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import hash_code
from headgate.types.row import Row


def dealt(part: Partitioner, *batches: list[Any], channels: int) -> list[list[Any]]:
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
    parts = Broadcast(3).split(batch)
    assert [index for index, _ in parts] == [0, 1, 2]
    for _, piece in parts:
        assert (piece.records, piece.timestamps) == ([1, 2], [10, 20])
        piece.records.append(3)


def test_forward_sends_everything_to_its_one_channel() -> None:
    assert dealt(Forward(), [1, 2], [3], channels=1) == [[1, 2, 3]]


# --- by key


@pytest.mark.parametrize(("parallelism", "max_parallelism"), [(1, 128), (2, 128), (3, 128), (5, 7), (16, 4096)])
def test_a_record_goes_to_the_subtask_that_owns_the_key_group_of_its_key(
    parallelism: int, max_parallelism: int
) -> None:
    keys = [*range(200), *(f"k{n}" for n in range(200)), (1, "a"), 2.5, True, b"x"]
    part = KeyGroupPartitioner(same, parallelism, max_parallelism)
    seen = 0
    for index, piece in part.split(Batch(list(keys))):
        assert piece.keys == piece.records
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


def test_keys_that_are_equal_go_the_same_way() -> None:
    part = KeyGroupPartitioner(same, 100, 128)
    targets = [part.split(Batch([key]))[0][0] for key in (1, 1.0, True)]
    assert len(set(targets)) == 1


def test_the_cache_of_routes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.dataflow.partition.ROUTES_MAX", 10)
    routes = RouteCache(4, 128)
    for key in range(100):
        assert routes[key] == subtask_of_group(key_group(hash_code(key), 128), 4, 128)
        assert len(routes) <= 10


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        (None, "a key selector must return a key for every record, or filter first"),
        ([1, 2], r"key on tuple\(the list\)"),
        ({"a": 1}, "key on a tuple of its values"),
        ({1}, "key on a sorted tuple of its items"),
        ((1, [2]), r"key on tuple\(the list\)"),
        (float("nan"), "replace it before key_by"),
        (object(), "key on a tuple of its fields"),
        (Row([1]), r"key on tuple\(the list\)"),
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
        (Partitioning.BROADCAST, Broadcast),
    ],
)
def test_the_plan_says_which_partitioner_it_is(partitioning: Partitioning, kind: Callable[..., Any]) -> None:
    assert type(partitioner(edge(partitioning), 0, 2, 128)) is kind


@pytest.mark.parametrize("selector", [Length(), len])
def test_a_key_selector_may_be_an_object_or_a_callable(selector: AnyKeySelector) -> None:
    part = partitioner(edge(Partitioning.KEY_GROUP, selector), 0, 1, 128)
    assert part.split(Batch(["a", "bb"]))[0][1].keys == [1, 2]


def edge(partitioning: Partitioning, selector: AnyKeySelector | None = None) -> EdgePlan:
    return EdgePlan(
        source_vertex=0, target_vertex=1, partitioning=partitioning, key_selector=selector, input_index=0, tag=None
    )
