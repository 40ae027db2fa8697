"""State and its descriptors, under PyFlink's names."""

from __future__ import annotations

from headgate import unsupported
from headgate.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from headgate.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headgate.state.handles import ValueState
from headgate.state.operator_state import OperatorListState, OperatorStateStore

__all__ = [
    "BroadcastState",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "OperatorListState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "StateDescriptor",
    "ValueState",
    "ValueStateDescriptor",
]

unsupported.guard(__name__, globals())
