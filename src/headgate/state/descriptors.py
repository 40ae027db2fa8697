"""State descriptors, under one name: the name and the type of a state, as a function declares it."""

from headgate.state.kinds.aggregating_state import AggregatingStateDescriptor, Aggregation
from headgate.state.kinds.kind import StateDescriptor
from headgate.state.kinds.list_state import ListStateDescriptor
from headgate.state.kinds.map_state import MapStateDescriptor
from headgate.state.kinds.reducing_state import Combine, ReducingStateDescriptor, Reduction
from headgate.state.kinds.value_state import ValueStateDescriptor

__all__ = [
    "AggregatingStateDescriptor",
    "Aggregation",
    "Combine",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "Reduction",
    "StateDescriptor",
    "ValueStateDescriptor",
]
