"""The states of a snapshot as a table: a row for each state of each operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from headgate.savepoints.reader import TIMER_STATES, OperatorInfo, SavepointReader

LISTING: Final = pa.schema(
    [
        ("checkpoint_id", pa.int64()),
        ("taken_ms", pa.int64()),
        ("uid", pa.string()),
        ("operator", pa.string()),
        ("parallelism", pa.int32()),
        ("max_parallelism", pa.int32()),
        ("table", pa.string()),
        ("state", pa.string()),
        ("kind", pa.string()),
        ("type", pa.string()),
        ("entries", pa.int64()),
    ]
)
"""The columns of the list; `table` and `state` are null for an operator without state."""

_CLOCKS: Final = {name: clock for clock, name in TIMER_STATES.items()}


def listing(reader: SavepointReader, uid: str | None = None) -> pa.Table:
    """Return a row for each state of the snapshot, or of one operator. Reads all state of the operators. Blocks.

    Raises as `SavepointReader.states` does.
    """
    if uid is not None:
        reader.subtasks(uid)  # raises if there is no such operator
    operators = [operator for operator in reader.operators if uid in (None, operator.uid)]
    return pa.Table.from_pylist([row for operator in operators for row in _rows(reader, operator)], schema=LISTING)


def _rows(reader: SavepointReader, operator: OperatorInfo) -> Iterator[dict[str, object]]:
    known = {
        "checkpoint_id": reader.checkpoint_id,
        "taken_ms": reader.taken_ms,
        "uid": operator.uid,
        "operator": operator.name,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
    }
    states = list(_states(reader, operator))
    yield from ({**known, **state} for state in states or [{}])


def _states(reader: SavepointReader, operator: OperatorInfo) -> Iterator[dict[str, object]]:
    for state in reader.states(operator.uid) if operator.has_keyed_state else ():
        is_timers = state.name in _CLOCKS
        yield {
            "table": "timers" if is_timers else "keyed",
            "state": _CLOCKS.get(state.name, state.name),
            "kind": state.kind,
            "type": state.type,
            "entries": state.entries,
        }
    for name in operator.list_states:
        yield {"table": "list", "state": name, "entries": len(reader.list_state(operator.uid, name))}
    for name in operator.broadcast_states:
        yield {"table": "broadcast", "state": name, "entries": len(reader.broadcast_state(operator.uid, name))}
