"""Subtasks outside a slot, for the tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.clock import VirtualClock
from headgate.connectors.collection import CollectionSource
from headgate.dataflow.channel import ChannelAddress, InputChannel
from headgate.dataflow.output import Output
from headgate.dataflow.partition import Forward
from headgate.elements import Barrier, Batch
from headgate.ids import ChannelId, CheckpointId, SubtaskId
from headgate.operators.base import Operator, OperatorFactory
from headgate.operators.plain_functions import MapFactory
from headgate.operators.source import SourceFactory
from headgate.runtime.slot.subtask import Subtask
from headgate.runtime.slot.wiring import Wiring
from headgate.runtime.slot_storage.upload import TakenSnapshot
from headgate.testing.harness import OperatorHarness, Setup
from tests.unit.runtime.outputs import NotingChannel


def barrier(checkpoint_id: int) -> Barrier:
    return Barrier(CheckpointId(checkpoint_id), 0)


class NotingHost:
    """A slot that notes what its subtask tells."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.snapshots: list[TakenSnapshot] = []
        self.declines: list[tuple[CheckpointId, str]] = []
        self.ends: list[SubtaskId] = []
        self.recoveries: list[SubtaskId] = []

    def snapshot_taken(self, snapshot: TakenSnapshot) -> None:
        self.snapshots.append(snapshot)

    def declined(self, subtask: SubtaskId, checkpoint_id: CheckpointId, reason: str, *, fault: bool = True) -> None:
        self.declines.append((checkpoint_id, reason))

    def ended(self, subtask: SubtaskId) -> None:
        self.ends.append(subtask)

    def recovered(self, subtask: SubtaskId) -> None:
        self.recoveries.append(subtask)

    @property
    def snapshot_ids(self) -> list[int]:
        return [snapshot.barrier.checkpoint_id for snapshot in self.snapshots]


def address(number: int, **rest: Any) -> ChannelAddress:
    """The address of channel `number`."""
    names = {"uid": "it", "input_index": 0, "source_uid": "source", "source": number, "target": 0, "keyed": True}
    return ChannelAddress(**{"channel": ChannelId(number), **names, **rest})


def operator_of(factory: OperatorFactory, *splits: Any) -> Operator:
    harness = OperatorHarness(factory, setup=Setup(splits=splits))
    harness.open()
    return harness.operator


class Rig:
    """One subtask with inputs that the test fills and an output that it looks at."""

    def __init__(
        self,
        *factories: OperatorFactory,
        inputs: int | list[int] = 1,
        batch_records: int = 100,
        room: int = 10**9,
        tags: tuple[str, ...] = (),
    ) -> None:
        """`inputs`: how many channels, or which input of the operator each belongs to."""
        self.host = NotingHost()
        self.out = NotingChannel(room)
        self.sides = {tag: NotingChannel(room) for tag in tags}
        input_of = inputs if isinstance(inputs, list) else [0] * inputs
        self.inputs = [InputChannel(ChannelId(number)) for number in range(len(input_of))]
        operators = [operator_of(factory) for factory in factories or (MapFactory(lambda value: value),)]
        outputs = [Output([self.out], Forward(), batch_records, 0)]
        outputs += [Output([side], Forward(), batch_records, 0, tag) for tag, side in self.sides.items()]
        self.wiring = wiring = Wiring(self.inputs, outputs, input_of)
        self.subtask = Subtask(SubtaskId(1, 0), operators, wiring, self.host, batch_records)

    def feed(self, channel: int, *elements: Any) -> None:
        """Push elements; a list is a batch of records."""
        for element in elements:
            if isinstance(element, memoryview):
                self.inputs[channel].push_bytes(element, len(Batch.decode(element)))
            else:
                self.inputs[channel].push(Batch(element) if isinstance(element, list) else element)

    def run(self) -> int:
        """Work until there is none; return in how many pieces."""
        pieces = 0
        while self.subtask.run():
            pieces += 1
        return pieces


def source_rig(records: list[Any], batch_records: int = 100) -> Rig:
    """A subtask that reads a list."""
    rig = Rig(inputs=0)
    source = CollectionSource(records)
    reader = operator_of(SourceFactory(source), *source.splits(1))
    wiring = Wiring([], [Output([rig.out], Forward(), batch_records, 0)], [])
    rig.subtask = Subtask(SubtaskId(0, 0), [reader], wiring, rig.host, batch_records)
    return rig


def overtaking_rig(
    *factories: OperatorFactory, overtakable: tuple[int, ...], in_flight_bytes_max: int = 1 << 20, **rest: Any
) -> Rig:
    """A subtask of which barriers may overtake these input channels, and what it emits."""
    rig = Rig(*factories, **rest)
    rig.wiring.outputs[0].overtakable = [(address(100, uid="next", source_uid="it"), rig.out)]
    wiring = replace(
        rig.wiring,
        overtakable={number: address(number) for number in overtakable},
        strategy=BarrierAligner(frozenset(range(len(rig.inputs))), overtakable=frozenset(overtakable)),
        in_flight_bytes_max=in_flight_bytes_max,
    )
    rig.subtask = Subtask(SubtaskId(1, 0), rig.subtask.operators, wiring, rig.host, rest.get("batch_records", 100))
    return rig
