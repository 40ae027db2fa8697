"""The records of all matches under way of a key, each once however many have taken it.

A node is a record that a match has taken, and the node of the one before: matches that begin alike share nodes. (After
the versioned shared buffer of Agrawal and others, "Efficient Pattern Matching over Event Streams", SIGMOD 2008; nodes
here have one parent, so that there is nothing to version.) Nodes lie in a table, so that pickling a long match does not
recurse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, final

ROOT: Final = -1
"""The parent of the first node of a match."""


class Taken(NamedTuple):
    """A record that a match has taken: by which step, its number and time, and the node before."""

    parent: int
    step: int
    number: int
    time_ms: int
    value: Any


@final
@dataclass(slots=True)
class SharedBuffer:
    """Nodes by number, and how many hold each: nodes behind it and matches under way."""

    nodes: dict[int, Taken] = field(default_factory=dict)
    holders: dict[int, int] = field(default_factory=dict)
    next_node: int = 0

    def add(self, taken: Taken) -> int:
        """Keep a record behind its parent; return its node, which the caller holds."""
        node = self.next_node
        self.next_node = node + 1
        self.nodes[node] = taken
        self.holders[node] = 1
        if taken.parent != ROOT:
            self.holders[taken.parent] += 1
        return node

    def hold(self, node: int) -> None:
        """Have the node stay until it is released once more."""
        self.holders[node] += 1

    def release(self, node: int) -> None:
        """Let a node go, and those before it that no other holds."""
        holders = self.holders
        while node != ROOT:
            if holders[node] > 1:
                holders[node] -= 1
                return
            del holders[node]
            node = self.nodes.pop(node).parent

    def path(self, node: int) -> list[Taken]:
        """Return what has been taken up to a node, oldest first."""
        path = []
        while node != ROOT:
            taken = self.nodes[node]
            path.append(taken)
            node = taken.parent
        path.reverse()
        return path
