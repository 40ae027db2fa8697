"""Partitioners: they divide the records of a batch among the channels of an edge."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any, Final, Protocol, final

from headgate.elements import Batch, Deal
from headgate.graph.job_graph import EdgePlan
from headgate.graph.logical import AnyKeySelector, Partitioning
from headgate.operators.keys import CustomPartition, KeySelection, invalid_key, look_up
from headgate.state.keygroups import groups_of_keys, subtask_of_group
from headgate.types.record_copies import Passing

ROUTES_MAX: Final = 1 << 20

Parts = list[tuple[int, Batch]]
"""Indexes of target channels, each with the records for the channel."""


class StreamPartitioner(Protocol):
    """Divides a batch among channels. `spread` is the number of channels that share the records of a batch."""

    @property
    def spread(self) -> int: ...

    def split(self, batch: Batch) -> Parts:
        """Return the parts of `batch`; their lists belong to the caller."""
        ...


@final
class Forward:
    """Sends every batch to the only channel."""

    spread = 1

    def split(self, batch: Batch) -> Parts:
        return [(0, batch)]


@final
class Rebalance:
    """Sends records round robin. It begins at the sender's index, so that senders do not move in step."""

    def __init__(self, channels: int, first: int) -> None:
        self.spread = self._channels = channels
        self._next = first % channels

    def split(self, batch: Batch) -> Parts:
        """Divide the batch into even parts, one for each channel. The odd records go to the next channels in turn."""
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
class Rescale:
    """Sends records round robin to the subtasks with the nearest indexes: each sender has its own, or shares one."""

    def __init__(self, channels: int, sender: int, senders: int) -> None:
        self._first = sender * channels // senders
        own = max(1, (sender + 1) * channels // senders - self._first)
        self._among_own = Rebalance(own, 0)
        self.spread = own

    def split(self, batch: Batch) -> Parts:
        return [(self._first + index, part) for index, part in self._among_own.split(batch)]


@final
class Shuffle:
    """Sends each record to a random channel, all equally likely. `seed` determines the choices."""

    def __init__(self, channels: int, seed: int) -> None:
        self.spread = self._channels = channels
        self._random = random.Random(seed)  # nothing secret

    def split(self, batch: Batch) -> Parts:
        return _dealt(batch, self._random.choices(range(self._channels), k=len(batch)))


@final
class Custom:
    """Sends each record to the channel that the user's partitioner returns."""

    def __init__(self, partition: CustomPartition, channels: int) -> None:
        self._partition = partition
        self.spread = self._channels = channels

    def split(self, batch: Batch) -> Parts:
        """Return the parts. Raises `UserCodeError` naming the record for which the user's functions fail."""
        return _dealt(batch, self._partition.targets(batch, self._channels))


def _dealt(batch: Batch, targets: list[int]) -> Parts:
    places: dict[int, list[int]] = {}
    for place, target in enumerate(targets):
        places.setdefault(target, []).append(place)
    return [(target, batch.take(own)) for target, own in sorted(places.items())]


@final
class Broadcast:
    """Sends every record to every channel. Each channel gets copies of the records, unless objects are reused."""

    spread = 1

    def __init__(self, channels: int, passing: Passing) -> None:
        self._channels = channels
        self._each_copied = passing.each_copied

    def split(self, batch: Batch) -> Parts:
        copies = [(index, batch.copy(self._each_copied)) for index in range(1, self._channels)]
        return [(0, batch), *copies]


@final
class RouteCache(dict[Any, int]):
    """A cache from key to index of the target channel. It is cleared when it holds `ROUTES_MAX` keys.

    Compiled code asks it only for keys other than ints of 32 bits.
    """

    __slots__ = ("_group_of", "_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int, native: ModuleType | None = None) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._group_of = groups_of_keys(max_parallelism, native)

    def __missing__(self, key: Any) -> int:
        target = subtask_of_group(self._group_of(key), self._parallelism, self._max_parallelism)
        if len(self) >= ROUTES_MAX:
            self.clear()
        self[key] = target
        return target


def _deal(
    routes: Mapping[Any, int], keys: Iterator[Any], records: list[Any], times: list[int] | None, count: int
) -> list[tuple[int, list[Any], list[int] | None, list[Any]]]:
    parts: list[tuple[list[Any], list[int], list[Any]]] = [([], [], []) for _ in range(count)]
    if times is None:
        for key, record in zip(keys, records, strict=True):
            own, _, own_keys = parts[routes[key]]
            own.append(record)
            own_keys.append(key)
    else:
        for key, record, time in zip(keys, records, times, strict=True):
            own, own_times, own_keys = parts[routes[key]]
            own.append(record)
            own_times.append(time)
            own_keys.append(key)
    return [
        (target, own, None if times is None else own_times, own_keys)
        for target, (own, own_times, own_keys) in enumerate(parts)
        if own
    ]


@final
class KeyGroupPartitioner:
    """Sends each record to the owner of its key's key group. The keys are sent with the records."""

    def __init__(
        self, selector: AnyKeySelector, parallelism: int, max_parallelism: int, native: ModuleType | None = None
    ) -> None:
        self._selection = KeySelection(selector, native)
        self._deal: Deal = _deal if native is None else partial(native.deal, max_parallelism)
        self.spread = self._parallelism = parallelism
        self._routes = RouteCache(parallelism, max_parallelism, native)

    def split(self, batch: Batch) -> Parts:
        """Return the parts. Raises `UserCodeError` naming the record if the selector fails or the key is invalid."""
        keys, are_valid = self._selection.checked(batch)
        if self._parallelism == 1:
            if not are_valid:
                look_up(self._routes, keys, batch)  # with one target, it only validates the keys
            batch.keys = keys
            return [(0, batch)]
        position = iter(keys)
        try:
            return batch.deal(self._deal, self._routes, position, self._parallelism)
        except Exception as error:  # noqa: BLE001  # of the user's own hash or equality
            invalid_key(keys, position, batch, error)


def partitioner(  # noqa: PLR0913  # what partitioners need, each a part of it
    edge: EdgePlan,
    sender: int,
    senders: int,
    channels: int,
    max_parallelism: int,
    passing: Passing,
    native: ModuleType | None = None,
) -> StreamPartitioner:
    """Return the partitioner of subtask `sender` of `senders` subtasks, for `edge`, which has `channels` targets.

    `native` is the compiled module, if the job uses it.
    """
    match edge.partitioning:
        case Partitioning.FORWARD:
            return Forward()
        case Partitioning.REBALANCE:
            return Rebalance(channels, sender)
        case Partitioning.RESCALE:
            return Rescale(channels, sender, senders)
        case Partitioning.SHUFFLE:
            return Shuffle(channels, sender)
        case Partitioning.CUSTOM:
            assert isinstance(edge.key_selector, CustomPartition)
            return Custom(edge.key_selector, channels)
        case Partitioning.BROADCAST:
            return Broadcast(channels, passing)
        case Partitioning.KEY_GROUP:
            assert edge.key_selector is not None
            return KeyGroupPartitioner(edge.key_selector, channels, max_parallelism, native)
