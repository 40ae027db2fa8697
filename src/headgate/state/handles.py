"""Handles of state, under one name: what user code holds to read and write the state of the current key."""

from headgate.state.kinds.aggregating_state import AggregatingState
from headgate.state.kinds.handle import AppendingState, MergingState, State
from headgate.state.kinds.list_state import ListState
from headgate.state.kinds.map_state import MapState
from headgate.state.kinds.reducing_state import ReducingState
from headgate.state.kinds.value_state import ValueState

__all__ = [
    "AggregatingState",
    "AppendingState",
    "ListState",
    "MapState",
    "MergingState",
    "ReducingState",
    "State",
    "ValueState",
]
