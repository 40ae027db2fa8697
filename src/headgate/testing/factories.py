"""Operators made from a program's parts: from a function, or from what it does with a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, cast

from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream.data_stream import DataStream
from headgate.datastream.stream_execution_environment import StreamExecutionEnvironment
from headgate.functions.api import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from headgate.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headgate.functions.connected import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from headgate.functions.watermarks import WatermarkStrategy
from headgate.operators.base import OperatorFactory, method_of
from headgate.operators.broadcast import BroadcastFactory, KeyedBroadcastFactory
from headgate.operators.connected import (
    CoFlatMapFactory,
    CoMapFactory,
    CoProcessFactory,
    KeyedCoFlatMapFactory,
    KeyedCoMapFactory,
    KeyedCoProcessFactory,
)
from headgate.operators.keyed_functions import (
    KeyedFilterFactory,
    KeyedFlatMapFactory,
    KeyedMapFactory,
    KeyedProcessFactory,
    ReduceFactory,
)
from headgate.operators.plain_functions import FilterFactory, FlatMapFactory, MapFactory, ProcessFactory
from headgate.operators.plain_sinks import SinkFunctionFactory
from headgate.state.descriptors import MapStateDescriptor

_PLAIN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (MapFunction, MapFactory),
    (FlatMapFunction, FlatMapFactory),
    (FilterFunction, FilterFactory),
    (ProcessFunction, ProcessFactory),
    (SinkFunction, SinkFunctionFactory),
    (CoMapFunction, CoMapFactory),
    (CoFlatMapFunction, CoFlatMapFactory),
    (CoProcessFunction, CoProcessFactory),
)
_KEYED: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (KeyedProcessFunction, KeyedProcessFactory),
    (ReduceFunction, ReduceFactory),
    (MapFunction, KeyedMapFactory),
    (FlatMapFunction, KeyedFlatMapFactory),
    (FilterFunction, KeyedFilterFactory),
    (CoMapFunction, KeyedCoMapFactory),
    (CoFlatMapFunction, KeyedCoFlatMapFactory),
    (KeyedCoProcessFunction, KeyedCoProcessFactory),
    (CoProcessFunction, KeyedCoProcessFactory),
)
KeySelection = Callable[[Any], Any]


def factory_of(function: Any, broadcast: Sequence[MapStateDescriptor], *, is_keyed: bool) -> OperatorFactory:
    """Return the factory of the operator around a user function. Raises TypeError for any other object."""
    if isinstance(function, BroadcastProcessFunction):
        return BroadcastFactory(function, tuple(broadcast))
    if isinstance(function, KeyedBroadcastProcessFunction):
        return KeyedBroadcastFactory(function, tuple(broadcast))
    for kind, factory in _KEYED if is_keyed else _PLAIN:
        if isinstance(function, kind):
            return cast("OperatorFactory", factory(function))
    stream = "a keyed stream" if is_keyed else "a stream without keys"
    raise TypeError(f"a {type(function).__name__} is not a function for {stream}; pass a factory to OperatorHarness")


def factory_of_stream(build: Callable[..., DataStream]) -> tuple[OperatorFactory, dict[int, KeySelection]]:
    """Return the factory of the operator that `build` adds to its streams, and the keys of its inputs by their number.

    Raises TypeError if it adds no operator, or several.
    """
    env = StreamExecutionEnvironment.get_execution_environment()
    source, strategy = NumberSequenceSource(0, 0), WatermarkStrategy.no_watermarks()
    streams = [env.from_source(source, strategy, "input") for _ in signature(build).parameters]
    sources = [stream._inputs[0].node for stream in streams]
    graph = build(*streams)._program.graph()
    added = [node for node in graph.nodes if node not in sources]
    if len(added) != 1:
        raise TypeError(f"the stream must come out of one operator, not of {len(added)}: make a harness for each")
    keys = {edge.input_index: method_of(edge.key_selector, "get_key") for edge in graph.edges if edge.key_selector}
    return cast("OperatorFactory", added[0].operator), keys
