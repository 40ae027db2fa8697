"""Data in flight: what a barrier has overtaken, gathered for a checkpoint, and brought back after a restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from headgate import options
from headgate.checkpoint.handles import InFlightState
from headgate.dataflow.channel import ChannelAddress
from headgate.elements import Batch, Payload
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import Partitioning
from headgate.graph.placement import ChannelPlan
from headgate.ids import CheckpointId
from headgate.operators.keys import KeySelection
from headgate.state.formats.unpickle import loader
from headgate.state.keygroups import key_group
from headgate.types.by_value import is_by_value
from headgate.types.typed_key import all_typed, key_hash_code

OVERTAKABLE: Final = (Partitioning.KEY_GROUP, Partitioning.REBALANCE, Partitioning.RESCALE, Partitioning.SHUFFLE)
"""Exchanges whose batches may be overtaken. Others tell by their channel who is to have a record, so that what is in
flight could not be dealt out again at another parallelism."""


def address_of(plan: JobGraph, channel: ChannelPlan) -> ChannelAddress | None:
    """Return the address of a channel, None for one that may not be overtaken."""
    edge = plan.edges[channel.edge]
    if edge.partitioning not in OVERTAKABLE:
        return None
    return ChannelAddress(
        channel=channel.id,
        uid=plan.vertices[edge.target_vertex].operators[0].uid,
        input_index=edge.input_index,
        source_uid=plan.vertices[edge.source_vertex].operators[-1].uid,
        source=channel.source.index,
        target=channel.target.index,
        keyed=edge.partitioning is Partitioning.KEY_GROUP,
    )


# --- for a checkpoint


@final
@dataclass(frozen=True, slots=True)
class Side:
    """The receiver's or the sender's part of what is in flight on a channel; the receiver's is processed first."""

    address: ChannelAddress
    sequence: int

    @property
    def name(self) -> str:
        """What its file is called, beside those of the subtask's other channels."""
        return f"{('in', 'out')[self.sequence]}{self.address.channel}"


RECEIVER: Final = 0
SENDER: Final = 1


@final
class Gathering:
    """The data in flight of one unaligned snapshot, while it is being gathered. Owned by the slot's loop.

    It ends by being complete, by a `failure`, which says why the checkpoint is declined, or by being dropped.
    """

    def __init__(self, checkpoint_id: CheckpointId, bytes_max: int) -> None:
        self.checkpoint_id = checkpoint_id
        self.parts: dict[Side, list[Payload]] = {}
        self.size_bytes = 0
        self.failure: str | None = None
        self.dropped = False
        self.ended = False
        self._bytes_max = bytes_max
        self._tell: Callable[[], None] | None = None

    def when_ended(self, tell: Callable[[], None]) -> None:
        """Have `tell` called when it ends, at once if it has."""
        self._tell = tell
        if self.ended:
            tell()

    def add(self, side: Side, batch: Batch | Payload) -> None:
        """Add what is behind all that was added for this side. A batch is pickled, and not kept. Raises nothing."""
        if self.ended:
            return
        try:
            payload = _storable(batch)
        except Exception as error:  # noqa: BLE001  # whatever a class of the user's raises
            culprit = (batch if isinstance(batch, Batch) else Batch.decode(batch)).culprit()
            self._fail(
                f"a record that a barrier has overtaken cannot be pickled: {error}; it is {repr(culprit)[:200]}. "
                "Unaligned checkpoints store records: define their classes, and functions that they hold, at the top "
                "level of a module or of the main script"
            )
            return
        self.parts.setdefault(side, []).append(payload)
        self.size_bytes += len(payload)
        if self.size_bytes > self._bytes_max:
            self._fail(
                f"more than {self._bytes_max:,} bytes are in flight before the barriers of one subtask: raise "
                f"{options.MAX_IN_FLIGHT_SIZE.key}, or find out what holds back the barriers"
            )

    def complete(self) -> None:
        """All is added."""
        self._end()

    def drop(self) -> None:
        """The checkpoint was given up."""
        if not self.ended:
            self.dropped = True
            self.parts = {}
            self._end()

    def _fail(self, failure: str) -> None:
        self.failure = failure
        self.parts = {}
        self._end()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            if self._tell is not None:
                self._tell()


def _storable(batch: Batch | Payload) -> Payload:
    """Return the batch as bytes that outlive this version of Python. Raises whatever the pickling raises."""
    if isinstance(batch, Batch):
        return batch.encode()
    return Batch.decode(batch).encode() if is_by_value(batch) else batch


# --- after a restore


@final
@dataclass(frozen=True, slots=True)
class FetchedFlight:
    """A part of what was in flight, with its payloads."""

    state: InFlightState
    payloads: list[bytes]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Which of the records in flight belong to a subtask: those of its key groups, by their keys; None: all of them.

    `selection` finds the key of a record that went without one.
    """

    selection: KeySelection
    key_groups: range
    max_parallelism: int

    def of(self, batch: Batch) -> Batch:
        """Return what of the batch belongs to the subtask, with keys."""
        keys = self.selection.keys(batch) if batch.keys is None else all_typed(batch.keys)
        groups = [key_group(key_hash_code(key), self.max_parallelism) for key in keys]
        batch.keys = keys
        return batch.take([at for at, group in enumerate(groups) if group in self.key_groups])


def restored_batches(fetched: FetchedFlight, share: Share | None, moved: Mapping[str, str]) -> Iterator[Batch]:
    """Return the batches of a part that belong to a subtask, in order. Raises RestoreError for a class not found."""
    unpickle = loader(moved, f"data in flight to operator {fetched.state.uid!r}")
    for payload in fetched.payloads:
        batch = Batch.decode(payload, unpickle)
        if share is None:
            batch.keys = None
        else:
            batch = share.of(batch)
        if len(batch):
            yield batch


def adder(gathering: Gathering, address: ChannelAddress) -> Callable[[Batch | memoryview], None]:
    """Return a function that adds to the receiver's part of a channel."""
    return partial(gathering.add, Side(address, RECEIVER))
