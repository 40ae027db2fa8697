"""Broadcast streams: each subtask of a function gets all elements of one stream, and its part of another stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from headgate.datastream.checks import check_process_function
from headgate.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headgate.operators.broadcast import BroadcastFactory, KeyedBroadcastFactory
from headgate.state.descriptors import MapStateDescriptor
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.datastream.data_stream import DataStream


@final
class BroadcastStream:
    """A stream whose elements go to all subtasks of a function, with descriptors of the function's broadcast states."""

    def __init__(self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]) -> None:
        """Made by `broadcast` with a descriptor; pass it to `connect` of another stream."""
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)


@final
class BroadcastConnectedStream:
    """A stream, keyed or not, connected to a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        """Made by `connect`."""
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call a function for each record, and in each subtask for each broadcast element.

        The function is a `KeyedBroadcastProcessFunction` if the stream that is not broadcast is keyed, else a
        `BroadcastProcessFunction`. Raises ProgramError for any other function.
        """
        stream, second = self.non_broadcast_stream, self.broadcast_stream.input_stream
        descriptors = tuple(self.broadcast_state_descriptors)
        if stream.is_keyed:
            check_process_function(func, KeyedBroadcastProcessFunction)
            keyed = KeyedBroadcastFactory(func, descriptors)
            return stream._then_with(second, "Co-Process-Broadcast-Keyed", keyed, output_type)
        check_process_function(func, BroadcastProcessFunction)
        return stream._then_with(second, "Co-Process-Broadcast", BroadcastFactory(func, descriptors), output_type)
