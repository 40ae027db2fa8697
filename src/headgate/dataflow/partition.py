"""Partitioners: which record of a batch goes to which channel of an edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, final

from headgate.elements import Batch
from headgate.graph.job_graph import EdgePlan
from headgate.graph.logical import Partitioning
from headgate.operators.base import method_of
from headgate.operators.keys import look_up, select_keys
from headgate.state.keygroups import key_group, subtask_of_group
from headgate.types.keys import hash_code

ROUTES_MAX: Final = 1 << 20

_ALWAYS_KEYS: Final = frozenset({int, str, bytes})
"""Types of which every value can be a key: with one target, there is nothing to find out about them."""

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
        keys = select_keys(self._select, batch)
        if self._parallelism == 1:
            if not _ALWAYS_KEYS.issuperset(map(type, keys)):
                look_up(self._routes, keys, batch)
            batch.keys = keys
            return [(0, batch)]
        return batch.deal(keys, look_up(self._routes, keys, batch), self._parallelism)


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
