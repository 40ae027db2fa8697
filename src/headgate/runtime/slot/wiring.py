"""The wiring of subtasks: their input channels, their outputs, and how they align barriers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from headgate import native, options
from headgate.checkpoint.alignment.aligner import BarrierAligner
from headgate.checkpoint.alignment.strategy import AlignmentStrategy
from headgate.checkpoint.alignment.tracker import BarrierTracker
from headgate.dataflow.channel import ChannelAddress, InputChannel, LocalOutput, OvertakableChannel
from headgate.dataflow.output import Output
from headgate.dataflow.pace import Debloating, first_window
from headgate.dataflow.partition import partitioner
from headgate.functions.api import KeySelector
from headgate.graph.job_graph import JobGraph
from headgate.graph.placement import ChannelPlan, Channels, Placement
from headgate.ids import ChannelId, SlotIndex, SubtaskId
from headgate.operators.base import OperatorContext
from headgate.operators.outputs import OutputType
from headgate.options import MAX_IN_FLIGHT_SIZE
from headgate.runtime.exchange import Exchange
from headgate.runtime.slot_storage.in_flight import address_of
from headgate.types import typed_batches


@final
@dataclass(frozen=True, slots=True)
class Wiring:
    """The input channels and outputs of a subtask, and how it aligns barriers."""

    inputs: list[InputChannel]
    outputs: list[Output]
    input_of: list[int]
    """For each channel in `inputs`, the index of the first operator's input that it belongs to: 0 or 1."""
    overtakable: dict[int, ChannelAddress] = field(default_factory=dict)
    """The channels in `inputs` that barriers may overtake, by index."""
    strategy: AlignmentStrategy | None = None
    """The alignment of barriers, None: exactly once, without overtaking."""
    in_flight_bytes_max: int = MAX_IN_FLIGHT_SIZE.default
    """The greatest number of bytes in flight in one snapshot."""
    debloating: Debloating | None = field(default_factory=Debloating)
    """The limit for records that wait, None: only the credit for batches limits them."""


@final
class SlotWiring:
    """Makes the channels and outputs of one attempt's subtasks in one slot. Owned by the slot's loop."""

    def __init__(self, plan: JobGraph, placement: Placement, exchange: Exchange, slot: SlotIndex) -> None:
        """The partitionings of the edges of `plan` are resolved for the placement."""
        self._plan = plan
        self._placement = placement
        self._exchange = exchange
        self._slot = slot
        self._channels = Channels(plan.edges, placement)
        self._batch_records = plan.settings.get(options.BATCH_RECORDS)
        self._credit_batches = plan.settings.get(options.CREDIT_BATCHES)
        self._unaligned = plan.settings.get(options.UNALIGNED)
        compiled = native.chosen(plan.settings.get(options.NATIVE))
        codec = None if compiled is None else typed_batches.codec(compiled)
        self._write = None if codec is None or not placement.typed_batches else codec.encode
        self.read = typed_batches.reader(compiled)
        """Reads batches in their typed form, from channels and from snapshots."""
        first = first_window(plan.settings)
        self.inputs: dict[ChannelId, InputChannel] = {
            channel.id: InputChannel(channel.id, first, self.read)
            for subtask in placement.subtasks_of(slot)
            for channel in self._channels.into(subtask)
        }
        """The input channels of all subtasks in the slot."""

    def selectors(self, subtask: SubtaskId) -> list[KeySelector]:
        """Return the key selectors of the subtask's outputs. Open each before you call `of`."""
        keys = (self._plan.edges[edge].key_selector for edge in self._channels.out_of(subtask))
        return [key for key in keys if isinstance(key, KeySelector)]

    def of(self, subtask: SubtaskId, context: OperatorContext) -> Wiring:
        """Make the outputs of a subtask and return its wiring. `context` belongs to the subtask's last operator."""
        channels = self._channels.into(subtask)
        overtakable = {
            index: address for index, channel in enumerate(channels) if (address := self._address(channel)) is not None
        }
        return Wiring(
            inputs=[self.inputs[channel.id] for channel in channels],
            outputs=self._outputs(subtask, context),
            input_of=[self._plan.edges[channel.edge].input_index for channel in channels],
            overtakable=overtakable,
            strategy=self._strategy(len(channels), frozenset(overtakable)),
            in_flight_bytes_max=self._plan.settings.get(options.MAX_IN_FLIGHT_SIZE),
            debloating=Debloating.of(self._plan.settings),
        )

    def _strategy(self, channels: int, overtakable: frozenset[int]) -> AlignmentStrategy:
        every = frozenset(range(max(1, channels)))
        if self._plan.settings.get(options.CHECKPOINT_MODE) == "AT_LEAST_ONCE":
            return BarrierTracker(every)
        return BarrierAligner(every, overtakable=overtakable)

    def _address(self, channel: ChannelPlan) -> ChannelAddress | None:
        """Return the address of a channel on which barriers may overtake, None for any other channel."""
        return address_of(self._plan, channel) if self._unaligned else None

    def _outputs(self, subtask: SubtaskId, context: OperatorContext) -> list[Output]:
        timeout_ms = self._plan.vertex_of(subtask).buffer_timeout_ms
        outputs: list[Output] = []
        for edge_index, channels in self._channels.out_of(subtask).items():
            edge = self._plan.edges[edge_index]
            target = self._plan.vertices[edge.target_vertex]
            senders = self._placement.parallelism[edge.source_vertex]
            part = partitioner(
                edge, subtask.index, senders, len(channels), target.max_parallelism, context.passing, context.native
            )
            ends = [self._output(channel) for channel in channels]
            output = Output(ends, part, self._batch_records, timeout_ms, edge.tag)
            output.tag_type = OutputType.of(edge.tag_type)
            output.overtakable = [
                (address, end)
                for channel, end in zip(channels, ends, strict=True)
                if (address := self._address(channel)) is not None
            ]
            outputs.append(output)
        return outputs

    def _output(self, channel: ChannelPlan) -> OvertakableChannel:
        target = self._placement.slot_of(channel.target)
        if target == self._slot:
            return LocalOutput(self.inputs[channel.id], self._credit_batches)
        return self._exchange.output(channel, target, self._write)
