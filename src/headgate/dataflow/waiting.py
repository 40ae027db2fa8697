"""What waits in a chain, as state of the operators that it is to come to: a part of every snapshot.

At the parallelism of the snapshot each subtask goes on with what waited in it, in the same order. At another one,
records go to any subtask. Watermarks and statuses, which hold for the records of one subtask only, are left out: the
next ones make up for them.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Final

from headgate.elements import Batch, Flow, Watermark, WatermarkStatus
from headgate.operators.base import Operator
from headgate.state.formats.unpickle import loader
from headgate.state.operator.list_elements import ListElements

WAITING_STATE: Final = "headgate:waiting"
"""For each that waits before the operator, in order: the parallelism, and a control element or an encoded batch."""

Waiting = list[tuple[int, Flow]]
"""The index of an operator, and what it takes next; the last comes first."""


def waiting_lists(waiting: Waiting, parallelism: int) -> dict[int, ListElements]:
    """Return the list state of the operators before which something waits, by index. Raises what pickling raises."""
    elements: dict[int, list[bytes]] = {}
    for index, flow in reversed(waiting):
        parts = flow.encode() if isinstance(flow, Batch) else flow
        elements.setdefault(index, []).append(pickle.dumps((parallelism, parts), 5))
    return {index: ListElements(elements=own) for index, own in elements.items()}


def restored_waiting(operators: Sequence[Operator]) -> Waiting:
    """Return what waits in a chain whose operators were opened. Raises RestoreError for a class that is not found."""
    waiting: Waiting = []
    for index, operator in enumerate(operators):
        context = operator.context
        stored = context.restored.lists.get(WAITING_STATE, ListElements())
        unpickle = loader(context.restored.moved_classes, f"records that wait before operator {context.uid!r}")
        for parallelism, parts in map(unpickle, reversed(stored.elements)):
            if isinstance(parts, bytes):
                waiting.append((index, Batch.decode(parts, unpickle)))
            elif parallelism == context.parallelism:
                assert isinstance(parts, Watermark | WatermarkStatus)
                waiting.append((index, parts))
    return waiting
