"""How the records of a stream are partitioned among the subtasks of the next operator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from headgate.datastream.broadcast_stream import BroadcastStream
from headgate.datastream.checks import check_broadcast, check_function
from headgate.datastream.operator_settings import OperatorSettings
from headgate.datastream.program import Upstream
from headgate.functions.api import KeySelector, Partitioner
from headgate.graph.logical import Partitioning
from headgate.operators.keys import CustomPartition
from headgate.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream


class PartitionedStream(OperatorSettings):
    """The methods of a stream that determine which subtask of the next operator receives a record."""

    def rebalance(self) -> DataStream:
        """Send the records round-robin to all subtasks of the next operator."""
        return self._repartitioned(Partitioning.REBALANCE)

    def rescale(self) -> DataStream:
        """Send the records round-robin to some subtasks of the next operator: the subtasks with the nearest indexes.

        From 2 subtasks to 6, each subtask sends to 3 others; from 6 subtasks to 2, each subtask receives from 3 others.
        """
        return self._repartitioned(Partitioning.RESCALE)

    def shuffle(self) -> DataStream:
        """Send each record to a random subtask of the next operator, each with the same probability."""
        return self._repartitioned(Partitioning.SHUFFLE)

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:
        """Send each record to the subtask of the next operator whose index `partitioner` returns.

        `partitioner` is called with the record's key, from `key_selector`, and the number of subtasks. The result is
        not a keyed stream. Barriers never overtake records on these channels: they are aligned in unaligned
        checkpoints, too.
        """
        check_function(partitioner, Partitioner)
        check_function(key_selector, KeySelector)
        return self._repartitioned(Partitioning.CUSTOM, CustomPartition(partitioner, key_selector))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *other_broadcast_state_descriptors: MapStateDescriptor
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every record to all subtasks of the next operator.

        With descriptors of the broadcast states in which that operator stores the records, pass the result to
        `connect` of another stream.
        """
        everywhere = self._repartitioned(Partitioning.BROADCAST)
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        check_broadcast(descriptors)
        return BroadcastStream(everywhere, descriptors)

    def forward(self) -> DataStream:
        """Send each record to the subtask of the same index; the next operator must have the same parallelism."""
        return self._repartitioned(Partitioning.FORWARD)

    def _repartitioned(self, partitioning: Partitioning, custom: CustomPartition | None = None) -> DataStream:
        return self._with_inputs(
            tuple(replace(upstream, partitioning=partitioning, key_selector=custom) for upstream in self._inputs)
        )

    @abstractmethod
    def _with_inputs(self, inputs: tuple[Upstream, ...]) -> DataStream:
        """Return a stream of the same records with other inputs."""
