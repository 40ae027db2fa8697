"""Keyed state as programs see it: the descriptors and handles of all kinds under one name, and the table of kinds.

A function declares a state by a descriptor, which has the state's name and type. A handle reads and writes the state of
the current key.
"""

from typing import Final

from headgate.state.kinds.aggregating_state import (
    AGGREGATING,
    AggregatingState,
    AggregatingStateDescriptor,
    Aggregation,
)
from headgate.state.kinds.forms import SINGLE, TIMES
from headgate.state.kinds.handle import AppendingState, MergingState, State
from headgate.state.kinds.kind import SavedKind, StateDescriptor
from headgate.state.kinds.list_state import LIST, ListState, ListStateDescriptor
from headgate.state.kinds.map_state import MAP, MapState, MapStateDescriptor
from headgate.state.kinds.reducing_state import REDUCING, Combine, ReducingState, ReducingStateDescriptor, Reduction
from headgate.state.kinds.value_state import VALUE, ValueState, ValueStateDescriptor

__all__ = [
    "BROADCAST",
    "KINDS",
    "OPERATOR_LIST",
    "TIMERS",
    "UNION_LIST",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "Aggregation",
    "AppendingState",
    "Combine",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "ReducingState",
    "ReducingStateDescriptor",
    "Reduction",
    "State",
    "StateDescriptor",
    "ValueState",
    "ValueStateDescriptor",
]

TIMERS: Final = SavedKind("timers", TIMES)
"""Timers of a keyed operator, which no program declares."""

OPERATOR_LIST: Final = SavedKind("operator list", SINGLE)
"""Operator state: a list that a restore splits among the subtasks."""

UNION_LIST: Final = SavedKind("union list", SINGLE)
"""Operator state: a list. A restore gives every subtask the elements of all subtasks."""

BROADCAST: Final = SavedKind("broadcast", SINGLE)
"""Broadcast state, a map. A restore converts operator state as a whole."""

KINDS: Final[dict[str, SavedKind]] = {
    kind.name: kind for kind in (VALUE, LIST, MAP, REDUCING, AGGREGATING, TIMERS, OPERATOR_LIST, UNION_LIST, BROADCAST)
}
"""All kinds of state that a snapshot may hold, by the name that snapshots store."""
