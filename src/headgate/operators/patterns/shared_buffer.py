"""The records of all partial matches of a key. Matches share records, so each record is stored once.

A node holds a record that a match has taken, and the node of the match's previous record. Matches that begin with the
same records share nodes. (After the versioned shared buffer of Agrawal and others, "Efficient Pattern Matching over
Event Streams", SIGMOD 2008. Nodes here have one parent, so no versions are needed.) Nodes are in a table, so that
pickling a long match does not recurse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, final

ROOT: Final = -1
"""The parent number of a match's first node."""


class Taken(NamedTuple):
    """A record that a match has taken: the parent node, the step that took it, and the record's number and time."""

    parent: int
    step: int
    number: int
    time_ms: int
    value: Any


@final
@dataclass(slots=True)
class SharedBuffer:
    """Nodes by number, and the number of holders of each node: its child nodes and matches that end with it."""

    nodes: dict[int, Taken] = field(default_factory=dict)
    holders: dict[int, int] = field(default_factory=dict)
    next_node: int = 0

    def add(self, taken: Taken) -> int:
        """Add a record after its parent; return its node, which the caller must release."""
        node = self.next_node
        self.next_node = node + 1
        self.nodes[node] = taken
        self.holders[node] = 1
        if taken.parent != ROOT:
            self.holders[taken.parent] += 1
        return node

    def hold(self, node: int) -> None:
        """Add a holder to the node."""
        self.holders[node] += 1

    def release(self, node: int) -> None:
        """Remove a holder from the node; remove the node, and then its ancestors, when no holder is left."""
        holders = self.holders
        while node != ROOT:
            if holders[node] > 1:
                holders[node] -= 1
                return
            del holders[node]
            node = self.nodes.pop(node).parent

    def path(self, node: int) -> list[Taken]:
        """Return the records up to a node, oldest first."""
        path = []
        while node != ROOT:
            taken = self.nodes[node]
            path.append(taken)
            node = taken.parent
        path.reverse()
        return path
