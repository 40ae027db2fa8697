"""Handles: what user code holds to read and write the state of the current key.

A handle is bound to a column of its backend's cells; the backend sets the current cell before each record. So an access
is one attribute and one index, whatever the number of keys. One set of classes serves all backends (`plain`); state
with a time to live has subclasses of its own (`expiring`).
"""

from headgate.state.handles.binding import AnyHandle, bind, cleanup_for_records, merged
from headgate.state.handles.owner import ListLike, MapLike, Owner
from headgate.state.handles.plain import (
    AggregatingState,
    AppendingState,
    ListState,
    MapState,
    MergingState,
    ReducingState,
    State,
    ValueState,
)

__all__ = [
    "AggregatingState",
    "AnyHandle",
    "AppendingState",
    "ListLike",
    "ListState",
    "MapLike",
    "MapState",
    "MergingState",
    "Owner",
    "ReducingState",
    "State",
    "ValueState",
    "bind",
    "cleanup_for_records",
    "merged",
]
