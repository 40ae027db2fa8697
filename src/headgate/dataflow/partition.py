"""Partitioners: which record of a batch goes to which channel of an edge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar, final

from headgate.elements import Batch
from headgate.errors import SerializationError
from headgate.graph.logical import Partitioning
from headgate.graph.physical import EdgePlan
from headgate.operators.base import USER_ERRORS, UserCodeError, failed_at, last_index, method_of
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import canonical_bytes, hash_code

ROUTES_MAX: Final = 1 << 20

_ALWAYS_KEYS: Final = frozenset({int, str, bytes})
"""Types of which every value can be a key: with one target, there is nothing to find out about them."""

Route = TypeVar("Route")

Parts = list[tuple[int, Batch]]
"""Indexes of target channels with what goes there."""


class Partitioner(Protocol):
    """Deals a batch out."""

    def split(self, batch: Batch) -> Parts:
        """Return the parts of `batch`; their lists belong to the caller."""
        ...


@final
class Forward:
    """Everything goes to the one channel there is."""

    def split(self, batch: Batch) -> Parts:
        return [(0, batch)]


@final
class Rebalance:
    """Round robin; begins at the sender's own index so that senders do not move in step."""

    def __init__(self, channels: int, first: int) -> None:
        self._channels = channels
        self._next = first % channels

    def split(self, batch: Batch) -> Parts:
        """Cut the batch into even parts, one for each channel; the odd records go to the next channels in turn."""
        count = self._channels
        share, odd = divmod(len(batch), count)
        parts: Parts = []
        start = 0
        for turn in range(count if share else odd):
            stop = start + share + (turn < odd)
            parts.append(((self._next + turn) % count, batch.piece(start, stop)))
            start = stop
        self._next = (self._next + odd) % count
        return parts


@final
class Broadcast:
    """Everything goes to every channel, in lists of its own."""

    def __init__(self, channels: int) -> None:
        self._channels = channels

    def split(self, batch: Batch) -> Parts:
        return [(index, batch.copy()) for index in range(self._channels)]


@final
class RouteCache(dict[Any, int]):
    """Key -> index of the target channel, as `routes[key]` in the loop. Emptied when it holds `ROUTES_MAX` keys."""

    __slots__ = ("_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        group = key_group(hash_code(key), self._max_parallelism)
        target = subtask_of_group(group, self._parallelism, self._max_parallelism)
        if len(self) >= ROUTES_MAX:
            self.clear()
        self[key] = target
        return target


@final
class KeyGroupPartitioner:
    """By the key group of the record's key. The keys go along with the records."""

    def __init__(self, select: Callable[[Any], Any], parallelism: int, max_parallelism: int) -> None:
        self._select = select
        self._parallelism = parallelism
        self._routes = RouteCache(parallelism, max_parallelism)

    def split(self, batch: Batch) -> Parts:
        """Raises `UserCodeError` naming the record for which the selector fails, or gives what cannot be a key."""
        keys = select_keys(self._select, batch.records)
        if self._parallelism == 1:
            if not _ALWAYS_KEYS.issuperset(map(type, keys)):
                look_up(self._routes, keys, batch.records)
            batch.keys = keys
            return [(0, batch)]
        return self._deal(batch, keys, look_up(self._routes, keys, batch.records))

    def _deal(self, batch: Batch, keys: list[Any], targets: list[int]) -> Parts:
        outs: list[list[Any]] = [[] for _ in range(self._parallelism)]
        out_keys: list[list[Any]] = [[] for _ in range(self._parallelism)]
        for target, key, value in zip(targets, keys, batch.records, strict=True):
            outs[target].append(value)
            out_keys[target].append(key)
        times: list[list[int] | None] = [None] * self._parallelism
        if batch.timestamps is not None:
            out_times: list[list[int]] = [[] for _ in range(self._parallelism)]
            for target, time in zip(targets, batch.timestamps, strict=True):
                out_times[target].append(time)
            times = [*out_times]
        return [
            (index, Batch(outs[index], times[index], out_keys[index]))
            for index in range(self._parallelism)
            if outs[index]
        ]


def select_keys(select: Callable[[Any], Any], records: list[Any]) -> list[Any]:
    """Return the key of each record. Raises `UserCodeError` naming the record for which the selector fails."""
    position = iter(records)
    try:
        return [select(value) for value in position]
    except USER_ERRORS as error:
        raise failed_at(records, position) from error


def look_up(routes: Mapping[Any, Route], keys: list[Any], records: list[Any]) -> list[Route]:
    """Return what the cache `routes` has for each key. Raises `UserCodeError` naming a record without a proper key."""
    position = iter(keys)
    try:
        return [routes[key] for key in position]
    except Exception as error:  # noqa: BLE001  # of the user's own hash or equality
        index = last_index(keys, position)
        raise UserCodeError(record=records[index], key=keys[index]) from _refusal(keys[index], error)


def _refusal(key: Any, error: Exception) -> Exception:
    """Return the error that says why `key` cannot be one: for a key without a hash, that of its canonical bytes."""
    if isinstance(error, SerializationError):
        return error
    try:
        canonical_bytes(key)
    except SerializationError as better:
        return better
    return error


def partitioner(edge: EdgePlan, sender: int, channels: int, max_parallelism: int) -> Partitioner:
    """Return the partitioner of subtask `sender` for `edge`, which has `channels` targets."""
    match edge.partitioning:
        case Partitioning.FORWARD:
            return Forward()
        case Partitioning.REBALANCE:
            return Rebalance(channels, sender)
        case Partitioning.BROADCAST:
            return Broadcast(channels)
        case Partitioning.KEY_GROUP:
            assert edge.key_selector is not None
            return KeyGroupPartitioner(method_of(edge.key_selector, "get_key"), channels, max_parallelism)
