"""Data in flight: batches that a barrier has overtaken, gathered for a checkpoint and processed after a restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, final

from headgate import options
from headgate.checkpoint.handles import InFlightState
from headgate.dataflow.channel import ChannelAddress
from headgate.elements import Batch, Payload, ReadTyped
from headgate.errors import DamagedBatchError, RestoreError
from headgate.graph.job_graph import JobGraph
from headgate.graph.logical import Partitioning
from headgate.graph.placement import ChannelPlan
from headgate.ids import CheckpointId
from headgate.operators.keys import KeySelection
from headgate.state.formats.unpickle import loader
from headgate.state.keygroups import group_of_key
from headgate.types import typed_batches
from headgate.types.by_value import is_by_value
from headgate.types.typed_key import all_typed

OVERTAKABLE_PARTITIONINGS: Final = (
    Partitioning.KEY_GROUP,
    Partitioning.REBALANCE,
    Partitioning.RESCALE,
    Partitioning.SHUFFLE,
)
"""The partitionings whose batches barriers may overtake. In all others the channel decides which subtask gets a record,
so data in flight could not be redistributed at another parallelism."""


def address_of(plan: JobGraph, channel: ChannelPlan) -> ChannelAddress | None:
    """Return the address of a channel, None if barriers may not overtake its batches."""
    edge = plan.edges[channel.edge]
    if edge.partitioning not in OVERTAKABLE_PARTITIONINGS:
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
    """The receiver's or the sender's part of the data in flight on a channel. The receiver's is processed first."""

    address: ChannelAddress
    sequence: int

    @property
    def name(self) -> str:
        """The name of the part's file, unique among the channels of the subtask."""
        return f"{('in', 'out')[self.sequence]}{self.address.channel}"


RECEIVER: Final = 0
SENDER: Final = 1


@final
class Gathering:
    """Gathers the data in flight of one unaligned snapshot. Owned by the slot's loop.

    It ends in one of three ways: complete, dropped, or with a `failure`, which is the reason to decline the checkpoint.
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
        """Have `tell` called when the gathering ends, at once if it has ended."""
        self._tell = tell
        if self.ended:
            tell()

    def add(self, side: Side, batch: Batch | Payload) -> None:
        """Add a batch after those that were added for this side. Pickles it at once. Raises nothing."""
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
        """End the gathering: all data in flight was added."""
        self._end()

    def drop(self) -> None:
        """End the gathering without a result: the checkpoint was given up."""
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
    """Return the batch as bytes that other versions of Python can read. Raises whatever the pickling raises."""
    if isinstance(batch, Batch):
        return batch.encode()
    return Batch.decode(batch).encode() if is_by_value(batch) else batch


# --- after a restore


@final
@dataclass(frozen=True, slots=True)
class FetchedFlight:
    """A part of the data in flight of a snapshot, with its payloads."""

    state: InFlightState
    payloads: list[bytes]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Selects the records in flight that belong to a subtask, by its key groups.

    `selection` computes the key of records that travelled without a key.
    """

    selection: KeySelection
    key_groups: range
    max_parallelism: int

    def of(self, batch: Batch) -> Batch:
        """Return the records of the batch that belong to the subtask, with keys."""
        keys = self.selection.keys(batch) if batch.keys is None else all_typed(batch.keys)
        groups = [group_of_key(key, self.max_parallelism) for key in keys]
        batch.keys = keys
        return batch.take([at for at, group in enumerate(groups) if group in self.key_groups])


def restored_batches(
    fetched: FetchedFlight, share: Share | None, moved: Mapping[str, str], read: ReadTyped = typed_batches.read
) -> Iterator[Batch]:
    """Yield the batches of a part that belong to a subtask, in order. Without `share`, all records belong to it.

    Raises RestoreError for a class that cannot be found, and for a damaged batch.
    """
    where = f"data in flight to operator {fetched.state.uid!r}"
    unpickle = loader(moved, where)
    for payload in fetched.payloads:
        try:
            batch = Batch.decode(payload, unpickle, read)
        except DamagedBatchError as error:
            raise RestoreError(f"{where} cannot be read: {error}; restore another checkpoint") from error
        if share is None:
            batch.keys = None
        else:
            batch = share.of(batch)
        if len(batch):
            yield batch


def adder(gathering: Gathering, address: ChannelAddress) -> Callable[[Batch | memoryview], None]:
    """Return a function that adds batches to the receiver's part of a channel."""
    return partial(gathering.add, Side(address, RECEIVER))
