"""Partitioners: which record of a batch goes to which channel of an edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, final

from headgate.elements import Batch
from headgate.functions.api import KeySelector
from headgate.graph.logical import Partitioning
from headgate.graph.physical import EdgePlan
from headgate.operators.base import UserCodeError, failed_at, method_of
from headgate.state.keygroups import KeyGroupCache, subtask_of_group

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
    """Batch by batch, round robin; begins at the sender's own index so that senders do not move in step."""

    def __init__(self, channels: int, first: int) -> None:
        self._channels = channels
        self._next = first % channels

    def split(self, batch: Batch) -> Parts:
        """Cut the batch into as many even parts as there are channels, the odd records to the next in turn."""
        count = self._channels
        size = -(-len(batch) // count)
        parts: Parts = []
        for start in range(0, len(batch), size):
            parts.append((self._next, batch.head(size) if start == 0 else batch.tail(start).head(size)))
            self._next = (self._next + 1) % count
        return parts


@final
class Broadcast:
    """Everything goes to every channel, in lists of its own."""

    def __init__(self, channels: int) -> None:
        self._channels = channels

    def split(self, batch: Batch) -> Parts:
        return [(index, batch.tail(0)) for index in range(self._channels)]


@final
class RouteCache(dict[Any, int]):
    """Key -> index of the target channel, as `routes[key]` in the loop; bounded by its key group cache."""

    __slots__ = ("_groups", "_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._groups = KeyGroupCache(max_parallelism, entries_max=1)
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        target = subtask_of_group(self._groups[key], self._parallelism, self._max_parallelism)
        if len(self) >= 1 << 20:
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
        """Raises `UserCodeError` when the selector fails, `SerializationError` for a key that cannot be one."""
        keys = self._keys(batch)
        route = self._routes
        try:
            targets = [route[key] for key in keys]
        except TypeError as error:
            raise UserCodeError(during="key_by: the key cannot be hashed") from error
        if self._parallelism == 1:
            batch.keys = keys
            return [(0, batch)]
        return self._deal(batch, keys, targets)

    def _keys(self, batch: Batch) -> list[Any]:
        select, records = self._select, batch.records
        position = iter(records)
        try:
            return [select(value) for value in position]
        except Exception as error:
            raise failed_at(records, position) from error

    def _deal(self, batch: Batch, keys: list[Any], targets: list[int]) -> Parts:
        outs: list[list[Any]] = [[] for _ in range(self._parallelism)]
        out_keys: list[list[Any]] = [[] for _ in range(self._parallelism)]
        for target, key, value in zip(targets, keys, batch.records, strict=True):
            outs[target].append(value)
            out_keys[target].append(key)
        times: list[list[int] | None] = [None] * self._parallelism
        if batch.timestamps is not None:
            times = [
                [time for time, target in zip(batch.timestamps, targets, strict=True) if target == index]
                for index in range(self._parallelism)
            ]
        return [
            (index, Batch(outs[index], times[index], out_keys[index]))
            for index in range(self._parallelism)
            if outs[index]
        ]


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
            selector = edge.key_selector
            select = method_of(selector, "get_key") if isinstance(selector, KeySelector) else selector
            assert select is not None
            return KeyGroupPartitioner(select, channels, max_parallelism)
